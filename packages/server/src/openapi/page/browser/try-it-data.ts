// What the page carries as JSON for the form. The server writes it, the script reads it.

export interface TryItExample {
  label: string
  /** Of path parameters, query parameters and headers. */
  values: Record<string, string>
  /** JSON text, or the bytes of a file that is text; empty for none. */
  body: string
}

export interface TryItOperation {
  title: string
  method: string
  /** As in the document: `/v1/{db}`. */
  path: string
  needsKey: boolean
  /** What sending it does to the data of the server. */
  effect: 'reads' | 'changes' | 'deletes'
  hasBody: boolean
  /** The body is a file, not JSON. */
  takesBytes: boolean
  parameters: { name: string; parameterIn: 'path' | 'query' | 'header'; required: boolean }[]
  examples: Record<string, TryItExample>
}
