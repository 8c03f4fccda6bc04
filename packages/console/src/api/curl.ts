import { baseUrl } from './request.ts'

// A request as a command that works when it is pasted into a shell. The key is not in it: the shell has it in CUBBY_KEY.

interface ShownRequest {
  method: string
  path: string
  body?: string
  headers?: Record<string, string>
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** `-X HEAD` would wait for a body that does not come. */
const methodOf = (method: string): string => (method === 'GET' ? '' : method === 'HEAD' ? '--head ' : `-X ${method} `)

/** Encodes the path as the browser does: curl rejects a space, and sends other characters as they are. */
const urlOf = (path: string): string => {
  const url = new URL(baseUrl + path)
  url.hash = ''
  return url.href
}

/** curl takes `Name:` as an order to leave the header out. */
const headerOf = (name: string, value: string): string => quoted(value === '' ? `${name};` : `${name}: ${value}`)

/** Linux takes no argument of 128 KiB or more. */
const argumentBytesMax = 100_000

export const curlOf = ({ method, path, body, headers = {} }: ShownRequest): string => {
  const given = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  const url = urlOf(path)
  const isLong = body !== undefined && new TextEncoder().encode(body).length > argumentBytesMax
  const lines = [
    // curl would make several requests of [1-3] and {a,b} without --globoff.
    `curl ${methodOf(method)}${/[[\]{}]/.test(url) ? '--globoff ' : ''}${quoted(url)}`,
    ...(given.has('authorization') ? [] : [`-H "Authorization: Bearer $CUBBY_KEY"`]),
    ...Object.entries(headers).map(([name, value]) => `-H ${headerOf(name, value)}`),
    ...(body === undefined || given.has('content-type') ? [] : [`-H 'Content-Type: application/json'`]),
    // --data-binary would read a file if the text begins with @.
    ...(body === undefined ? [] : [isLong ? '--data-binary @-' : `--data-raw ${quoted(body)}`]),
  ]
  // printf is part of the shell, so that its argument can be long.
  return `${isLong ? `printf %s ${quoted(body)} | ` : ''}${lines.join(' \\\n  ')}`
}
