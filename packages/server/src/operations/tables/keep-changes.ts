import { parseKeepHours } from '../../core/changes/keep-hours.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, callerOf, type TableAddress } from '../access.ts'
import { keepForADay } from '../changes/examples.ts'
import { changesSchemas } from '../changes/schemas.ts'
import { inOrders, laterAt, orders } from '../example.ts'
import { notFound } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { tableJson } from './present-table.ts'
import { addressMembers, addressRequired } from './schemas.ts'

interface KeepChangesInput extends TableAddress {
  keepHours: number | null
}

const keepChanges = async (access: Access, input: KeepChangesInput, nowMs: number): Promise<Table> => {
  const { db, table: name, keepHours } = input
  const table = await access.engine.tables.keepChanges(callerOf(access), db, name, keepHours, nowMs)
  if (table === undefined) throw await notFound('table', access, input, nowMs)
  return table
}

export const keepChangesOperation = defineOperation({
  id: 'keepChanges',
  area: 'tables',
  summary: 'Let a table keep its changes, or end that',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'writes',
  route: { method: 'PUT', path: '/v1/:db/:table/changes', body: { schema: 'KeepChangesRequest', required: true } },
  command: 'table changes {table} --db {db} --keep {keepHours}h',
  read: ({ members }) => ({ keepHours: parseKeepHours(members) }),
  run: keepChanges,
  present: tableJson,
  describe: () => ({
    title: 'Keep changes',
    description:
      'From then on every write adds one small entry to a log, in its own commit, and a change is kept at least `keepHours`. With null the table keeps none any more, and every cursor ends, also if the log is begun again. It holds in every process when the answer is sent. A table that keeps no changes pays nothing.',
    returns: 'The table.',
    codes: ['table_not_found'],
    input: inputOf(changesSchemas.KeepChangesRequest, addressMembers, addressRequired),
    output: ref('ActiveTable'),
    client: {
      on: 'tables',
      method: 'keepChanges',
      result: 'table',
      args: ({ keepHours }) => [keepHours],
    },
    examples: [
      {
        name: 'aDay',
        summary: 'Changes are kept for a day',
        input: { ...inOrders, keepHours: 24 },
        output: { ...orders, changes: { keepHours: 24, since: laterAt } },
      },
      {
        name: 'none',
        summary: 'Changes are no longer kept',
        given: [keepForADay],
        input: { ...inOrders, keepHours: null },
        output: orders,
      },
      {
        name: 'tooLong',
        summary: 'More than a week',
        input: { ...inOrders, keepHours: 720 },
        error: {
          code: 'invalid_request',
          message: 'keepHours is 720; it takes hours, an integer from 1 to 168.',
          field: 'keepHours',
          hint: 'A week at most: 168. A reader that is away for longer begins again.',
        },
      },
    ],
  }),
})
