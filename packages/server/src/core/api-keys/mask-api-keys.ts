/** A character of a key, a user token or a login token, or of a percent-encoded one. */
const character = '[0-9A-Za-z_%-]'

/** The text with any of its characters percent-encoded. */
const encoded = (text: string): string =>
  Array.from(text, (one) => {
    const hex = one.charCodeAt(0).toString(16)
    return `(?:${one}|%${hex}|%${hex.toUpperCase()})`
  }).join('')

/** Nothing of a word is before it: otherwise a long word would be tried from each of its characters. */
const begins = '(?<![0-9A-Za-z_%-])'

const masks: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`${encoded('svc_live_')}${character}{8,}`, 'g'), 'svc_live_****'],
  [new RegExp(`${encoded('svc_pub_')}${character}{8,}`, 'g'), 'svc_pub_****'],
  [new RegExp(`${encoded('svc_user_')}${character}{8,}`, 'g'), 'svc_user_****'],
  [new RegExp(`${begins}${character}{16,}\\.${character}{16,}\\.${character}{40,}`, 'g'), 'eyJ****'],
  // A JWT begins with the base64 of `{"`, or of `{` and white space. One that was cut off is found too.
  [new RegExp(`${encoded('eyJ')}${character}{8,}(?:\\.${character}*){0,4}`, 'g'), 'eyJ****'],
  [new RegExp(`${begins}e[yw]${character}{14,}(?:\\.${character}{8,})+`, 'g'), 'eyJ****'],
]

/** Most texts have nothing like it. */
const suspicious = /svc_|%|e[yw]|[0-9A-Za-z_-]{16}\./

const maskAll = (text: string): string => masks.reduce((masked, [pattern, mask]) => masked.replace(pattern, mask), text)

/**
 * Text that looks like an API key, a user token or a login token must not reach an answer or the log, wherever the caller put it,
 * percent-encoded or not. The same holds for most of a key: its checksum would help to guess the rest.
 */
export const maskApiKeys = (text: string): string => {
  if (!suspicious.test(text)) return text
  const dotted = text.replace(/%2e/gi, '.')
  const masked = maskAll(dotted)
  return masked === dotted ? text : masked
}
