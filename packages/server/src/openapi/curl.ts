/** Quoted so that a shell takes it as one word; plain words stay as they are. */
const quote = (text: string): string =>
  /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

export interface CurlRequest {
  method: string
  /** With its query string. */
  target: string
  headers: Record<string, string>
  body?: unknown
  withKey: boolean
}

/** A line to paste. The address and the key come from the environment: a key must not end up in a page or a history. */
export const curlLine = ({ method, target, headers, body, withKey }: CurlRequest): string => {
  const words = [`curl ${methodFlag(method)}"$CUBBY_URL${target}"`]
  if (withKey) words.push('-H "Authorization: Bearer $CUBBY_KEY"')
  if (body !== undefined) words.push("-H 'Content-Type: application/json'")
  for (const [name, value] of Object.entries(headers)) words.push(`-H ${quote(`${name}: ${value}`)}`)
  if (body !== undefined) words.push(`-d ${quote(JSON.stringify(body))}`)
  return words.join(' \\\n  ')
}

const methodFlag = (method: string): string => {
  if (method === 'GET') return ''
  return method === 'HEAD' ? '-I ' : `-X ${method} `
}
