import type { Awaitable } from '../core/awaitable.ts'
import { CubbyError } from '../core/errors.ts'
import { idempotencyKeyHeader, idempotencyKeyReused, parseIdempotencyKey } from '../core/idempotency.ts'
import { parseCollection } from '../core/items/collection.ts'
import type { IdempotencyScope } from '../operations/access.ts'
import { scopeOfDatabase, scopeOfOrganization, scopeOfTable } from '../operations/once.ts'
import type { AnyOperation } from '../operations/operation.ts'
import type { KeptResult } from '../store/idempotency.ts'
import type { Exchange } from './exchange.ts'
import { KeyedRequest } from './keyed-request.ts'
import { statusOf } from './status.ts'

type Handler = (exchange: Exchange) => Awaitable<Response>

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
  const once = new KeyedRequest(exchange.request, parseIdempotencyKey(header), exchange.user)
  exchange.useOnce(once)
  let response: Response
  try {
    response = await handler(exchange)
  } catch (error) {
    if (!(error instanceof CubbyError) || !isRefusal(error)) throw error
    // A request that was applied may be refused now: its time has passed, or its task is gone. Then its result is answered.
    const kept = await findKept(exchange, operation, once)
    if (kept === undefined) throw error
    if (kept.requestHash !== once.requestHash) throw idempotencyKeyReused()
    once.kept = JSON.parse(kept.result) as object
    exchange.replayAt(kept.createdAtMs)
    response = await handler(exchange)
  }
  if (!once.isReplayed) return response
  exchange.countReplay()
  response.headers.set('Idempotency-Replayed', 'true')
  return response
}

/** Tells whether the fault is in what the request says, and not in who sends it. */
const isRefusal = ({ code }: CubbyError): boolean => {
  const status = statusOf[code]
  return status >= 400 && status < 500 && status !== 401 && status !== 403 && code !== 'idempotency_key_reused'
}

const findKept = async (
  { store, orgId, params }: Exchange,
  { idempotencyScope }: AnyOperation,
  once: KeyedRequest,
): Promise<KeptResult | undefined> => {
  const find = (scope: IdempotencyScope) =>
    store.idempotencyKeys.find({ ...scope, keyHash: once.keyHashIn(scope) }, orgId)
  if (idempotencyScope === 'database') return find(scopeOfDatabase(orgId, params.db!))
  if (idempotencyScope === 'organization') return find(scopeOfOrganization(orgId))
  if (idempotencyScope === 'task') {
    const task = await store.tasks.find(orgId, params.db!, params.task!)
    return task && find(scopeOfTable(task))
  }
  const { db, table } = params.collection === undefined ? params : parseCollection(params.collection)
  const found = await store.tables.find(orgId, db!, table!)
  return found && find(scopeOfTable(found))
}
