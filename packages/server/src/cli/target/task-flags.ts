import {
  attemptsDefault,
  attemptsMax,
  backoffSecondsDefault,
  backoffSecondsMax,
  concurrencyMax,
  keepSecondsDefault,
  keepSecondsMax,
  keepSecondsMin,
  leaseSecondsDefault,
  leaseSecondsMax,
  pushConcurrencyDefault,
  runDelaySecondsMax,
  scheduleSecondsMax,
} from '../../core/limits.ts'
import { followedOps } from '../../core/tasks/following.ts'
import { parseIsoDateTime } from '../../core/text/iso-date-time.ts'
import type { TaskAddress } from '../../operations/access.ts'
import { type Arguments, type Flag, parseCount, UsageError } from '../arguments.ts'
import { checkName, requireName, requireRunId } from './address.ts'
import { checkObject, objectText, readStdin } from './json-object.ts'

// The task that a command names, its declaration and a run of it, from arguments and flags.

/** Reads the argument TASK. */
export const taskAddress = (args: Arguments): TaskAddress => ({
  db: requireName(args, 'db'),
  task: checkName(args.positionals[0]!, 'TASK'),
})

const count = (value: string, help: string): Flag => ({ type: 'string', value, help })

export const declarationFlags: Record<string, Flag> = {
  'push-to': { type: 'string', value: 'URL', help: 'push runs to this URL; default: workers claim them' },
  authorization: {
    type: 'string',
    value: 'TEXT',
    help: 'header of a push; **** keeps the present one; prefer CUBBY_AUTHORIZATION',
  },
  'lease-seconds': count('N', `how long an attempt may go without a sign of life (${leaseSecondsDefault})`),
  attempts: count('N', `attempts of a run, before it has failed (${attemptsDefault})`),
  'backoff-seconds': count('N', `the wait after the first attempt; doubles each time (${backoffSecondsDefault})`),
  concurrency: count('N', `runs at once (push: ${pushConcurrencyDefault}; pull: any number)`),
  'keep-seconds': count('N', `how long finished runs are kept (${keepSecondsDefault})`),
  paused: { type: 'boolean', help: 'runs may be added, but none is started' },
  every: count('SECONDS', 'schedule a run every so many seconds'),
  cron: { type: 'string', value: 'PATTERN', help: "schedule runs by five fields: '30 6 * * mon-fri'" },
  timezone: { type: 'string', value: 'ZONE', help: 'of --cron, such as Europe/Berlin (UTC)' },
  payload: { type: 'string', value: 'JSON', help: 'the payload of scheduled runs ({})' },
  on: { type: 'string', value: 'TABLE', help: 'every write of this table adds a run, in its own commit' },
  'on-ops': { type: 'string', value: 'LIST', help: `only these writes: of ${followedOps.join(',')}` },
}

/** Flag, member of the API, and its bounds. */
const counts = [
  ['lease-seconds', 'leaseSeconds', 1, leaseSecondsMax],
  ['attempts', 'attempts', 1, attemptsMax],
  ['backoff-seconds', 'backoffSeconds', 1, backoffSecondsMax],
  ['concurrency', 'concurrency', 1, concurrencyMax],
  ['keep-seconds', 'keepSeconds', keepSecondsMin, keepSecondsMax],
] as const

/** The body of the request that declares a task. The server judges the URL, the pattern and the time zone. */
export const parseDeclared = (args: Arguments): string => {
  const members: Record<string, string> = {}
  const [url, authorization] = [args.text('push-to'), args.text('authorization')]
  if (url !== undefined) members.url = JSON.stringify(url)
  if (authorization !== undefined) members.authorization = JSON.stringify(authorization)
  for (const [flag, member, min, max] of counts) {
    if (args.text(flag) !== undefined) members[member] = String(parseCount(args, flag, min, max))
  }
  if (args.flag('paused')) members.paused = 'true'
  const schedule = parseSchedule(args)
  if (schedule !== undefined) members.schedule = objectText(schedule)
  const on = parseOn(args)
  if (on !== undefined) members.on = objectText(on)
  return objectText(members)
}

