import { CubbyError } from '../../core/errors.ts'
import { type SignedMethod, type SignedTarget, signedFileUrl } from '../../core/files/signed-url.ts'
import type { Keyring } from '../../core/store-secrets.ts'
import { encodeMark } from '../../core/tokens/user-token.ts'
import type { Access } from '../access.ts'

/** A URL below the address at which the server is reached. */
export interface FileUrl {
  /** Path and query. */
  target: string
  method: SignedMethod
  /** null: it is permanent. */
  expiresAtMs: number | null
}

/**
 * Refuses to sign for a caller that is restricted to reading: a signed URL would open a private file for everybody who has it.
 */
export const refuseSigning = ({ signsNothing }: Pick<Access, 'signsNothing'>, isAsked = false): void => {
  if (signsNothing !== true) return
  throw new CubbyError('private_file', 'This caller is restricted to reading: no URL is signed for it.', {
    field: isAsked ? 'expiresIn' : undefined,
    hint: isAsked
      ? 'Leave expiresIn out: public files have permanent URLs.'
      : 'The file is private; only public files have a URL without a signature.',
  })
}

/** Names the parameter with the mark of the token, in a URL that a user has signed. */
export const markParameter = 'mark'

/** The signed URL of a file. It ends with the API key or the user token that signs it, at the latest. */
export const signUrl = (
  access: Pick<Access, 'apiKey' | 'signsNothing'>,
  { urlKeys, tokenSeal }: Keyring,
  target: SignedTarget,
  seconds: number,
  options: ReadonlyMap<string, string>,
  nowMs: number,
): FileUrl & { expiresAtMs: number } => {
  refuseSigning(access)
  const { id, expiresAtMs: keyEndMs, user } = access.apiKey
  const never = Number.POSITIVE_INFINITY
  const expiresAtMs = Math.min(nowMs + seconds * 1000, keyEndMs ?? never, user?.expiresAtMs ?? never)
  const marked = user && new Map([...options, [markParameter, encodeMark(tokenSeal, user.mark)]])
  const signed = { keyId: id, expiresAtMs, options: marked ?? options }
  return { target: signedFileUrl(urlKeys[0]!, '', target, signed), method: target.method, expiresAtMs }
}
