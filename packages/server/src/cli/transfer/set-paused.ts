import { CubbyError } from '../../core/errors.ts'
import type { TaskAddress } from '../../operations/access.ts'
import { ifMatchHeader } from '../target/address.ts'
import { objectText } from '../target/json-object.ts'
import { type Remote, requestOf } from '../target/remote.ts'
import { memberTexts } from './pages.ts'

// Members of the answer that are not declared. All others are sent back: a member that only a newer server knows must not be
// lost, and if it is not declared either, the server refuses it by name.
const notDeclared = ['db', 'task', 'oldestRunAt', 'status', 'createdAt', 'updatedAt']

/** A member without a value is left out, which means the same. `authorization` is `****`, which keeps it. */
const declaredMembers = (answer: Map<string, string>): Record<string, string> => {
  const members = Object.entries(Object.fromEntries(answer)).filter(
    ([name, text]) => !notDeclared.includes(name) && text !== 'null',
  )
  return Object.fromEntries(
    members.map(([name, text]) => [name, name === 'schedule' ? withoutNextRun(text) : text] as const),
  )
}

const withoutNextRun = (schedule: string): string => {
  const { nextRunAt: _, ...declared } = Object.fromEntries(memberTexts(schedule))
  return objectText(declared)
}

const triesMax = 5

/**
 * Pauses or resumes a task, and keeps the rest of its declaration as it is at that moment. Returns the text of the task. It
 * may be repeated after an unknown outcome: then the condition fails, and the task is as wanted.
 */
export const setPaused = async (remote: Remote, address: TaskAddress, paused: boolean): Promise<string> => {
  for (let tries = 1; ; tries++) {
    const text = await remote.request({ ...requestOf('describeTask', address), repeatable: true })
    const task = memberTexts(text)
    if (task.get('paused') === String(paused)) return text
    const body = objectText({ ...declaredMembers(task), paused: String(paused) })
    const headers = ifMatchHeader(task.get('updatedAt')!)
    try {
      return await remote.request({ ...requestOf('declareTask', address), body, headers, repeatable: true })
    } catch (error) {
      // Someone has declared it since it was read.
      const isChanged = error instanceof CubbyError && error.code === 'precondition_failed'
      if (!isChanged || tries >= triesMax) throw error
    }
  }
}
