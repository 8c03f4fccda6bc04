import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { encodeIssuer, parseIssuer, readStoredIssuer } from '../../../src/core/issuers/issuer.ts'
import type { Json } from '../../harness.ts'
import { issuerWith, makeKey, notesOfSub } from '../../logins/login.ts'
import { refusal, refused } from '../refusal.ts'

const [rsa, ec, ed] = [makeKey('RS256'), makeKey('ES256'), makeKey('EdDSA')]
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')

const makeOther = (namedCurve: string): Json =>
  generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' })

const withKey = (jwk: Json): Json => issuerWith([], { keys: { keys: [ec.jwk, jwk] } })
const refusedKey = (jwk: Json): [code: string, field: string | undefined] => refused(() => parseIssuer(withKey(jwk)))

test('an issuer is stored with its members in one order, its keys without what is not read, and a user of its own', () => {
  const { issuer, audience, keys, grants } = issuerWith([ec])
  const sent = {
    grants,
    keys: { keys: [{ ...ec.jwk, x5c: ['MIIB'], use: 'sig', kid: 'k' }], more: 1 },
    audience,
    issuer,
  }
  const { crv, x, y } = ec.jwk
  expect(encodeIssuer('auth', parseIssuer(sent))).toBe(
    JSON.stringify({
      ...{ issuer, audience, keys: { keys: [{ kty: 'EC', kid: 'k', use: 'sig', crv, x, y }] } },
      ...{ user: 'auth:{sub}', grants: notesOfSub },
    }),
  )
  expect(keys.keys).toHaveLength(1)
  const url = { issuer, audience, keysUrl: 'https://login.example.com/keys', user: '{sub}', grants }
  expect(readStoredIssuer(encodeIssuer('auth', parseIssuer(url)))).toEqual(url)
})

test('keys of all kinds are taken, with what they may be used for', () => {
  const all = [
    { ...rsa.jwk, alg: 'PS256' },
    { ...ec.jwk, key_ops: ['verify', 'sign'] },
    { ...ed.jwk, alg: 'EdDSA', use: 'sig' },
  ]
  const { keys } = parseIssuer(issuerWith([], { keys: { keys: all } }))
  expect(keys!.keys.map(({ kty, alg, key_ops }) => [kty, alg, key_ops])).toEqual([
    ['RSA', 'PS256', undefined],
    ['EC', undefined, ['verify']],
    ['OKP', 'EdDSA', undefined],
  ])
})

describe('a key is refused', () => {
  const at = 'keys.keys[1]'
  const keyOfBits = (bits: number): Json =>
    generateKeyPairSync('rsa', { modulusLength: bits }).publicKey.export({ format: 'jwk' })
  const cases: Record<string, [Json, string]> = {
    private: [ed.privateKey.export({ format: 'jwk' }), at],
    'private, without d': [{ ...rsa.jwk, p: 'AQAB', q: 'AQAB', dp: 'AQAB', dq: 'AQAB', qi: 'AQAB' }, at],
    symmetric: [{ kty: 'oct', k: 'c2VjcmV0' }, at],
    'symmetric, beside a public one': [{ ...ec.jwk, k: 'c2VjcmV0' }, at],
    'no object': ['key', at],
    'of another kind': [{ kty: 'AKP' }, `${at}.kty`],
    'of the curve P-384': [makeOther('P-384'), `${at}.crv`],
    'of the curve X25519': [{ ...ed.jwk, crv: 'X25519' }, `${at}.crv`],
    'RSA of 1,024 bits': [keyOfBits(1024), `${at}.n`],
    'RSA of 2,040 bits': [{ ...rsa.jwk, n: base64(Buffer.alloc(255, 0xff)) }, `${at}.n`],
    'RSA of 4,104 bits': [{ ...rsa.jwk, n: base64(Buffer.alloc(513, 0xff)) }, `${at}.n`],
    'RSA whose modulus begins with a zero': [
      { ...rsa.jwk, n: base64(Buffer.concat([Buffer.alloc(1), Buffer.from(rsa.jwk.n, 'base64url')])) },
      `${at}.n`,
    ],
    'RSA with the exponent 1': [{ ...rsa.jwk, e: 'AQ' }, `${at}.e`],
    'RSA with an even exponent': [{ ...rsa.jwk, e: 'AQAA' }, `${at}.e`],
    'RSA with a long exponent': [{ ...rsa.jwk, e: 'AQAAAAE' }, `${at}.e`],
    'with padding': [{ ...rsa.jwk, e: 'AQAB=' }, `${at}.e`],
    'with half a point': [{ ...ec.jwk, y: undefined }, `${at}.y`],
    'with a short point': [{ ...ec.jwk, x: 'AAAA' }, `${at}.x`],
    'not on its curve': [{ ...ec.jwk, y: base64(Buffer.alloc(32, 1)) }, at],
    'for encryption': [{ ...rsa.jwk, use: 'enc' }, `${at}.use`],
    'for no check': [{ ...rsa.jwk, key_ops: ['encrypt'] }, `${at}.key_ops`],
    'for another algorithm': [{ ...rsa.jwk, alg: 'RS512' }, `${at}.alg`],
    'for the algorithm of another kind': [{ ...rsa.jwk, alg: 'ES256' }, `${at}.alg`],
    'with a number as kid': [{ ...rsa.jwk, kid: 1 }, `${at}.kid`],
  }
  for (const [name, [jwk, field]] of Object.entries(cases)) {
    test(name, () => expect(refusedKey(jwk)).toEqual(['invalid_request', field]))
  }

  test('and its private part is not repeated', () => {
    const jwk = ed.privateKey.export({ format: 'jwk' })
    const { message, hint } = refusal(() => parseIssuer(withKey(jwk)))
    expect(message + hint).not.toContain(jwk.d!)
  })
})

