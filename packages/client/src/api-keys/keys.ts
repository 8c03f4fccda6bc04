import { type ListOptions, listPath } from '../tables/tables.ts'
import { refusal } from '../transport/errors.ts'
import { Pages } from '../transport/pages.ts'
import type { RequestOptions, Send } from '../transport/transport.ts'
import type { CreateKeyRequest, CreateKeyResponse, KeyMetadata, ListKeysResponse } from '../transport/wire.ts'

/** The API keys of the organization. All of it needs a secret key that is not limited to some databases. */
export class Keys {
  readonly #send: Send

  /** Made by `new Cubby(…).keys`. */
  constructor(send: Send) {
    this.#send = send
  }

  /** The answer is the one place where the key itself is shown. */
  async create(key: CreateKeyRequest, options?: RequestOptions): Promise<CreateKeyResponse> {
    return this.#send({ method: 'POST', path: '/api/keys', effect: 'write', body: JSON.stringify(key) }, options)
  }

  /** Newest first, masked. */
  list(options: ListOptions = {}): Pages<ListKeysResponse, KeyMetadata> {
    return new Pages(
      (cursor = options.cursor) =>
        this.#send(
          { method: 'GET', path: listPath('/api/keys', { limit: options.limit, cursor }), effect: 'read' },
          options,
        ),
      (page) => page.keys,
    )
  }

  /** At once and for good. Again: the same answer, unchanged. */
  async revoke(id: string, options?: RequestOptions): Promise<KeyMetadata> {
    if (!/^[\w-]+$/.test(id)) throw refusal('key_not_found', 'id', `is "${id}", which is no id of a key.`)
    return this.#send({ method: 'DELETE', path: `/api/keys/${id}`, effect: 'once' }, options)
  }
}
