import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

// Checks Signature Version 4 as its specification says, from the request as it arrived. It shares nothing with the code that
// signs, and it is stricter than S3: a payload without a digest is refused.

export interface RawRequest {
  method: string
  /** The target as it was sent, with the query. */
  target: string
  /** The headers in the order of the request, with the names as sent. */
  headers: [string, string][]
  bodySha256: string
}

export interface Account {
  region: string
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

/** The `Code` with which S3 would refuse the request; undefined if the signature holds. */
export const checkSignature = (request: RawRequest, account: Account, nowMs: number): string | undefined => {
  const all = (name: string) =>
    request.headers.filter(([sent]) => sent.toLowerCase() === name).map(([, value]) => value)
  const one = (name: string): string | undefined => (all(name).length === 1 ? all(name)[0] : undefined)

  const authorization = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
    one('authorization') ?? '',
  )
  if (authorization === null) return 'AccessDenied'
  const [, credential, signedHeaders, signature] = authorization as unknown as [string, string, string, string]

  // The time, and the scope of the key.
  const time = one('x-amz-date') ?? ''
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time) ?? []
  if (second === undefined) return 'AccessDenied'
  const sentAtMs = Date.UTC(+year!, +month! - 1, +day!, +hour!, +minute!, +second)
  if (Math.abs(nowMs - sentAtMs) > 15 * 60_000) return 'RequestTimeTooSkewed'
  const [accessKeyId, date, region, service, end, ...more] = credential.split('/')
  if (accessKeyId !== account.accessKeyId) return 'InvalidAccessKeyId'
  if (date !== time.slice(0, 8) || service !== 's3' || end !== 'aws4_request' || more.length > 0) return 'AccessDenied'
  if (region !== account.region) return 'AuthorizationHeaderMalformed'
  if (one('x-amz-security-token') !== account.sessionToken) return 'InvalidToken'

  // Signed must be: Host, every x-amz- header, and nothing that was not sent.
  const names = signedHeaders.split(';')
  if (names.join(';') !== [...new Set(names)].sort().join(';')) return 'AccessDenied'
  if (names.some((name) => name !== name.toLowerCase() || all(name).length === 0)) return 'AccessDenied'
  const sentNames = request.headers.map(([name]) => name.toLowerCase())
  const required = ['host', ...sentNames.filter((name) => name.startsWith('x-amz-'))]
  if (required.some((name) => !names.includes(name))) return 'AccessDenied'

  const payload = one('x-amz-content-sha256') ?? ''
  if (!/^[0-9a-f]{64}$/.test(payload)) return 'InvalidArgument'

  // Every part of the canonical request is rebuilt: a client that encodes otherwise has another signature.
  const [path = '', query = ''] = request.target.split(/\?(.*)/s)
  const lines = names.map((name) => `${name}:${all(name).map(squeeze).join(',')}\n`)
  const canonical = [
    request.method,
    path.split('/').map(decodeURIComponent).map(encode).join('/'),
    canonicalQuery(query),
    lines.join(''),
    signedHeaders,
    payload,
  ].join('\n')
  const digest = createHash('sha256').update(canonical, 'utf8').digest('hex')
  const toSign = `AWS4-HMAC-SHA256\n${time}\n${date}/${region}/s3/aws4_request\n${digest}`
  const dateKey = hmac(Buffer.from(`AWS4${account.secretAccessKey}`, 'utf8'), date)
  const regionKey = hmac(dateKey, region)
  const serviceKey = hmac(regionKey, 's3')
  const signingKey = hmac(serviceKey, 'aws4_request')
  if (!timingSafeEqual(hmac(signingKey, toSign), Buffer.from(signature, 'hex'))) return 'SignatureDoesNotMatch'
  if (payload !== request.bodySha256) return 'XAmzContentSHA256Mismatch'
  return undefined
}

const hmac = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text, 'utf8').digest()

const squeeze = (value: string): string => value.trim().replaceAll(/\s+/g, ' ')

/** RFC 3986: all bytes of UTF-8 but the unreserved characters, in upper-case hex. */
const encode = (text: string): string =>
  Array.from(Buffer.from(text, 'utf8'), (byte) => {
    const character = String.fromCharCode(byte)
    return /[A-Za-z0-9._~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }).join('')

const canonicalQuery = (query: string): string =>
  query
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const [name = '', value = ''] = part.split(/=(.*)/s)
      return `${encode(decodeURIComponent(name))}=${encode(decodeURIComponent(value))}`
    })
    .sort()
    .join('&')
