import { checkName } from '../tables/collections.ts'
import { absentIf } from '../transport/errors.ts'
import type { Call, RequestOptions, Send } from '../transport/transport.ts'
import type { DeleteIssuerResponse, Issuer, ListIssuersResponse, PutIssuerRequest } from '../transport/wire-tokens.ts'

const pathOf = (name: string): string => `/api/issuers/${checkName(name, 'name')}`

/** The login services whose tokens are exchanged. Every method needs a secret key that is not limited to databases. */
export class Issuers {
  /** @internal */
  static readonly name: string = 'Issuers'
  readonly #send: Send

  /** Use `new Cubby(…).issuers` instead. */
  constructor(send: Send) {
    this.#send = send
  }

  /** Adds an issuer, or replaces it as a whole. A change ends the tokens that were exchanged before. */
  async put(name: string, issuer: PutIssuerRequest, options?: RequestOptions): Promise<Issuer> {
    return this.#send({ ...this.#call('PUT', name), body: JSON.stringify(issuer) }, options)
  }

  /** Undefined if there is none. */
  async get(name: string, options?: RequestOptions): Promise<Issuer | undefined> {
    return absentIf('issuer_not_found', this.#send({ ...this.#call('GET', name), effect: 'read' }, options))
  }

  /** Sorted by name. */
  async list(options?: RequestOptions): Promise<ListIssuersResponse> {
    return this.#send({ method: 'GET', path: '/api/issuers', effect: 'read' }, options)
  }

  /** Its tokens end. `deleted` is false if there was none. */
  async delete(name: string, options?: RequestOptions): Promise<DeleteIssuerResponse> {
    return this.#send(this.#call('DELETE', name), options)
  }

  #call(method: Call['method'], name: string): Call {
    return { method, path: pathOf(name), effect: 'write' }
  }
}
