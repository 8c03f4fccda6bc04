import { pageBytesMax, runsCountedInListingMax, tasksCountedMax } from '../../core/limits.ts'
import { parseFlag } from '../../core/members.ts'
import type { Access } from '../access.ts'
import { type ListOfDatabaseInput, listOfDatabase, readListOfDatabase } from '../lifecycle.ts'
import { pagesNote } from '../listing.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { dbMember, listingMembers } from '../tables/schemas.ts'
import { declareMail, deletedMail, deleteMail, mail, noRuns } from './examples.ts'
import { taskJson } from './present-task.ts'
import { countsMember } from './schemas.ts'

interface TaskPage {
  /** The JSON of each task. */
  tasks: string[]
  cursor: string | null
}

/** Declarations are read in steps of so many: one may have hundreds of kilobytes of payload. */
const stepTasks = 50

const listRegistered = listOfDatabase('task')

interface ListTasksInput extends ListOfDatabaseInput {
  counts: boolean
}

/** Lists like other listings, but a page also ends before its text would pass `pageBytesMax`. It has at least one task. */
const listTasks = async (access: Access, input: ListTasksInput, nowMs: number): Promise<TaskPage> => {
  const { engine } = access
  const { rows, cursor, cursorAfter } = await listRegistered(access, input, nowMs)
  const tasks: string[] = []
  let bytes = 0
  for (let from = 0; from < rows.length; from += stepTasks) {
    if (input.counts && from >= tasksCountedMax) return { tasks, cursor: cursorAfter(rows[from - 1]!) }
    const step = rows.slice(from, from + stepTasks)
    const states = await engine.tasks.read(step, nowMs, input.counts ? runsCountedInListingMax : undefined)
    for (const [i, task] of step.entries()) {
      const state = states[i]
      // It was removed since it was listed.
      if (state === undefined) continue
      const text = taskJson({ task, state })
      bytes += Buffer.byteLength(text) + 1
      if (bytes > pageBytesMax && tasks.length > 0) {
        return { tasks, cursor: cursorAfter(rows[from + i - 1]!) }
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
  keyNeeded: 'write',
  grants: 'none',
  effect: 'reads',
  route: { method: 'GET', path: '/v1/:db/_tasks', query: ['limit', 'cursor', 'deleted', 'counts'] },
  command: 'tasks list --db {db} [--deleted {deleted}]',
  tool: 'list_tables',
  read({ members: { counts, ...members }, text }) {
    return { ...readListOfDatabase({ members, text }), counts: parseFlag(counts, 'counts') }
  },
  run: listTasks,
  present: ({ tasks, cursor }) => `{"tasks":[${tasks.join(',')}],"cursor":${JSON.stringify(cursor)}}`,
  describe: () => ({
    title: 'List tasks',
    description: `The tasks of a database, by name. For a database without tasks the list is empty. With \`counts\`, each task says how many of its runs have each status, and a page has at most ${tasksCountedMax} tasks. A page may be short if declarations are large. ${pagesNote}`,
    returns: 'A page of tasks.',
    codes: ['invalid_cursor'],
    input: inputOf(
      {},
      {
        ...dbMember,
        ...listingMembers,
        deleted: {
          type: 'boolean',
          default: false,
          description: 'True: list the deleted tasks that can still be restored, by name, then `deletedAt`.',
        },
        counts: countsMember(runsCountedInListingMax),
      },
      ['db'],
    ),
    output: ref('TaskList'),
    client: { on: 'tasks', method: 'list', result: 'page' },
    examples: [
      {
        name: 'all',
        summary: 'All tasks',
        given: [declareMail],
        input: { db: 'app' },
        output: { tasks: [mail], cursor: null },
      },
      {
        name: 'counts',
        summary: 'How many runs of each status the tasks have',
        given: [declareMail],
        input: { db: 'app', counts: true },
        output: { tasks: [{ ...mail, counts: noRuns }], cursor: null },
      },
      {
        name: 'deletedOnes',
        summary: 'The deleted tasks that can be restored',
        given: [declareMail, deleteMail],
        input: { db: 'app', deleted: true },
        output: { tasks: [deletedMail], cursor: null },
      },
    ],
  }),
})
