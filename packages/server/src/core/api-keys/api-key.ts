import { createHash } from 'node:crypto'
import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { keyDatabasesMax, keyNameCharactersMax, linkSessionMsMax } from '../limits.ts'
import { parseName } from '../names.ts'
import { requireScalar, type Scalar, words } from '../scalar.ts'
import { base62Alphabet, randomBase62 } from '../text/base62.ts'

export type KeyKind = 'secret' | 'public'

const prefixes: Record<KeyKind, string> = { secret: 'svc_live_', public: 'svc_pub_' }
const pattern = /^svc_(?:live|pub)_[0-9A-Za-z]{38}$/
const checksumLength = 6

/** CRC-32 of the text as six base62 digits: a mistyped key is rejected without access to the store. */
const checksum = (text: string): string => {
  let rest = Bun.hash.crc32(text)
  let digits = ''
  for (let i = 0; i < checksumLength; i++) {
    digits = base62Alphabet[rest % 62]! + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

export const generateApiKey = (kind: KeyKind): string => {
  const body = prefixes[kind] + randomBase62(32)
  return body + checksum(body)
}

const generateKeyId = (): string => `key_${randomBase62(20)}`

export const isWellFormedApiKey = (text: string): boolean =>
  pattern.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)

/** The store keeps this hash and the last four characters. A key has 190 random bits, so it needs no salt or stretching. */
export const hashApiKey = (text: string): string => createHash('sha256').update(text).digest('hex')

export const maskApiKey = (kind: KeyKind, lastFour: string): string => `${prefixes[kind]}****${lastFour}`

export interface NewApiKey {
  id: string
  kind: KeyKind
  name: string | null
  hash: string
  lastFour: string
  /** null: every database of the organization. */
  databases: string[] | null
  expiresAtMs: number | null
  link: LinkState | null
  /**
   * The time at which it ends instead, if the key that creates it is that of a sign-in link and has not created such a key
   * before.
   */
  linkExpiresAtMs: number | null
}

/** The state of a sign-in link's key: whether it has created the one key that may end after it. Other keys have null. */
export type LinkState = 'unused' | 'used'

export interface ApiKeyRequest {
  kind: KeyKind
  name?: string | null
  databases?: string[] | null
  expiresAtMs?: number | null
  linkExpiresAtMs?: number | null
  /** Made for a sign-in link. No request over HTTP can ask for it. */
  isLink?: boolean
}

/** The earlier of two ends; null is no end. */
export const earlierEnd = (oneMs: number | null, otherMs: number | null): number | null =>
  oneMs === null || otherMs === null ? (oneMs ?? otherMs) : Math.min(oneMs, otherMs)

/** Ends of a new key, by what was asked for and by the key that creates it: nobody gives away more time than they have. */
export const endsOfNewKey = (
  creator: { expiresAtMs: number | null; link: LinkState | null } | undefined,
  askedMs: number | null,
  nowMs: number,
): Pick<NewApiKey, 'expiresAtMs' | 'linkExpiresAtMs'> => {
  const endMs = creator?.expiresAtMs ?? null
  if (endMs === null || (askedMs !== null && askedMs <= endMs)) return { expiresAtMs: askedMs, linkExpiresAtMs: null }
  const linkEndMs = Math.min(askedMs ?? Number.POSITIVE_INFINITY, nowMs + linkSessionMsMax)
  return { expiresAtMs: endMs, linkExpiresAtMs: creator?.link == null ? null : linkEndMs }
}

/** A new key: its text, which only the answer ever contains, and the part that the store keeps. */
export const makeApiKey = (request: ApiKeyRequest): { text: string; kept: NewApiKey } => {
  const text = generateApiKey(request.kind)
  return {
    text,
    kept: {
      id: generateKeyId(),
      kind: request.kind,
      name: request.name ?? null,
      hash: hashApiKey(text),
      lastFour: text.slice(-4),
      databases: request.databases ?? null,
      expiresAtMs: request.expiresAtMs ?? null,
      link: request.isLink === true ? 'unused' : null,
      linkExpiresAtMs: request.linkExpiresAtMs ?? null,
    },
  }
}

export const refuseKeyMember = (field: string, message: string, hint?: string): never => {
  throw new CubbyError('invalid_request', `${field} ${message}`, { field, hint })
}

export const keyKindRule = {
  type: 'string',
  enum: ['secret', 'public'],
  [words]: { hint: 'A public key reads, a secret key reads and writes.' },
} as const satisfies Scalar

export const parseKeyKind = (value: unknown): KeyKind => requireScalar(keyKindRule, value, 'kind')

export const parseKeyName = (value: unknown): string | null => {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') return refuseKeyMember('name', `is ${describeValue(value)}; it takes a string.`)
  const characters = [...value].length
  if (characters < 1 || characters > keyNameCharactersMax || !value.isWellFormed()) {
    return refuseKeyMember('name', `takes 1 to ${keyNameCharactersMax} well-formed characters.`)
  }
  return value
}

export const parseExpiresAt = (value: unknown, nowMs: number): number | null => {
  if (value === undefined || value === null) return null
  const ms = requireEpochMs(value, 'expiresAt')
  if (ms > nowMs) return ms
  return refuseKeyMember(
    'expiresAt',
    'is in the past; it takes a time in the future.',
    looksLikeSeconds(ms, nowMs) ? 'It looks like seconds; give milliseconds.' : undefined,
  )
}

export const requireEpochMs = (value: unknown, field: string): number =>
  Number.isSafeInteger(value)
    ? (value as number)
    : refuseKeyMember(field, `is ${describeValue(value)}; it takes epoch milliseconds, an integer.`)

/** Tells whether a time in the past would be in the future if it were in seconds. */
export const looksLikeSeconds = (ms: number, nowMs: number): boolean => ms < nowMs / 100 && ms * 1000 > nowMs

export const parseKeyDatabases = (value: unknown): string[] | null => {
  if (value === undefined || value === null) return null
  if (!Array.isArray(value) || value.length < 1 || value.length > keyDatabasesMax) {
    return refuseKeyMember(
      'databases',
      `is ${Array.isArray(value) ? `an array of ${value.length}` : describeValue(value)}; it takes 1 to ${keyDatabasesMax} names.`,
      'Leave databases out to allow all of them.',
    )
  }
  return [...new Set(value.map((name, i) => parseName(name, `databases[${i}]`)))]
}
