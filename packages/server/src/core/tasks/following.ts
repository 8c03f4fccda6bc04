import { createHash } from 'node:crypto'
import { type EntryKind, entryKind } from '../changes/log-entry.ts'
import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { keyBytesMax } from '../limits.ts'
import { type Members, refuseUnknownMembers } from '../members.ts'
import { parseName } from '../names.ts'
import { noRangeKey, type RecordKey } from '../records/record-key.ts'
import type { NewRun } from './run.ts'
import { newRunId } from './run-id.ts'

// A task may follow a table: every applied write of the table adds a run in its own commit. Of one record at most one run is
// queued and one is running, because the record is the key of its runs.

/** What a task may follow. A patch is a put. */
export const followedOps = ['put', 'delete', 'expire'] as const
type FollowedOp = (typeof followedOps)[number]

/** What a task follows: the table with this name, whichever it is, in its database. */
export interface Followed {
  table: string
  ops: FollowedOp[]
}

/** A task that follows a table, as the row of the table lists it. */
export interface Follower {
  taskId: number
  ops: FollowedOp[]
}

/** A write as the runs of followers tell it. The version is that of a log entry: see `entryKind`. */
export interface FollowedWrite extends RecordKey {
  kind: EntryKind
  version: number
}

interface Following {
  id: number
  declaration: { on: Followed | null }
}

/** The text in the row of a table, for the tasks that follow it. */
export const storedFollowers = (tasks: Following[]): string =>
  JSON.stringify(
    tasks
      .flatMap(({ id, declaration: { on } }): Follower[] => (on === null ? [] : [{ taskId: id, ops: on.ops }]))
      .sort((a, b) => a.taskId - b.taskId),
  )

const opOf: Partial<Record<EntryKind, FollowedOp>> = {
  [entryKind.put]: 'put',
  [entryKind.delete]: 'delete',
  [entryKind.expire]: 'expire',
}

const rangeOf = ({ rangeKey }: RecordKey): { rangeKey?: string } => (rangeKey === noRangeKey ? {} : { rangeKey })

/** The key of the runs of a record. */
export const keyOfRecord = (record: RecordKey): string => {
  const key = JSON.stringify([record.hashKey, ...Object.values(rangeOf(record))])
  return Buffer.byteLength(key) <= keyBytesMax ? key : `sha256:${createHash('sha256').update(key).digest('hex')}`
}

/** The run that a write adds for a follower; undefined if it does not follow such writes. */
export const runOfWrite = (
  table: { db: string; name: string },
  { ops }: Follower,
  write: FollowedWrite,
): NewRun | undefined => {
  const { hashKey, kind, version } = write
  const op = opOf[kind]
  if (op === undefined || !ops.includes(op)) return undefined
  const time = op === 'put' ? { updatedAt: version } : { deletedAt: version }
  return {
    id: newRunId(),
    isNamed: false,
    key: keyOfRecord(write),
    payload: JSON.stringify({ db: table.db, table: table.name, hashKey, ...rangeOf(write), op, ...time }),
    at: { delayMs: 0 },
  }
}

// ── As it is declared ──────────────────────────────────────────────────────────────────────────────────────

const form = 'Give { "table": "orders" }, and "ops" for some of the writes only.'

/** The member `on` of a declaration. */
export const parseFollowed = (value: unknown): Followed | null => {
  if (value === undefined) return null
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CubbyError('invalid_request', `on is ${describeValue(value)}; it takes a JSON object.`, {
      field: 'on',
      hint: `Leave it out for a task that follows no table. ${form}`,
    })
  }
  const members = value as Members
  refuseUnknownMembers(members, ['table', 'ops'], 'on.')
  if (members.table === undefined) {
    throw new CubbyError('invalid_request', 'on.table is missing; it takes the name of a table.', {
      field: 'on.table',
      hint: form,
    })
  }
  return { table: parseName(members.table, 'on.table'), ops: parseOps(members.ops) }
}

const parseOps = (value: unknown): FollowedOp[] => {
  if (value === undefined) return [...followedOps]
  const refuse = (field: string, message: string): never => {
    const hint = `Leave on.ops out for all: ${followedOps.join(', ')}.`
    throw new CubbyError('invalid_request', message, { field, hint })
  }
  if (!Array.isArray(value) || value.length === 0 || value.length > followedOps.length) {
    return refuse('on.ops', `on.ops is ${describeValue(value)}; it takes a list of 1 to ${followedOps.length} words.`)
  }
  for (const [i, op] of value.entries()) {
    const field = `on.ops[${i}]`
    if (!followedOps.includes(op)) {
      const words = followedOps.map((one) => `"${one}"`).join(', ')
      refuse(field, `${field} is ${describeValue(op)}; it takes one of ${words}.`)
    }
    if (value.indexOf(op) < i) refuse(field, `${field} is ${JSON.stringify(op)} again; each is named once.`)
  }
  return value as FollowedOp[]
}
