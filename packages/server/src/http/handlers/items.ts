import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { parseCollection } from '../../core/items/collection.ts'
import { bodyBytesMax } from '../../core/limits.ts'
import { parseTtl } from '../../core/records/record-data.ts'
import { getItem } from '../../operations/items/get-item.ts'
import { parseMerge } from '../../operations/items/patch-item.ts'
import { parseDocument } from '../../operations/items/put-item.ts'
import { deleteRecord } from '../../operations/records/delete-record.ts'
import { patchRecord } from '../../operations/records/patch-record.ts'
import { putRecord } from '../../operations/records/put-record.ts'
import { refuseBody } from '../body.ts'
import { matchesIfNoneMatch, parseWriteCondition, refuseIfMatchOnRead, wantsMinimal } from '../conditions.ts'
import type { Exchange } from '../exchange.ts'
import { keyOf, rangeKeyIn } from '../path-values.ts'
import { parseIntegerParameter, parseParameters } from '../query-parameters.ts'
import { respondDocument, respondNotModified, respondText, respondWritten } from '../respond.ts'

const namesOf = (exchange: Exchange) => ({
  ...parseCollection(exchange.params.collection),
  hashKey: keyOf(exchange, 'id'),
})

/** Items are records: only the request and the answer have another form. */
export const itemHandlers = {
  getItem(exchange: Exchange): Awaitable<Response> {
    const names = namesOf(exchange)
    const { headers, url } = exchange.request
    const { rangeKey } = parseParameters(url, ['rangeKey'])
    const input = { ...names, rangeKey: rangeKeyIn(url, rangeKey) }
    refuseIfMatchOnRead(headers)
    exchange.permit(input)
    return andThen(getItem(exchange.access, input, exchange.nowMs), (record) =>
      matchesIfNoneMatch(headers, record.updatedAtMs)
        ? respondNotModified(exchange.requestId, record.updatedAtMs)
        : respondDocument(exchange, record),
    )
  },

  async putItem(exchange: Exchange): Promise<Response> {
    const names = namesOf(exchange)
    const { headers, url } = exchange.request
    const document = parseDocument(await exchange.readBody(bodyBytesMax))
    const { rangeKey, ttl } = parseParameters(url, ['rangeKey', 'ttl'])
    const ttlSeconds = parseTtl(parseIntegerParameter(ttl), 'ttl', exchange.nowMs)
    const condition = parseWriteCondition(headers, 'PUT')
    const rangeKeyGiven = rangeKeyIn(url, rangeKey)
    const input = exchange.permit({ ...names, rangeKey: rangeKeyGiven, ...document, ttlSeconds, condition })
    const stored = await putRecord(exchange.access, input, exchange.nowMs)
    return wantsMinimal(headers) ? respondWritten(exchange.requestId, stored) : respondDocument(exchange, stored)
  },

  async patchItem(exchange: Exchange): Promise<Response> {
    const names = namesOf(exchange)
    const { headers, url } = exchange.request
    const patch = parseMerge(await exchange.readBody(bodyBytesMax, 'application/merge-patch+json'))
    const { rangeKey, ttl } = parseParameters(url, ['rangeKey', 'ttl'])
    const seconds = parseIntegerParameter(ttl)
    if (seconds !== undefined) patch.ttl = parseTtl(seconds, 'ttl', exchange.nowMs)
    const condition = parseWriteCondition(headers, 'PATCH', true)
    const isMinimal = wantsMinimal(headers)
    const input = exchange.permit({ ...names, rangeKey: rangeKeyIn(url, rangeKey), patch, condition, isMinimal })
    const stored = await patchRecord(exchange.access, input, exchange.nowMs)
    const isReplay = exchange.access.once?.isReplayed === true
    return isMinimal || isReplay ? respondWritten(exchange.requestId, stored) : respondDocument(exchange, stored)
  },

  async deleteItem(exchange: Exchange): Promise<Response> {
    const names = namesOf(exchange)
    const { headers, url } = exchange.request
    refuseBody(headers)
    const { rangeKey } = parseParameters(url, ['rangeKey'])
    const condition = parseWriteCondition(headers, 'DELETE')
    const input = exchange.permit({ ...names, rangeKey: rangeKeyIn(url, rangeKey), condition })
    const deleted = await deleteRecord(exchange.access, input, exchange.nowMs)
    return respondText(exchange.requestId, JSON.stringify({ deleted }))
  },
}
