import { UsageError } from '../arguments.ts'

// A JSON object from the command line or from standard input: the data of a record, the payload of a run.

/** `what` is how messages name it: `the data`. */
export const readStdin = async (what: string): Promise<string> => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await Bun.stdin.bytes())
  } catch {
    throw new UsageError(`${what} on standard input is not valid UTF-8`)
  }
}

const parseJson = (text: string, what: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    const reason = (error as Error).message.replace(/^JSON Parse error: /, '')
    throw new UsageError(text.trim() === '' ? `${what} is empty` : `${what} is not JSON: ${reason}`)
  }
}

/** Checked before it becomes part of the body, where a stray brace would change the body's meaning. */
export const checkJson = (text: string, what: string): string => {
  parseJson(text, what)
  return text.trim()
}

export const checkObject = (text: string, what: string): string => {
  const value = parseJson(text, what)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text.trim()
  throw new UsageError(`${what} is not a JSON object; wrap it: {"value":…}`)
}

/** Members as JSON texts. */
export const objectText = (members: Record<string, string>): string =>
  `{${Object.entries(members).map(([name, text]) => `${JSON.stringify(name)}:${text}`)}}`
