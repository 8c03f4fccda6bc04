import { runsCountedMax } from '../../../../server/src/core/limits.ts'
import { ApiError } from '../../api/error.ts'
import { connection, pathOf, read } from '../../api/request.ts'
import type { Page, RunRow, RunStatus, TaskRow } from '../../api/types.ts'
import { statuses } from '../../router.ts'
import { keepCounts, type RunCounts } from '../../state/run-counts.ts'
import { declarationOf, formOf } from './declaration.ts'

export const taskPath = (db: string, task: string): string => pathOf('v1', db, '_tasks', task)
export const runPath = (db: string, task: string, run: string): string => pathOf('v1', db, '_tasks', task, 'runs', run)

export const readTask = (db: string, task: string): Promise<TaskRow> => read<TaskRow>('GET', taskPath(db, task))

/** Reads the task and all its counts by one request. The rail shows the counts from then on. */
export const readCountedTask = async (
  db: string,
  task: string,
  signal?: AbortSignal,
): Promise<TaskRow & { counts: RunCounts }> => {
  const { key } = connection
  const found = await read<TaskRow & { counts: RunCounts }>('GET', `${taskPath(db, task)}?counts=true`, { signal })
  if (connection.key === key) keepCounts(db, [found], runsCountedMax)
  return found
}

/** A public key may not read the task: it counts each status by a query. */
export const countRuns = async (db: string, task: string, signal?: AbortSignal): Promise<RunCounts> => {
  const count = async (status: RunStatus): Promise<[RunStatus, number]> => {
    const body = JSON.stringify({ status, select: 'count', limit: runsCountedMax })
    return [status, (await read<Page<never>>('POST', `${taskPath(db, task)}/query`, { body, signal })).count]
  }
  return Object.fromEntries(await Promise.all(statuses.map(count))) as RunCounts
}

/** The last failed attempt of a waiting run. Pushes may be refused while a task has no failed runs yet. */
export const faultOf = (runs: readonly RunRow[]): RunRow['error'] =>
  runs.find(({ status, error }) => status === 'queued' && error !== null)?.error ?? null

const lookedAtMax = 5

export const readFault = async (db: string, task: string, signal?: AbortSignal): Promise<RunRow['error']> =>
  faultOf((await queryRuns(db, task, { status: 'queued', limit: lookedAtMax, cursor: null }, signal)).items)

export const queryRuns = (
  db: string,
  task: string,
  query: { status?: RunStatus; limit: number; cursor: string | null },
  signal?: AbortSignal,
): Promise<Page<RunRow>> =>
  read<Page<RunRow>>('POST', `${taskPath(db, task)}/query`, { body: JSON.stringify(query), signal })

/** `Declared` has `secret` if this request has created one. */
export const putDeclaration = (
  db: string,
  task: string,
  body: string,
  headers: Record<string, string>,
): Promise<TaskRow & { secret?: string }> => read('PUT', taskPath(db, task), { body, headers })

const triesMax = 3

/**
 * A declaration is replaced as a whole, so the present one is read and sent with its version. If someone else has changed it in
 * between, their change is read too: it stays.
 */
export const setPaused = async (db: string, task: string, paused: boolean): Promise<void> => {
  for (let tries = 1; ; tries++) {
    const present = await readTask(db, task)
    try {
      await putDeclaration(db, task, declarationOf({ ...formOf(present), paused }), {
        'If-Match': `"${present.updatedAt}"`,
      })
      return
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 412 || tries === triesMax) throw error
    }
  }
}
