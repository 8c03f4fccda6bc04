import { timingSafeEqual } from 'node:crypto'
import { signedParametersMax, urlClockMsMax, urlSecondsMax } from '../limits.ts'
import { fileUrl } from './file-url.ts'

// A signed URL allows one method on one file until it expires. Everything that it says is in its query and signed with a key
// that only the store has: no process has to remember it. It names the API key that signed it, and dies with that key.

export type SignedMethod = 'GET' | 'PUT'

/** The parameters of a query, decoded, in their order. */
export type Parameters = readonly (readonly [name: string, value: string])[]

/** The file that a signed URL is for. */
export interface SignedTarget {
  method: SignedMethod
  bucketId: string
  name: string
}

/** The facts that a valid signature confirms. */
export interface Signed {
  keyId: string
  expiresAtMs: number
  /** The options, by name. */
  options: ReadonlyMap<string, string>
}

/** The longest signed URL has a download name of which each character is encoded as nine. */
export const signedQueryCharactersMax = 5_000

const expires = 'expires'
const key = 'key'
const signature = 'signature'

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/**
 * The text that is signed. A list in JSON is never ambiguous: no two different requests have the same text. The order of
 * parameters does not matter, since some clients change it; their number and their values do.
 */
const signedText = ({ method, bucketId, name }: SignedTarget, parameters: Parameters): string => {
  const sorted = [...parameters].sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
  return JSON.stringify(['1', method, bucketId, name, ...sorted])
}

/** Has read the key already: a copy of it for each URL saves most of the time, and a page may have a thousand of them. */
const hmacs = new WeakMap<Uint8Array, Bun.CryptoHasher>()

const hmacOf = (urlKey: Uint8Array): Bun.CryptoHasher => {
  let hmac = hmacs.get(urlKey)
  if (hmac === undefined) {
    hmac = new Bun.CryptoHasher('sha256', urlKey)
    hmacs.set(urlKey, hmac)
  }
  return hmac.copy()
}

/** base64url has several texts for the same bytes; the one that is written here is the right one. */
const sign = (urlKey: Uint8Array, text: string): string => hmacOf(urlKey).update(text).digest('base64url')

/** Browsers encode some characters that `encodeURIComponent` leaves, so these are encoded from the start. */
export const encodeParameter = (value: string): string =>
  plain.test(value)
    ? value
    : encodeURIComponent(value).replace(/[!'()*~]/g, (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`)

const plain = /^[A-Za-z0-9_.-]*$/

const queryOf = (parameters: Parameters): string =>
  parameters.map(([name, value]) => `${encodeParameter(name)}=${encodeParameter(value)}`).join('&')

/** The signed URL of a file. `base` as in `fileUrl`. */
export const signedFileUrl = (
  urlKey: Uint8Array,
  base: string,
  target: SignedTarget,
  { keyId, expiresAtMs, options }: Signed,
): string => {
  const parameters = [...options, [expires, String(expiresAtMs)], [key, keyId]] as const
  const text = sign(urlKey, signedText(target, parameters))
  return fileUrl(base, target.bucketId, target.name, queryOf([...parameters, [signature, text]]))
}

/** Tells whether a query has a signature: then its URL is a signed one, valid or not. Nothing is decoded for that. */
export const isSigned = (query: string): boolean => /(?:^|&)signature=/.test(query)

/**
 * The parameters of a query with a signature, decoded as a form. undefined if they are more or longer than a signed URL has: anybody
 * can send thousands, and to decode and sort them takes milliseconds.
 */
export const signedParameters = (query: string): Parameters | undefined => {
  if (query.length > signedQueryCharactersMax) return undefined
  let at = -1
  for (let count = 1; ; count++) {
    at = query.indexOf('&', at + 1)
    if (at < 0) return [...new URLSearchParams(query)]
    if (count >= signedParametersMax) return undefined
  }
}

/**
 * Compares the signature in constant time. undefined if it is not that of this request, or is there twice; also if the URL ends
 * later than any that this store gives out: who has a backup has the keys of it, and could sign one without an end.
 */
export const readSigned = (
  urlKeys: readonly Uint8Array[],
  target: SignedTarget,
  parameters: Parameters,
  nowMs: number,
): Signed | undefined => {
  const given = parameters.filter(([name]) => name === signature)
  const others = parameters.filter(([name]) => name !== signature)
  const text = signedText(target, others)
  const found = Buffer.from(given.length === 1 ? given[0]![1] : '')
  const isOurs = urlKeys.some((urlKey) => isEqual(found, Buffer.from(sign(urlKey, text))))
  if (!isOurs) return undefined
  const options = new Map(others)
  const [keyId, end] = [options.get(key), options.get(expires) ?? '']
  options.delete(key)
  options.delete(expires)
  const expiresAtMs = /^[0-9]+$/.test(end) ? Number(end) : Number.POSITIVE_INFINITY
  if (keyId === undefined || expiresAtMs > nowMs + urlSecondsMax * 1000 + urlClockMsMax) return undefined
  return { keyId, expiresAtMs, options }
}

const isEqual = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)
