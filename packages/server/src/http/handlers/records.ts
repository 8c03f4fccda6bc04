import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { batchBodyBytesMax, bodyBytesMax, plainBodyBytesMax } from '../../core/limits.ts'
import { parseName } from '../../core/names.ts'
import { parseQuery } from '../../core/records/query.ts'
import { noRangeKey } from '../../core/records/record-key.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { parseAddress } from '../../operations/access.ts'
import { applyBatch, batchJson, parseBatchInSlices } from '../../operations/records/apply-batch.ts'
import { applyDatabaseBatch, parseDatabaseBatchInSlices } from '../../operations/records/apply-database-batch.ts'
import { deleteRecord } from '../../operations/records/delete-record.ts'
import { findRecords, parseFindInSlices, presentFound } from '../../operations/records/find-records.ts'
import { findRecord, type GetRecordInput, recordNotFound } from '../../operations/records/get-record.ts'
import { parseOnError } from '../../operations/records/load-records.ts'
import { parsePatch, patchRecord } from '../../operations/records/patch-record.ts'
import { parsePut, putRecord } from '../../operations/records/put-record.ts'
import { queryPageJson, queryRecords } from '../../operations/records/query-records.ts'
import { isPackedLoad, refuseBody } from '../body.ts'
import {
  matchesIfNoneMatch,
  parseWriteCondition,
  refuseConditions,
  refuseIfMatchOnRead,
  wantsMinimal,
} from '../conditions.ts'
import type { Exchange } from '../exchange.ts'
import { keyOf, refuseExtras } from '../path-values.ts'
import { parseFlagParameter, parseParameters } from '../query-parameters.ts'
import { respondLongText, respondMinimal, respondNotModified, respondRecord, respondText } from '../respond.ts'

// One handler per operation: it collects the input, with checks in the documented order, runs the operation and answers.
// Put, get and query are the hot path, so they do not use the catalogue.

const recordOf = (exchange: Exchange): GetRecordInput => {
  const { params } = exchange
  return {
    db: parseName(params.db, 'db'),
    table: parseName(params.table, 'table'),
    hashKey: keyOf(exchange, 'hashKey'),
    rangeKey: params.rangeKey === undefined ? noRangeKey : keyOf(exchange, 'rangeKey'),
  }
}

