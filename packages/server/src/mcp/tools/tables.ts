import { CubbyError } from '../../core/errors.ts'
import { parseFlag } from '../../core/members.ts'
import { parseName } from '../../core/names.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { parseAddress } from '../../operations/access.ts'
import { requireTable } from '../../operations/lifecycle.ts'
import { createTableOperation } from '../../operations/tables/create-table.ts'
import { deleteTableOperation } from '../../operations/tables/delete-table.ts'
import { presentTable, tableJson } from '../../operations/tables/present-table.ts'
import { restoreTableOperation } from '../../operations/tables/restore-table.ts'
import { itemsBytesMax } from './fitting.ts'
import { listDatabase, listDatabases } from './list-database.ts'
import {
  anyObject,
  bool,
  closedObject,
  cursorIn,
  cursorOut,
  db,
  described,
  integer,
  list,
  object,
  text,
} from './schemas.ts'
import { seenFields } from './seen-fields.ts'
import type { Tool } from './tool.ts'

const tableMembers = { db, table: text, indices: anyObject, status: text }
const tableOut = object(tableMembers)

export const listTablesTool: Tool = {
  name: 'list_tables',
  description:
    'Without db: the databases. With db: its tables with their indices, its buckets and tasks. deleted: those that can be restored.',
  keyNeeded: 'read',
  properties: { db, deleted: bool, cursor: cursorIn },
  required: [],
  output: object(
    {
      db,
      databases: list(text),
      tables: list(object({ table: text, indices: anyObject, deletedAt: integer() })),
      buckets: list(anyObject),
      tasks: list(anyObject),
      cursor: cursorOut,
    },
    ['cursor'],
  ),
  run(call) {
    const { db, deleted, cursor } = parsePlainBody(call.text)
    const onlyDeleted = parseFlag(deleted, 'deleted')
    if (db !== undefined) return listDatabase(call, parseName(db, 'db'), onlyDeleted, cursor)
    if (!onlyDeleted) return listDatabases(call, cursor)
    throw new CubbyError('invalid_request', 'deleted needs db: deleted tables are listed by database.', {
      field: 'deleted',
      hint: 'Add db, or leave deleted out to list the databases.',
    })
  },
}

export const describeTableTool: Tool = {
  name: 'describe_table',
  description:
    'Indices of a table, and the fields of its 50 newest records: types, share of records that have it, example.',
  keyNeeded: 'read',
  properties: { db, table: text },
  required: ['db', 'table'],
  output: object(
    {
      ...tableMembers,
      sampled: integer(),
      fields: list(object({ path: text, types: list(text), share: { type: 'number' }, example: text })),
      cut: bool,
    },
    ['indices', 'sampled', 'fields', 'cut'],
  ),
  async run(call) {
    const { access, nowMs } = call
    const { db, table: name } = parsePlainBody(call.text)
    const address = parseAddress(db, name)
    const table = await requireTable(access, address, nowMs)
    const declaration = presentTable(table)
    // Names of indexed fields may take 15,000 bytes; the fields get the rest, and one of them has at most 2,500.
    const bytesMax = itemsBytesMax - Buffer.byteLength(JSON.stringify(declaration))
    const { fields, cut, sampled } = await seenFields(call, address, bytesMax)
    return `${JSON.stringify({ ...declaration, sampled }).slice(0, -1)},"fields":[${fields.join(',')}],"cut":${cut}}`
  },
}

const index = closedObject({ hashField: text, rangeField: text }, ['hashField'])

export const createTableTool: Tool = {
  name: 'create_table',
  description:
    'Create a table. indices: queries by fields of data, at most five, fixed for ever; a record without the fields is not in the index.',
  keyNeeded: 'write',
  hints: { idempotent: true },
  properties: {
    db: described(db, 'a database begins with its first table'),
    table: text,
    indices: described(
      closedObject({ i1: index, i2: anyObject, i3: anyObject, i4: anyObject, i5: anyObject }, []),
      'as i1',
    ),
  },
  required: ['db', 'table'],
  output: tableOut,
  async run({ access, text, nowMs }) {
    const { table } = await createTableOperation.run(access, createTableOperation.parse(text, nowMs), nowMs)
    return tableJson(table)
  },
}

export const deleteTableTool: Tool = {
  name: 'delete_table',
  description: 'Delete a table with all its records. For 7 days restore_table brings it back. Ask the user first.',
  keyNeeded: 'write',
  hints: { destructive: true },
  properties: { db, table: text, confirm: described(text, '"db/table", the names of the table') },
  required: ['db', 'table', 'confirm'],
  output: object({ ...tableMembers, recoverableUntil: integer() }),
  async run({ access, text, nowMs }) {
    const { db, table, confirm } = parsePlainBody(text)
    const address = parseAddress(db, table)
    const name = `${address.db}/${address.table}`
    if (confirm !== name) {
      throw new CubbyError('invalid_request', `confirm is not "${name}"; nothing was deleted.`, {
        field: 'confirm',
        hint: `To delete this table with all its records, send "confirm": "${name}".`,
      })
    }
    return tableJson(await deleteTableOperation.run(access, address, nowMs))
  },
}

export const restoreTableTool: Tool = {
  name: 'restore_table',
  description: 'Restore a deleted table: the one deleted last, or that of deletedAt.',
  keyNeeded: 'write',
  hints: { idempotent: true },
  properties: { db, table: text, deletedAt: integer() },
  required: ['db', 'table'],
  output: tableOut,
  async run({ access, text, nowMs }) {
    return tableJson(await restoreTableOperation.run(access, restoreTableOperation.parse(text, nowMs), nowMs))
  },
}
