import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { parseName } from '../../core/names.ts'
import { parseFinish } from '../../core/tasks/parse-finish.ts'
import { parseNewRun } from '../../core/tasks/parse-run.ts'
import type { Finish, NewRun } from '../../core/tasks/run.ts'
import { bodyOfOperation, type RunBody } from '../../core/tasks/run-body.ts'
import type { Envelope } from '../../core/text/json-span.ts'
import type { Need } from '../../core/tokens/grants.ts'

/** An operation of a batch on runs. Its tasks are those of the database. */
export type TaskBatchOperation =
  | { op: 'run'; task: string; newRun: NewRun }
  | { op: 'finish'; task: string; run: string; finish: Finish }

export const isTaskOperation = <Other extends { op: string }>(
  operation: Other | TaskBatchOperation,
): operation is TaskBatchOperation => operation.op === 'run' || operation.op === 'finish'

/** `task`: the one of an operation that names none. */
const parseTask = ({ members }: RunBody, prefix: string, task: string | undefined): string =>
  members.task === undefined && task !== undefined ? task : parseName(members.task, `${prefix}task`)

const parseRunOf = ({ members }: RunBody, prefix: string): string => {
  if (typeof members.run === 'string') return members.run
  throw new CubbyError('invalid_request', `${prefix}run is ${describeValue(members.run)}; it takes a string.`, {
    field: `${prefix}run`,
    hint: 'Give the id of the run that was claimed.',
  })
}

/** An operation whose `op` is `run` or `finish`; undefined for another one. */
export const parseTaskOperation = (
  envelope: Envelope,
  text: string,
  position: number,
  task?: string,
): TaskBatchOperation | undefined => {
  const name = `operations[${position}]`
  const prefix = `${name}.`
  const body = bodyOfOperation(envelope, text, name)
  const { op } = body.members
  if (op === 'run') {
    return { op, task: parseTask(body, prefix, task), newRun: parseNewRun(body, prefix, ['op', 'task']) }
  }
  if (op !== 'finish') return undefined
  const finish = parseFinish(body, prefix, ['op', 'task', 'run'])
  return { op, task: parseTask(body, prefix, task), run: parseRunOf(body, prefix), finish }
}

/** Returns the name that no two operations of a batch may share. */
const slotOf = (operation: TaskBatchOperation): readonly ['run' | 'key', string] => {
  if (operation.op === 'finish') return ['run', operation.run]
  const { id, key } = operation.newRun
  // A run with a key has an id of its own, which no other operation can name.
  return key === null ? ['run', id] : ['key', key]
}

/** Rejects a batch in which two operations are about one run, or about one key of a task. */
export const refuseSameRun = (operations: readonly { op: string }[]): void => {
  const seen = new Map<string, number>()
  operations.forEach((operation, position) => {
    if (!isTaskOperation(operation)) return
    const [what, name] = slotOf(operation)
    const slot = JSON.stringify([operation.task, what, name])
    const earlier = seen.get(slot)
    if (earlier !== undefined) {
      throw new CubbyError(
        'batch_duplicate_keys',
        `operations[${position}] names the same ${what} as operations[${earlier}].`,
        { field: `operations[${position}]`, hint: 'Send the two operations in separate requests.' },
      )
    }
    seen.set(slot, position)
  })
}

/** What an operation of a batch needs of a user token: the attempts of runs are not for users. */
export const needOfRun = (db: string, operation: TaskBatchOperation, position: number): Need => {
  const field = `operations[${position}]`
  if (operation.op === 'finish') return { of: 'nothing', db, field }
  return { of: 'task', db, task: operation.task, option: operation.newRun.option, field }
}
