import { CubbyError } from '../errors.ts'
import { progressBytesMax } from '../limits.ts'
import { refuseUnknownMembers } from '../members.ts'
import { readScalar } from '../scalar.ts'
import { parseLease } from './parse-finish.ts'
import { leaseSecondsRule } from './parse-numbers.ts'
import { parseObjectText, type RunBody } from './run-body.ts'

const extendFields = ['lease', 'leaseSeconds', 'progress'] as const

/** The input of `Runs.extend`. */
export interface Extension {
  lease: string
  leaseMs: number | undefined
  progress: string | undefined
}

export const parseExtension = (body: RunBody): Extension => {
  const { members } = body
  refuseUnknownMembers(members, extendFields)
  const lease = parseLease(members.lease, 'lease')
  const leaseSeconds = readScalar(leaseSecondsRule, members.leaseSeconds, 'leaseSeconds')
  return {
    lease,
    leaseMs: leaseSeconds === undefined ? undefined : leaseSeconds * 1000,
    progress: parseProgress(body),
  }
}

const parseProgress = (body: RunBody): string | undefined => {
  const span = body.parts?.get('progress')
  const bytes = span === undefined ? 0 : Buffer.byteLength(body.text.slice(span.start, span.end))
  if (bytes > progressBytesMax) {
    throw new CubbyError(
      'invalid_request',
      `progress has ${bytes} bytes of JSON; it takes at most ${progressBytesMax}.`,
      { field: 'progress', hint: 'Report a summary; put details into a record.' },
    )
  }
  return parseObjectText(body, 'progress', '')
}
