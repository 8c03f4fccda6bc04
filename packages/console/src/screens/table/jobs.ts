import { computed, signal } from '@preact/signals'
import { batchOperationsMax, findKeysMax, pageRowsMax } from '../../../../server/src/core/limits.ts'
import { ApiError, isUnknown, messageOf } from '../../api/error.ts'
import { read, send } from '../../api/request.ts'
import type { RecordRow } from '../../api/types.ts'
import { session } from '../../state/session.ts'
import { shellCommand } from '../../text/shell-command.ts'
import { announce } from '../../ui/announce.ts'
import { keepFocus } from '../../ui/dialog.tsx'
import { saveAs } from '../../ui/download.ts'
import { toast } from '../../ui/toasts.tsx'
import { putRecord } from '../record/record-requests.ts'
import { countAll, exportAll, totalWords } from './all-pages.ts'
import { type DeleteResult, deleteRows } from './batch-delete.ts'
import { restoreRows } from './restore-rows.ts'
import { type GridRow, idOf, keyText } from './rows.ts'
import type { Asked, TableQuery } from './table-query.ts'

// Work that takes many requests: counting, exporting, deleting. One job runs at a time; it shows its progress and can be stopped.

interface Notice {
  text: string
  /** True if the notice is about the last deletion. */
  hasUndo?: boolean
  /** Records that were left alone, with the reason. */
  left?: string[]
}

/** The records that were deleted here, by table, the newest last. They can be put back for as long as the page is open. */
const deletions = signal<ReadonlyMap<string, readonly RecordRow[][]>>(new Map())

/** At most this number of them is listed. The number of all is said. */
export const leftListedMax = 100

const records = (count: number): string => `${count.toLocaleString('en')} ${count === 1 ? 'record' : 'records'}`

const were = (count: number): string => (count === 1 ? 'was' : 'were')

export class Jobs {
  /** The job that runs, with its progress. */
  readonly progress = signal<string | undefined>(undefined)
  readonly notice = signal<Notice | undefined>(undefined)
  readonly error = signal<unknown>(undefined)
  #running: AbortController | undefined
  #isLeft = false

  readonly #name: string
  readonly hasDeleted = computed(() => this.#deletions.length > 0)

  constructor(readonly query: TableQuery) {
    this.#name = `${session.value?.self.organization} ${query.path}`
  }

  get #deletions(): readonly RecordRow[][] {
    return deletions.value.get(this.#name) ?? []
  }

  #keep(kept: readonly RecordRow[][]): void {
    deletions.value = new Map(deletions.value).set(this.#name, kept)
  }

  /** Records that were deleted can be put back. */
  #deleted(rows: RecordRow[]): void {
    if (rows.length > 0) this.#keep([...this.#deletions, rows])
  }

  /** One record was deleted, elsewhere on the page. */
  hasLost(row: RecordRow): void {
    this.#deleted([row])
    this.error.value = undefined
    this.notice.value = { text: `${keyText(row)} is deleted.`, hasUndo: true }
    announce(this.notice.value.text)
  }

