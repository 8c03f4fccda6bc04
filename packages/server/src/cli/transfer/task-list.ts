import { pageRowsMax } from '../../core/limits.ts'
import { printTable } from '../print.ts'
import type { Remote } from '../target/remote.ts'
import { showTime } from './file-list.ts'
import { minifyJson } from './ndjson.ts'
import { splitPage } from './pages.ts'
import { writeToStdout } from './write-lines.ts'

export interface TaskListing {
  db: string
  deleted: boolean
}

interface ListedTask {
  task: string
  url: string | null
  paused: boolean
  schedule: { nextRunAt: number | null } | null
  oldestRunAt: number | null
  deletedAt?: number
}

/** The tasks as JSON texts, page by page. */
async function* pagesOf(remote: Remote, { db, deleted }: TaskListing): AsyncIterable<string[]> {
  const first = `/v1/${db}/_tasks?limit=${pageRowsMax}${deleted ? '&deleted=true' : ''}`
  for (let after = ''; ; ) {
    const { items, cursor } = splitPage(
      await remote.request({ method: 'GET', path: first + after, repeatable: true }),
      'tasks',
    )
    yield items
    if (cursor === null) return
    after = `&cursor=${encodeURIComponent(cursor)}`
  }
}

export const printTasksAsJson = async (remote: Remote, listing: TaskListing): Promise<void> => {
  const out = writeToStdout()
  for await (const tasks of pagesOf(remote, listing)) for (const task of tasks) await out.write(`${minifyJson(task)}\n`)
  await out.end()
}

const orNone = (ms: number | null | undefined): string => (ms === null || ms === undefined ? '-' : showTime(ms))

const stateOf = ({ paused, deletedAt }: ListedTask): string => {
  if (deletedAt !== undefined) return 'deleted'
  return paused ? 'paused' : 'active'
}

/** A database has few tasks, so all rows are read before the first is printed. */
export const printTasks = async (remote: Remote, listing: TaskListing): Promise<void> => {
  const rows = [['TASK', 'STATE', 'OLDEST DUE RUN', 'NEXT RUN', 'PUSHED TO']]
  for await (const tasks of pagesOf(remote, listing)) {
    for (const text of tasks) {
      const task: ListedTask = JSON.parse(text)
      const times = [orNone(task.oldestRunAt), orNone(task.schedule?.nextRunAt)]
      rows.push([task.task, stateOf(task), ...times, task.url ?? '-'])
    }
  }
  printTable(rows)
}
