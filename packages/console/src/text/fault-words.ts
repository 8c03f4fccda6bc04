// The words for text that is not JSON: what was found, and what to do about the usual mistakes.

const word = /[\p{L}\p{N}_$.+-]+/uy
const invisible = /[\p{Z}\p{C}]/u

const wordAt = (text: string, at: number): string => {
  word.lastIndex = at
  return word.exec(text)?.[0] ?? ''
}

/** Short, because a word or a string may be as long as the text. */
const shown = (found: string): string => {
  const characters = [...found.slice(0, 60)]
  return characters.length > 24 || found.length > 60 ? `${characters.slice(0, 24).join('')}…` : found
}

const codeOf = (character: string): string =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`

/** `the string "a"`, `"abc"`, `}`, `a line break`, `U+00A0`. */
export const foundAt = (text: string, at: number): string => {
  if (at >= text.length) return 'the end of the text'
  const character = String.fromCodePoint(text.codePointAt(at)!)
  if (character === '\n' || character === '\r') return 'a line break'
  if (character === '\t') return 'a tab'
  if (character === ';') return 'a semicolon'
  if (character === '\ufeff') return 'a byte order mark'
  if (character !== ' ' && invisible.test(character)) return codeOf(character)
  if (character === '"') {
    const string = /^"[^"\n\r]*"?/.exec(text.slice(at, at + 80))![0]
    return `the string ${shown(string)}`
  }
  if (/^(?:\/[/*]|#)/.test(text.slice(at, at + 2))) return 'a comment'
  const found = wordAt(text, at)
  return found === '' ? character : `"${shown(found)}"`
}

/** The usual mistakes where a value, a name or a mark is expected. */
const mistakes: readonly (readonly [RegExp, string])[] = [
  [/^(?:\/[/*]|#)/, 'JSON has no comments, so remove it'],
  [/^['`‘’“”„«»]/, 'strings and names stand in straight double quotes: "'],
  [/^[+-]?(?:NaN|Infinity)/, 'JSON has no NaN and no Infinity: write null or a string'],
  [/^undefined/, 'JSON has no undefined: write null, or leave the member out'],
  [/^true\b/i, 'write true'],
  [/^false\b/i, 'write false'],
  [/^(?:null|none|nil)\b/i, 'write null'],
  [/^\+\d/, 'remove the +'],
  [/^-?\.\d/, 'write a 0 before the point'],
  [/^=/, 'a colon stands between name and value'],
  [/^;/, 'commas stand between members'],
  [/^(?! )[\p{Z}\p{C}]/u, 'it is invisible, so remove it'],
]

export const helpAt = (text: string, at: number): string => {
  const rest = text.slice(at, at + 12)
  return mistakes.find(([pattern]) => pattern.test(rest))?.[1] ?? ''
}

/** The help where a name is expected. */
export const helpWithName = (text: string, at: number): string => {
  const name = wordAt(text, at)
  return name === '' ? helpAt(text, at) : `write "${shown(name)}" with a quote on both sides`
}

/** The help where a value is expected. */
export const helpWithValue = (text: string, at: number): string =>
  helpAt(text, at) || (/^[\p{L}_$]/u.test(text.slice(at, at + 2)) ? 'a string stands in double quotes' : '')

/** The help behind a name or a value. */
export const helpBehind = (text: string, at: number): string => {
  const before = text[at - 1] ?? ''
  if (wordAt(text, at) === '') return helpAt(text, at)
  if (before === '"') return 'a quote is missing before it, or one inside the string lacks its backslash: \\"'
  return /\d/.test(before) ? 'a number has decimal digits only' : ''
}

/** The help after a backslash. */
export const helpWithEscape = (character: string | undefined): string =>
  character === "'" ? 'write it without the backslash' : 'write \\\\ for a backslash'

/** A control character inside a string. */
export const escapeOf = (character: string): string => JSON.stringify(character).slice(1, -1)
