import { parseIndices, slots } from '../../core/tables/indices.ts'
import { parseDuration } from '../../core/text/duration.ts'
import { type Arguments, type Flag, orUsageError, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { describeCommand, dropCommand, listCommand, restoreCommand, verbCommand } from '../verb-command.ts'

const hourMs = 60 * 60 * 1000

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

/** A time such as 24h or 7d, in hours. */
const parseHours = (text: string, flag: string): number => {
  const ms = parseDuration(text)
  if (ms !== undefined && Number.isInteger(ms / hourMs) && ms > 0) return ms / hourMs
  throw new UsageError(`--${flag} is "${text}"; it takes whole hours or days, such as 24h or 7d`)
}

const parseNewChanges = (args: Arguments): { keepHours: number } | undefined => {
  const text = args.text('changes')
  return text === undefined ? undefined : { keepHours: parseHours(text, 'changes') }
}

const parseKeep = (args: Arguments): number | null => {
  const text = args.text('keep')
  if (text === undefined) throw new UsageError('give --keep: how long a change is kept, such as 24h, or none')
  return text === 'none' ? null : parseHours(text, 'keep')
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
      changes: { type: 'string', value: 'TIME', help: 'keep its changes for this long: 24h, 7d' },
      indices: { type: 'string', value: 'JSON', help: '{"i1":{"hashField":"status","rangeField":"placedAt"}}' },
    },
    body: (args) => JSON.stringify({ indices: parseDeclared(args), changes: parseNewChanges(args) }),
    repeatable: true,
  }),
  listCommand('table', 'The tables of one database, with their indices.'),
  describeCommand('table'),
  dropCommand('table', 'records'),
  restoreCommand('table'),
  verbCommand('keepChanges', {
    details: `Every write of the table then adds one small entry to a log, from which readers go on where they stopped: see
cubby changes. With --keep none the table keeps none any more, and every reader has to begin again.`,
    flags: {
      keep: { type: 'string', value: 'TIME', help: 'how long a change is kept at least: 24h, 7d; or none' },
    },
    body: (args) => JSON.stringify({ keepHours: parseKeep(args) }),
    repeatable: true,
  }),
]
