import { serverUrl } from './dom.ts'
import type { TryItOperation } from './try-it-data.ts'

export interface FormValues {
  /** Of parameters, by name. An empty one is not sent. */
  parameters: Record<string, string>
  body: string
  key: string
}

export interface Received {
  status: number
  statusText: string
  headers: [string, string][]
  text: string
  milliseconds: number
  bytes: number
}

/** Browsers drop the segments `.` and `..`, and some proxies an empty one. The request would name something else. */
export const isSegment = (value: string): boolean => !['', '.', '..'].includes(value)

/** The path and query string that the form asks for. */
export const targetOf = (operation: TryItOperation, values: Record<string, string>): string => {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
  const query = new URLSearchParams()
  for (const { name, place } of operation.parameters) {
    const value = values[name] ?? ''
    if (place === 'query' && value !== '') query.set(name, value)
  }
  return query.size === 0 ? path : `${path}?${query}`
}

const headersOf = (operation: TryItOperation, { parameters, body, key }: FormValues): Headers => {
  const headers = new Headers()
  for (const { name, place } of operation.parameters) {
    const value = parameters[name] ?? ''
    if (place === 'header' && value !== '') headers.set(name, value)
  }
  if (operation.needsKey && key !== '') headers.set('Authorization', `Bearer ${key}`)
  if (operation.hasBody && body.trim() !== '') headers.set('Content-Type', 'application/json')
  return headers
}

export const send = async (operation: TryItOperation, values: FormValues, signal: AbortSignal): Promise<Received> => {
  const start = performance.now()
  const response = await fetch(serverUrl() + targetOf(operation, values.parameters), {
    method: operation.method,
    headers: headersOf(operation, values),
    ...(operation.hasBody && values.body.trim() !== '' && { body: values.body }),
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
    text: new TextDecoder().decode(bytes),
    milliseconds: performance.now() - start,
    bytes: bytes.byteLength,
  }
}
