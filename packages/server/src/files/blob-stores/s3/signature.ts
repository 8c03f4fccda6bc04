import { createHash, createHmac } from 'node:crypto'

// AWS Signature Version 4, for requests with a known payload and without a query. Our own: the requests of a place are of
// five kinds, their paths need no encoding, and a library would be longer than this.

export interface RequestToSign {
  method: string
  /** Its path is signed as it is sent, so it must be encoded already. */
  url: URL
  /** All of them are signed. Names in lower case. */
  headers: Readonly<Record<string, string>>
  /** Hex. */
  payloadSha256: string
}

interface Credentials {
  region: string
  accessKeyId: string
  secretAccessKey: string
  sessionToken: string | undefined
}

export const emptySha256 = createHash('sha256').digest('hex')

/** The headers to send: those of the request, and those of the signature. */
export const signRequest = (
  request: RequestToSign,
  credentials: Credentials,
  nowMs: number,
): Record<string, string> => {
  const { method, url, payloadSha256 } = request
  const { region, accessKeyId, secretAccessKey, sessionToken } = credentials
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const headers: Record<string, string> = {
    ...request.headers,
    'x-amz-content-sha256': payloadSha256,
    'x-amz-date': time,
    ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
  }

  // fetch sends this Host by itself.
  const signed = Object.entries({ ...headers, host: url.host }).sort(([a], [b]) => (a < b ? -1 : 1))
  const names = signed.map(([name]) => name).join(';')
  const lines = signed.map(([name, value]) => `${name}:${value.trim().replaceAll(/ +/g, ' ')}\n`).join('')
  const canonical = [method, url.pathname, '', lines, names, payloadSha256].join('\n')

  const scope = [time.slice(0, 8), region, 's3', 'aws4_request']
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n')
  const key = scope.reduce<string | Buffer>((key, part) => hmac(key, part), `AWS4${secretAccessKey}`)
  const signature = hmac(key, text).toString('hex')
  const credential = [accessKeyId, ...scope].join('/')
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`
  return headers
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
