import { essenceOf } from './content-type.ts'

/** Types that browsers show and that cannot run a script. Everything else is saved, HTML and SVG too. */
const inlineTypes: readonly string[] = [
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
  'image/x-icon',
  'application/pdf',
  'text/plain',
]

const isShown = (contentType: string): boolean => {
  const essence = essenceOf(contentType)
  return essence.startsWith('audio/') || essence.startsWith('video/') || inlineTypes.includes(essence)
}

/** The characters that RFC 8187 allows as they are. */
const encoded = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

/**
 * The name in both forms of RFC 6266: `filename` for every client, with `_` for what is not ASCII, and `filename*` if that
 * lost something. Quotes and backslashes are escaped; some clients do not undo that, so these get both forms too. A
 * percent sign that looks like an escape would be decoded by some.
 */
const fileNameParameters = (given: string): string => {
  // No file has such a name, but a URL can ask for one.
  const name = given.replace(/[\u0000-\u001f\u007f-\u009f]+/g, '_')
  const ascii = name.replace(/[^\x20-\x7e]+/g, '_').replace(/["\\]/g, '\\$&')
  const plain = `filename="${ascii}"`
  return /^[^"\\%\x7f-\uffff]*$/.test(name) ? plain : `${plain}; filename*=UTF-8''${encoded(name)}`
}

const lastSegment = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

/** `download`: browsers save the file, under its own name or under the given one. */
export const contentDisposition = (name: string, contentType: string, download?: true | string): string => {
  const kind = download === undefined && isShown(contentType) ? 'inline' : 'attachment'
  return `${kind}; ${fileNameParameters(typeof download === 'string' ? download : lastSegment(name))}`
}
