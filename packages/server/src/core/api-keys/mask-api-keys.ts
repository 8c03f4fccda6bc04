/** A character of a key, a user token or a login token, perhaps percent-encoded. */
const character = '(?:[0-9A-Za-z_-]|%[0-9A-Fa-f]{2})'
const dot = '(?:\\.|%2[eE])'

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
  [new RegExp(`${begins}${character}{16,}${dot}${character}{16,}${dot}${character}{40,}`, 'g'), 'eyJ****'],
  // A JWT begins with the base64 of `{"`, or of `{` and white space. One that was cut off is found too.
  [new RegExp(`${encoded('eyJ')}${character}{8,}(?:${dot}${character}*){0,4}`, 'g'), 'eyJ****'],
  [new RegExp(`${begins}e[yw]${character}{14,}(?:${dot}${character}{8,})+`, 'g'), 'eyJ****'],
]

/** Most texts have nothing like it. */
const suspicious = /svc_|%|e[yw]|[0-9A-Za-z_-]{16}\./

/**
 * Text that looks like an API key, a user token or a login token must not reach an answer or the log, wherever the caller put it,
 * percent-encoded or not. The same holds for most of a key: its checksum would help to guess the rest.
 */
export const maskApiKeys = (text: string): string =>
  suspicious.test(text) ? masks.reduce((masked, [pattern, mask]) => masked.replace(pattern, mask), text) : text
