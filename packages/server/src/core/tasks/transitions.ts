import { CubbyError } from '../errors.ts'
import { backoffMs, type Declaration } from './declaration.ts'
import { type Finish, isFinished, type NewRun, type Run, type RunError } from './run.ts'
import { clockErrorMs, scheduleKey } from './schedule.ts'

// The rules of runs. Each function returns the changed run, and changes nothing itself. Both engines apply them inside a
// transaction that holds the run.

/** A version is always above the one before. */
const nextVersion = ({ updatedAtMs }: Run, nowMs: number): number => Math.max(nowMs, updatedAtMs + 1)

const runAtOf = ({ at }: NewRun, nowMs: number): number => ('runAtMs' in at ? at.runAtMs : nowMs + at.delayMs)

/** `held`: another run of its key is running. */
export const createRun = (seq: number, taskId: number, run: NewRun, held: boolean, nowMs: number): Run => ({
  ...{ seq, taskId, id: run.id, status: 'queued', key: run.key, payload: run.payload, runAtMs: runAtOf(run, nowMs) },
  user: run.user ?? null,
  ...{ attempt: 0, progress: null, result: null, error: null },
  ...{ createdAtMs: nowMs, updatedAtMs: nowMs, finishedAtMs: null },
  ...{ lease: null, leaseUntilMs: null, doneLease: null, held },
})

/** A run of the key is queued already: it takes the new payload. A request must not defeat the backoff. */
export const mergeRun = (queued: Run, run: NewRun, nowMs: number): Run => ({
  ...queued,
  payload: run.payload,
  runAtMs: queued.attempt === 0 ? Math.min(queued.runAtMs, runAtOf(run, nowMs)) : queued.runAtMs,
  updatedAtMs: nextVersion(queued, nowMs),
})

/**
 * A queued run that was written while the clock was ahead may have a time that nobody meant: that of its next attempt, or
 * one of its schedule. It is due now; otherwise it would wait for as long as the clock was set back. Undefined: the time
 * stays, because the caller chose it, or it has come.
 */
export const wakeRun = (run: Run, nowMs: number): Run | undefined => {
  const isMeant = run.attempt === 0 && run.key !== scheduleKey
  if (run.status !== 'queued' || isMeant || run.runAtMs <= nowMs || run.updatedAtMs <= nowMs + clockErrorMs) return
  return { ...run, runAtMs: nowMs, updatedAtMs: nextVersion(run, nowMs) }
}

export const startAttempt = (run: Run, lease: string, leaseMs: number, nowMs: number): Run => ({
  ...run,
  status: 'running',
  attempt: run.attempt + 1,
  lease,
  leaseUntilMs: nowMs + leaseMs,
  doneLease: null,
  held: false,
  updatedAtMs: nextVersion(run, nowMs),
})

/** Tells whether `lease` is the one of the running attempt, and has not expired. */
export const holdsLease = (run: Run, lease: string, nowMs: number): boolean =>
  run.status === 'running' && run.lease === lease && run.leaseUntilMs! > nowMs

/** Extends the lease. Without `progress` the version stays. */
export const extendLease = (run: Run, leaseMs: number, progress: string | undefined, nowMs: number): Run => {
  const extended = { ...run, leaseUntilMs: nowMs + leaseMs }
  return progress === undefined ? extended : { ...extended, progress, updatedAtMs: nextVersion(run, nowMs) }
}

/** Applies the end of the running attempt. `keyIsQueued`: another run of its key waits. `random` is from 0 to 1. */
export const finishAttempt = (
  run: Run,
  finish: Finish,
  declaration: Declaration,
  keyIsQueued: boolean,
  random: number,
  nowMs: number,
): Run => {
  if ('result' in finish) return end({ ...run, doneLease: finish.lease, result: finish.result }, 'succeeded', nowMs)
  const ended = { ...run, doneLease: finish.lease }
  return failAttempt(ended, finish.error, declaration, keyIsQueued, random, nowMs, finish)
}

/** The lease has expired. */
export const expireAttempt = (
  run: Run,
  declaration: Declaration,
  keyIsQueued: boolean,
  random: number,
  nowMs: number,
): Run => failAttempt({ ...run, doneLease: null }, leaseExpired, declaration, keyIsQueued, random, nowMs)

const leaseExpired: RunError = {
  code: 'lease_expired',
  message: 'The attempt neither finished nor extended its lease in time.',
}

