import { shellWord as quote } from '../core/text/shell-word.ts'
import { json, literal } from './samples/literal.ts'

export interface CurlRequest {
  method: string
  /** With its query string. */
  target: string
  headers: Record<string, string>
  body?: unknown
  /** The body as it is, instead of JSON. */
  bytes?: string
  withKey: boolean
}

const keyHeader = 'Authorization: Bearer $CUBBY_KEY'
const typeHeader = 'Content-Type: application/json'

/** A command to paste. Address and key are environment variables: a key must not appear in a page or a shell history. */
export const curlLine = ({ method, target, headers, body, bytes, withKey }: CurlRequest): string => {
  const words = [`curl ${methodFlag(method)}"$CUBBY_URL${target}"`]
  if (withKey) words.push(`-H "${keyHeader}"`)
  if (body !== undefined) words.push(`-H '${typeHeader}'`)
  for (const [name, value] of Object.entries(headers)) words.push(`-H ${quote(`${name}: ${value}`)}`)
  if (body !== undefined) words.push(`-d ${quote(literal(body, json, 1, 4))}`)
  if (bytes !== undefined) words.push(`--data-binary ${quote(bytes)}`)
  return words.join(' \\\n  ')
}

const methodFlag = (method: string): string => {
  if (method === 'GET') return ''
  return method === 'HEAD' ? '-I ' : `-X ${method} `
}

/** The words of a command of `curlLine`, without their quotes. */
const wordsOf = (source: string): string[] =>
  Array.from(source.matchAll(/(?:"[^"]*"|'[^']*'|\\'|[^\s'"\\])+/g), ([word]) =>
    word.replace(/"([^"]*)"|'([^']*)'|\\'/g, (all, double, single) => (all === "\\'" ? "'" : (double ?? single))),
  )

/** The request that a command of `curlLine` sends. */
export const parseCurlLine = (source: string): CurlRequest => {
  const request: CurlRequest = { method: 'GET', target: '', headers: {}, withKey: false }
  const words = wordsOf(source).slice(1)
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    if (word === '-I') request.method = 'HEAD'
    else if (word === '-X') request.method = words[++i]!
    else if (word === '-d') request.body = JSON.parse(words[++i]!)
    else if (word === '--data-binary') request.bytes = words[++i]!
    else if (word !== '-H') request.target = word.replace('$CUBBY_URL', '')
    else {
      const header = words[++i]!
      if (header === keyHeader) request.withKey = true
      else if (header !== typeHeader) request.headers[header.split(': ', 1)[0]!] = header.replace(/^[^:]*: /, '')
    }
  }
  return request
}