test('exactly one of keys and keysUrl is given, with 1 to 20 keys', () => {
  const one = issuerWith([ec])
  expect(refused(() => parseIssuer({ ...one, keysUrl: 'https://a.example/' }))).toEqual(['invalid_request', 'keys'])
  expect(refused(() => parseIssuer({ ...one, keys: undefined }))).toEqual(['invalid_request', 'keys'])
  for (const keys of [[], Array(21).fill(ec.jwk), undefined, {}]) {
    expect(refused(() => parseIssuer({ ...one, keys: { keys } }))).toEqual(['invalid_request', 'keys.keys'])
  }
  expect(refused(() => parseIssuer({ ...one, keys: [ec.jwk] }))).toEqual(['invalid_request', 'keys'])
  expect(parseIssuer({ ...one, keys: { keys: Array(20).fill(ec.jwk) } }).keys!.keys).toHaveLength(20)
})

test('a keysUrl has the form of a target', () => {
  const at = (keysUrl: Json) => () => parseIssuer(issuerWith([], { keys: undefined, keysUrl }))
  expect(refused(at('ftp://a.example/'))).toEqual(['push_target_refused', 'keysUrl'])
  expect(refused(at('https://ada:pw@a.example/'))).toEqual(['push_target_refused', 'keysUrl'])
  for (const url of [7, 'keys', 'https://a.example/ x', `https://a.example/${'a'.repeat(2048)}`]) {
    expect(refused(at(url))).toEqual(['invalid_request', 'keysUrl'])
  }
})

test('texts are neither empty nor long, and have no control characters', () => {
  const one = issuerWith([ec])
  for (const field of ['issuer', 'audience', 'user']) {
    for (const value of ['', 7, null, 'a\0', 'a\ud800', 'a'.repeat(1025)]) {
      expect(refused(() => parseIssuer({ ...one, [field]: value }))).toEqual(['invalid_request', field])
    }
  }
  expect(refused(() => parseIssuer({ ...one, jwks: {} }))).toEqual(['invalid_request', 'jwks'])
  expect(refused(() => parseIssuer({ ...one, grants: undefined }))).toEqual(['invalid_grant', 'grants'])
})

test('the whole is bounded in bytes', () => {
  const long = Array.from({ length: 25 }, (_, i) => ({ ...notesOfSub[0], hash: `${'{sub}:'.repeat(150)}${i}` }))
  const declaration = parseIssuer(
    issuerWith([ec], { grants: long.map((one) => ({ ...one, hash: `${one.hash}${'a'.repeat(500)}` })) }),
  )
  expect(refusal(() => encodeIssuer('auth', declaration)).code).toBe('invalid_request')
})
