import { hash } from 'node:crypto'
import type { CursorSeal } from '../cursor-seal.ts'
import { CubbyError } from '../errors.ts'
import { tokenCharactersMax } from '../limits.ts'
import type { Grant } from './grants.ts'
import { hashUser, type TokenMark } from './user.ts'

// A user token is sealed with a key of the store: nobody can read or change it, and nothing is stored for it.

export const userTokenPrefix = 'svc_user_'

/** The content of a user token. */
export interface UserToken {
  /** The API key that it belongs to. */
  keyId: string
  expiresAtMs: number
  madeAtEpoch: number
  issuerEpoch: number | null
  user: string
  grants: Grant[]
}

/** The first element of a sealed list says what it is: a token, or the mark in a signed URL. */
const tokenForm = 1
const markForm = 'mark'

const sealed = (seal: CursorSeal, content: unknown[]): string =>
  seal.seal(Buffer.from(JSON.stringify(content))).toString('base64url')

/** Undefined if it was not sealed here. base64url has several texts for the same bytes; only the one that is written counts. */
const opened = (seal: CursorSeal, text: string): unknown[] | undefined => {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.toString('base64url') !== text) return undefined
  const content = seal.open(bytes)
  return content && (JSON.parse(content.toString()) as unknown[])
}

/** Throws `invalid_grant` if the grants do not fit. */
export const encodeUserToken = (seal: CursorSeal, token: UserToken): string => {
  const { keyId, expiresAtMs, madeAtEpoch, issuerEpoch, user, grants } = token
  const content = [tokenForm, keyId, expiresAtMs, madeAtEpoch, issuerEpoch, user, grants]
  const text = userTokenPrefix + sealed(seal, content)
  if (text.length <= tokenCharactersMax) return text
  throw new CubbyError(
    'invalid_grant',
    `The grants do not fit: the token would have ${text.length} characters; it takes at most ${tokenCharactersMax}.`,
    {
      field: 'grants',
      hint: 'Give fewer grants, or grants with "beginsWith" or "prefix" instead of many single ones.',
    },
  )
}

/** Undefined if the text is not a token of this store. */
export const decodeUserToken = (seal: CursorSeal, text: string): UserToken | undefined => {
  if (text.length > tokenCharactersMax || !text.startsWith(userTokenPrefix)) return undefined
  const content = opened(seal, text.slice(userTokenPrefix.length))
  if (content?.[0] !== tokenForm) return undefined
  const [, keyId, expiresAtMs, madeAtEpoch, issuerEpoch, user, grants] = content as [
    ...[number, string, number, number, number | null, string, Grant[]],
  ]
  return { keyId, expiresAtMs, madeAtEpoch, issuerEpoch, user, grants }
}

/** What a URL that was signed with a token says of it. It does not show the user. */
export const encodeMark = (seal: CursorSeal, { userHash, madeAtEpoch, issuerEpoch }: TokenMark): string =>
  sealed(seal, [markForm, userHash, madeAtEpoch, issuerEpoch])

export const decodeMark = (seal: CursorSeal, text: string): TokenMark | undefined => {
  const content = opened(seal, text)
  if (content?.[0] !== markForm) return undefined
  const [, userHash, madeAtEpoch, issuerEpoch] = content as [string, string, number, number | null]
  return { userHash, madeAtEpoch, issuerEpoch }
}

export const markOf = ({ user, madeAtEpoch, issuerEpoch }: UserToken): TokenMark => ({
  userHash: hashUser(user),
  madeAtEpoch,
  issuerEpoch,
})

/** The sequence numbers of API keys never come near it. */
const sharesFrom = 2 ** 48

/** The number under which a user has a share. It is the same in no two organizations. */
export const shareOfUser = (orgId: number, userHash: string): number =>
  sharesFrom + Number.parseInt(hash('sha256', `${orgId} ${userHash}`, 'hex').slice(0, 12), 16)
