import { signal } from '@preact/signals'
import { pageRowsMax, runsCountedInListingMax } from '../../../server/src/core/limits.ts'
import { connection, pathOf, read } from '../api/request.ts'
import type { RunStatus, TaskRow } from '../api/types.ts'

// The numbers of runs by status. The rail and the first page show the numbers that the screens of tasks have read last.

export type RunCounts = Record<RunStatus, number>

/** `max`: how far the server has counted. */
export const showCount = (count: number, max: number): string =>
  `${count.toLocaleString('en')}${count >= max ? '+' : ''}`

/** The numbers of waiting and failed runs as they are shown. An empty text means none. */
interface ShownCounts {
  queued: string
  failed: string
}

const shown = (count: number, max: number): string => (count === 0 ? '' : showCount(count, max))

/** The counts by `db/task`. */
export const runCounts = signal<ReadonlyMap<string, ShownCounts>>(new Map())

export const keepCounts = (db: string, tasks: readonly TaskRow[], max: number): void => {
  const found = new Map(runCounts.value)
  for (const { task, counts } of tasks) {
    if (counts) found.set(`${db}/${task}`, { queued: shown(counts.queued, max), failed: shown(counts.failed, max) })
  }
  runCounts.value = found
}

export interface TaskList {
  tasks: TaskRow[]
  cursor: string | null
}

/** Reads tasks of a database and their counts by one request. An answer to a session that has ended is not kept. */
export const readTasks = async (db: string, signal?: AbortSignal, cursor = ''): Promise<TaskList> => {
  const { key } = connection
  const after = cursor === '' ? '' : `&cursor=${cursor}`
  const path = `${pathOf('v1', db, '_tasks')}?limit=${pageRowsMax}&counts=true${after}`
  const list = await read<TaskList>('GET', path, { signal })
  if (connection.key === key) keepCounts(db, list.tasks, runsCountedInListingMax)
  return list
}
