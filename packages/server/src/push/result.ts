import { CubbyError } from '../core/errors.ts'
import { dataDepthMax } from '../core/limits.ts'
import { checkJson, skipSpace } from '../core/text/json-scan.ts'
import { valueSpan } from '../core/text/json-span.ts'

// A byte order mark is not JSON, so it is not skipped.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of the JSON object in the body of an answer, as it was sent; null if the body is anything else. */
export const resultOf = (body: Uint8Array): string | null => {
  const text = decode(body)
  if (text === undefined || text[skipSpace(text, 0)] !== '{' || !isJson(text)) return null
  const { start, end, depth } = valueSpan(text, 0)
  return depth > dataDepthMax ? null : text.slice(start, end)
}

const decode = (body: Uint8Array): string | undefined => {
  try {
    return utf8.decode(body)
  } catch {
    return undefined
  }
}

const isJson = (text: string): boolean => {
  try {
    checkJson(text)
    return true
  } catch (error) {
    if (error instanceof CubbyError) return false
    throw error
  }
}
