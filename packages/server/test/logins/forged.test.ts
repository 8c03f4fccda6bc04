import { describe, expect, test } from 'bun:test'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { CubbyError } from '../../src/core/errors.ts'
import { encodeIssuer, parseIssuer, readStoredIssuer } from '../../src/core/issuers/issuer.ts'
import { checkTimes, isOf, parseLoginToken } from '../../src/core/logins/login-token.ts'
import { Logins } from '../../src/logins/logins.ts'
import { allowNothing } from '../../src/push/allow.ts'
import type { Json } from '../harness.ts'
import {
  audience,
  base64,
  claimsAt,
  issuer,
  issuerWith,
  type LoginKey,
  login,
  makeKey,
  signatureOf,
  signText,
} from './login.ts'

// If one of these were believed, anybody could be anybody. All that a token passes before its claims count.

const nowMs = 1_800_000_000_500
const nowSeconds = 1_800_000_000
const keys = {
  ES256: makeKey('ES256', { kid: 'ec' }),
  RS256: makeKey('RS256', { kid: 'rsa' }),
  EdDSA: makeKey('EdDSA', { kid: 'ed' }),
}
const pss = makeKey('PS256', { kid: 'pss', alg: 'PS256' })
const all = [...Object.values(keys), pss]
const { ES256: ec, RS256: rsa, EdDSA: ed } = keys

const logins = new Logins({ allow: allowNothing })

/** The reason for which the token is refused; undefined if it is believed. */
const reasonOf = async (text: string, ofKeys: readonly LoginKey[] = all): Promise<string | undefined> => {
  const declaration = readStoredIssuer(encodeIssuer('auth', parseIssuer(issuerWith(ofKeys))))
  try {
    const token = parseLoginToken(text)
    if (!isOf(token, declaration)) return 'another issuer'
    checkTimes(token, nowMs)
    await logins.verify(token, 1, declaration, nowMs)
    return undefined
  } catch (error) {
    if (!(error instanceof CubbyError) || error.code !== 'invalid_token') throw error
    // Neither the token nor what it says is repeated.
    for (const part of text.split('.')) if (part.length > 8) expect(error.message + error.hint).not.toContain(part)
    expect(error.message).not.toContain('SECRET')
    return error.message
  }
}

const good = login(ec, nowMs)
const [header, claims, signature] = good.split('.') as [string, string, string]
const json = (value: Json): string => JSON.stringify(value)
const right = json(claimsAt(nowMs))

describe('a token is believed', () => {
  for (const [alg, key] of Object.entries({ ...keys, PS256: pss })) {
    test(alg, async () => expect(await reasonOf(login(key, nowMs))).toBeUndefined())
  }
  const others: Record<string, string> = {
    'with typ JWT': login(ec, nowMs, {}, { typ: 'JWT' }),
    'with typ AT+JWT': login(ec, nowMs, {}, { typ: 'AT+JWT' }),
    'without kid, if one key fits': login(ec, nowMs, {}, { kid: undefined }),
    'with several audiences': login(ec, nowMs, { aud: ['other', audience] }),
    'up to the last moment': login(ec, nowMs, { exp: nowSeconds + 0.501 }),
    'with an iat 24 hours ago': login(ec, nowMs, { iat: nowSeconds - 86_399 }),
    'with iat and nbf 60 s ahead': login(ec, nowMs, { iat: nowSeconds + 60, nbf: nowSeconds + 60 }),
    'with jku, x5u, jwk and x5c, which are ignored': login(
      ec,
      nowMs,
      {},
      {
        ...{ jku: 'https://evil.example/', x5u: 'https://evil.example/', x5c: ['MIIB'], jwk: makeKey().jwk },
      },
    ),
    'with claims of any kind': login(ec, nowMs, { roles: ['a'], deep: { a: { b: [1] } }, __proto__: null, no: null }),
  }
  for (const [name, text] of Object.entries(others)) {
    test(name, async () => expect(await reasonOf(text)).toBeUndefined())
  }
})

