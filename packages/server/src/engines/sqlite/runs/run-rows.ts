import { CubbyError } from '../../../core/errors.ts'
import { storedData, takeChecksum } from '../../../core/records/checksum.ts'
import type { StoredRecord } from '../../../core/records/stored-record.ts'
import type { Run, RunErrorCode, RunStatus } from '../../../core/tasks/run.ts'
import type { Connection } from '../connection.ts'
import { damageHint } from '../disk/damage.ts'

// Rows of runs as SQLite returns them, and their conversion. The checksum behind the payload covers all columns of the row, the
// one behind the result covers the result. Both have the form of the checksums of records. The user of a run, if it has one, stands
// before the payload as a JSON string: a payload is an object.

export interface RunRow {
  seq: number
  task_id: number
  id: string
  status: RunStatus
  key: string | null
  run_at: number
  attempt: number
  held: number
  lease: string | null
  lease_until: number | null
  done_lease: string | null
  created_at: number
  updated_at: number
  finished_at: number | null
  error_code: RunErrorCode | null
  error_message: string | null
  progress: string | null
  payload: string
  result: string | null
}

/** A key that is a text is damage: the column has bytes. */
export const runColumns = `seq, task_id, id, status, iif(typeof(key) = 'text', 0, CAST(key AS TEXT)) AS key, run_at, attempt,
  held, lease, lease_until, done_lease, created_at, updated_at, finished_at, error_code, error_message, progress, payload, result`

export const runBySeq = `SELECT ${runColumns} FROM runs WHERE seq = ?1`
export const runById = `SELECT ${runColumns} FROM runs WHERE task_id = ?1 AND id = ?2`

export type RunValue = string | number | null

// The state of a run: all its columns between the ids and the long texts, in their order. The checksum of a stored row covers
// it as JSON, where no value runs into the next: never change it without a migration.

const stateOf = (run: Run): RunValue[] => [
  run.id,
  run.status,
  run.key,
  run.runAtMs,
  run.attempt,
  run.held ? 1 : 0,
  run.lease,
  run.leaseUntilMs,
  run.doneLease,
  run.createdAtMs,
  run.updatedAtMs,
  run.finishedAtMs,
  run.error?.code ?? null,
  run.error?.message ?? null,
  run.progress,
]

const stateOfRow = (row: RunRow): RunValue[] => [
  row.id,
  row.status,
  row.key,
  row.run_at,
  row.attempt,
  row.held,
  row.lease,
  row.lease_until,
  row.done_lease,
  row.created_at,
  row.updated_at,
  row.finished_at,
  row.error_code,
  row.error_message,
  row.progress,
]

/**
 * The checksum of the whole row covers this. The result has a checksum of its own: here it counts only whether there is one.
 */
const wholeRow = (seq: number, state: RunValue[], payload: string, hasResult: boolean): StoredRecord => ({
  ...{ hashKey: JSON.stringify(state), rangeKey: hasResult ? 'run with result' : 'run', data: payload },
  ...{ ttlSeconds: null, updatedAtMs: seq },
})

const withUser = ({ user, payload }: Pick<Run, 'user' | 'payload'>): string =>
  user === null ? payload : JSON.stringify(user) + payload

const withoutUser = (text: string): Pick<Run, 'user' | 'payload'> => {
  const user = text.startsWith('"') ? /^"(?:[^"\\]|\\.)*"/.exec(text)![0] : undefined
  return user === undefined
    ? { user: null, payload: text }
    : { user: JSON.parse(user), payload: text.slice(user.length) }
}

const onlyResult = (seq: number, id: string, result: string): StoredRecord => ({
  ...{ hashKey: id, rangeKey: 'result', data: result, ttlSeconds: null, updatedAtMs: seq },
})

/** Undefined if it is damaged. */
const withoutChecksum = (taskId: number, record: StoredRecord): string | undefined =>
  takeChecksum(taskId, record) === 'intact' ? record.data : undefined

const damagedRun = (id: string): CubbyError =>
  new CubbyError('store_damaged', `The run ${id} is damaged on the disk.`, { hint: damageHint })

