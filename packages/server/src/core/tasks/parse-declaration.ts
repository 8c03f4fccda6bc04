import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import {
  attemptsDefault,
  attemptsMax,
  authorizationCharactersMax,
  backoffSecondsDefault,
  backoffSecondsMax,
  concurrencyMax,
  keepSecondsDefault,
  keepSecondsMax,
  keepSecondsMin,
  leaseSecondsDefault,
  leaseSecondsMax,
  pushConcurrencyDefault,
  pushLeaseSecondsMax,
} from '../limits.ts'
import { type Members, parseFlag, parseObject, refuseUnknownMembers } from '../members.ts'
import { parsePushUrl } from '../push-url.ts'
import { parseData } from '../records/record-data.ts'
import { readScalar, type Scalar, words } from '../scalar.ts'
import { runThrough, type Slices } from '../slices.ts'
import { checkJson } from '../text/json-scan.ts'
import { extendSpan, openSpan, outline, readEnvelope, type Span } from '../text/json-span.ts'
import type { Declaration } from './declaration.ts'
import { parseFollowed } from './following.ts'
import { parseSchedule } from './parse-schedule.ts'

/** The text that is shown for a task's `authorization`. In a declaration it keeps the value. */
export const hiddenAuthorization = '****'

/** A declaration as it was sent, with the defaults filled in. */
export interface ParsedDeclaration extends Declaration {
  /** Keep the present `authorization`; the member itself is null then. */
  keepsAuthorization: boolean
}

const declarationFields = [
  'url',
  'authorization',
  'leaseSeconds',
  'attempts',
  'backoffSeconds',
  'concurrency',
  'keepSeconds',
  'paused',
  'schedule',
  'on',
] as const

// ── The text ───────────────────────────────────────────────────────────────────────────────────────────────

/** The members of a declaration, with shallow values; those of `schedule` apart, since its payload is kept as it was sent. */
export interface DeclarationText {
  members: Members
  /** The value of `on`, as deep as it is read. */
  on: unknown
  schedule: Members
  payload: Span | undefined
  text: string
}

/** An empty text is `{}`. */
export const readDeclaration = (text: string): DeclarationText => {
  const read: DeclarationText = { members: {}, on: undefined, schedule: {}, payload: undefined, text }
  if (text === '') return read
  checkJson(text)
  const { value } = runThrough(
    readEnvelope(text, 0, '', {
      into: (name, at) => {
        if (text[at] !== '{') return undefined
        if (name === 'on') return readOn(read, at)
        return name === 'schedule' ? readSchedule(read, at) : undefined
      },
    }),
  )
  read.members = parseObject(value)
  return read
}

function* readOn(read: DeclarationText, at: number): Slices<number> {
  // It refuses a member that stands twice.
  const { end } = yield* readEnvelope(read.text, at, 'on', { keeps: false })
  read.on = outline(read.text, at)
  return end
}

function* readSchedule(read: DeclarationText, at: number): Slices<number> {
  const { value, end } = yield* readEnvelope(read.text, at, 'schedule', {
    into: (name, start) => (name === 'payload' ? readPayload(read, start) : undefined),
  })
  read.schedule = value as Members
  return end
}

function* readPayload(read: DeclarationText, at: number): Slices<number> {
  const span = openSpan(read.text, at)
  while (!extendSpan(read.text, span)) yield
  read.payload = span
  return span.end
}

// ── The fields ─────────────────────────────────────────────────────────────────────────────────────────────

export const parseDeclaration = (read: DeclarationText, nowMs: number): ParsedDeclaration => {
  const { members } = read
  refuseUnknownMembers(members, declarationFields)
  const url = members.url === undefined ? null : parsePushUrl(members.url, urlTexts)
  const isPushed = url !== null
  return {
    url,
    ...parseAuthorization(members.authorization),
    leaseSeconds: parseLeaseSeconds(members, isPushed),
    attempts: parseCount(members, 'attempts') ?? attemptsDefault,
    backoffSeconds: parseCount(members, 'backoffSeconds') ?? backoffSecondsDefault,
    concurrency: parseCount(members, 'concurrency') ?? (isPushed ? pushConcurrencyDefault : null),
    keepSeconds: parseCount(members, 'keepSeconds') ?? keepSecondsDefault,
    paused: parseFlag(members.paused, 'paused'),
    schedule: members.schedule === undefined ? null : scheduleIn(read, nowMs),
    on: parseFollowed(read.on ?? members.on),
  }
}

