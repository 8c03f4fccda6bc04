import { describe, expect, test } from 'bun:test'
import { maskApiKeys } from '../../src/core/api-keys/mask-api-keys.ts'

// Answers and the log repeat what callers send. A key or a token in it would work for everybody who reads the log.

const base64 = (text: string): string => Buffer.from(text).toString('base64url')
const claims = { iss: 'https://login.example.com/', sub: 'ada' }
const signature = 'x'.repeat(86)
const jwt = (header: string, indent?: number): string =>
  `${base64(header)}.${base64(JSON.stringify(claims, null, indent))}.${signature}`
const escaped = (text: string, every: number): string =>
  Array.from(text, (one, i) => (i % every === 0 ? `%${one.charCodeAt(0).toString(16)}` : one)).join('')

const userToken = `svc_user_${'aB3-_'.repeat(70)}`
const loginToken = jwt('{"alg":"ES256"}')

describe('no part of it is left', () => {
  const cases: [what: string, text: string][] = [
    ['a secret key', 'svc_live_0123456789abcdefghijklmnopqrstuvwxABCD'],
    ['a public key', 'svc_pub_0123456789abcdefghijklmnopqrstuvwxABCD'],
    ['a user token', userToken],
    ['a user token, percent-encoded', escaped(userToken, 1)],
    ['a user token, percent-encoded in places', escaped(userToken, 7)],
    ['a user token with its underscores escaped', userToken.replaceAll('_', '%5F')],
    ['a login token', loginToken],
    ['a login token, pretty-printed', jwt(JSON.stringify({ alg: 'ES256', kid: 'a' }, null, 2), 2)],
    ['a login token that begins with a space', jwt(' {"alg":"ES256"}')],
    ['a login token with its dots escaped', loginToken.replaceAll('.', '%2E')],
    ['a login token, percent-encoded in places', escaped(loginToken, 5)],
    ['a login token that was cut off', jwt('{"alg":"ES256"}').slice(0, 60)],
  ]
  test.each(cases)('%s', (_, text) => {
    for (const place of ['{}', '"{}"', '/login/{}', '/login/{}/x?y=1', 'name is "{}"; it takes a name.']) {
      const masked = maskApiKeys(place.replace('{}', text))
      expect(masked).toMatch(/(svc_(live|pub|user)_|eyJ)\*{4}/)
      for (let at = 12; at + 8 <= text.length; at += 8) expect(masked).not.toContain(text.slice(at, at + 8))
    }
  })
})

test('other texts stay as they are', () => {
  for (const text of [
    'hashKey is empty; it takes 1 to 1024 bytes.',
    'The task mail has no run "run_5Yb2VtKx8QmZ1nWc4RdJ7s".',
    '{"requestId":"ewX2VtKx8QmZ1nWc4RdJ7s","path":"/v1/app/orders/they%20key"}',
    '/files/b_1234567890abcdefghij/photos/my-holiday-2026.large.jpeg?v=1767780000000',
    'svc_live_… or svc_user_…',
  ]) {
    expect(maskApiKeys(text)).toBe(text)
  }
})

test('a long text costs as much as its length, whatever is in it', () => {
  const parts = ['a', '%61', 'a%', 'ey', 'eyJ', 'svc_', `${'a'.repeat(20)}.`, `/${'a'.repeat(20)}`, '%2E', 'ey.']
  const msOf = (text: string): number => {
    const startedAtMs = performance.now()
    for (let i = 0; i < 5; i++) maskApiKeys(text)
    return performance.now() - startedAtMs
  }
  for (const part of parts) {
    const length = Math.floor(8_000 / part.length)
    const ratios = Array.from({ length: 5 }, () => msOf(part.repeat(8 * length)) / (msOf(part.repeat(length)) + 0.05))
    // Eight times as long: 64 if each character were looked at from all others.
    expect([part, Math.min(...ratios) < 40]).toEqual([part, true])
  }
})
