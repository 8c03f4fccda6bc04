import { skipSpace } from '../../../server/src/core/text/json-scan.ts'
import { decodeString, skipString, skipValue } from './scan.ts'

/**
 * Reads the envelope of an API answer as JSON.parse does, except that the value of every member whose name is in `keep`
 * comes back as its exact source text: `"data": { "n": 1.0 }` becomes the string `{ "n": 1.0 }`, and `"result": null` the
 * string `null`. Such a value is not looked into. Throws a SyntaxError if the envelope is not JSON.
 *
 * The kept values are put into quotes and JSON.parse builds the rest: it is fast, and `__proto__` is a name like any other.
 */
export const readAnswer = <T>(text: string, keep: readonly string[]): T => {
  let envelope = ''
  let copied = 0
  let at = text.indexOf('"')
  while (at !== -1) {
    const nameStart = at
    at = skipString(text, at)
    const colon = skipSpace(text, at)
    if (text[colon] === ':' && keep.includes(decodeString(text, nameStart, at))) {
      const start = skipSpace(text, colon + 1)
      const end = skipValue(text, start)
      // No value at all must stay an error.
      if (end > start) {
        envelope += text.slice(copied, start) + JSON.stringify(text.slice(start, end))
        copied = end
        at = end
      }
    }
    at = text.indexOf('"', at)
  }
  return JSON.parse(envelope + text.slice(copied)) as T
}
