import { ApiError } from '../../api/error.ts'
import { pathOf, read } from '../../api/request.ts'
import type { Page, RunRow, RunStatus, TaskRow } from '../../api/types.ts'
import { declarationOf, formOf } from './declaration.ts'

export const statuses = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const satisfies RunStatus[]

export const taskPath = (db: string, task: string): string => pathOf('v1', db, '_tasks', task)
export const runPath = (db: string, task: string, run: string): string => pathOf('v1', db, '_tasks', task, 'runs', run)

export const readTask = (db: string, task: string, signal?: AbortSignal): Promise<TaskRow> =>
  read<TaskRow>('GET', taskPath(db, task), { signal })

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
