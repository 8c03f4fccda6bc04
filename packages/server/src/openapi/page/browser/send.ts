import { serverUrl } from './dom.ts'
import type { TryItOperation } from './try-it-data.ts'

interface FormValues {
  /** Values of parameters, by name. An empty one is not sent. */
  parameters: Record<string, string>
  body: string
  /** Sent instead of `body`, where the body is a file. */
  file: File | undefined
  key: string
}

export interface Received {
  status: number
  statusText: string
  headers: [string, string][]
  /** Undefined if it is not text. */
  text: string | undefined
  milliseconds: number
  bytes: number
}

/** Browsers drop the segments `.` and `..`, and some proxies an empty one. The request would name something else. */
export const isSegment = (value: string): boolean => !['', '.', '..'].includes(value)

/** The name of a file has several segments, all others have one. */
export const segmentsOf = (name: string, value: string): string[] => (name === 'name' ? value.split('/') : [value])

const encoded = (name: string, value: string): string => segmentsOf(name, value).map(encodeURIComponent).join('/')

/** The path and query string that the form asks for. */
export const targetOf = (operation: TryItOperation, values: Record<string, string>): string => {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encoded(name, values[name] ?? ''))
  const query = new URLSearchParams()
  for (const { name, parameterIn } of operation.parameters) {
    const value = values[name] ?? ''
    if (parameterIn === 'query' && value !== '') query.set(name, value)
  }
  return query.size === 0 ? path : `${path}?${query}`
}

const headersOf = (operation: TryItOperation, { parameters, body, key }: FormValues): Headers => {
  const headers = new Headers()
  for (const { name, parameterIn } of operation.parameters) {
    const value = parameters[name] ?? ''
    if (parameterIn === 'header' && value !== '') headers.set(name, value)
  }
  if (operation.needsKey && key !== '') headers.set('Authorization', `Bearer ${key}`)
  if (operation.hasBody && !operation.takesBytes && body.trim() !== '') headers.set('Content-Type', 'application/json')
  return headers
}

/** A Blob of no type: with a string the browser would add one, and the type would not follow the name of the file. */
const bodyOf = ({ hasBody, takesBytes }: TryItOperation, { body, file }: FormValues): BodyInit | undefined => {
  if (takesBytes) return file ?? new Blob([body])
  return hasBody && body.trim() !== '' ? body : undefined
}

const isText = (type: string | null): boolean => type === null || /^text\/|json|xml|javascript/i.test(type)

export const send = async (operation: TryItOperation, values: FormValues, signal: AbortSignal): Promise<Received> => {
  const start = performance.now()
  const response = await fetch(serverUrl() + targetOf(operation, values.parameters), {
    method: operation.method,
    headers: headersOf(operation, values),
    body: bodyOf(operation, values),
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    signal,
  })
  const bytes = await response.arrayBuffer()
  return {
    status: response.status,
    statusText: response.statusText,
    headers: [...response.headers],
    text: isText(response.headers.get('content-type')) ? new TextDecoder().decode(bytes) : undefined,
    milliseconds: performance.now() - start,
    bytes: bytes.byteLength,
  }
}
