import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { errorMessageCharactersMax } from '../limits.ts'
import { refuseUnknownMembers } from '../members.ts'
import { readScalar, type Scalar } from '../scalar.ts'
import { parseRetryAfter } from './parse-numbers.ts'
import type { Finish } from './run.ts'
import { membersOf, parseObjectText, type RunBody, refuseTogether } from './run-body.ts'

const finishFields = ['lease', 'result', 'error', 'retry', 'retryAfter'] as const

const refuse = (field: string, message: string, hint?: string): never => {
  throw new CubbyError('invalid_request', `${field} ${message}`, { field, hint })
}

/** Any text may be a lease; one that is not the lease of the attempt is `lease_lost`. */
export const parseLease = (value: unknown, field: string): string =>
  typeof value === 'string'
    ? value
    : refuse(field, `is ${describeValue(value)}; it takes a string.`, 'Give the lease that came with the run.')

/** The first characters of a message. Characters are code points, so no surrogate pair is divided. */
export const cutMessage = (message: string): string => {
  const wellFormed = message.toWellFormed()
  // A character has at most two units, so a short message needs no counting.
  if (wellFormed.length <= errorMessageCharactersMax) return wellFormed
  let end = 0
  for (let characters = 0; characters < errorMessageCharactersMax && end < wellFormed.length; characters++) {
    end += wellFormed.codePointAt(end)! > 0xffff ? 2 : 1
  }
  return wellFormed.slice(0, end)
}

const errorForm = 'Write it as { "message": "why the attempt failed" }.'

const parseMessage = (body: RunBody, prefix: string): string => {
  const given = body.members.error
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    refuse(`${prefix}error`, `is ${describeValue(given)}; it takes a JSON object.`, errorForm)
  }
  const error = membersOf(body, 'error', prefix)
  refuseUnknownMembers(error, ['message'], `${prefix}error.`)
  const { message } = error
  if (typeof message === 'string') return cutMessage(message)
  return refuse(`${prefix}error.message`, `is ${describeValue(message)}; it takes a string.`, errorForm)
}

export const retryRule = { type: 'boolean' } as const satisfies Scalar

/** Parses the end of an attempt. `prefix` is `operations[3].` inside a batch, where there are other members too. */
export const parseFinish = (body: RunBody, prefix = '', alsoKnown: readonly string[] = []): Finish => {
  const { members } = body
  refuseUnknownMembers(members, [...alsoKnown, ...finishFields], prefix)
  const lease = parseLease(members.lease, `${prefix}lease`)
  const result = parseObjectText(body, 'result', prefix)
  if (members.error === undefined) {
    for (const name of ['retry', 'retryAfter']) {
      if (members[name] !== undefined) refuse(`${prefix}${name}`, 'is allowed only with error.', `Leave ${name} out.`)
    }
    return { lease, result: result ?? null }
  }
  const message = parseMessage(body, prefix)
  refuseTogether(members, 'result', 'error', prefix, 'An attempt succeeds with a result, or fails with an error.')
  const retry = readScalar(retryRule, members.retry, `${prefix}retry`) ?? true
  const retryAfter = parseRetryAfter(members.retryAfter, `${prefix}retryAfter`)
  if (!retry && retryAfter !== undefined) {
    refuse(`${prefix}retryAfter`, 'cannot be combined with retry: false.', 'Leave one of the two out.')
  }
  const retryAfterMs = retryAfter === undefined ? null : retryAfter * 1000
  return { lease, error: { code: 'worker', message }, retry, retryAfterMs }
}
