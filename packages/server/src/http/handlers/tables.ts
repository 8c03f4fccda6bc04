import { createTable, createTableOperation, parseCreateTable } from '../../operations/tables/create-table.ts'
import { deleteTable } from '../../operations/tables/delete-table.ts'
import { describeTable } from '../../operations/tables/describe-table.ts'
import { listDatabases, listDatabasesOperation } from '../../operations/tables/list-databases.ts'
import { listTables, listTablesOperation } from '../../operations/tables/list-tables.ts'
import { tableJson } from '../../operations/tables/present-table.ts'
import { parseRestoreTable, restoreTable } from '../../operations/tables/restore-table.ts'
import { refuseBody } from '../body.ts'
import type { Exchange } from '../exchange.ts'
import { respondLongText, respondText } from '../respond.ts'
import { addressOf, readListing, readListOfDatabase, readMembers, refuseExtras } from './gather.ts'

export const tableHandlers = {
  async listDatabases(exchange: Exchange): Promise<Response> {
    const page = await listDatabases(exchange.access, readListing(exchange), exchange.nowMs)
    return respondLongText(exchange, listDatabasesOperation.present(page, exchange.nowMs))
  },

  async listTables(exchange: Exchange): Promise<Response> {
    const page = await listTables(exchange.access, readListOfDatabase(exchange), exchange.nowMs)
    return respondLongText(exchange, listTablesOperation.present(page, exchange.nowMs))
  },

  async describeTable(exchange: Exchange): Promise<Response> {
    const address = addressOf(exchange)
    refuseExtras(exchange)
    return respondText(exchange.requestId, tableJson(await describeTable(exchange.access, address, exchange.nowMs)))
  },

  async createTable(exchange: Exchange): Promise<Response> {
    const address = addressOf(exchange)
    const indices = parseCreateTable(await readMembers(exchange, true))
    refuseExtras(exchange)
    const result = await createTable(exchange.access, { ...address, indices }, exchange.nowMs)
    const text = createTableOperation.present(result, exchange.nowMs)
    return respondText(exchange.requestId, text, result.created ? 201 : 200)
  },

  async deleteTable(exchange: Exchange): Promise<Response> {
    const address = addressOf(exchange)
    refuseBody(exchange.request.headers)
    refuseExtras(exchange)
    return respondText(exchange.requestId, tableJson(await deleteTable(exchange.access, address, exchange.nowMs)))
  },

  async restoreTable(exchange: Exchange): Promise<Response> {
    const address = addressOf(exchange)
    const deletedAtMs = parseRestoreTable(await readMembers(exchange, true))
    refuseExtras(exchange)
    const table = await restoreTable(exchange.access, { ...address, deletedAtMs }, exchange.nowMs)
    return respondText(exchange.requestId, tableJson(table))
  },
}
