import type { RequestOptions, Send } from '../transport/transport.ts'
import type {
  CreateTokenRequest,
  CreateTokenResponse,
  ExchangeTokenRequest,
  OwnToken,
  RevokeUserRequest,
  RevokeUserResponse,
} from '../transport/wire-tokens.ts'

/** Tokens of the people who use your application. */
export class Tokens {
  /** @internal */
  static readonly name: string = 'Tokens'
  readonly #send: Send

  /** Use `new Cubby(…).tokens` instead. */
  constructor(send: Send) {
    this.#send = send
  }

  /** Makes a token with which one person may do what the grants name, and nothing else. It needs a secret key. */
  async create(token: CreateTokenRequest, options?: RequestOptions): Promise<CreateTokenResponse> {
    return this.#post('', token, options)
  }

  /** A token for the login token (JWT) of an issuer. Every API key may exchange, but a public key also reads all tables of its databases. */
  async exchange(loginToken: string, options?: RequestOptions): Promise<CreateTokenResponse> {
    return this.#post('/exchange', { token: loginToken } satisfies ExchangeTokenRequest, options)
  }

  /**
   * Ends every token that this user got before. Of login tokens that an issuer has signed until then, none is exchanged any
   * more. It needs a secret key that is not limited to databases.
   */
  async revoke(user: string, options?: RequestOptions): Promise<RevokeUserResponse> {
    return this.#post('/revoke', { user } satisfies RevokeUserRequest, options)
  }

  /** The token that this client uses: its user, its grants, its end. */
  async self(options?: RequestOptions): Promise<OwnToken> {
    return this.#send({ method: 'GET', path: '/api/tokens/self', effect: 'read' }, options)
  }

  // A token that nobody got does no harm, and a user who is revoked twice is revoked: all may be sent again.
  #post<T>(path: string, body: object, options: RequestOptions | undefined): Promise<T> {
    return this.#send(
      { method: 'POST', path: `/api/tokens${path}`, effect: 'read', body: JSON.stringify(body) },
      options,
    )
  }
}
