import { decodeScanCursor, scanFingerprint } from '../cursor.ts'
import type { CursorSeal } from '../cursor-seal.ts'
import { countRowsMax, pageRowsDefault, pageRowsMax } from '../limits.ts'
import { type Members, parseLimit, refuseUnknownMembers } from '../members.ts'
import { parseRange, type RangeCondition, timeBounds } from '../records/range.ts'
import { resumeScan, type TimeScan } from '../records/scan.ts'
import { readScalar, type Scalar, words } from '../scalar.ts'
import { type RunStatus, runStatuses } from './run.ts'

/** A query of a task's runs with well-formed fields. */
export interface RunQuery {
  status: RunStatus | undefined
  range: RangeCondition | undefined
  select: 'data' | 'count'
  limit: number
  ascending: boolean
  cursor: unknown
}

const runQueryFields = ['status', 'range', 'select', 'limit', 'ascending', 'cursor'] as const

export const runQueryRules = {
  status: { type: 'string', enum: runStatuses, [words]: { hint: 'Leave status out for all runs.' } },
  select: { type: 'string', enum: ['data', 'count'], [words]: { hint: 'Leave select out to get the runs.' } },
} as const satisfies Record<string, Scalar>

export const ascendingRule = { type: 'boolean' } as const satisfies Scalar

export const parseRunQuery = (members: Members): RunQuery => {
  refuseUnknownMembers(members, runQueryFields)
  const { status, range, ascending, select, limit, cursor } = members
  const selected = {
    status: readScalar(runQueryRules.status, status, 'status'),
    ascending: readScalar(ascendingRule, ascending, 'ascending') ?? false,
    select: readScalar(runQueryRules.select, select, 'select') ?? 'data',
  }
  return {
    ...selected,
    range: parseRange(range, 't'),
    limit:
      selected.select === 'count'
        ? parseLimit(limit, countRowsMax, countRowsMax)
        : parseLimit(limit, pageRowsDefault, pageRowsMax),
    cursor: cursor ?? undefined,
  }
}

export interface RunQueryPlan {
  /** The scan of the whole query, to which its cursors belong. */
  whole: TimeScan
  /** The same scan from the start of this page. */
  page: TimeScan
  /** Identifies task, status, range and direction. */
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
