import { pageBytesMax } from '../../core/limits.ts'
import type { Access } from '../access.ts'
import { pagesNote } from '../listing.ts'
import { defineOperation } from '../operation.ts'
import { cursorAfter, type ListOfDatabaseInput, listOfDatabase, parseListOfDatabase } from '../tables/lifecycle.ts'
import { taskJson } from './present-task.ts'

export interface TaskPage {
  /** The JSON of each task. */
  tasks: string[]
  cursor: string | null
}

/** Declarations are read in steps of so many: one may have hundreds of kilobytes of payload. */
const stepTasks = 50

/** As other listings, but a page also ends before its text would pass `pageBytesMax`. It has at least one task. */
export const listTasks = async (
  { engine, apiKey }: Access,
  input: ListOfDatabaseInput,
  nowMs: number,
): Promise<TaskPage> => {
  const name = input.deleted ? 'deletedTasks' : 'tasks'
  const { rows, cursor } = await listOfDatabase(engine.tasks, engine.secrets, apiKey.orgId, name, input, nowMs)
  const tasks: string[] = []
  let bytes = 0
  for (let from = 0; from < rows.length; from += stepTasks) {
    const step = rows.slice(from, from + stepTasks)
    const states = await engine.tasks.read(step, nowMs)
    for (const [i, task] of step.entries()) {
      const state = states[i]
      // It was removed since it was listed.
      if (state === undefined) continue
      const text = taskJson({ task, state })
      bytes += Buffer.byteLength(text) + 1
      if (bytes > pageBytesMax && tasks.length > 0) {
        const { seal } = await engine.secrets.at(nowMs)
        return { tasks, cursor: cursorAfter(seal, name, rows[from + i - 1]!) }
      }
      tasks.push(text)
    }
  }
  return { tasks, cursor }
}

export const listTasksOperation = defineOperation({
  id: 'listTasks',
  area: 'tasks',
  summary: 'List the tasks of a database',
  description: `The tasks of a database, by name. For a database without tasks the list is empty. A page may be short if declarations are large. ${pagesNote}`,
  keyNeeded: 'write',
  effect: 'reads',
  returns: 'A page of tasks.',
  codes: ['invalid_cursor'],
  parse: parseListOfDatabase,
  run: listTasks,
  present: ({ tasks, cursor }) => `{"tasks":[${tasks.join(',')}],"cursor":${JSON.stringify(cursor)}}`,
})
