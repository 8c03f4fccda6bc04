import { parseIndices, slots } from '../../core/tables/indices.ts'
import { type Arguments, type Flag, orUsageError, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { describeCommand, dropCommand, listCommand, restoreCommand, verbCommand } from '../verb-command.ts'

const slotFlag: Flag = {
  type: 'string',
  value: 'FIELDS',
  help: 'an index: its hash field, or its hash and range field: hash,range',
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

export const tableCommands: CliCommand[] = [
  verbCommand('createTable', {
    example: '--i1 status,placedAt',
    details: `Indices cannot be changed later. --i1 status,placedAt declares the index i1 with the hash field status and the
range field placedAt; --indices takes the JSON of the HTTP API, for field names with a comma. If the table
exists with the same indices, it is printed and not changed.`,
    flags: {
      ...Object.fromEntries(slots.map((slot) => [slot, slotFlag])),
      indices: { type: 'string', value: 'JSON', help: '{"i1":{"hashField":"status","rangeField":"placedAt"}}' },
    },
    body: (args) => JSON.stringify({ indices: parseDeclared(args) }),
    repeatable: true,
  }),
  listCommand('table', 'The tables of one database, with their indices.'),
  describeCommand('table'),
  dropCommand('table', 'records'),
  restoreCommand('table'),
]
