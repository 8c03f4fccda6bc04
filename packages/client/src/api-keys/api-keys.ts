import { effectOf } from '../records/condition.ts'
import { matches, refusal } from '../transport/errors.ts'
import { type OnceOptions, onceHeader } from '../transport/idempotency.ts'
import { listPath } from '../transport/list-path.ts'
import { type ListOptions, Pages } from '../transport/pages.ts'
import type { RequestOptions, Send } from '../transport/transport.ts'
import type {
  CreateKeyRequest,
  CreateKeyResponse,
  KeyMetadata,
  ListKeysResponse,
  OwnKey,
  RepeatedKeyResponse,
  RollKeyResponse,
} from '../transport/wire.ts'

export interface NewKey extends Omit<CreateKeyRequest, 'expiresAt'> {
  /** A `Date`, or epoch milliseconds. If the calling key ends earlier, the new one ends with it. */
  expiresAt?: Date | number
}

export interface RollOptions extends OnceOptions {
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

  /**
   * Only this response contains the key itself. With `idempotencyKey`, the answer to a request that had been applied has a
   * `hint` in its place: roll the key.
   */
  create(
    key: NewKey,
    options: OnceOptions & { idempotencyKey: string },
  ): Promise<CreateKeyResponse | RepeatedKeyResponse>
  create(key: NewKey, options?: OnceOptions): Promise<CreateKeyResponse>
  async create(key: NewKey, options: OnceOptions = {}): Promise<unknown> {
    return this.#make('/api/keys', { ...key, expiresAt: timeOf(key.expiresAt) }, options)
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

  /**
   * Creates a key like this one and ends this one later. Only this response contains the new key itself; with `idempotencyKey` as
   * for `create`.
   */
  roll(id: string, options: RollOptions & { idempotencyKey: string }): Promise<RollKeyResponse | RepeatedKeyResponse>
  roll(id: string, options?: RollOptions): Promise<RollKeyResponse>
  async roll(id: string, { expiresAt, ...options }: RollOptions = {}): Promise<unknown> {
    return this.#make(`${pathOf(id)}/roll`, { expiresAt: timeOf(expiresAt) }, options)
  }

  #make<T>(path: string, fields: object, options: OnceOptions): Promise<T> {
    const { idempotencyKey } = options
    const effect = effectOf(false, idempotencyKey)
    const headers = onceHeader(idempotencyKey)
    return this.#send({ method: 'POST', path, effect, body: JSON.stringify(fields), headers }, options)
  }
}
