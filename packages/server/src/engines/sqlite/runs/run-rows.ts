import { CubbyError } from '../../../core/errors.ts'
import { storedData, takeChecksum } from '../../../core/records/checksum.ts'
import type { Run, RunErrorCode, RunStatus } from '../../../core/tasks/run.ts'
import { damageHint } from '../disk/damage.ts'

// Rows of runs as SQLite returns them, and their conversion. Payload and result are stored with a checksum behind them, as
// the data of records is.

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

export const runColumns = `seq, task_id, id, status, CAST(key AS TEXT) AS key, run_at, attempt, held, lease, lease_until,
  done_lease, created_at, updated_at, finished_at, error_code, error_message, progress, payload, result`

type Place = Pick<Run, 'taskId' | 'seq' | 'id'>

const withChecksum = ({ taskId, seq, id }: Place, field: 'payload' | 'result', text: string): string =>
  storedData(taskId, { hashKey: id, rangeKey: field, data: text, ttlSeconds: null, updatedAtMs: seq })

export const storedPayload = (run: Run): string => withChecksum(run, 'payload', run.payload)

export const storedResult = (run: Run): string | null =>
  run.result === null ? null : withChecksum(run, 'result', run.result)

/** Undefined if it is damaged. */
const withoutChecksum = ({ taskId, seq, id }: Place, field: 'payload' | 'result', text: string): string | undefined => {
  const record = { hashKey: id, rangeKey: field, data: text, ttlSeconds: null, updatedAtMs: seq }
  return takeChecksum(taskId, record) === 'intact' ? record.data : undefined
}

export const damagedRun = (id: string): CubbyError =>
  new CubbyError('store_damaged', `The run ${id} is damaged on the disk.`, { hint: damageHint })

/** Undefined if the row is not as it was written. */
export const readRun = (row: RunRow): Run | undefined => {
  const { task_id: taskId, seq, id } = row
  const place = { taskId, seq, id }
  const payload = withoutChecksum(place, 'payload', row.payload)
  const result = row.result === null ? null : withoutChecksum(place, 'result', row.result)
  if (payload === undefined || result === undefined) return undefined
  // One literal: each object that is spread into it would cost more than a member.
  return {
    taskId,
    seq,
    id,
    status: row.status,
    key: row.key,
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

export type RunValue = string | number | null

/** ?1 to ?19 of `insertRun`. */
export const runValues = (run: Run): RunValue[] => [
  ...[run.seq, run.taskId, run.id, run.status, run.key, run.runAtMs, run.attempt, run.held ? 1 : 0],
  ...[run.lease, run.leaseUntilMs, run.doneLease, run.createdAtMs, run.updatedAtMs, run.finishedAtMs],
  ...[run.error?.code ?? null, run.error?.message ?? null, run.progress, storedPayload(run), storedResult(run)],
]

export const insertRun = `INSERT INTO runs (seq, task_id, id, status, key, run_at, attempt, held, lease, lease_until, done_lease,
    created_at, updated_at, finished_at, error_code, error_message, progress, payload, result)
  VALUES (?1, ?2, ?3, ?4, CAST(?5 AS BLOB), ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)`
