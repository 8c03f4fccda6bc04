import type { IssuerDeclaration } from '../../core/issuers/issuer.ts'
import type { LoginToken } from '../../core/logins/login-token.ts'

/** Services of a process for issuers and their login tokens. */
export interface LoginServices {
  /** Throws `push_target_refused` (field `keysUrl`) if keys must not be fetched from there. A name that does not resolve now is accepted. */
  checkKeysUrl(url: string): Promise<void>
  /** Throws `invalid_token` unless a key of the issuer has signed the token, and `unavailable` if its keys cannot be fetched. */
  verify(token: LoginToken, orgId: number, issuer: IssuerDeclaration, nowMs: number): Promise<void>
}
