import { runDelaySecondsMax } from '../../core/limits.ts'
import { parseIsoDateTime } from '../../core/text/iso-date-time.ts'
import type { TaskAddress } from '../../operations/access.ts'
import { type Arguments, type Flag, parseCount, UsageError } from '../arguments.ts'
import { checkName, requireName, requireRunId } from './address.ts'
import { checkObject, objectText, readStdin } from './json-object.ts'

// The task that a command names, and a run to add.

/** From the argument TASK. */
export const taskAddress = (args: Arguments): TaskAddress => ({
  db: requireName(args, 'db'),
  task: checkName(args.positionals[0]!, 'TASK'),
})

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