export const recordHandlers = {
  async putRecord(exchange: Exchange): Promise<Response> {
    const db = parseName(exchange.params.db, 'db')
    const table = parseName(exchange.params.table, 'table')
    const { headers, url } = exchange.request
    const record = parsePut(await exchange.readBody(bodyBytesMax), exchange.nowMs)
    parseParameters(url, [])
    const condition = parseWriteCondition(headers, 'PUT')
    const { hashKey, rangeKey, data, ttlSeconds, built } = record
    const input = exchange.permit({ db, table, hashKey, rangeKey, data, ttlSeconds, built, condition })
    const stored = await putRecord(exchange.access, input, exchange.nowMs)
    return wantsMinimal(headers) ? respondMinimal(exchange.requestId, stored) : respondRecord(exchange, stored)
  },

  async patchRecord(exchange: Exchange): Promise<Response> {
    const address = parseAddress(exchange.params.db, exchange.params.table)
    const { headers, url } = exchange.request
    const record = parsePatch(await exchange.readBody(bodyBytesMax), exchange.nowMs)
    parseParameters(url, [])
    const condition = parseWriteCondition(headers, 'PATCH', true)
    const isMinimal = wantsMinimal(headers)
    const input = exchange.permit({ ...address, ...record, condition, isMinimal })
    const stored = await patchRecord(exchange.access, input, exchange.nowMs)
    const isReplay = exchange.access.once?.isReplayed === true
    return isMinimal || isReplay ? respondMinimal(exchange.requestId, stored) : respondRecord(exchange, stored)
  },

  getRecord(exchange: Exchange): Awaitable<Response> {
    const input = recordOf(exchange)
    const { headers, url } = exchange.request
    parseParameters(url, [])
    refuseIfMatchOnRead(headers)
    exchange.permit(input)
    return andThen(findRecord(exchange.access, input, exchange.nowMs), (record) => {
      if (record === undefined) throw recordNotFound(input)
      return matchesIfNoneMatch(headers, record.updatedAtMs)
        ? respondNotModified(exchange.requestId, record.updatedAtMs)
        : respondRecord(exchange, record)
    })
  },

  async deleteRecord(exchange: Exchange): Promise<Response> {
    const { db, table, hashKey, rangeKey } = recordOf(exchange)
    const { headers, url } = exchange.request
    refuseBody(headers)
    parseParameters(url, [])
    const condition = parseWriteCondition(headers, 'DELETE')
    const input = exchange.permit({ db, table, hashKey, rangeKey, condition })
    const deleted = await deleteRecord(exchange.access, input, exchange.nowMs)
    return respondText(exchange.requestId, JSON.stringify({ deleted }))
  },

  queryRecords(exchange: Exchange): Awaitable<Response> {
    const db = parseName(exchange.params.db, 'db')
    const table = parseName(exchange.params.table, 'table')
    return exchange.withBody(plainBodyBytesMax, (text) => {
      const members = parsePlainBody(text)
      refuseExtras(exchange)
      const input = exchange.permit({ db, table, query: parseQuery(members) })
      return andThen(queryRecords(exchange.access, input, exchange.nowMs), (page) =>
        respondLongText(exchange, queryPageJson(page)),
      )
    })
  },

  findRecords(exchange: Exchange): Awaitable<Response> {
    const { db, table } = parseAddress(exchange.params.db, exchange.params.table)
    return exchange.withBody(bodyBytesMax, (text) =>
      andThen(exchange.runSlices(parseFindInSlices(text)), (keys) => {
        refuseExtras(exchange)
        const input = exchange.permit({ db, table, keys })
        return andThen(findRecords(exchange.access, input, exchange.nowMs), (found) =>
          respondLongText(exchange, presentFound(found)),
        )
      }),
    )
  },

  async loadRecords(exchange: Exchange): Promise<Response> {
    const address = parseAddress(exchange.params.db, exchange.params.table)
    const { headers, url } = exchange.request
    const isGzip = isPackedLoad(headers)
    const { onError, ifAbsent } = parseParameters(url, ['onError', 'ifAbsent'])
    refuseConditions(headers)
    const options = { ...address, onError: parseOnError(onError), ifAbsent: parseFlagParameter(ifAbsent, 'ifAbsent') }
    exchange.permit(options)
    return respondLongText(exchange, JSON.stringify(await exchange.loads.receive(exchange, options, isGzip)))
  },

  async applyDatabaseBatch(exchange: Exchange): Promise<Response> {
    const db = parseName(exchange.params.db, 'db')
    const text = await exchange.readBody(batchBodyBytesMax)
    const operations = await exchange.runSlices(parseDatabaseBatchInSlices(text, exchange.nowMs))
    refuseExtras(exchange)
    const input = exchange.permit({ db, operations })
    const { access, nowMs } = exchange
    const output = await applyDatabaseBatch(access, input, nowMs, (slices) => exchange.runSlices(slices))
    return respondText(exchange.requestId, batchJson(output))
  },

  async applyBatch(exchange: Exchange): Promise<Response> {
    const { db, table } = parseAddress(exchange.params.db, exchange.params.table)
    const text = await exchange.readBody(batchBodyBytesMax)
    const operations = await exchange.runSlices(parseBatchInSlices(text, exchange.nowMs))
    refuseExtras(exchange)
    const input = exchange.permit({ db, table, operations })
    const { access, nowMs } = exchange
    const output = await applyBatch(access, input, nowMs, (slices) => exchange.runSlices(slices))
    return respondText(exchange.requestId, batchJson(output))
  },
}
