import { compactVerify } from 'jose'
import type { IssuerDeclaration } from '../core/issuers/issuer.ts'
import { findKey, invalidToken, type LoginToken } from '../core/logins/login-token.ts'
import { checkTarget } from '../push/target.ts'
import type { FetchOptions } from './fetch-keys.ts'
import { KeySets } from './key-sets.ts'

/** Checks the signatures of login tokens, in one process. */
export class Logins {
  readonly #options: FetchOptions
  readonly #keySets: KeySets

  constructor(options: FetchOptions, keySets = new KeySets(options)) {
    this.#options = options
    this.#keySets = keySets
  }

  /** Throws `push_target_refused` if keys must not be fetched from there. A name that does not resolve now is accepted. */
  checkKeysUrl(url: string): Promise<void> {
    const { allow, resolve } = this.#options
    return checkTarget(url, allow, resolve, undefined, 'keysUrl')
  }

  /** Throws `invalid_token` unless a key of the issuer has signed the token, and `unavailable` if its keys cannot be fetched. */
  async verify(token: LoginToken, orgId: number, { keys, keysUrl }: IssuerDeclaration, nowMs: number): Promise<void> {
    const find = (all: Parameters<typeof findKey>[0]) => findKey(all, token)
    const key = keys === undefined ? await this.#keySets.find(orgId, keysUrl!, find, nowMs) : find(keys.keys)
    if (key === undefined) {
      throw invalidToken(
        token.kid === undefined
          ? 'The login token has no kid, and not exactly one key of the issuer fits its alg.'
          : 'The issuer has not exactly one key with the kid and for the alg of the login token.',
      )
    }
    try {
      await compactVerify(token.text, key, { algorithms: [token.alg] })
    } catch {
      throw invalidToken('The signature of the login token is not one of the key of the issuer.')
    }
  }
}