const failAttempt = (
  run: Run,
  error: RunError,
  declaration: Declaration,
  keyIsQueued: boolean,
  random: number,
  nowMs: number,
  { retry = true, retryAfterMs = null }: { retry?: boolean; retryAfterMs?: number | null } = {},
): Run => {
  const failed = { ...run, error }
  if (!retry || run.attempt >= declaration.attempts) return end(failed, 'failed', nowMs)
  // The waiting run does the same with newer data.
  if (keyIsQueued) return end(failed, 'cancelled', nowMs)
  return {
    ...failed,
    status: 'queued',
    runAtMs: nowMs + (retryAfterMs ?? backoffMs(declaration, run.attempt, random)),
    ...{ lease: null, leaseUntilMs: null, held: false },
    updatedAtMs: nextVersion(run, nowMs),
  }
}

const end = (run: Run, status: 'succeeded' | 'failed' | 'cancelled', nowMs: number): Run => ({
  ...run,
  status,
  finishedAtMs: nowMs,
  lease: null,
  leaseUntilMs: null,
  held: false,
  updatedAtMs: nextVersion(run, nowMs),
})

// ── What a caller asks for ─────────────────────────────────────────────────────────────────────────────────
// `run` is undefined if it does not exist, or is no longer kept.

export type RunChange =
  /** `isRepeated`: it was so already, and nothing is written. */
  | { run: Run; isRepeated?: true }
  | { refused: 'missing' }
  /** The caller does not hold the lease of the attempt, or it has expired. Nothing is changed. */
  | { refused: 'lease_lost' }
  /** A cancel of a run that has finished. */
  | { refused: 'finished'; run: Run }
  /** A retry of a run that has not finished, or of whose key another is queued. */
  | { refused: 'exists'; run: Run }

/** A claim of such a task is refused. */
export const pushedTask = (): CubbyError =>
  new CubbyError('invalid_request', 'The runs of this task are pushed to its url; nobody can claim them.', {
    hint: 'Declare the task without url to let workers claim its runs.',
  })

export interface Extension {
  lease: string
  /** Default: as declared. */
  leaseMs: number | undefined
  progress: string | undefined
}

export const extendRun = (
  run: Run | undefined,
  { lease, leaseMs, progress }: Extension,
  { leaseSeconds }: Declaration,
  nowMs: number,
): RunChange => {
  if (run === undefined) return { refused: 'missing' }
  if (!holdsLease(run, lease, nowMs)) return { refused: 'lease_lost' }
  return { run: extendLease(run, leaseMs ?? leaseSeconds * 1000, progress, nowMs) }
}

/** `isOnce`: a repeated finish is refused too. `keyIsQueued` and `random` as in `finishAttempt`. */
export const finishRun = (
  run: Run | undefined,
  finish: Finish,
  isOnce: boolean,
  declaration: Declaration,
  keyIsQueued: boolean,
  random: number,
  nowMs: number,
): RunChange => {
  if (run === undefined) return { refused: 'missing' }
  if (!isOnce && run.doneLease === finish.lease) return { run, isRepeated: true }
  if (!holdsLease(run, finish.lease, nowMs)) return { refused: 'lease_lost' }
  return { run: finishAttempt(run, finish, declaration, keyIsQueued, random, nowMs) }
}

/** Cancels a run. From that moment nothing of its attempt is accepted. */
export const cancelRun = (run: Run | undefined, nowMs: number): RunChange => {
  if (run === undefined) return { refused: 'missing' }
  if (run.status === 'cancelled') return { run, isRepeated: true }
  if (isFinished(run)) return { refused: 'finished', run }
  return { run: end({ ...run, doneLease: null }, 'cancelled', nowMs) }
}

/** `keyIsQueued`: its key has another queued run. `held` as in `createRun`. */
export const retryRun = (run: Run | undefined, keyIsQueued: boolean, held: boolean, nowMs: number): RunChange => {
  if (run === undefined) return { refused: 'missing' }
  if (!isFinished(run) || keyIsQueued) return { refused: 'exists', run }
  const retried: Run = {
    ...run,
    ...{ status: 'queued', attempt: 0, runAtMs: nowMs, progress: null, result: null, error: null, finishedAtMs: null },
    held,
    updatedAtMs: nextVersion(run, nowMs),
  }
  return { run: retried }
}
