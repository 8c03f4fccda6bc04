import { hash } from 'node:crypto'
import type { Awaitable } from '../core/awaitable.ts'
import { CubbyError } from '../core/errors.ts'
import { idempotencyKeyHeader, idempotencyKeyReused, parseIdempotencyKey } from '../core/idempotency.ts'
import { parseCollection } from '../core/items/collection.ts'
import type { OnceRequest } from '../operations/once.ts'
import { scopeOfOrganization, scopeOfTable } from '../operations/once.ts'
import type { AnyOperation } from '../operations/operation.ts'
import type { IdempotencyKey, KeptResult } from '../store/idempotency.ts'
import type { Exchange } from './exchange.ts'
import { statusOf } from './status.ts'

type Handler = (exchange: Exchange) => Awaitable<Response>

/** The lengths keep two lists of parts apart whose texts are the same when joined. */
const sha256 = (parts: string[]): string =>
  hash('sha256', parts.map((part) => `${part.length}:${part}`).join(''), 'hex')

/** Path and query string as they were sent. */
const targetOf = (url: string): string => url.slice(url.indexOf('/', url.indexOf('//') + 2))

/** A UUID of version 7 begins with its time in 13 characters. */
const orderedCharacters = 13

/**
 * Begins with the first characters of the key: keys that begin with the time are neighbours in the index, so that keys of one
 * commit share its pages.
 */
const keyHashOf = (key: string): string => {
  const start = Buffer.from(key.slice(0, orderedCharacters).padEnd(orderedCharacters, ' '), 'latin1').toString('hex')
  return start + sha256([key]).slice(start.length)
}

/** The idempotency key of a request. Of its text only the first characters are kept. */
export class KeyedRequest implements OnceRequest {
  readonly keyHash: string
  isReplayed = false
  kept: object | undefined
  readonly #request: Request
  #body = ''
  #requestHash: string | undefined

  constructor(request: Request, key: string) {
    this.keyHash = keyHashOf(key)
    this.#request = request
  }

  noteBody(text: string): void {
    this.#body = text
    this.#requestHash = undefined
  }

  get requestHash(): string {
    const { method, url, headers } = this.#request
    const conditions = [headers.get('if-match') ?? '', headers.get('if-none-match') ?? '']
    this.#requestHash ??= sha256([method, targetOf(url), ...conditions, this.#body])
    return this.#requestHash
  }
}

/** Adds idempotency keys to the handler of an operation that writes. */
export const withIdempotencyKey = (operation: AnyOperation, handler: Handler): Handler => {
  if (operation.effect === 'reads') return handler
  return (exchange) => {
    const header = exchange.request.headers.get(idempotencyKeyHeader)
    return header === null ? handler(exchange) : respondOnce(exchange, operation, handler, header)
  }
}

/** Refuses the header where a request that writes has no use for it. */
export const refuseIdempotencyKey = (headers: Headers): void => {
  if (!headers.has(idempotencyKeyHeader)) return
  throw new CubbyError('invalid_request', `${idempotencyKeyHeader} is not allowed on this request.`, {
    field: idempotencyKeyHeader,
    hint: 'It is allowed with PUT, PATCH and DELETE of records and items, with batches, runs without id, new API keys and rolled ones.',
  })
}

const respondOnce = async (
  exchange: Exchange,
  operation: AnyOperation,
  handler: Handler,
  header: string,
): Promise<Response> => {
  if (operation.idempotencyScope === undefined) refuseIdempotencyKey(exchange.request.headers)
  const once = new KeyedRequest(exchange.request, parseIdempotencyKey(header))
  exchange.useOnce(once)
  const response = await respondOrReplay(exchange, operation, handler, once)
  if (!once.isReplayed) return response
  exchange.countReplay()
  response.headers.set('Idempotency-Replayed', 'true')
  return response
}

/** A request that was applied may be refused now: its time has passed, or its task is gone. Then its result is answered. */
const respondOrReplay = async (
  exchange: Exchange,
  operation: AnyOperation,
  handler: Handler,
  once: KeyedRequest,
): Promise<Response> => {
  try {
    return await handler(exchange)
  } catch (error) {
    if (!(error instanceof CubbyError) || !isRefusal(error)) throw error
    const kept = await findKept(exchange, operation, once)
    if (kept === undefined) throw error
    if (kept.requestHash !== once.requestHash) throw idempotencyKeyReused()
    once.kept = JSON.parse(kept.result) as object
    exchange.replayAt(kept.createdAtMs)
    return handler(exchange)
  }
}

/** Tells whether the fault is in what the request says, and not in who sends it. */
const isRefusal = ({ code }: CubbyError): boolean => {
  const status = statusOf[code]
  return status >= 400 && status < 500 && status !== 401 && status !== 403 && code !== 'idempotency_key_reused'
}

const findKept = async (
  { access, params }: Exchange,
  { idempotencyScope }: AnyOperation,
  { keyHash }: KeyedRequest,
): Promise<KeptResult | undefined> => {
  const { engine, apiKey } = access
  const { orgId } = apiKey
  const find = (scope: Omit<IdempotencyKey, 'keyHash'>) => engine.idempotencyKeys.find({ ...scope, keyHash })
  if (idempotencyScope === 'organization') return find(scopeOfOrganization(orgId))
  if (idempotencyScope === 'task') {
    const task = await engine.tasks.find(orgId, params.db!, params.task!)
    return task && find(scopeOfTable(task))
  }
  const { db, table } = params.collection === undefined ? params : parseCollection(params.collection)
  const found = await engine.tables.find(orgId, db!, table!)
  return found && find(scopeOfTable(found))
}