/** A key of the attacker, under the kid of ours. */
const evil = makeKey('ES256', { kid: 'ec' })
const spki = (key: LoginKey): string => key.publicKey.export({ type: 'spki', format: 'pem' }) as string
const hmac = (secret: string | Uint8Array, kid: string): string => {
  const text = `${base64(json({ alg: 'HS256', kid }))}.${base64(right)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })
const small = generateKeyPairSync('rsa', { modulusLength: 1024 })
const derSignature = (): string => base64(sign('sha256', Buffer.from(`${header}.${claims}`), ec.privateKey))

describe('a token is refused', () => {
  const cases: Record<string, [string, RegExp]> = {
    'alg none, without a signature': [`${base64(json({ alg: 'none' }))}.${claims}.`, /alg/],
    'alg none in any case, with a signature': [signText(ec, json({ alg: 'nOnE', kid: 'ec' }), right), /alg/],
    'no alg': [signText(ec, json({ kid: 'ec' }), right), /alg/],
    'alg as a list': [signText(ec, json({ alg: ['ES256'], kid: 'ec' }), right), /alg/],
    'alg of the prototype': [signText(ec, json({ alg: 'toString', kid: 'ec' }), right), /alg/],
    'HMAC with the public key as PEM': [hmac(spki(rsa), 'rsa'), /alg/],
    'HMAC with the modulus': [hmac(Buffer.from(rsa.jwk.n, 'base64url'), 'rsa'), /alg/],
    'HMAC with the JWK': [hmac(json(ec.jwk), 'ec'), /alg/],
    'the signature of another key under our kid': [login(evil, nowMs), /signature/],
    'the key in its own header': [login(evil, nowMs, {}, { jwk: evil.jwk }), /signature/],
    'a jku of the attacker': [login(evil, nowMs, {}, { jku: 'https://evil.example/keys' }), /signature/],
    'an unknown kid': [login(ec, nowMs, {}, { kid: 'SECRET' }), /kid/],
    'the kid of a key of another kind': [login(ec, nowMs, {}, { kid: 'rsa' }), /kid/],
    'a kid that is no string': [login(ec, nowMs, {}, { kid: 7 }), /kid/],
    'an alg that the key does not allow': [login({ ...pss, alg: 'RS256' }, nowMs), /kid/],
    'RS256 as PS256': [signText(rsa, json({ alg: 'PS256', kid: 'rsa' }), right), /signature/],
    'without kid, if two keys fit': [login(rsa, nowMs, {}, { alg: 'PS256', kid: undefined }), /not exactly one/],
    'the curve P-384': [
      signText({ ...ec, privateKey: p384.privateKey }, json({ alg: 'ES256', kid: 'ec' }), right),
      /signature/,
    ],
    ES384: [login(ec, nowMs, {}, { alg: 'ES384' }), /alg/],
    'RSA of 1,024 bits': [
      signText({ ...rsa, privateKey: small.privateKey }, json({ alg: 'RS256', kid: 'rsa' }), right),
      /signature/,
    ],
    'a signature in DER': [`${header}.${claims}.${derSignature()}`, /signature/],
    'a signature of zeros': [`${header}.${claims}.${base64(Buffer.alloc(64))}`, /signature/],
    'claims that were changed': [
      `${header}.${base64(json(claimsAt(nowMs, { sub: 'eve' })))}.${signature}`,
      /signature/,
    ],
    'a header that was changed': [
      `${base64(json({ alg: 'ES256', kid: 'ec', typ: 'JWT' }))}.${claims}.${signature}`,
      /signature/,
    ],
    crit: [login(ec, nowMs, {}, { crit: ['exp'] }), /crit/],
    'crit that is null': [login(ec, nowMs, {}, { crit: null }), /crit/],
    'crit with b64': [login(ec, nowMs, {}, { crit: ['b64'], b64: false }), /crit/],
    'another typ': [login(ec, nowMs, {}, { typ: 'secevent+jwt' }), /typ/],
    'a typ that is no string': [login(ec, nowMs, {}, { typ: ['JWT'] }), /typ/],
    'two aud': [
      signText(ec, json({ alg: 'ES256', kid: 'ec' }), right.replace('"aud"', '"aud":"other","aud"')),
      /twice/,
    ],
    'two sub, one with an escape': [
      signText(ec, json({ alg: 'ES256', kid: 'ec' }), right.replace('"sub"', '"s\\u0075b":"eve","sub"')),
      /twice/,
    ],
    'two alg': [signText(ec, '{"alg":"none","alg":"ES256","kid":"ec"}', right), /twice/],
    'two of a claim after a thousand others': [
      signText(
        ec,
        json({ alg: 'ES256', kid: 'ec' }),
        right.replace(
          '{',
          `{${Array.from({ length: 1_100 }, (_, i) => `"${i.toString(36)}":1,`).join('')}"sub":"eve",`,
        ),
      ),
      /twice/,
    ],
    'two __proto__': [
      signText(ec, '{"alg":"ES256","kid":"ec"}', right.replace('{', '{"__proto__":1,"__proto__":2,')),
      /twice/,
    ],
    padding: [`${good}=`, /signature/],
    'padding in the claims': [good.replace(claims, `${claims}=`), /claims/],
    'white space': [`${header}.${claims}. ${signature}`, /signature/],
    'a line break at the end': [`${good}\n`, /signature/],
    'base64 instead of base64url': [
      `${header}.${base64(right.replace('{', '{"a":"???>>>",')).replaceAll('_', '/').replaceAll('-', '+')}.${signature}`,
      /claims/,
    ],
    'spare bits': [`${good.slice(0, -1)}${spareOf(good.at(-1)!)}`, /signature/],
    'two parts': [`${header}.${claims}`, /three parts/],
    'four parts': [`${good}.${signature}`, /three parts/],
    'five parts, as an encrypted one': [`${good}.${signature}.${signature}`, /three parts/],
    nothing: ['', /three parts/],
    'empty parts': ['..', /header/],
    'a header that is no object': [signText(ec, '[]', right), /header/],
    'claims that are no object': [signText(ec, json({ alg: 'ES256', kid: 'ec' }), '"SECRET"'), /claims/],
    'claims that are no JSON': [signText(ec, json({ alg: 'ES256', kid: 'ec' }), `${right}SECRET`), /claims/],
    'claims with a byte order mark': [signText(ec, json({ alg: 'ES256', kid: 'ec' }), `\ufeff${right}`), /claims/],
    'claims that are not UTF-8': [latinClaims(), /claims/],
    'huge claims': [login(ec, nowMs, { a: 'a'.repeat(13_000) }), /16384/],
    'deep claims': [signText(ec, json({ alg: 'ES256', kid: 'ec' }), `{"a":${'['.repeat(6_000)}`), /claims/],
    'another iss': [login(ec, nowMs, { iss: `${issuer}x` }), /another issuer/],
    'an iss in a list': [login(ec, nowMs, { iss: [issuer] }), /another issuer/],
    'another aud': [login(ec, nowMs, { aud: 'other' }), /another issuer/],
    'an aud that begins as ours': [login(ec, nowMs, { aud: [`${audience}-2`, `x ${audience}`] }), /another issuer/],
    'no aud': [login(ec, nowMs, { aud: undefined }), /another issuer/],
    'an aud in an object': [login(ec, nowMs, { aud: { [audience]: audience } }), /another issuer/],
    'an aud in a list in a list': [login(ec, nowMs, { aud: [[audience]] }), /another issuer/],
    'an exp that has come': [login(ec, nowMs, { exp: nowSeconds + 0.5 }), /expired/],
    'no exp': [login(ec, nowMs, { exp: undefined }), /exp/],
    'an exp as text': [login(ec, nowMs, { exp: String(nowSeconds + 60) }), /exp/],
    'an exp beyond all numbers': [
      signText(ec, json({ alg: 'ES256', kid: 'ec' }), right.replace(/"exp":\d+/, '"exp":1e999')),
      /exp/,
    ],
    'no iat': [login(ec, nowMs, { iat: undefined }), /iat/],
    'an iat that is null': [login(ec, nowMs, { iat: null }), /iat/],
    'an iat more than 24 hours ago: a token that is replayed': [
      login(ec, nowMs, { iat: nowSeconds - 86_400 }),
      /24 hours/,
    ],
    'an iat more than 60 s ahead': [login(ec, nowMs, { iat: nowSeconds + 61 }), /iat/],
    'an nbf more than 60 s ahead': [login(ec, nowMs, { nbf: nowSeconds + 61 }), /nbf/],
    'an nbf as text': [login(ec, nowMs, { nbf: '0' }), /nbf/],
  }
  for (const [name, [text, reason]] of Object.entries(cases)) {
    test(name, async () => expect(await reasonOf(text)).toMatch(reason))
  }

  test('with every bit of its signature changed, and every character of it left out', async () => {
    const bytes = Buffer.from(signature, 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit += 7) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(await reasonOf(`${header}.${claims}.${base64(changed)}`)).toMatch(/signature/)
    }
    for (let i = 0; i < good.length; i += 11) expect(await reasonOf(good.slice(0, i) + good.slice(i + 1))).toBeDefined()
  })

  test('if its key is for something else', async () => {
    const token = login(ec, nowMs)
    for (const members of [{ alg: 'ES256' }, { use: 'sig' }, { key_ops: ['verify'] }]) {
      expect(await reasonOf(token, [{ ...ec, jwk: { ...ec.jwk, ...members } }])).toBeUndefined()
    }
    expect(await reasonOf(token, [rsa, ed])).toMatch(/kid/)
    expect(await reasonOf(token, [ec, { ...ec, jwk: evil.jwk }])).toMatch(/not exactly one/)
    const { kid: _, ...withoutKid } = ec.jwk
    expect(await reasonOf(token, [{ ...ec, jwk: withoutKid }])).toMatch(/kid/)
  })
})

test('the longest token that is taken is checked fast, whatever is in it', async () => {
  const room = Math.floor(((16_384 - 200) * 3) / 4)
  for (const part of ['{"999":1},', '[],', '"\\u0000",', '1e9,']) {
    const list = part.repeat(Math.floor((room - 300) / part.length)).slice(0, -1)
    const text = signText(ec, json({ alg: 'ES256', kid: 'ec' }), right.replace('{', `{"a":[${list}],`))
    expect(text.length).toBeGreaterThan(15_000)
    expect(await reasonOf(text)).toBeUndefined()
  }
})

function latinClaims(): string {
  const text = `${base64('{"alg":"ES256","kid":"ec"}')}.${base64(Buffer.from(right.replace('ada', 'ad\u00e9'), 'latin1'))}`
  return `${text}.${base64(signatureOf(ec, text))}`
}

/** Another last character of base64url for the same bytes. */
function spareOf(last: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return alphabet[alphabet.indexOf(last) ^ 1]!
}
