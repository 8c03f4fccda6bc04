import { printTable } from '../print.ts'
import { showTime } from './file-list.ts'

interface ListedTask {
  task: string
  url: string | null
  paused: boolean
  schedule: { nextRunAt: number | null } | null
  oldestRunAt: number | null
  deletedAt?: number
}

const orNone = (ms: number | null | undefined): string => (ms === null || ms === undefined ? '-' : showTime(ms))

const stateOf = ({ paused, deletedAt }: ListedTask): string => {
  if (deletedAt !== undefined) return 'deleted'
  return paused ? 'paused' : 'active'
}

/** A database has few tasks, so all rows are read before the first is printed. */
export const printTasks = async (pages: AsyncIterable<string[]>): Promise<void> => {
  const rows = [['TASK', 'STATE', 'OLDEST DUE RUN', 'NEXT RUN', 'PUSHED TO']]
  for await (const tasks of pages) {
    for (const text of tasks) {
      const task: ListedTask = JSON.parse(text)
      const times = [orNone(task.oldestRunAt), orNone(task.schedule?.nextRunAt)]
      rows.push([task.task, stateOf(task), ...times, task.url ?? '-'])
    }
  }
  printTable(rows)
}
