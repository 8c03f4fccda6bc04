import { createPublicKey } from 'node:crypto'
import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { type Members, parseObject } from '../members.ts'
import { decodeBase64Url } from '../text/base64url.ts'

/** A public key of an issuer: a JWK (RFC 7517) with the members that we read, and no others. */
export interface IssuerKey {
  kty: 'RSA' | 'EC' | 'OKP'
  crv?: string
  kid?: string
  use?: 'sig'
  key_ops?: ['verify']
  alg?: string
  n?: string
  e?: string
  x?: string
  y?: string
}

const rsaBitsMin = 2_048
const rsaBitsMax = 4_096

/** The algorithms of login tokens, with the kind of key that each takes. Other curves than theirs are refused as keys. */
const algorithms = { RS256: 'RSA', PS256: 'RSA', ES256: 'EC', EdDSA: 'OKP' } as const

export type LoginAlgorithm = keyof typeof algorithms

export const isLoginAlgorithm = (alg: unknown): alg is LoginAlgorithm =>
  typeof alg === 'string' && Object.hasOwn(algorithms, alg)

/** Tells whether the key may check signatures of that algorithm. */
export const fits = ({ kty, alg }: IssuerKey, algorithm: LoginAlgorithm): boolean =>
  kty === algorithms[algorithm] && (alg === undefined || alg === algorithm)

const refuse = (field: string, message: string, hint?: string): never => {
  throw new CubbyError('invalid_request', `${field} ${message}`, { field, hint })
}

const bytesOf = (members: Members, name: string, field: string): Buffer => {
  const value = members[name]
  const bytes = typeof value === 'string' && value !== '' ? decodeBase64Url(value) : undefined
  return bytes ?? refuse(`${field}.${name}`, `is ${describeValue(value)}; it takes base64url.`)
}

/** An exponent of 1 would make every signature valid, and a long one makes the check slow. */
const isExponent = (bytes: Buffer): boolean =>
  bytes.length <= 4 && bytes.readUIntBE(0, bytes.length) >= 3 && bytes.at(-1)! % 2 === 1

const readRsa = (members: Members, field: string): Pick<IssuerKey, 'n' | 'e'> => {
  const n = bytesOf(members, 'n', field)
  const bits = n.length * 8 - Math.clz32(n[0]!) + 24
  if (n[0] === 0 || bits < rsaBitsMin || bits > rsaBitsMax) {
    refuse(`${field}.n`, `is a modulus of ${bits} bits; it takes ${rsaBitsMin} to ${rsaBitsMax}.`)
  }
  if (!isExponent(bytesOf(members, 'e', field))) refuse(`${field}.e`, 'is no exponent for signatures, such as "AQAB".')
  return { n: members.n as string, e: members.e as string }
}

const readPoint = (members: Members, names: readonly ('x' | 'y')[], field: string): Pick<IssuerKey, 'x' | 'y'> =>
  Object.fromEntries(
    names.map((name) => {
      if (bytesOf(members, name, field).length !== 32) refuse(`${field}.${name}`, 'does not have 32 bytes.')
      return [name, members[name]]
    }),
  )

const kinds = 'It takes "RSA", "EC" with the curve "P-256", or "OKP" with the curve "Ed25519".'

const readMaterial = (members: Members, field: string): Pick<IssuerKey, 'kty' | 'crv' | 'n' | 'e' | 'x' | 'y'> => {
  const { kty, crv } = members
  if (kty === 'RSA') return { kty, ...readRsa(members, field) }
  if (kty === 'EC' && crv === 'P-256') return { kty, crv, ...readPoint(members, ['x', 'y'], field) }
  if (kty === 'OKP' && crv === 'Ed25519') return { kty, crv, ...readPoint(members, ['x'], field) }
  const isCurve = kty === 'EC' || kty === 'OKP'
  return refuse(
    `${field}.${isCurve ? 'crv' : 'kty'}`,
    `is ${describeValue(isCurve ? crv : kty)}, with which no login token can be checked.`,
    kinds,
  )
}

const isUsable = (jwk: IssuerKey): boolean => {
  try {
    return createPublicKey({ key: { ...jwk }, format: 'jwk' }).type === 'public'
  } catch {
    return false
  }
}

/** Members of private keys: of RSA, of the curves, and of RSA with several primes. */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth']

/** Checks a key. Throws `invalid_request` for one that is not public, or that could never check a login token. */
export const parseIssuerKey = (value: unknown, field: string): IssuerKey => {
  const members = parseObject(value, field)
  const { kty, kid, use, key_ops: operations, alg } = members
  if (kty === 'oct' || members.k !== undefined) {
    refuse(field, 'is a symmetric key; it takes public keys.', 'Whoever can check such a token can also make one.')
  }
  if (privateMembers.some((name) => members[name] !== undefined)) {
    refuse(field, 'is a private key; it takes public keys.', 'Replace this key: it has been sent to another server.')
  }
  const material = readMaterial(members, field)
  if (kid !== undefined && typeof kid !== 'string')
    refuse(`${field}.kid`, `is ${describeValue(kid)}; it takes a string.`)
  if (use !== undefined && use !== 'sig') refuse(`${field}.use`, `is ${describeValue(use)}; it takes "sig".`)
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    refuse(`${field}.key_ops`, 'does not have "verify".')
  }
  if (alg !== undefined && !(isLoginAlgorithm(alg) && fits(material, alg))) {
    refuse(`${field}.alg`, `is ${describeValue(alg)}; it takes RS256, PS256, ES256 or EdDSA, as the key is.`)
  }
  if (!isUsable(material)) refuse(field, 'is not a valid key.')
  return {
    ...{
      kty: material.kty,
      ...(kid !== undefined && { kid: kid as string }),
      ...(use !== undefined && { use: 'sig' }),
    },
    ...(operations !== undefined && { key_ops: ['verify'] }),
    ...(alg !== undefined && { alg: alg as string }),
    ...material,
  }
}
