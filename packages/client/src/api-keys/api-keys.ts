import { matches, refusal } from '../transport/errors.ts'
import { type ListOptions, listPath, Pages } from '../transport/pages.ts'
import type { RequestOptions, Send } from '../transport/transport.ts'
import type {
  CreateKeyRequest,
  CreateKeyResponse,
  KeyMetadata,
  ListKeysResponse,
  OwnKey,
  RollKeyResponse,
} from '../transport/wire.ts'

export interface NewKey extends Omit<CreateKeyRequest, 'expiresAt'> {
  /** A `Date`, or epoch milliseconds. If the calling key ends earlier, the new one ends with it. */
  expiresAt?: Date | number
}

export interface RollOptions extends RequestOptions {
  /** The end of the old key, a `Date` or epoch milliseconds: 24 hours from now if absent. A time in the past revokes it. */
  expiresAt?: Date | number
}

/** JSON would turn a time that is not a number into null, which means a key without an end. */
const timeOf = (time: Date | number | undefined): number | undefined => {
  const ms = time?.valueOf()
  if (Number.isNaN(ms))
    throw refusal('invalid_request', 'expiresAt', 'is not a valid time; it takes a Date or epoch milliseconds.')
  return ms
}

const pathOf = (id: string): string => {
  if (matches(/^[\w-]+$/, id)) return `/api/keys/${id}`
  throw refusal('key_not_found', 'id', `is "${id}", which is not the id of a key.`)
}

/** The API keys of the organization. Every method but `self` needs a secret key that is not limited to databases. */
export class Keys {
  /** @internal */
  static readonly name: string = 'Keys'
  readonly #send: Send

  /** Use `new Cubby(…).keys` instead. */
  constructor(send: Send) {
    this.#send = send
  }

  /** Only this response contains the key itself. */
  async create(key: NewKey, options?: RequestOptions): Promise<CreateKeyResponse> {
    const body = JSON.stringify({ ...key, expiresAt: timeOf(key.expiresAt) })
    return this.#send({ method: 'POST', path: '/api/keys', effect: 'write', body }, options)
  }

  /** Newest first. The keys are masked. */
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

  /** The key that this client uses, and the name of its organization. Works with every key. */
  async self(options?: RequestOptions): Promise<OwnKey> {
    return this.#send({ method: 'GET', path: '/api/keys/self', effect: 'read' }, options)
  }

  /** Takes effect at once and cannot be undone. A second call returns the same response. */
  async revoke(id: string, options?: RequestOptions): Promise<KeyMetadata> {
    return this.#send({ method: 'DELETE', path: pathOf(id), effect: 'once' }, options)
  }

  /** Creates a key like this one and ends this one later. Only this response contains the new key itself. */
  async roll(id: string, { expiresAt, ...options }: RollOptions = {}): Promise<RollKeyResponse> {
    const body = JSON.stringify({ expiresAt: timeOf(expiresAt) })
    return this.#send({ method: 'POST', path: `${pathOf(id)}/roll`, effect: 'write', body }, options)
  }
}