/** Undefined if the row is not as it was written. */
export const readRun = (row: RunRow): Run | undefined => {
  const { task_id: taskId, seq, id } = row
  const content = withoutChecksum(taskId, wholeRow(seq, stateOfRow(row), row.payload, row.result !== null))
  const result = row.result === null ? null : withoutChecksum(taskId, onlyResult(seq, id, row.result))
  if (content === undefined || result === undefined) return undefined
  const { user, payload } = withoutUser(content)
  // One literal: each object that is spread into it would cost more than a member.
  return {
    taskId,
    seq,
    id,
    status: row.status,
    key: row.key,
    user,
    payload,
    runAtMs: row.run_at,
    attempt: row.attempt,
    progress: row.progress,
    result,
    error: row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' },
    createdAtMs: row.created_at,
    updatedAtMs: row.updated_at,
    finishedAtMs: row.finished_at,
    lease: row.lease,
    leaseUntilMs: row.lease_until,
    doneLease: row.done_lease,
    held: row.held === 1,
  }
}

export const toRun = (row: RunRow): Run => {
  const run = readRun(row)
  if (run === undefined) throw damagedRun(row.id)
  return run
}

/** ?1 to ?19 of `insertRun` and `updateRun`. */
export const runValues = (run: Run): RunValue[] => {
  const { seq, taskId, id, result } = run
  const state = stateOf(run)
  return [
    ...[seq, taskId],
    ...state,
    storedData(taskId, wholeRow(seq, state, withUser(run), result !== null)),
    result === null ? null : storedData(taskId, onlyResult(seq, id, result)),
  ]
}

export const insertRun = `INSERT INTO runs (seq, task_id, id, status, key, run_at, attempt, held, lease, lease_until, done_lease,
    created_at, updated_at, finished_at, error_code, error_message, progress, payload, result)
  VALUES (?1, ?2, ?3, ?4, CAST(?5 AS BLOB), ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)`

/** The same for a run that `createRun` has made: the other columns of such a row have one value. */
export const insertNewRun = `INSERT INTO runs (seq, task_id, id, status, key, run_at, attempt, held, created_at, updated_at, payload)
  VALUES (?1, ?2, ?3, 'queued', CAST(?4 AS BLOB), ?5, 0, ?6, ?7, ?7, ?8)`

export const newRunValues = (run: Run): RunValue[] => {
  const { seq, taskId, id, key, runAtMs, held, createdAtMs } = run
  const stored = storedData(taskId, wholeRow(seq, stateOf(run), withUser(run), false))
  return [seq, taskId, id, key, runAtMs, held ? 1 : 0, createdAtMs, stored]
}

/** Writes all columns that can change. The payload has the checksum of the whole row. */
export const updateRun = `UPDATE runs SET status = ?4, run_at = ?6, attempt = ?7, held = ?8, lease = ?9, lease_until = ?10,
    done_lease = ?11, updated_at = ?13, finished_at = ?14, error_code = ?15, error_message = ?16, progress = ?17,
    payload = ?18, result = ?19 WHERE seq = ?1`

type Leased = Pick<Run, 'seq' | 'taskId' | 'leaseUntilMs'>

/** ?1 the task. 0 if it is missing, which is damage. */
const organizationOfTask = 'coalesce((SELECT org_id FROM tasks WHERE table_id = ?1), 0)'

const removeLease = `DELETE FROM leases WHERE org_id = ${organizationOfTask} AND until = ?2 AND seq = ?3`
const insertLease = `INSERT INTO leases VALUES (${organizationOfTask}, ?2, ?3)`

/**
 * Changes the entry of a lease from that of `before` to the new one; null is none. The table `leases` is an index that we keep
 * ourselves, so every change of a lease calls this in its transaction.
 */
export const moveLease = (db: Connection, before: Leased, { leaseUntilMs }: Pick<Run, 'leaseUntilMs'>): void => {
  const { seq, taskId, leaseUntilMs: beforeMs } = before
  if (beforeMs === leaseUntilMs) return
  if (beforeMs !== null) db.change(removeLease, taskId, beforeMs, seq)
  if (leaseUntilMs !== null) db.change(insertLease, taskId, leaseUntilMs, seq)
}
