import { parseChangesRequest, parseStreamRequest } from '../../core/changes/changes-request.ts'
import { plainBodyBytesMax } from '../../core/limits.ts'
import type { Members } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { parseAddress, type TableAddress } from '../../operations/access.ts'
import { changesPageJson, firstPlace, openFeed, readChanges } from '../../operations/changes/read-changes.ts'
import type { Table } from '../../store/tables.ts'
import { namesEvents } from '../accept.ts'
import { wantsShellHints } from '../conditions.ts'
import type { Exchange } from '../exchange.ts'
import { namesIn, withoutNames } from '../mistake-hints.ts'
import { refuseExtras } from '../path-values.ts'
import { errorText, respondEvents, respondLongText } from '../respond.ts'

/** A stream that goes on until its key or table is gone, its reader goes away, or an hour is over. */
const streamChanges = async (exchange: Exchange, address: TableAddress, members: Members): Promise<Response> => {
  const { request, requestId, params, feeds } = exchange
  const { headers } = request
  const input = { ...address, request: parseStreamRequest(members, headers.get('last-event-id') || undefined) }
  refuseExtras(exchange)
  exchange.permit(input)
  const feed = await openFeed(exchange.access, input, exchange.nowMs)
  const place = await firstPlace(feed, input.request)
  const isUser = exchange.user !== undefined
  const context = { names: namesIn(params), forShell: wantsShellHints(headers) }
  const stream = await feeds.stream({
    ...{ exchange, input, feed, place },
    errorBody: (error) => errorText(requestId, isUser ? withoutNames(error) : error, context),
  })
  return respondEvents(requestId, stream)
}

export const changesHandlers = {
  async readChanges(exchange: Exchange): Promise<Response> {
    const address = parseAddress(exchange.params.db, exchange.params.table)
    const text = await exchange.readBody(plainBodyBytesMax)
    const members = text === '' ? {} : parsePlainBody(text)
    if (namesEvents(exchange.request.headers.get('accept'))) return streamChanges(exchange, address, members)
    const input = { ...address, request: parseChangesRequest(members) }
    refuseExtras(exchange)
    exchange.permit(input)
    const waits = {
      waiting: exchange,
      begin: (table: Table) => exchange.feeds.begin(exchange.access.apiKey, table),
    }
    const page = await readChanges(exchange.access, input, exchange.nowMs, waits)
    return respondLongText(exchange, changesPageJson(page))
  },
}
