import { CubbyError } from '../errors.ts'
import type { IssuerDeclaration } from '../issuers/issuer.ts'
import { fits, type IssuerKey, isLoginAlgorithm, type LoginAlgorithm } from '../issuers/issuer-key.ts'
import { loginClockSecondsMax, loginTokenAgeSecondsMax, loginTokenCharactersMax } from '../limits.ts'
import type { Members } from '../members.ts'
import { decodeBase64Url } from '../text/base64url.ts'
import { checkJson, skipSpace } from '../text/json-scan.ts'
import { ObjectWalk, outline, shallowValue, valueSpan } from '../text/json-span.ts'

// A login token is a signed JWT. `jose` checks the signature; it accepts white space and spare bits in base64url and members that
// stand twice, so the form is checked here, before anything is believed.

export interface LoginToken {
  text: string
  alg: LoginAlgorithm
  kid: string | undefined
  /** Objects in it are empty: no claim in an object counts. */
  claims: Members
}

/** The texts repeat nothing of the token but names that every token has. */
export const invalidToken = (message: string, hint = 'Log in again, and exchange the new login token.'): CubbyError =>
  new CubbyError('invalid_token', message, { hint })

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const decodeText = (part: string): string | undefined => {
  const bytes = decodeBase64Url(part)
  try {
    return bytes && utf8.decode(bytes)
  } catch {
    return undefined
  }
}

const isJsonObject = (text: string): boolean => {
  if (text[skipSpace(text, 0)] !== '{') return false
  try {
    checkJson(text)
    return true
  } catch (error) {
    if (error instanceof CubbyError) return false
    throw error
  }
}

/** The members of a JSON object. Of one with thousands of objects in it nothing more is built. */
const readMembers = (part: string, what: 'header' | 'claims'): Members => {
  const text = decodeText(part)
  if (text === undefined || !isJsonObject(text)) {
    throw invalidToken(`The ${what} of the login token: no JSON object in base64url without padding.`)
  }
  const members = Object.create(null) as Members
  const walk = new ObjectWalk(text, skipSpace(text, 0), undefined)
  while (walk.next()) {
    if (Object.hasOwn(members, walk.name)) throw invalidToken(`The ${what} of the login token: a member stands twice.`)
    const span = valueSpan(text, walk.at)
    members[walk.name] = text[walk.at] === '[' ? outline(text, walk.at) : shallowValue(text, span)
    walk.at = span.end
  }
  return members
}

const types = ['jwt', 'at+jwt']

/** Reads a login token, which nobody has signed yet as far as we know. Throws `invalid_token`. */
export const parseLoginToken = (text: string): LoginToken => {
  if (text.length > loginTokenCharactersMax) {
    throw invalidToken(`The login token has more than ${loginTokenCharactersMax} characters.`)
  }
  const parts = text.split('.')
  const [first, second, signature] = parts as [string, string, string]
  if (parts.length !== 3)
    throw invalidToken('The login token is no signed JWT: it takes three parts with a "." between them.')
  const { alg, kid, typ, crit } = readMembers(first, 'header')
  if (!isLoginAlgorithm(alg)) throw invalidToken('The alg of the login token: it takes RS256, PS256, ES256 or EdDSA.')
  if (crit !== undefined) throw invalidToken('The header of the login token has crit, which is not known here.')
  if (typ !== undefined && !(typeof typ === 'string' && types.includes(typ.toLowerCase()))) {
    throw invalidToken('The typ of the login token: it takes JWT or at+jwt.')
  }
  if (kid !== undefined && typeof kid !== 'string') throw invalidToken('The kid of the login token is no string.')
  if (signature === '' || decodeBase64Url(signature) === undefined) {
    throw invalidToken('The signature of the login token is no base64url without padding.')
  }
  return { text, alg, kid, claims: readMembers(second, 'claims') }
}

/** Tells whether the token says that it is of the issuer. */
export const isOf = ({ claims }: LoginToken, { issuer, audience }: IssuerDeclaration): boolean => {
  const { iss, aud } = claims
  return iss === issuer && (Array.isArray(aud) ? aud.includes(audience) : aud === audience)
}

/** The key for the token: the one with its `kid`; without `kid` the only one that fits. Undefined if there is not exactly one. */
export const findKey = (keys: readonly IssuerKey[], { alg, kid }: LoginToken): IssuerKey | undefined => {
  const found = keys.filter((key) => fits(key, alg) && (kid === undefined || key.kid === kid))
  return found.length === 1 ? found[0] : undefined
}

/** A time of a token, in seconds: RFC 7519 allows fractions. */
const secondsOf = (claims: Members, name: 'exp' | 'iat'): number => {
  const value = claims[name]
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw invalidToken(`The ${name} of the login token is ${value === undefined ? 'missing' : 'no number'}.`)
}

interface LoginTimes {
  expiresAtMs: number
  issuedAtSeconds: number
}

/** Checks the times of the token. Throws `invalid_token`. */
export const checkTimes = ({ claims }: LoginToken, nowMs: number): LoginTimes => {
  const nowSeconds = nowMs / 1000
  const [exp, issuedAt] = [secondsOf(claims, 'exp'), secondsOf(claims, 'iat')]
  if (exp <= nowSeconds) throw invalidToken('The login token has expired: its exp has passed.')
  if (issuedAt < nowSeconds - loginTokenAgeSecondsMax)
    throw invalidToken('The iat of the login token is more than 24 hours ago.')
  for (const name of ['iat', 'nbf'] as const) {
    const value = claims[name]
    if (value === undefined) continue
    if (typeof value !== 'number') throw invalidToken(`The ${name} of the login token is no number.`)
    if (value > nowSeconds + loginClockSecondsMax) {
      throw invalidToken(`The ${name} of the login token is more than ${loginClockSecondsMax} s ahead.`)
    }
  }
  return { expiresAtMs: Math.floor(exp * 1000), issuedAtSeconds: Math.floor(issuedAt) }
}
