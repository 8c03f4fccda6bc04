import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { contentTypeCharactersMax } from '../limits.ts'

/** The type of a file that was sent without one, by the end of its name. */
const typeByExtension: Readonly<Record<string, string | undefined>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  svg: 'image/svg+xml',
  ico: 'image/x-icon',
  bmp: 'image/bmp',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  json: 'application/json',
  html: 'text/html',
  css: 'text/css',
  js: 'text/javascript',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  zip: 'application/zip',
  gz: 'application/gzip',
  woff2: 'font/woff2',
}

/** The server never guesses from the bytes. */
export const typeOfName = (name: string): string => {
  const extension = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  return (Object.hasOwn(typeByExtension, extension) && typeByExtension[extension]) || 'application/octet-stream'
}

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
/** Characters above ASCII arrive as one character for each byte, so they cannot be kept as they were sent. */
const quoted = '"([\\t !#-[\\]-~]|\\\\[\\t -~])*"'
/** A media type as RFC 9110 writes it. White space matches in one way only: otherwise a failing match could take for ever. */
export const contentTypePattern = `^${token}/${token}([\\t ]*;([\\t ]*${token}=(${token}|${quoted}))?)*$`
const mediaType = new RegExp(contentTypePattern)

/** A media type as RFC 9110 writes it. It is kept as it was sent. */
export const parseContentType = (value: unknown, field = 'contentType'): string => {
  const hint = 'Give one media type, such as image/png or text/plain; charset=utf-8.'
  const refuse = (message: string): never => {
    throw new CubbyError('invalid_request', `${field} ${message}`, { field, hint })
  }
  if (typeof value !== 'string') return refuse(`is ${describeValue(value)}; it takes a media type.`)
  if (value.length > contentTypeCharactersMax) {
    return refuse(`has ${value.length} characters; it takes at most ${contentTypeCharactersMax}.`)
  }
  // Browsers read `application/pdf, text/html` as HTML.
  if (value.includes(',')) return refuse('has a comma; it takes one media type, and no comma in its parameters.')
  if (!mediaType.test(value)) return refuse(`is ${describeValue(value)}, which is not a media type.`)
  return value
}

/** The type without its parameters. */
export const essenceOf = (type: string): string => type.split(';', 1)[0]!.trim().toLowerCase()

/** Case and the space around parameters do not matter. */
const normalized = (type: string): string =>
  type
    .toLowerCase()
    .replace(/[\t ]*;[\t ]*/g, ';')
    .replace(/;+$/, '')

export const isSameType = (a: string, b: string): boolean => normalized(a) === normalized(b)

/** Tells whether the sender of a file says its type. `application/x-www-form-urlencoded` is what `curl --data-binary` adds. */
export const saysType = (header: string | null): header is string =>
  header !== null && essenceOf(header) !== 'application/x-www-form-urlencoded'

/** The type of an uploaded file. `header`: as it was sent; null if it was not. */
export const typeOfUpload = (header: string | null, name: string): string => {
  if (!saysType(header)) return typeOfName(name)
  if (essenceOf(header) === 'multipart/form-data') {
    throw new CubbyError('unsupported_media_type', 'The body is a form; a file is sent as its bytes alone.', {
      field: 'Content-Type',
      hint: 'Send the bytes as the body (curl --data-binary @FILE, not -F), with the type of the file.',
    })
  }
  return parseContentType(header, 'Content-Type')
}
