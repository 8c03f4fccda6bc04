import { type Awaitable, andThen } from '../core/awaitable.ts'
import { CubbyError } from '../core/errors.ts'
import { batchBodyBytesMax, bodyBytesMax, plainBodyBytesMax } from '../core/limits.ts'
import type { Members } from '../core/members.ts'
import { parseName } from '../core/names.ts'
import { parseQuery } from '../core/records/query.ts'
import { noRangeKey, parseKeyPart, type RecordKey } from '../core/records/record-key.ts'
import { parsePlainBody } from '../core/text/plain-body.ts'
import { asCaller, requireTable, type TableAddress } from '../operations/access.ts'
import { createApiKey, listApiKeys, parseCreateApiKey, revokeApiKey } from '../operations/api-keys/api-keys.ts'
import { applyBatch, parseBatchInSteps } from '../operations/records/apply-batch.ts'
import { deleteRecord } from '../operations/records/delete-record.ts'
import { getRecord } from '../operations/records/get-record.ts'
import { parsePut, putRecord } from '../operations/records/put-record.ts'
import { queryRecords } from '../operations/records/query-records.ts'
import {
  createTable,
  deleteTable,
  listDatabases,
  listTables,
  parseCreateTable,
  parseRestoreTable,
  restoreTable,
} from '../operations/tables/tables.ts'
import { refuseBody } from './body.ts'
import {
  matchesIfNoneMatch,
  parseWriteCondition,
  refuseConditions,
  refuseIfMatchOnRead,
  wantsMinimal,
} from './conditions.ts'
import type { Exchange } from './exchange.ts'
import { presentApiKey, presentNewApiKey, presentTable } from './present.ts'
import { parseFlagParameter, parseLimitParameter, parseParameters } from './query-parameters.ts'
import {
  respondJson,
  respondListing,
  respondMinimal,
  respondNotModified,
  respondPage,
  respondRecord,
} from './respond.ts'

// One handler a route: checks in the order of the contract, one operation, one answer.

const address = ({ params }: Exchange): TableAddress => ({
  db: parseName(params.db, 'db'),
  table: parseName(params.table, 'table'),
})

/** A path that Bun could not decode shows as U+FFFD; whether it was sent like that only the raw target tells. */
const refuseBadEscapes = (url: string, segment: string, field: string): void => {
  if (!segment.includes('\ufffd')) return
  try {
    decodeURIComponent(url.split('?', 1)[0]!)
  } catch {
    throw new CubbyError('invalid_key', `${field} has a percent-escape that is malformed or not UTF-8.`, {
      field,
      hint: 'Percent-encode the UTF-8 bytes of the key once, as encodeURIComponent does.',
    })
  }
}

const recordKey = ({ params, request }: Exchange): RecordKey => {
  const { hashKey, rangeKey } = params
  refuseBadEscapes(request.url, hashKey!, 'hashKey')
  if (rangeKey === undefined) return { hashKey: parseKeyPart(hashKey, 'hashKey'), rangeKey: noRangeKey }
  refuseBadEscapes(request.url, rangeKey, 'rangeKey')
  return { hashKey: parseKeyPart(hashKey, 'hashKey'), rangeKey: parseKeyPart(rangeKey, 'rangeKey') }
}

/** A JSON object that carries no `data`; an empty body counts as `{}` where `optional`. */
const readMembers = async (exchange: Exchange, optional = false): Promise<Members> => {
  const text = await exchange.readBody(plainBodyBytesMax)
  return text === '' && optional ? {} : parsePlainBody(text)
}

const refuseExtras = ({ request }: Exchange): void => {
  parseParameters(request.url, [])
  refuseConditions(request.headers)
}

// ── Records ────────────────────────────────────────────────────────────────────────────────────────────────

export const handlePutRecord = async (exchange: Exchange): Promise<Response> => {
  const table = address(exchange)
  const { headers, url } = exchange.request
  const record = parsePut(await exchange.readBody(bodyBytesMax), exchange.nowMs)
  parseParameters(url, [])
  const condition = parseWriteCondition(headers, 'PUT')
  const stored = await putRecord(exchange.access, table, record, condition, exchange.nowMs)
  return wantsMinimal(headers) ? respondMinimal(exchange.requestId, stored) : respondRecord(exchange, stored)
}

export const handleGetRecord = (exchange: Exchange): Awaitable<Response> => {
  const table = address(exchange)
  const key = recordKey(exchange)
  const { headers, url } = exchange.request
  parseParameters(url, [])
  refuseIfMatchOnRead(headers)
  return andThen(getRecord(exchange.access, table, key, exchange.nowMs), (record) => {
    if (record === undefined) {
      throw new CubbyError('record_not_found', 'There is no record of that key.', {
        hint: key.rangeKey === noRangeKey ? 'If it has a range key, add it to the path.' : undefined,
      })
    }
    return matchesIfNoneMatch(headers, record.updatedAtMs)
      ? respondNotModified(exchange.requestId, record.updatedAtMs)
      : respondRecord(exchange, record)
  })
}

