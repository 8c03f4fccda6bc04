// The page carries this data as JSON for the form. The server writes it, the script reads it.

export interface TryItExample {
  label: string
  /** Values of path parameters, query parameters and headers. */
  values: Record<string, string>
  /** JSON text, or the bytes of a file that is text; empty for none. */
  body: string
}

export interface TryItOperation {
  title: string
  method: string
  /** The path as in the document: `/v1/{db}`. */
  path: string
  needsKey: boolean
  /** The effect of a request on the data of the server. */
  effect: 'reads' | 'changes' | 'deletes'
  hasBody: boolean
  /** The body is a file, not JSON. */
  takesBytes: boolean
  parameters: { name: string; parameterIn: 'path' | 'query' | 'header'; required: boolean }[]
  examples: Record<string, TryItExample>
}
