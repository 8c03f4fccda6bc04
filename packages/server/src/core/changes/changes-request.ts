import { refuseCursor } from '../cursor.ts'
import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { pageRowsDefault, pageRowsMax } from '../limits.ts'
import { type Members, parseLimit, refuseUnknownMembers } from '../members.ts'
import { parseKeyPart } from '../records/record-key.ts'
import { readScalar, type Scalar, words } from '../scalar.ts'
import { waitSecondsRule } from '../tasks/parse-numbers.ts'

export const fromRule = {
  type: 'string',
  enum: ['start', 'now'],
  [words]: { hint: 'Leave from out to begin with every record.' },
} as const satisfies Scalar

export const selectRule = {
  type: 'string',
  enum: ['data', 'keys'],
  [words]: { hint: 'Leave select out to get whole records.' },
} as const satisfies Scalar

export interface ChangesRequest {
  cursor: string | undefined
  /** Used without a cursor. */
  from: (typeof fromRule.enum)[number]
  hash: string | undefined
  limit: number
  waitSeconds: number
  select: (typeof selectRule.enum)[number]
}

/** Only the feed that it belongs to can read it. */
const parseCursor = (value: unknown): string | undefined => {
  if (value === undefined || value === null || typeof value === 'string') return value ?? undefined
  return refuseCursor(`is ${describeValue(value)}; it takes a string or null.`)
}

export const parseChangesRequest = (members: Members): ChangesRequest => {
  refuseUnknownMembers(members, ['cursor', 'from', 'hash', 'limit', 'waitSeconds', 'select'])
  const cursor = parseCursor(members.cursor)
  const from = readScalar(fromRule, members.from, 'from') ?? 'start'
  if (cursor !== undefined && members.from !== undefined) {
    throw new CubbyError('invalid_request', 'from is given together with cursor; a request takes one of them.', {
      field: 'from',
      hint: 'Leave from out to read on from the cursor, or cursor to begin again.',
    })
  }
  return {
    cursor,
    from,
    hash: members.hash === undefined ? undefined : parseKeyPart(members.hash, 'hash'),
    limit: parseLimit(members.limit, pageRowsDefault, pageRowsMax),
    waitSeconds: readScalar(waitSecondsRule, members.waitSeconds, 'waitSeconds') ?? 0,
    select: readScalar(selectRule, members.select, 'select') ?? 'data',
  }
}

/** The request of a stream. `lastEventId` is the id of the last event that its reader has. */
export const parseStreamRequest = (members: Members, lastEventId: string | undefined): ChangesRequest => {
  for (const field of ['limit', 'waitSeconds']) {
    if (members[field] === undefined) continue
    throw new CubbyError('invalid_request', `${field} is given for a stream, which has no pages.`, {
      field,
      hint: `Leave ${field} out, or text/event-stream in Accept.`,
    })
  }
  const request = parseChangesRequest(members)
  return lastEventId === undefined ? request : { ...request, cursor: lastEventId }
}
