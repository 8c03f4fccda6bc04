import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { emptySha256, type RequestToSign, signRequest } from '../../src/files/blob-stores/s3/signature.ts'
import { checkSignature, type RawRequest } from './s3-signature-check.ts'

// The signer and the check of the tests share no code. Examples that AWS has published keep both honest.

const account = {
  region: 'us-east-1',
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  sessionToken: undefined,
}
const sentAtMs = Date.UTC(2013, 4, 24)
const welcomeSha256 = createHash('sha256').update('Welcome to Amazon S3.').digest('hex')

const examples: { name: string; request: RequestToSign; signature: string }[] = [
  {
    name: 'GET of a range',
    request: {
      method: 'GET',
      url: new URL('https://examplebucket.s3.amazonaws.com/test.txt'),
      headers: { range: 'bytes=0-9' },
      payloadSha256: emptySha256,
    },
    signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  },
  {
    name: 'PUT of an object',
    request: {
      method: 'PUT',
      url: new URL('https://examplebucket.s3.amazonaws.com/test%24file.text'),
      headers: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
      payloadSha256: welcomeSha256,
    },
    signature: '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  },
]

const rawOf = ({ method, url, headers, payloadSha256 }: RequestToSign): RawRequest => ({
  method,
  target: url.pathname,
  headers: [['Host', url.host], ...Object.entries(headers)],
  bodySha256: payloadSha256,
})

describe.each(examples)("AWS's example: $name", ({ request, signature }) => {
  test('the signer signs as AWS does', () => {
    expect(signRequest(request, account, sentAtMs).authorization).toEndWith(`, Signature=${signature}`)
  })

  test('the check of the tests accepts it', () => {
    const signed = signRequest(request, account, sentAtMs)
    expect(checkSignature(rawOf({ ...request, headers: signed }), account, sentAtMs)).toBeUndefined()
  })
})

describe('the check of the tests refuses', () => {
  const { request } = examples[1]!
  const credentials = { ...account, sessionToken: 'token' }
  const good = rawOf({ ...request, headers: signRequest(request, credentials, sentAtMs) })
  const withHeader = (name: string, value: string | undefined): RawRequest => ({
    ...good,
    headers: good.headers.flatMap(([n, v]) => (n !== name ? [[n, v]] : value === undefined ? [] : [[n, value]])),
  })
  const check = (raw: RawRequest, nowMs = sentAtMs) => checkSignature(raw, credentials, nowMs)
  const authorization = good.headers.find(([name]) => name === 'authorization')![1]

  test('nothing that is right', () => {
    expect(check(good)).toBeUndefined()
    expect(check(good, sentAtMs + 14 * 60_000)).toBeUndefined()
  })

  test.each([
    ['another method', { ...good, method: 'GET' }, 'SignatureDoesNotMatch'],
    ['another path', { ...good, target: '/test%24file.txt' }, 'SignatureDoesNotMatch'],
    ['a path that is encoded twice', { ...good, target: '/test%2524file.text' }, 'SignatureDoesNotMatch'],
    ['a query', { ...good, target: '/test%24file.text?acl' }, 'SignatureDoesNotMatch'],
    ['another host', withHeader('Host', 'example.com'), 'SignatureDoesNotMatch'],
    ['other bytes', { ...good, bodySha256: emptySha256 }, 'XAmzContentSHA256Mismatch'],
    ['another digest', withHeader('x-amz-content-sha256', emptySha256), 'SignatureDoesNotMatch'],
    ['no digest', withHeader('x-amz-content-sha256', 'UNSIGNED-PAYLOAD'), 'InvalidArgument'],
    ['another token', withHeader('x-amz-security-token', 'other'), 'InvalidToken'],
    ['a changed header', withHeader('x-amz-storage-class', 'STANDARD'), 'SignatureDoesNotMatch'],
    ['a signed header that is missing', withHeader('x-amz-storage-class', undefined), 'AccessDenied'],
    ['no signature', withHeader('authorization', undefined), 'AccessDenied'],
    [
      'a header of Amazon that is not signed',
      { ...good, headers: [...good.headers, ['x-amz-acl', 'private']] },
      'AccessDenied',
    ],
    ['a Host that is not signed', withHeader('authorization', authorization.replace('host;', '')), 'AccessDenied'],
    [
      'another region',
      withHeader('authorization', authorization.replace('us-east-1', 'us-east-2')),
      'AuthorizationHeaderMalformed',
    ],
    ['another key', withHeader('authorization', authorization.replace('AKIA', 'AKIB')), 'InvalidAccessKeyId'],
  ] as [string, RawRequest, string][])('%s', (_, raw, code) => {
    expect(check(raw)).toBe(code)
  })

  test.each([-16, 16])('a clock that is %d minutes ahead', (minutes) => {
    expect(check(good, sentAtMs + minutes * 60_000)).toBe('RequestTimeTooSkewed')
  })
})
