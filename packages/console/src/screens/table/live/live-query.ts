import { signal } from '@preact/signals'
import { watch } from '../../../../../client/src/changes/watch.ts'
import { CubbyError } from '../../../../../client/src/transport/errors.ts'
import { messageOf } from '../../../api/error.ts'
import { connection, hearRefusal } from '../../../api/request.ts'
import type { RecordRow } from '../../../api/types.ts'
import { bodyOf } from '../query-form.ts'
import { type GridRow, gridRow, idOf } from '../rows.ts'
import type { RowMark, TableQuery } from '../table-query.ts'
import { moves, rowChanges } from './row-changes.ts'
import { watchSend } from './watch-send.ts'

/**
 * What must stay as it is, because the reader works with it. `order`: values may change, but no row comes, goes or moves. `everything`:
 * the reader decides about what they have seen.
 */
export type Hold = 'nothing' | 'order' | 'everything'

export type LiveState = { word: 'connecting' | 'live' | 'reconnecting' } | { word: 'stopped'; reason: string }

const markMs = 4_000
const markStepMs = 500

/** Follows the query that is shown, and changes its rows as the table changes. */
export class LiveQuery {
  readonly state = signal<LiveState>({ word: 'connecting' })
  #stop = new AbortController()
  /** The time until which each row is marked. */
  readonly #markedUntilMs = new Map<string, number>()
  #markTimer: ReturnType<typeof setInterval> | undefined

  /** `onNotKept` is called when the table keeps no changes any more. */
  constructor(
    readonly query: TableQuery,
    readonly hold: () => Hold,
    readonly onNotKept: () => void,
  ) {}

  /** Begins anew: what has changed meanwhile is found by the first result. */
  follow(): void {
    this.close()
    const asked = this.query.asked.peek()
    if (asked === undefined) return
    const stop = new AbortController()
    this.#stop = stop
    this.state.value = { word: 'connecting' }
    const { key } = connection
    let [isFed, isAnswered] = [false, true]
    const tell = () => {
      if (!stop.signal.aborted) this.state.value = { word: isFed && isAnswered ? 'live' : 'reconnecting' }
    }
    const send = watchSend(asked.members, key, {
      onFeed: (isOpen) => {
        isFed = isOpen
        tell()
      },
      onQuery: (hasAnswer) => {
        if (isAnswered === hasAnswer) return
        isAnswered = hasAnswer
        tell()
      },
      // The end of a result may be another one although its records are the same.
      onPage: ({ cursor, hint }) => {
        if (stop.signal.aborted || this.query.isRunning.peek()) return
        this.query.cursor.value = cursor
        this.query.hint.value = hint
      },
    })
    watch<RecordRow>(send, this.query.path, JSON.parse(bodyOf(asked.members)), {
      signal: stop.signal,
      onChange: (records) => {
        if (!stop.signal.aborted) this.#take(records)
      },
    }).catch((thrown) => {
      if (stop.signal.aborted) return
      this.stop(messageOf(thrown))
      if (!(thrown instanceof CubbyError)) return
      if (thrown.code === 'changes_not_kept') this.onNotKept()
      hearRefusal(thrown, key)
    })
  }

  stop(reason: string): void {
    this.close()
    this.state.value = { word: 'stopped', reason }
  }

  close(): void {
    this.#stop.abort()
  }

  /** Takes the marks away too. */
  leave(): void {
    this.close()
    clearInterval(this.#markTimer)
    this.#markTimer = undefined
    this.#markedUntilMs.clear()
    this.query.marks.value = new Map()
    this.query.later.value = undefined
  }

  /** Shows the later result, if nothing is held any more. */
  settle(): void {
    if (this.query.later.peek() !== undefined && this.hold() === 'nothing') this.showLater()
  }

  showLater(): void {
    const later = this.query.later.peek()
    if (later !== undefined) this.#show(later)
  }

  #take(records: readonly RecordRow[]): void {
    const { query } = this
    // What is being loaded is newer, and is followed then.
    if (query.isRunning.peek()) return
    const known = query.rowsById.peek()
    const rows = records.map((record) => {
      const shown = known.get(idOf(record))
      return shown?.record.updatedAt === record.updatedAt ? shown : gridRow(record)
    })
    const changes = rowChanges(query.rows.peek(), rows)
    const hold = this.hold()
    if (hold === 'nothing' || (hold === 'order' && !moves(changes))) {
      this.#show(rows)
      return
    }
    query.later.value = rows
    if (hold === 'everything') return
    const byId = new Map(rows.map((row) => [row.id, row]))
    query.rows.value = query.rows.peek().map((row) => byId.get(row.id) ?? row)
    this.#mark(changes.changed, 'changed')
  }

  #show(rows: readonly GridRow[]): void {
    const { query } = this
    const wasEmpty = query.rows.peek().length === 0
    const { added, changed, removed } = rowChanges(query.rows.peek(), rows)
    query.later.value = undefined
    query.rows.value = rows
    query.selection.drop(new Set(removed))
    // The columns are chosen by the first rows.
    if (wasEmpty && query.asked.peek() !== undefined) query.asked.value = { ...query.asked.peek()! }
    this.#mark(changed, 'changed')
    this.#mark(added, 'added')
  }

  #mark(ids: readonly string[], kind: 'added' | 'changed'): void {
    if (ids.length === 0) return
    const marks = new Map(this.query.marks.peek())
    for (const id of ids) {
      const before = marks.get(id)
      // A new row that is written again is still new.
      const shown = before?.startsWith('added') ? 'added' : kind
      marks.set(id, `${shown} ${before?.endsWith('even') ? 'odd' : 'even'}` satisfies RowMark)
      this.#markedUntilMs.set(id, performance.now() + markMs)
    }
    this.query.marks.value = marks
    this.#markTimer ??= setInterval(() => this.#unmark(), markStepMs)
  }

  #unmark(): void {
    const nowMs = performance.now()
    const over = [...this.#markedUntilMs].filter(([, untilMs]) => untilMs <= nowMs).map(([id]) => id)
    if (over.length > 0) {
      const marks = new Map(this.query.marks.peek())
      for (const id of over) {
        marks.delete(id)
        this.#markedUntilMs.delete(id)
      }
      this.query.marks.value = marks
    }
    if (this.#markedUntilMs.size > 0) return
    clearInterval(this.#markTimer)
    this.#markTimer = undefined
  }
}
