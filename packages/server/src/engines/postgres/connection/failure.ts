import { CubbyError } from '../../../core/errors.ts'
import { repeatLater } from '../../../core/hint.ts'
import { StoreRefused } from '../../../core/store-refused.ts'
import { PipelineFailure } from './driver.ts'
import type { StoreUrl } from './store-url.ts'

// The only file that interprets SQLSTATEs.

/** A statement found that a condition or the guard does not hold: see `raising` in records/statements.ts. */
export const isRaised = (error: unknown): boolean => stateOf(error) === '22012'

/** A row with the same unique values exists: another process was faster. */
export const isDuplicate = (error: unknown): boolean => stateOf(error) === '23505'

/** Two processes made or changed the same thing at once where no lock keeps them apart, or a deadlock was ended. */
export const isSetupRace = (error: unknown): boolean => setupRaceStates.includes(stateOf(error) ?? '')

const setupRaceStates = [
  // Another process made, renamed or dropped it in between.
  ...['23505', '42P07', '42P16', '42710', '42P06', '42701', '42703', '42704', '42P01'],
  ...['40001', '40P01', 'XX000'],
]

export const isLockTimeout = (error: unknown): boolean => stateOf(error) === '55P03'

export const isMissingRight = (error: unknown): boolean => stateOf(error) === '42501'

const stateOf = (error: unknown): string | undefined => (error instanceof PipelineFailure ? error.sqlState : undefined)

/**
 * The server rolled the pipeline back, and a retry can succeed: after a serialization failure, a deadlock, or a statement that
 * must be prepared again (its table was altered, or a proxy dropped it).
 */
export const isRetryable = (error: unknown): boolean => {
  const state = stateOf(error)
  return state === '40001' || state === '40P01' || state === '26000' || state === '0A000'
}

/** The session is unusable: its server is stopping or no longer the primary, or its prepared statements are stale. */
export const endsSession = (error: unknown): boolean => {
  const state = stateOf(error)
  if (!(error instanceof PipelineFailure)) return false
  // 26000, 0A000: the session's prepared statements are stale.
  return state === undefined || /^(25006|25P03|26000|0A000|57P..)$/.test(state)
}

const lostWorkerTexts = /could not commit transaction for shard|server closed the connection|postmaster was shut down/
const notConnectedTexts = /Connection refused|the database system is /

/**
 * Converts a failure of Citus into the failure that a single server would report. Citus reports a worker that it lost, or no
 * longer waited for, as an error of the statement. If that was the last statement (a single one, or COMMIT), the worker may
 * have committed it. So it counts as executed, unless the text says that the worker was not reached.
 */
export const ofWorker = (error: unknown): unknown => {
  if (!(error instanceof PipelineFailure) || error.sqlState === undefined) return error
  const { message, sent, sqlState } = error
  const isLostWorker = sqlState === 'XX000' && lostWorkerTexts.test(message)
  if (!isLost(error) && !isLostWorker && sqlState !== timeout) return error
  const executed = error.executed || (error.atLast && !notConnectedTexts.test(message))
  return new PipelineFailure(message, { sqlState: isLostWorker ? connectionFailure : sqlState, sent, executed })
}

const connectionFailure = '08006'
const timeout = '57014'

/** The connection broke, or the server announced that it closes it. */
export const isLost = (error: unknown): boolean => {
  if (!(error instanceof PipelineFailure)) return false
  const state = error.sqlState
  return state === undefined || state.startsWith('08') || state.startsWith('57P')
}

export const unavailable = (why: string): CubbyError =>
  new CubbyError('unavailable', `${why} Nothing was applied.`, {
    hint: repeatLater,
  })

const outcomeUnknown = (): CubbyError =>
  new CubbyError('outcome_unknown', 'The database did not confirm the write: it may or may not have been applied.', {
    hint: 'Read before repeating it.',
  })

/**
 * Returns whether it is certain that nothing was applied. `commits`: the pipeline would have committed. If it was sent and the
 * connection broke, the outcome is unknown, unless the server reported an error while it was still executing.
 */
export const isUndone = (error: unknown, commits: boolean): boolean => {
  if (!(error instanceof PipelineFailure)) return false
  if (error.sqlState === '40003') return false
  const brokenOff = error.sqlState !== undefined && !error.executed
  const mayBeLate = isLost(error) || error.sqlState === timeout
  return !mayBeLate || !commits || !error.sent || brokenOff
}

/**
 * A pooler in transaction mode runs each transaction on any of its own connections. The settings of a session are lost, and
 * a prepared statement exists already (42P05) or no longer (26000), on each connection we try.
 */
export const pooledByTransaction = (): StoreRefused =>
  new StoreRefused(
    'a connection pooler in transaction mode is between Cubby and the database, and Cubby needs whole sessions: ' +
      'give the direct port of the database, or one of the pooler in session mode',
  )

/** The server has no connection left. */
export const isOutOfConnections = (error: unknown): boolean => (error as { code?: unknown }).code === '53300'

/** Converts an error into the one that the caller gets. */
export const toCallersError = (error: unknown, commits: boolean): unknown => {
  if (!(error instanceof PipelineFailure)) return error
  const state = error.sqlState
  if (!isUndone(error, commits)) return outcomeUnknown()
  if (isLost(error)) return unavailable('The connection to the database broke.')
  switch (state) {
    case '40001':
    case '40P01':
      return unavailable('The write kept colliding with others.')
    case '57014':
    case '55P03':
    case '25P03':
      return unavailable('The database took longer than a statement may.')
    case '25006':
      return unavailable('The database takes no writes just now.')
    case '42P05':
    case '26000':
      return pooledByTransaction()
    case '53100':
      return new CubbyError('storage_full', 'The database has no space left. Nothing was applied.', {
        hint: 'The operator has to make room; reads still work.',
      })
    case '53000':
    case '53200':
    case '53300':
    case '53400':
    case '58000':
    case '58030':
      return unavailable('The database is short of resources.')
    default:
      return new Error(`PostgreSQL refused a statement: ${state} ${error.message}`)
  }
}

const connectReason = (code: string, error: Error, url: StoreUrl): string => {
  switch (code) {
    case 'ECONNREFUSED':
      return 'nothing listens there'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'DNS_ENOTFOUND':
      return 'the host name is not known'
    case 'ENOENT':
      return 'there is no such socket'
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ETIMEDOUT':
      return 'the host cannot be reached'
    case '28P01':
    case '28000':
      return `it refuses the user or the password (${error.message})`
    case '3D000':
      return `the database does not exist; make it with: createdb ${url.database}`
    case '42501':
      return `the user lacks a right (${error.message}); it must connect, and create and use tables and sequences`
    case '53300':
      return `it has no connection left (${error.message})`
    default:
      return error.message === '' ? code : error.message
  }
}

/** Says in one line why the store cannot be opened. The password is removed wherever it occurs. */
export const toStartError = (error: unknown, url: StoreUrl): Error => {
  if (error instanceof StoreRefused) return error
  const cause = error instanceof Error ? error : new Error(String(error))
  const code = error instanceof PipelineFailure ? error.sqlState : (error as { code?: unknown }).code
  // Node tries every address of a host name and reports all failures.
  const first = cause instanceof AggregateError ? (cause.errors[0] as Error & { code?: string }) : undefined
  const reason = connectReason(String(first?.code ?? code ?? ''), first ?? cause, url).replaceAll(/\s+/g, ' ')
  const clean = url.password ? reason.replaceAll(url.password, '***') : reason
  return new StoreRefused(`the store at ${url.shown} cannot be opened: ${clean}`)
}
