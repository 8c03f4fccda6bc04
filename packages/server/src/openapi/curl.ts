import { shellWord as quote } from '../core/text/shell-word.ts'
import { json, literal } from './samples/literal.ts'

export interface CurlRequest {
  method: string
  /** The target with its query string. */
  target: string
  headers: Record<string, string>
  body?: unknown
  /** The body as it is, instead of JSON. */
  bytes?: string
  withKey: boolean
}

/** A command to paste. Address and key are environment variables: a key must not appear in a page or a shell history. */
export const curlLine = ({ method, target, headers, body, bytes, withKey }: CurlRequest): string => {
  const words = [`curl ${methodFlag(method)}"$CUBBY_URL${target}"`]
  if (withKey) words.push('-H "Authorization: Bearer $CUBBY_KEY"')
  if (body !== undefined) words.push("-H 'Content-Type: application/json'")
  for (const [name, value] of Object.entries(headers)) words.push(`-H ${quote(`${name}: ${value}`)}`)
  if (body !== undefined) words.push(`-d ${quote(literal(body, json, 1, 4))}`)
  if (bytes !== undefined) words.push(`--data-binary ${quote(bytes)}`)
  return words.join(' \\\n  ')
}

const methodFlag = (method: string): string => {
  if (method === 'GET') return ''
  return method === 'HEAD' ? '-I ' : `-X ${method} `
}
