import { parseChangesRequest } from '../../core/changes/changes-request.ts'
import { plainBodyBytesMax } from '../../core/limits.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { parseAddress } from '../../operations/access.ts'
import { changesPageJson, readChanges } from '../../operations/changes/read-changes.ts'
import type { Exchange } from '../exchange.ts'
import { refuseExtras } from '../path-values.ts'
import { respondLongText } from '../respond.ts'

export const changesHandlers = {
  async readChanges(exchange: Exchange): Promise<Response> {
    const address = parseAddress(exchange.params.db, exchange.params.table)
    const text = await exchange.readBody(plainBodyBytesMax)
    const request = parseChangesRequest(text === '' ? {} : parsePlainBody(text))
    refuseExtras(exchange)
    const waits = {
      waiting: exchange,
      begin: (table: Parameters<typeof exchange.feeds.begin>[1]) => exchange.feeds.begin(exchange.access.apiKey, table),
    }
    const page = await readChanges(exchange.access, { ...address, request }, exchange.nowMs, waits)
    return respondLongText(exchange, changesPageJson(page))
  },
}