const parseOn = (args: Arguments): Record<string, string> | undefined => {
  const [table, ops] = ['on', 'on-ops'].map(args.text)
  if (table === undefined) {
    if (ops === undefined) return undefined
    throw new UsageError('--on-ops needs --on: it says which writes of the table add a run')
  }
  const members: Record<string, string> = { table: JSON.stringify(table) }
  if (ops !== undefined) {
    const words = ops.split(',').map((op) => op.trim())
    if (words.some((word, i) => !followedOps.some((op) => op === word) || words.indexOf(word) < i)) {
      throw new UsageError(`--on-ops is "${ops}"; it takes some of ${followedOps.join(',')}, each once`)
    }
    members.ops = JSON.stringify(words)
  }
  return members
}

const parseSchedule = (args: Arguments): Record<string, string> | undefined => {
  const [every, cron, timezone, payload] = ['every', 'cron', 'timezone', 'payload'].map(args.text)
  if (every !== undefined && cron !== undefined) throw new UsageError('--every and --cron cannot be combined')
  if (timezone !== undefined && cron === undefined) throw new UsageError('--timezone needs --cron')
  if (every === undefined && cron === undefined) {
    if (payload === undefined) return undefined
    throw new UsageError('--payload needs --every or --cron: it is the payload of scheduled runs')
  }
  const schedule: Record<string, string> = {}
  if (every !== undefined) schedule.every = String(parseCount(args, 'every', 1, scheduleSecondsMax))
  if (cron !== undefined) schedule.cron = JSON.stringify(cron)
  if (timezone !== undefined) schedule.timezone = JSON.stringify(timezone)
  if (payload !== undefined) schedule.payload = checkObject(payload, '--payload')
  return schedule
}

export const newRunFlags: Record<string, Flag> = {
  payload: { type: 'string', value: 'JSON', help: 'a JSON object; - is standard input ({})' },
  id: { type: 'string', value: 'ID', help: 'the id of the run; with it the call can be repeated' },
  'run-key': { type: 'string', value: 'KEY', help: 'the thing to bring up to date: at most one run of it is queued' },
  'run-at': { type: 'string', value: 'TIME', help: 'not before: epoch milliseconds or an ISO-8601 date-time' },
  'delay-seconds': { type: 'string', value: 'N', help: 'not before this many seconds have passed' },
}

/** The body of the request that adds a run. */
export const parseNewRun = async (args: Arguments): Promise<string> => {
  const members: Record<string, string> = {}
  const [id, key] = [args.text('id'), args.text('run-key')]
  if (id !== undefined && key !== undefined) throw new UsageError('--id and --run-key cannot be combined')
  if (id !== undefined) members.id = JSON.stringify(requireRunId(id, '--id'))
  if (key !== undefined) members.key = JSON.stringify(key)
  const runAt = args.text('run-at')
  const hasDelay = args.text('delay-seconds') !== undefined
  if (runAt !== undefined && hasDelay) throw new UsageError('--run-at and --delay-seconds cannot be combined')
  if (runAt !== undefined) members.runAt = parseRunAt(runAt)
  if (hasDelay) members.delaySeconds = String(parseCount(args, 'delay-seconds', 0, runDelaySecondsMax))
  const payload = args.text('payload')
  if (payload === '-' && process.stdin.isTTY) {
    throw new UsageError('standard input is a terminal; read from a pipe: … | cubby tasks run TASK --payload -')
  }
  if (payload !== undefined) {
    members.payload = checkObject(payload === '-' ? await readStdin('the payload') : payload, 'the payload')
  }
  return objectText(members)
}

const parseRunAt = (text: string): string => {
  if (/^[0-9]{1,15}$/.test(text)) return String(Number(text))
  if (parseIsoDateTime(text) !== undefined) return JSON.stringify(text)
  throw new UsageError(`--run-at is "${text}"; it takes epoch milliseconds or an ISO-8601 date-time`)
}
