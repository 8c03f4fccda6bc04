import { tokenCacheBytesMax } from '../core/limits.ts'
import type { Keyring } from '../core/store-secrets.ts'
import { decodeUserToken, markOf, shareOfUser } from '../core/tokens/user-token.ts'
import type { ApiKey, TokenUser } from '../store/api-keys.ts'

/** A user token that was opened. */
export interface FoundToken {
  /** The API key that it belongs to. */
  readonly keyId: string
  /** The keyring that has opened it: another one may not. */
  readonly keyringId: string
  readonly text: string
  readonly content: Omit<TokenUser, 'shareSeq'>
  /** The key as it was found last, and the same with the user. */
  found?: ApiKey
  apiKey?: ApiKey
}

/** Undefined if the text is not a token of this store. */
export const openToken = ({ tokenSeal, id }: Keyring, text: string): FoundToken | undefined => {
  const token = decodeUserToken(tokenSeal, text)
  if (token === undefined) return undefined
  const { keyId, user, grants, expiresAtMs } = token
  return { keyId, keyringId: id, text, content: { name: user, grants, mark: markOf(token), expiresAtMs } }
}

/** The caller: what the key may do is what the grants say, also if it is a public one. */
export const withUser = (token: FoundToken, apiKey: ApiKey): ApiKey => {
  if (token.found !== apiKey) {
    const { content } = token
    const shareSeq = shareOfUser(apiKey.orgId, content.mark.userHash)
    token.found = apiKey
    token.apiKey = { ...apiKey, kind: 'secret', user: { ...content, shareSeq } }
  }
  return token.apiKey!
}

/** A token is there as text twice, in the header and by itself, and in parts. */
const bytesOf = (header: string): number => 4 * header.length + 1_000

/** Authorization headers whose token was opened, bounded in bytes. The one that was opened first goes first. */
class TokenCache {
  readonly #tokens = new Map<string, FoundToken>()
  #bytes = 0

  get(header: string): FoundToken | undefined {
    return this.#tokens.get(header)
  }

  set(header: string, token: FoundToken): void {
    this.delete(header)
    this.#tokens.set(header, token)
    this.#bytes += bytesOf(header)
    for (const [oldest] of this.#tokens) {
      if (this.#bytes <= tokenCacheBytesMax) return
      this.delete(oldest)
    }
  }

  delete(header: string): void {
    if (this.#tokens.delete(header)) this.#bytes -= bytesOf(header)
  }
}

export const openedTokens = new TokenCache()