const count = <const Most extends number>(minimum: number, maximum: Most, hint: string) =>
  ({ type: 'integer', minimum, maximum, [words]: { hint } }) as const satisfies Scalar

/** The numbers of a declaration. */
export const declarationRules = {
  leaseSeconds: count(
    1,
    leaseSecondsMax,
    `Leave it out for ${leaseSecondsDefault}. A longer attempt extends its lease.`,
  ),
  attempts: count(1, attemptsMax, `Leave it out for ${attemptsDefault}.`),
  backoffSeconds: count(1, backoffSecondsMax, `Leave it out for ${backoffSecondsDefault}.`),
  concurrency: count(
    1,
    concurrencyMax,
    `Leave it out for ${pushConcurrencyDefault} with url, and for any number without.`,
  ),
  keepSeconds: count(keepSecondsMin, keepSecondsMax, `Leave it out for ${keepSecondsDefault}, which is a week.`),
}

const parseCount = (members: Members, field: keyof typeof declarationRules): number | undefined =>
  readScalar(declarationRules[field], members[field], field)

const parseLeaseSeconds = (members: Members, isPushed: boolean): number => {
  const seconds = parseCount(members, 'leaseSeconds') ?? leaseSecondsDefault
  if (!isPushed || seconds <= pushLeaseSecondsMax) return seconds
  throw new CubbyError(
    'invalid_request',
    `leaseSeconds is ${seconds}; for a task with url it takes an integer from 1 to ${pushLeaseSecondsMax}.`,
    { field: 'leaseSeconds', hint: 'A receiver that needs longer extends its lease.' },
  )
}

const parseAuthorization = (value: unknown): Pick<ParsedDeclaration, 'authorization' | 'keepsAuthorization'> => {
  if (value === undefined) return { authorization: null, keepsAuthorization: false }
  if (value === hiddenAuthorization) return { authorization: null, keepsAuthorization: true }
  const isText = typeof value === 'string' && /^[\x20-\x7e]+$/.test(value)
  if (isText && value.length <= authorizationCharactersMax) return { authorization: value, keepsAuthorization: false }
  // A string is not repeated: it is a secret.
  const found =
    typeof value === 'string' ? 'a string that is empty, too long or has other characters' : describeValue(value)
  throw new CubbyError(
    'invalid_request',
    `authorization is ${found}; it takes 1 to ${authorizationCharactersMax} printable ASCII characters.`,
    {
      field: 'authorization',
      hint: `Give the value of the header, for example "Bearer …"; "${hiddenAuthorization}" keeps the present one.`,
    },
  )
}

const scheduleIn = ({ members, schedule, payload, text }: DeclarationText, nowMs: number): Declaration['schedule'] => {
  const value = members.schedule
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CubbyError('invalid_schedule', `schedule is ${describeValue(value)}; it takes a JSON object.`, {
      field: 'schedule',
      hint: 'Leave it out for a task without a schedule, or give { "every": 3600 } or { "cron": "0 6 * * *" }.',
    })
  }
  return parseSchedule(
    schedule,
    schedule.payload === undefined ? '{}' : parsePayload(schedule.payload, text, payload),
    nowMs,
  )
}

/** The payload follows the rules of `data`. */
const parsePayload = (value: unknown, text: string, span: Span | undefined): string => {
  const field = 'schedule.payload'
  try {
    return parseData(value, text, span, field)
  } catch (error) {
    if (!(error instanceof CubbyError) || error.code !== 'record_too_large') throw error
    const hint = 'Put the large part into a record or a file, and its key here.'
    throw new CubbyError(error.code, error.message, { field, hint })
  }
}

const urlTexts = {
  field: 'url',
  hint: 'Give the address that takes the pushes, for example "https://example.com/tasks/mail"; without url, workers claim the runs.',
  lengthHint: 'Send what differs between runs in their payload.',
  userHint: 'Leave them out, and send credentials as "authorization".',
}
