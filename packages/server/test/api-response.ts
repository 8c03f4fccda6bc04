// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever came; tests look into it.
export type Json = any

export interface ApiResponse {
  status: number
  headers: Headers
  text: string
  /** The text as JSON; undefined when there is none. */
  body: Json
}

/** undefined when the text is not JSON. */
export const tryJson = (line: string): Json | undefined => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
