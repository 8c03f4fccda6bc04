import { andThen } from '../../core/awaitable.ts'
import { bodyBytesMax, toolResponseBytesMax, waitSecondsMax } from '../../core/limits.ts'
import { type Run, runStatuses } from '../../core/tasks/run.ts'
import { getRun, getRunOperation } from '../../operations/runs/get-run.ts'
import { runJson } from '../../operations/runs/present-run.ts'
import { runTaskOperation } from '../../operations/runs/run-task.ts'
import { anyObject, db, described, integer, object, text } from './schemas.ts'
import type { Tool, ToolCall } from './tool.ts'

const nothing = 'null'

/** A run as it is sent. One that does not fit comes without its payload and its result. */
const fittingRun = ({ access }: ToolCall, run: Run, task: string): string => {
  const isPublic = access.apiKey.kind === 'public'
  const whole = runJson(run, task, { isPublic })
  if (whole.length * 3 <= toolResponseBytesMax || Buffer.byteLength(whole) <= toolResponseBytesMax) return whole
  const resultBytes = run.result === null ? 0 : Buffer.byteLength(run.result)
  // The rest is small: progress has at most 4,096 bytes. It stays text, so that its numbers stay as they were written.
  const rest = runJson({ ...run, payload: nothing, result: nothing }, task, { isPublic })
  // A text that a caller wrote stands behind the payload, and before the result or in strings, where quotes are escaped.
  const result = rest.lastIndexOf('"result":null')
  const shown = `${rest.slice(0, result)}"resultBytes":${resultBytes}${rest.slice(result + '"result":null'.length)}`
  // A public key does not see the payload: the first "payload" of its run is one that a worker wrote.
  if (isPublic) return shown
  return shown.replace('"payload":null', `"payloadBytes":${Buffer.byteLength(run.payload)}`)
}

const runMembers = { id: text, task: text, status: { enum: runStatuses }, runAt: integer() }

export const runTaskTool: Tool = {
  name: 'run_task',
  description:
    'Add a run to a declared task; its worker or url does it. id makes the call repeatable; key keeps at most one run queued for one thing.',
  keyNeeded: 'write',
  properties: {
    db,
    task: text,
    payload: anyObject,
    id: text,
    key: text,
    runAt: described({ type: ['integer', 'string'] }, 'epoch ms or ISO date-time'),
    delaySeconds: integer(0),
  },
  required: ['db', 'task'],
  argumentsBytesMax: bodyBytesMax,
  output: object(runMembers, ['id', 'status']),
  async run(call) {
    const { access, text, nowMs } = call
    const { run, task } = await runTaskOperation.run(access, runTaskOperation.parse(text, nowMs), nowMs)
    return fittingRun(call, run, task)
  },
}

export const getRunTool: Tool = {
  name: 'get_run',
  description: 'Get a run; waitSeconds: wait until it is finished.',
  keyNeeded: 'read',
  properties: { db, task: text, run: text, waitSeconds: integer(0, { maximum: waitSecondsMax }) },
  required: ['db', 'task', 'run'],
  output: object(
    {
      ...runMembers,
      payload: anyObject,
      progress: {},
      result: {},
      error: {},
      finishedAt: { type: ['integer', 'null'] },
      payloadBytes: integer(),
      resultBytes: integer(),
    },
    ['id', 'status'],
  ),
  run(call) {
    const { access, text, nowMs } = call
    const input = getRunOperation.parse(text, nowMs)
    return andThen(getRun(access, input, nowMs, call), (run) => fittingRun(call, run, input.task))
  },
}
