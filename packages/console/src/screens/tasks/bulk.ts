import { signal } from '@preact/signals'
import { ApiError, messageOf } from '../../api/error.ts'
import { connection, read } from '../../api/request.ts'
import type { RunRow, RunStatus } from '../../api/types.ts'
import { announce } from '../../ui/announce.ts'
import { toast } from '../../ui/toasts.tsx'
import { queryRuns, runPath } from './task-requests.ts'

// The same for many runs: retried or cancelled a few at a time, as a loop over `cubby tasks retry` and `cancel` does it.

export type Verb = 'retry' | 'cancel'

const pastOf: Record<Verb, string> = { retry: 'queued again', cancel: 'cancelled' }
const atOnceMax = 4
const pageMax = 100
const refusedShownMax = 20

export interface BulkState {
  verb: Verb
  /** The count at the start. Runs may be added or end meanwhile. */
  total: string
  done: number
  /** Runs that were not in the state for it any more. */
  refusedCount: number
  refused: { id: string; message: string }[]
  status: 'running' | 'stopping' | 'done' | 'stopped' | 'failed'
  error?: unknown
}

/** The job that runs, with the `db/task` that it is for. The console has one at a time, and it goes on while another screen is shown. */
export const bulk = signal<{ place: string; state: BulkState } | undefined>(undefined)

let isStopped = false

export const stopBulk = (): void => {
  isStopped = true
  const { value } = bulk
  if (value) bulk.value = { ...value, state: { ...value.state, status: 'stopping' } }
}

export const closeBulk = (): void => {
  bulk.value = undefined
}

export const isRunning = (state: BulkState | undefined): boolean =>
  state?.status === 'running' || state?.status === 'stopping'

/** Page by page, newest first: what is changed on the way gets a newer time and is not met again. */
export async function* runsOf(db: string, task: string, status: RunStatus): AsyncGenerator<readonly RunRow[]> {
  let cursor: string | null = null
  do {
    const page = await queryRuns(db, task, { status, limit: pageMax, cursor })
    yield page.items
    cursor = page.cursor
  } while (cursor !== null)
}

export const sayBulk = ({ verb, total, done, status, refusedCount }: BulkState): string => {
  const refused = refusedCount === 0 ? '' : `, ${refusedCount.toLocaleString('en')} not`
  const ended = status === 'stopped' ? 'Stopped: ' : status === 'failed' ? 'Not finished: ' : ''
  return `${ended}${done.toLocaleString('en')} of ${total} ${pastOf[verb]}${refused}`
}

interface BulkOptions {
  verb: Verb
  total: string
  /** It is called at the end. It returns false if its screen was left: then a message reports the end. */
  onEnd: () => boolean
}

export const runBulk = async (
  db: string,
  task: string,
  pages: AsyncIterable<readonly RunRow[]> | Iterable<readonly RunRow[]>,
  { verb, total, onEnd }: BulkOptions,
): Promise<void> => {
  const { key } = connection
  const place = `${db}/${task}`
  const state: BulkState = { verb, total, done: 0, refusedCount: 0, refused: [], status: 'running' }
  isStopped = false
  const show = (): void => {
    // The job of another organization, which may have signed in meanwhile, is not replaced.
    if (connection.key === key)
      bulk.value = { place, state: { ...state, status: isStopped ? 'stopping' : state.status } }
  }
  const one = async ({ id }: RunRow): Promise<void> => {
    try {
      await read('POST', `${runPath(db, task, id)}/${verb}`)
      state.done++
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 409 && error.status !== 404)) throw error
      state.refusedCount++
      if (state.refused.length < refusedShownMax) state.refused.push({ id, message: messageOf(error) })
    }
    show()
  }
  const all = async (): Promise<void> => {
    for await (const page of pages) {
      const left = [...page]
      const work = async (): Promise<void> => {
        for (let next = left.shift(); next !== undefined; next = left.shift()) {
          if (isStopped || connection.key !== key) return
          await one(next)
        }
      }
      await Promise.all(Array.from({ length: atOnceMax }, work))
      if (isStopped || connection.key !== key) return
    }
  }
  show()
  try {
    await all()
    state.status = isStopped ? 'stopped' : 'done'
  } catch (error) {
    state.status = 'failed'
    state.error = error
  }
  if (connection.key !== key) {
    bulk.value = undefined
    return
  }
  isStopped = false
  show()
  if (onEnd()) announce(sayBulk(state))
  else toast(`${task}: ${sayBulk(state)}`)
}
