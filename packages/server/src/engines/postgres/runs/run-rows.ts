import type { Run, RunError, RunStatus } from '../../../core/tasks/run.ts'
import { fromHex, toBytesOrNull } from '../connection/bytes.ts'
import type { Row, Value } from '../connection/driver.ts'

// The columns of `cubby_run_8` in order, and their decoding.

const names = [
  ...['seq', 'task_id', 'id', 'status', 'key', 'run_at', 'attempt', 'held', 'lease', 'lease_until', 'done_lease'],
  ...['created_at', 'updated_at', 'finished_at', 'error', 'user_name', 'progress', 'payload', 'result'],
]

/** The columns of an INSERT. */
export const storedRunColumns = names.join(', ')

export const runColumnCount = names.length

export const columnsOf = (alias: string): string => names.map((name) => `${alias}.${name}`).join(', ')

export const runColumns = columnsOf('r')

/** These texts of a run may be long. They are its last columns, in this order. */
export const textColumns = ['progress', 'payload', 'result']
export const shortColumnsOf = (alias: string): string =>
  names
    .slice(0, -textColumns.length)
    .map((name) => `${alias}.${name}`)
    .join(', ')

const numberOrNull = (text: string | null | undefined): number | null => (text == null ? null : Number(text))

export const toRun = (row: Row): Run => ({
  seq: Number(row[0]),
  taskId: Number(row[1]),
  id: row[2]!,
  status: row[3] as RunStatus,
  key: row[4] == null ? null : fromHex(row[4]),
  runAtMs: Number(row[5]),
  attempt: Number(row[6]),
  held: row[7] === 't',
  lease: row[8] ?? null,
  leaseUntilMs: numberOrNull(row[9]),
  doneLease: row[10] ?? null,
  createdAtMs: Number(row[11]),
  updatedAtMs: Number(row[12]),
  finishedAtMs: numberOrNull(row[13]),
  error: row[14] == null ? null : (JSON.parse(row[14]) as RunError),
  user: row[15] ?? null,
  progress: row[16] ?? null,
  payload: row[17]!,
  result: row[18] ?? null,
})

const errorText = ({ error }: Run): string | null => (error === null ? null : JSON.stringify(error))

/** Returns the values in the order of the columns. */
export const runValues = (run: Run): Value[] => [
  ...[run.seq, run.taskId, run.id, run.status, toBytesOrNull(run.key), run.runAtMs, run.attempt, run.held ? 't' : 'f'],
  ...[run.lease, run.leaseUntilMs, run.doneLease, run.createdAtMs, run.updatedAtMs, run.finishedAtMs],
  ...[errorText(run), run.user, run.progress, run.payload, run.result],
]

const types = [
  ...['bigint', 'bigint', 'text', 'text', 'bytea', 'bigint', 'bigint', 'boolean', 'text', 'bigint', 'text'],
  ...['bigint', 'bigint', 'bigint', 'text', 'text', 'text', 'text', 'text'],
]

export const runParameters = types.map((type, i) => `$${i + 1}::${type}`).join(', ')

/** Returns the values that a transition can change. The payload is not among them, because it may be long. */
export const changedValues = (run: Run): Value[] => [
  ...[run.taskId, run.id, run.status, run.runAtMs, run.attempt, run.held ? 't' : 'f', run.lease, run.leaseUntilMs],
  ...[run.doneLease, run.updatedAtMs, run.finishedAtMs, errorText(run), run.progress, run.result],
]