  /** Puts the records of the last deletion back. */
  undo(): Promise<void> {
    const { db, table } = this.query
    const rows = this.#deletions.at(-1) ?? []
    return this.#run('Restoring', async (signal) => {
      this.#keep(this.#deletions.slice(0, -1))
      const { restored, left, again } = await restoreRows(rows, {
        put: ({ hashKey, rangeKey, data, ttl }) => putRecord(db, table, { hashKey, rangeKey }, data, ttl, undefined),
        onProgress: (done) => {
          this.progress.value = `Restoring: ${done.toLocaleString('en')} of ${rows.length.toLocaleString('en')}`
        },
        signal,
      })
      this.#deleted(again)
      if (restored.length > 0) await this.query.again()
      const failed = rows.length - restored.length
      const text = `${records(restored.length)} restored.${failed > 0 ? ` ${records(failed)} ${were(failed)} not.` : ''}`
      return { text, left, hasUndo: again.length > 0 }
    })
  }

  stop(): void {
    this.#running?.abort()
  }

  /** The screen is left: what runs stops, and says elsewhere how far it came. */
  leave(): void {
    this.#isLeft = true
    this.stop()
  }

  dismiss(): void {
    this.notice.value = undefined
    this.error.value = undefined
  }

  /** `sayFailure` gives what was done before an error. */
  async #run(
    first: string,
    work: (signal: AbortSignal) => Promise<Notice>,
    sayFailure?: (error: unknown) => Notice,
  ): Promise<void> {
    if (this.progress.value !== undefined) return
    const controller = new AbortController()
    this.#running = controller
    this.dismiss()
    this.progress.value = first
    try {
      this.notice.value = await work(controller.signal)
      if (this.#isLeft) toast(this.notice.value.text)
      else announce(this.notice.value.text)
    } catch (error) {
      this.error.value = error
      this.notice.value = sayFailure?.(error)
      if (this.#isLeft) toast([messageOf(error), this.notice.value?.text].join(' '))
    } finally {
      this.progress.value = undefined
      keepFocus()
    }
  }

  count({ members }: Asked): Promise<void> {
    return this.#run('Counting', async (signal) => {
      const total = await countAll({
        read: (cursor) => this.query.page(members, { select: 'count', limit: undefined, cursor }),
        onProgress: (count) => {
          this.progress.value = `Counting: ${totalWords({ count, isWhole: false })}`
        },
        signal,
      })
      const words = total.isWhole ? records(total.count) : `${totalWords(total)} records`
      return { text: total.isWhole ? `${words} in all` : `${words}; the count was stopped` }
    })
  }

  export({ members }: Asked): Promise<void> {
    const { db, table } = this.query
    const work = async (signal: AbortSignal): Promise<Notice> => {
      const { blob, ...total } = await exportAll(
        {
          read: (cursor) => this.query.page(members, { limit: pageRowsMax, cursor }),
          onProgress: (count) => {
            this.progress.value = `Exporting: ${records(count)}`
          },
          signal,
        },
        { db, table },
      )
      // A part must not be kept as if it were the whole.
      if (!total.isWhole) return { text: 'The export was stopped. No file was saved.' }
      const name = `${db}-${table}.ndjson`
      saveAs(name, blob)
      return {
        text: `${name}: ${records(total.count)} with keys, data, ttl and version, one on each line. Import it here, or with ${shellCommand('import')}.`,
      }
    }
    return this.#run('Exporting', work, () => ({ text: 'The export did not finish. No file was saved.' }))
  }

  delete(rows: readonly GridRow[]): Promise<void> {
    const shown = rows.map(({ record }) => record)
    const result: DeleteResult = { deleted: [], changed: [] }
    let isSent = false
    const work = async (signal: AbortSignal): Promise<Notice> => {
      try {
        await deleteRows(shown, result, {
          send: (body) => this.#sendBatch(body),
          onProgress: ({ deleted, changed }) => {
            this.progress.value = `Deleting: ${(deleted.length + changed.length).toLocaleString('en')} of ${shown.length.toLocaleString('en')}`
          },
          signal,
        })
      } finally {
        this.query.remove(new Set(result.deleted.map(idOf)))
        this.#deleted(result.deleted)
      }
      isSent = true
      const { changed, gone } = await this.#lookAgain(result.changed)
      const left = [...changed.map((key) => `${key}: changed`), ...gone.map((key) => `${key}: already deleted`)]
      const notTried = shown.length - result.deleted.length - left.length
      const parts = [
        `${records(result.deleted.length)} deleted.`,
        changed.length > 0 && `${records(changed.length)} changed meanwhile and ${were(changed.length)} left alone.`,
        gone.length > 0 && `${records(gone.length)} ${were(gone.length)} already deleted.`,
        signal.aborted && `Stopped: ${records(notTried)} ${were(notTried)} not tried.`,
      ]
      return { text: parts.filter((part) => part !== false).join(' '), left, hasUndo: result.deleted.length > 0 }
    }
    return this.#run('Deleting', work, (error) => {
      const next =
        !isSent && isUnknown(error) ? ` The next ones, ${batchOperationsMax} at most, may be deleted too.` : ''
      const text = `${records(result.deleted.length)} deleted before the error.${next} Run the query again to see what is left.`
      return { text, hasUndo: result.deleted.length > 0 }
    })
  }

  async #sendBatch(body: string): Promise<boolean> {
    try {
      await send('POST', `${this.query.path}/batch`, { body })
      return true
    } catch (error) {
      if (error instanceof ApiError && error.code === 'precondition_failed') return false
      throw error
    }
  }

  /** Records that changed are shown in their new version; those that somebody else deleted leave the grid. */
  async #lookAgain(rows: readonly RecordRow[]): Promise<{ changed: string[]; gone: string[] }> {
    const changed: string[] = []
    const gone: string[] = []
    for (let at = 0; at < rows.length; at += findKeysMax) {
      const keys = rows.slice(at, at + findKeysMax).map(({ hashKey, rangeKey }) => ({ hashKey, rangeKey }))
      const body = JSON.stringify({ keys })
      const found = await read<{ items: RecordRow[]; missing: RecordRow[] }>('POST', `${this.query.path}/find`, {
        body,
      })
      const missing = new Set(found.missing.map(idOf))
      for (const record of found.items) this.query.replace(record, false)
      this.query.remove(missing)
      for (const key of keys) (missing.has(idOf(key)) ? gone : changed).push(keyText(key))
    }
    return { changed, gone }
  }
}
