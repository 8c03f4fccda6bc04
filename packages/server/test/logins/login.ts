import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { Json } from '../harness.ts'

// Login tokens as a login service makes them, with no code of `jose` or of ours: tests must not agree with themselves.

export interface LoginKey {
  privateKey: KeyObject
  publicKey: KeyObject
  alg: string
  /** The public JWK. */
  jwk: Json
}

const pairOf: Record<string, () => { privateKey: KeyObject; publicKey: KeyObject }> = {
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  PS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
}

export const makeKey = (alg = 'ES256', members: Json = {}): LoginKey => {
  const pair = pairOf[alg]!()
  return { ...pair, alg, jwk: { ...pair.publicKey.export({ format: 'jwk' }), ...members } }
}

export const base64 = (value: string | Uint8Array): string => Buffer.from(value as string).toString('base64url')

export const signatureOf = ({ alg, privateKey }: Pick<LoginKey, 'alg' | 'privateKey'>, text: string): Buffer => {
  const bytes = Buffer.from(text)
  switch (alg) {
    case 'EdDSA':
      return sign(null, bytes, privateKey)
    case 'ES256':
      return sign('sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' })
    case 'PS256':
      return sign('sha256', bytes, { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 })
    default:
      return sign('sha256', bytes, privateKey)
  }
}

/** Signs these texts of header and claims, whatever they are. */
export const signText = (key: LoginKey, header: string, claims: string): string => {
  const text = `${base64(header)}.${base64(claims)}`
  return `${text}.${base64(signatureOf(key, text))}`
}

export const issuer = 'https://login.example.com/'
export const audience = 'notes-app'

/** Claims that are right at that time. */
export const claimsAt = (nowMs: number, claims: Json = {}): Json => ({
  ...{ iss: issuer, aud: audience, sub: 'ada' },
  ...{ iat: Math.floor(nowMs / 1000) - 10, exp: Math.floor(nowMs / 1000) + 600 },
  ...claims,
})

/** A login token as it should be, with these differences; undefined leaves a member out. */
export const login = (key: LoginKey, nowMs: number, claims: Json = {}, header: Json = {}): string =>
  signText(
    key,
    JSON.stringify({ alg: key.alg, ...(key.jwk.kid === undefined ? {} : { kid: key.jwk.kid }), ...header }),
    JSON.stringify(claimsAt(nowMs, claims)),
  )

export const notesOfSub = [{ db: 'app', table: 'notes', hash: '{sub}', can: 'write' }]

/** The body that puts an issuer with these keys. */
export const issuerWith = (keys: readonly LoginKey[], members: Json = {}): Json => ({
  ...{ issuer, audience, keys: { keys: keys.map(({ jwk }) => jwk) }, grants: notesOfSub },
  ...members,
})
