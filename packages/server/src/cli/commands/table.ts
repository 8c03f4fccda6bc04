import { parseIndices, slots } from '../../core/tables/indices.ts'
import { createTableOperation } from '../../operations/tables/create-table.ts'
import { deleteTableOperation } from '../../operations/tables/delete-table.ts'
import { describeTableOperation } from '../../operations/tables/describe-table.ts'
import { listTablesOperation } from '../../operations/tables/list-tables.ts'
import { restoreTableOperation } from '../../operations/tables/restore-table.ts'
import { type Arguments, type Flag, orUsageError, UsageError } from '../arguments.ts'
import { type CliCommand, summaryOf } from '../command.ts'
import { checkName, dbFlag, requireName } from '../target/address.ts'
import { deletedAtFlag, printAnswer, printListing, restoreBody } from '../target/lifecycle.ts'
import { remoteFlags } from '../target/remote.ts'

// The table routes of the HTTP API, for the shell. The server's answer is printed unchanged.

const tablePath = (args: Arguments): string =>
  `/v1/${requireName(args, 'db')}/${checkName(args.positionals[0]!, 'NAME')}`

const slotFlag: Flag = {
  type: 'string',
  value: 'FIELDS',
  help: 'an index: its hash field, or its hash and range field: hash,range',
}

export const tableCreateCommand: CliCommand = {
  name: 'table create',
  positionals: ['NAME'],
  summary: summaryOf(createTableOperation),
  details: `Indices cannot be changed later. --i1 status,placedAt declares the index i1 with the hash field status and the
range field placedAt; --indices takes the JSON of the HTTP API, for field names with a comma. If the table
exists with the same indices, it is printed and not changed.`,
  flags: {
    db: dbFlag,
    ...Object.fromEntries(slots.map((slot) => [slot, slotFlag])),
    indices: { type: 'string', value: 'JSON', help: '{"i1":{"hashField":"status","rangeField":"placedAt"}}' },
    ...remoteFlags,
  },
  async run(args) {
    const path = tablePath(args)
    const body = JSON.stringify({ indices: parseDeclared(args) })
    return printAnswer(args, { method: 'POST', path, body, repeatable: true })
  },
}

const parseDeclared = (args: Arguments) => {
  const json = args.text('indices')
  const bySlot = slots.filter((slot) => args.text(slot) !== undefined)
  if (json !== undefined && bySlot.length > 0) throw new UsageError(`--indices and --${bySlot[0]} cannot be combined`)
  if (json !== undefined) return orUsageError(() => parseIndices(parseJsonFlag(json)))
  const declared = bySlot.map((slot) => {
    const [hashField, rangeField, ...more] = args.text(slot)!.split(',')
    if (more.length > 0) throw new UsageError(`--${slot} takes one field, or two separated by a comma`)
    return [slot, { hashField, rangeField }]
  })
  return orUsageError(() => parseIndices(Object.fromEntries(declared)))
}

const parseJsonFlag = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError('--indices is not JSON')
  }
}

export const tableListCommand: CliCommand = {
  name: 'table list',
  summary: summaryOf(listTablesOperation),
  details: 'The tables of one database, one per line.',
  flags: {
    db: dbFlag,
    deleted: { type: 'boolean', help: 'list the deleted tables that can still be restored' },
    ...remoteFlags,
  },
  run: async (args) => printListing(args, `/v1/${requireName(args, 'db')}`, 'tables'),
}

export const tableDescribeCommand: CliCommand = {
  name: 'table describe',
  positionals: ['NAME'],
  summary: summaryOf(describeTableOperation),
  flags: { db: dbFlag, ...remoteFlags },
  run: async (args) => printAnswer(args, { method: 'GET', path: tablePath(args), repeatable: true }),
}

export const tableDropCommand: CliCommand = {
  name: 'table drop',
  positionals: ['NAME'],
  summary: summaryOf(deleteTableOperation),
  details: 'Restore it, with all its records, with cubby table restore.',
  flags: { db: dbFlag, ...remoteFlags },
  run: async (args) => printAnswer(args, { method: 'DELETE', path: tablePath(args), repeatable: false }),
}

export const tableRestoreCommand: CliCommand = {
  name: 'table restore',
  positionals: ['NAME'],
  summary: summaryOf(restoreTableOperation),
  details: 'A table can be restored for 7 days after it was deleted.',
  flags: { db: dbFlag, 'deleted-at': deletedAtFlag('table'), ...remoteFlags },
  async run(args) {
    const path = `${tablePath(args)}/restore`
    const body = restoreBody(args, 'cubby table list --deleted')
    return printAnswer(args, { method: 'POST', path, body, repeatable: false })
  },
}
