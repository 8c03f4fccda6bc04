import { decodeScanCursor, scanFingerprint } from '../cursor.ts'
import type { CursorSeal } from '../cursor-seal.ts'
import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { countRowsMax, pageRowsDefault, pageRowsMax } from '../limits.ts'
import { type Members, parseLimit, refuseUnknownMembers } from '../members.ts'
import { parseRange, type RangeCondition, timeBounds } from '../records/range.ts'
import { resumeScan, type TimeScan } from '../records/scan.ts'
import { type RunStatus, runStatuses } from './run.ts'

export const runSelections = ['data', 'count'] as const
type RunSelection = (typeof runSelections)[number]

/** A query of a task's runs with well-formed fields. */
export interface RunQuery {
  status: RunStatus | undefined
  range: RangeCondition | undefined
  select: RunSelection
  limit: number
  ascending: boolean
  cursor: unknown
}

const runQueryFields = ['status', 'range', 'select', 'limit', 'ascending', 'cursor'] as const

const refuse = (field: string, message: string, hint?: string): never => {
  throw new CubbyError('invalid_request', `${field} ${message}`, { field, hint })
}

export const parseRunQuery = (members: Members): RunQuery => {
  refuseUnknownMembers(members, runQueryFields)
  const { status, range, ascending, select = 'data', limit, cursor } = members
  if (status !== undefined && !runStatuses.includes(status as RunStatus)) {
    refuse(
      'status',
      `is ${describeValue(status)}; it takes one of ${runStatuses.map((name) => `"${name}"`).join(', ')}.`,
      'Leave status out for all runs.',
    )
  }
  if (ascending !== undefined && typeof ascending !== 'boolean') {
    refuse('ascending', `is ${describeValue(ascending)}; it takes true or false.`)
  }
  if (!runSelections.includes(select as RunSelection)) {
    refuse('select', `is ${describeValue(select)}; it takes "data" or "count".`, 'Leave select out to get the runs.')
  }
  return {
    status: status as RunStatus | undefined,
    range: parseRange(range, 't'),
    select: select as RunSelection,
    limit:
      select === 'count'
        ? parseLimit(limit, countRowsMax, countRowsMax)
        : parseLimit(limit, pageRowsDefault, pageRowsMax),
    ascending: (ascending as boolean | undefined) ?? false,
    cursor: cursor ?? undefined,
  }
}

export interface RunQueryPlan {
  /** The scan of the whole query, to which its cursors belong. */
  whole: TimeScan
  /** The same scan from the start of this page. */
  page: TimeScan
  /** Of task, status, range and direction. */
  fingerprint: string
}

export const planRunQuery = (query: RunQuery, taskId: number, seal: CursorSeal): RunQueryPlan => {
  const { status, range, ascending, cursor } = query
  const whole: TimeScan = { index: 't', ...timeBounds(range), lowId: 0, highId: 0, descending: !ascending }
  // The id of a task is never that of a table, so this is the cursor of no other query.
  const fingerprint = `${scanFingerprint(taskId, whole)}${status ?? ''}`
  if (cursor === undefined) return { whole, page: whole, fingerprint }
  const position = decodeScanCursor(seal, cursor, taskId, whole, fingerprint, 'task, status, range and direction')
  return { whole, page: resumeScan(whole, position) as TimeScan, fingerprint }
}
