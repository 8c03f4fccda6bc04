// Stands for a login service such as Auth0: it knows who somebody is and signs a token (JWT) that says so. A real one asks for a
// password. This one believes every name.

import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'

// A new pair for every start. A real service keeps its keys, and publishes the public ones at a URL (`keysUrl`).
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const kid = randomUUID()

export const issuer = 'urn:example:notes-login'
export const audience = 'notes'
export const publicKeys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' }] }

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token that says for 12 hours who somebody is. */
export const signLogin = (name) => {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: issuer, aud: audience, sub: name, iat: now, exp: now + 12 * 3600 }
  const text = `${encode({ alg: 'ES256', typ: 'JWT', kid })}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}