export const handleDeleteRecord = async (exchange: Exchange): Promise<Response> => {
  const table = address(exchange)
  const key = recordKey(exchange)
  const { headers, url } = exchange.request
  refuseBody(headers)
  parseParameters(url, [])
  const condition = parseWriteCondition(headers, 'DELETE')
  const deleted = await deleteRecord(exchange.access, table, key, condition, exchange.nowMs)
  return respondJson(exchange.requestId, { deleted })
}

export const handleQuery = async (exchange: Exchange): Promise<Response> => {
  const table = address(exchange)
  const members = await readMembers(exchange)
  refuseExtras(exchange)
  const { records, cursor } = await queryRecords(exchange.access, table, parseQuery(members), exchange.nowMs)
  return respondPage(exchange, records, cursor)
}

export const handleBatch = async (exchange: Exchange): Promise<Response> => {
  const table = address(exchange)
  const text = await exchange.readBody(batchBodyBytesMax)
  const batch = await exchange.runSteps(parseBatchInSteps(text, exchange.nowMs))
  refuseExtras(exchange)
  const { access, nowMs } = exchange
  const count = await applyBatch(access, table, batch, nowMs, (steps) => exchange.runSteps(steps))
  return respondJson(exchange.requestId, { count })
}

// ── Tables ─────────────────────────────────────────────────────────────────────────────────────────────────

export const handleCreateTable = async (exchange: Exchange): Promise<Response> => {
  const where = address(exchange)
  const indices = parseCreateTable(await readMembers(exchange, true))
  refuseExtras(exchange)
  const { table, created } = await createTable(exchange.access, where, indices, exchange.nowMs)
  return respondJson(exchange.requestId, presentTable(table), created ? 201 : 200)
}

export const handleDescribeTable = async (exchange: Exchange): Promise<Response> => {
  const where = address(exchange)
  refuseExtras(exchange)
  return respondJson(exchange.requestId, presentTable(await requireTable(exchange.access, where, exchange.nowMs)))
}

export const handleDeleteTable = async (exchange: Exchange): Promise<Response> => {
  const where = address(exchange)
  refuseBody(exchange.request.headers)
  refuseExtras(exchange)
  return respondJson(exchange.requestId, presentTable(await deleteTable(exchange.access, where, exchange.nowMs)))
}

export const handleRestoreTable = async (exchange: Exchange): Promise<Response> => {
  const where = address(exchange)
  const deletedAtMs = parseRestoreTable(await readMembers(exchange, true))
  refuseExtras(exchange)
  const table = await restoreTable(exchange.access, where, deletedAtMs, exchange.nowMs)
  return respondJson(exchange.requestId, presentTable(table))
}

export const handleListTables = async (exchange: Exchange): Promise<Response> => {
  const db = parseName(exchange.params.db, 'db')
  const parameters = parseParameters(exchange.request.url, ['limit', 'cursor', 'deleted'])
  refuseConditions(exchange.request.headers)
  const options = {
    deleted: parseFlagParameter(parameters.deleted, 'deleted'),
    limit: parseLimitParameter(parameters.limit),
    cursor: parameters.cursor,
  }
  const { tables, cursor } = await listTables(exchange.access, db, options, exchange.nowMs)
  return respondListing(exchange, { tables: tables.map(presentTable), cursor })
}

export const handleListDatabases = async (exchange: Exchange): Promise<Response> => {
  const parameters = parseParameters(exchange.request.url, ['limit', 'cursor'])
  refuseConditions(exchange.request.headers)
  const options = { limit: parseLimitParameter(parameters.limit), cursor: parameters.cursor }
  return respondListing(exchange, await listDatabases(exchange.access, options))
}

// ── API keys ───────────────────────────────────────────────────────────────────────────────────────────────

export const handleCreateApiKey = async (exchange: Exchange): Promise<Response> => {
  const members = await readMembers(exchange)
  refuseExtras(exchange)
  const { access, nowMs } = exchange
  const { apiKey, text } = await createApiKey(access.engine, asCaller(access), parseCreateApiKey(members, nowMs), nowMs)
  return respondJson(exchange.requestId, presentNewApiKey(apiKey, text), 201)
}

export const handleListApiKeys = async (exchange: Exchange): Promise<Response> => {
  const parameters = parseParameters(exchange.request.url, ['limit', 'cursor'])
  refuseConditions(exchange.request.headers)
  const options = { limit: parseLimitParameter(parameters.limit), cursor: parameters.cursor }
  const { engine, apiKey } = exchange.access
  const { keys, cursor } = await listApiKeys(engine, apiKey.orgId, options)
  const nowMs = exchange.nowMs
  return respondListing(exchange, { keys: keys.map((key) => presentApiKey(key, nowMs)), cursor })
}

export const handleRevokeApiKey = async (exchange: Exchange): Promise<Response> => {
  const { access, params, request } = exchange
  refuseBadEscapes(request.url, params.id!, 'id')
  const id = parseKeyPart(params.id, 'id')
  refuseBody(request.headers)
  refuseExtras(exchange)
  const nowMs = exchange.nowMs
  const revoked = await revokeApiKey(access.engine, asCaller(access), id, nowMs)
  return respondJson(exchange.requestId, presentApiKey(revoked, nowMs))
}
