import { tokenCacheBytesMax } from '../core/limits.ts'
import type { Keyring } from '../core/store-secrets.ts'
import { indexGrants } from '../core/tokens/grants.ts'
import { decodeUserToken, markOf, shareOfUser, userTokenPrefix } from '../core/tokens/user-token.ts'
import type { ApiKey, TokenUser } from '../store/api-keys.ts'

/** A user token that was opened. */
export interface FoundToken {
  /** The API key that it belongs to. */
  readonly keyId: string
  /** The keyring that has opened it: another one may not. */
  readonly keyringId: string
  readonly text: string
  readonly content: Omit<TokenUser, 'shareSeq'>
  /** The user epoch at which it was valid: until that moves, nobody was revoked. */
  validAtEpoch?: number
  /** The key as it was found last, and the same with the user. */
  found?: ApiKey
  apiKey?: ApiKey
}

/** Undefined if the text is not a token of this store. */
export const openToken = ({ tokenSeal, id }: Keyring, text: string): FoundToken | undefined => {
  const token = decodeUserToken(tokenSeal, text)
  if (token === undefined) return undefined
  const { keyId, user, grants, expiresAtMs } = token
  const content = { name: user, grants, grantsOn: indexGrants(grants), mark: markOf(token), expiresAtMs }
  return { keyId, keyringId: id, text, content }
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

const bearer = 'Bearer '
const tokenBegins = bearer + userTokenPrefix

export const holdsToken = (header: string): boolean => header.startsWith(tokenBegins)

/** A part of the seal's tag, which is another one in each token: to hash a header of 4 kB takes as long as much of a get. */
const tagOf = (header: string): string => header.slice(tokenBegins.length, tokenBegins.length + 20)

/** Authorization headers whose token was opened, bounded in bytes. The one that was opened first goes first. */
class TokenCache {
  readonly #tokens = new Map<string, { header: string; token: FoundToken }>()
  #bytes = 0

  get(header: string): FoundToken | undefined {
    const found = this.#tokens.get(tagOf(header))
    return found?.header === header ? found.token : undefined
  }

  /** A header that is padded with spaces is not kept. */
  set(header: string, token: FoundToken): void {
    if (header !== bearer + token.text) return
    const tag = tagOf(header)
    this.#delete(tag)
    this.#tokens.set(tag, { header, token })
    this.#bytes += bytesOf(header)
    for (const [oldest] of this.#tokens) {
      if (this.#bytes <= tokenCacheBytesMax) return
      this.#delete(oldest)
    }
  }

  #delete(tag: string): void {
    const found = this.#tokens.get(tag)
    if (found === undefined) return
    this.#tokens.delete(tag)
    this.#bytes -= bytesOf(found.header)
  }
}

export const openedTokens = new TokenCache()
