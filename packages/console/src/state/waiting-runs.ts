import { signal } from '@preact/signals'
import { connection, pathOf, read } from '../api/request.ts'
import type { Page, RunStatus, TaskRow } from '../api/types.ts'

/** How many runs wait, by `db/task`: a number, or `1,000+`. The rail shows it; the screens of tasks keep it up to date. */
export const waitingRuns = signal<ReadonlyMap<string, string>>(new Map())

const setWaitingRuns = (db: string, task: string, count: string): void => {
  if (waitingRuns.value.get(`${db}/${task}`) === count) return
  waitingRuns.value = new Map(waitingRuns.value).set(`${db}/${task}`, count)
}

const countedMax = 1000

export interface Count {
  count: number
  /** There are more, which are not counted. */
  isCut: boolean
}

export const showCount = ({ count, isCut }: Count): string => `${count.toLocaleString('en')}${isCut ? '+' : ''}`

/** At most 1,000 are counted: a screen asks this every few seconds. */
export const countRuns = async (db: string, task: string, status: RunStatus, signal?: AbortSignal): Promise<Count> => {
  const { key } = connection
  const body = JSON.stringify({ status, select: 'count', limit: countedMax })
  const path = `${pathOf('v1', db, '_tasks', task)}/query`
  const { count, cursor } = await read<Page<never>>('POST', path, { body, signal })
  const found = { count, isCut: cursor !== null }
  if (status === 'queued' && connection.key === key) setWaitingRuns(db, task, showCount(found))
  return found
}

/** The waiting runs of so many tasks are counted, few at once. */
const countedTasksMax = 100
const countsAtOnceMax = 4

export const countWaiting = async (db: string, tasks: readonly TaskRow[], signal?: AbortSignal): Promise<void> => {
  const left = tasks.slice(0, countedTasksMax)
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      // A task may be deleted in between. The list shows it without a number.
      await countRuns(db, next.task, 'queued', signal).catch(() => {})
    }
  }
  await Promise.all(Array.from({ length: countsAtOnceMax }, work))
}
