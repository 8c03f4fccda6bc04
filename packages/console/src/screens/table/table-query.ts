import { computed, signal } from '@preact/signals'
import { ApiError } from '../../api/error.ts'
import { keptMembers, pathOf, read, send } from '../../api/request.ts'
import type { Indices, Page, RecordRow } from '../../api/types.ts'
import { readAnswer } from '../../text/answer.ts'
import { announce } from '../../ui/announce.ts'
import { type LoadedView, viewOf } from './loaded-view.ts'
import { settledText } from './operand.ts'
import { readAddress, writeAddress, writeView } from './query-address.ts'
import {
  bodyOf,
  boundReader,
  type FormField,
  type Members,
  newestFirst,
  type QueryForm,
  readForm,
  shapeOf,
} from './query-form.ts'
import { type GridRow, gridRow, idOf, type RecordKeys } from './rows.ts'
import { Selection } from './selection.ts'

// The query of one table: what is in the bar, what was asked last, and its rows.

/** More rows would make the page slow; an export has no such limit. */
export const shownRowsMax = 5_000
const quietMs = 200

export interface Asked {
  form: QueryForm
  members: Members
}

/** What happened to a row. Two marks in a row of the same kind differ, so that the second one is seen too. */
export type RowMark = `${'added' | 'changed'} ${'even' | 'odd'}`

export class TableQuery {
  readonly form
  readonly fault = signal<{ field: FormField; fault: string } | undefined>(undefined)
  /** The query whose rows are shown. */
  readonly asked = signal<Asked | undefined>(undefined)
  readonly rows = signal<readonly GridRow[]>([])
  readonly cursor = signal<string | null>(null)
  readonly ms = signal(0)
  readonly error = signal<unknown>(undefined)
  readonly isRunning = signal(false)
  readonly isSlow = signal(false)
  /** Rows that mark themselves for a moment. */
  readonly changedId = signal<string | undefined>(undefined)
  /** The number of loads that have ended. */
  readonly loads = signal(0)
  /** More than the first page is loaded. */
  readonly isPaged = signal(false)
  /** Rows that somebody else has just written, each with its mark. */
  readonly marks = signal<ReadonlyMap<string, RowMark>>(new Map())
  /** A later result, which is shown when nothing would move under the reader's hands. */
  readonly later = signal<readonly GridRow[] | undefined>(undefined)
  /** The reader wants the later result now. */
  onShowLater = (): void => {}
  /** The filter and the order of the loaded rows. */
  readonly view = signal<LoadedView>({})
  readonly shown = computed(() => viewOf(this.rows.value, this.view.value))
  /** The reason why the query in the address cannot be run. */
  readonly addressFault = signal<string | undefined>(undefined)
  /** The server's hint about an empty page. */
  readonly hint = signal<string | undefined>(undefined)
  readonly rowsById = computed(() => new Map(this.rows.value.map((row) => [row.id, row])))
  readonly selection = new Selection()
  /** The scroll position of the grid, for the way back from a record. */
  scrollTop = 0
  lastOpenId: string | undefined
  readonly path: string
  /** The query in the address of the page, with the view; undefined before the first one. */
  #address: string | undefined
  /** The same without the view. */
  #asked: string | undefined
  #running: AbortController | undefined

  /** `onAddress` puts the query that is run into the address of the page, in place of the present one if `replaces`. */
  constructor(
    readonly db: string,
    readonly table: string,
    readonly indices: Indices,
    readonly onAddress: (query: string, replaces: boolean) => void,
  ) {
    this.path = pathOf('v1', db, table)
    this.form = signal(newestFirst)
  }

  /** The address of the page has this query. */
  show(address: string): void {
    if (address === this.#address) return
    const isFirst = this.#address === undefined
    this.#address = address
    const found = readAddress(address, this.indices)
    if ('addressFault' in found) {
      this.addressFault.value = found.addressFault
      this.stop()
      this.asked.value = undefined
      this.rows.value = []
      this.cursor.value = null
      return
    }
    this.change(found.form)
    this.#ask(isFirst, found.view)
  }

  /** The query in the address of the page. */
  get address(): string {
    return this.#address ?? ''
  }

  change(part: Partial<QueryForm>): void {
    this.fault.value = undefined
    this.form.value = { ...this.form.value, ...part }
  }

  /** Strings get their quotes and days their time, so that the reader sees how each value is read. */
  settle(): void {
    const form = this.form.value
    const shape = shapeOf(form.index, this.indices)
    const { hash, low, high } = form
    const settled = {
      hash: settledText(hash, shape.readHash),
      low: settledText(low, boundReader(form, shape, 'low')),
      high: settledText(high, boundReader(form, shape, 'high')),
    }
    if (settled.hash !== hash || settled.low !== low || settled.high !== high) this.change(settled)
  }

  page(members: Members, changed: Record<string, unknown>, abort?: AbortSignal): Promise<Page<RecordRow>> {
    return read('POST', `${this.path}/query`, { body: bodyOf(members, changed), signal: abort })
  }

  /** Runs the query in the bar. */
  run(): Promise<void> {
    return this.#ask(false)
  }

  /** `view` is given with an address; otherwise the view stays for as long as the query does. */
  async #ask(isFirst: boolean, view?: LoadedView): Promise<void> {
    this.settle()
    const form = this.form.value
    const query = readForm(form, this.indices)
    if ('fault' in query) {
      this.fault.value = query
      return
    }
    this.addressFault.value = undefined
    const written = writeAddress(form, this.indices)
    const isSame = written === this.#asked
    this.#asked = written
    this.view.value = view ?? (isSame ? this.view.value : {})
    this.#tellAddress(isFirst)
    // The rows are loaded: the address has another view of them.
    if (view !== undefined && isSame && this.asked.value !== undefined && !this.isRunning.value) return
    await this.#load({ form, members: query.members }, undefined)
  }

  /** Filters and sorts the loaded rows. */
  look(view: LoadedView): void {
    this.view.value = view
    this.#tellAddress(true)
  }

  #tellAddress(replaces: boolean): void {
    const address = [this.#asked ?? '', writeView(this.view.value)].filter((part) => part !== '').join('&')
    if (address === this.#address) return
    this.#address = address
    this.onAddress(address, replaces)
  }

  /** Reads the shown query from its beginning. */
  async again(): Promise<void> {
    if (this.asked.value !== undefined) await this.#load(this.asked.value, undefined)
  }

  async more(): Promise<void> {
    const asked = this.asked.value
    if (asked !== undefined && this.cursor.value !== null) await this.#load(asked, this.cursor.value)
  }

  async #load(asked: Asked, cursor: string | undefined): Promise<void> {
    this.stop()
    const controller = new AbortController()
    this.#running = controller
    this.isRunning.value = true
    const timer = setTimeout(() => {
      this.isSlow.value = true
    }, quietMs)
    try {
      const body = bodyOf(asked.members, { cursor })
      const answer = await send('POST', `${this.path}/query`, { body, signal: controller.signal })
      if (controller.signal.aborted) return
      const page = readAnswer<Page<RecordRow>>(answer.text, keptMembers)
      this.#take(page.items.map(gridRow), cursor !== undefined)
      this.cursor.value = page.cursor
      this.hint.value = page.hint
      this.ms.value = answer.ms
      this.asked.value = asked
      this.error.value = undefined
      const count = this.rows.value.length
      announce(`${count} ${count === 1 ? 'record' : 'records'}${page.cursor === null ? '' : ', more follow'}`)
    } catch (error) {
      if (!controller.signal.aborted) this.error.value = error
    } finally {
      clearTimeout(timer)
      if (this.#running === controller) {
        this.isRunning.value = false
        this.isSlow.value = false
        if (!controller.signal.aborted) this.loads.value++
      }
    }
  }

  /** A record that was written while the reader paged may come again: it stands once, in its newest version. */
  #take(found: GridRow[], isMore: boolean): void {
    this.isPaged.value = isMore
    this.later.value = undefined
    if (!isMore) {
      this.rows.value = found
      this.marks.value = new Map()
      this.selection.all([])
      this.scrollTop = 0
      return
    }
    const known = this.rowsById.value
    const newer = new Map(
      found
        .filter(({ id, record }) => (known.get(id)?.record.updatedAt ?? record.updatedAt) < record.updatedAt)
        .map((row) => [row.id, row]),
    )
    const kept = this.rows.value.map((row) => newer.get(row.id) ?? row)
    this.rows.value = [...kept, ...found.filter(({ id }) => !known.has(id))]
  }

  stop(): void {
    this.#running?.abort()
  }

  /** A row that was saved elsewhere. A new one is not added: the query decides what it finds. */
  replace(record: RecordRow, isMarked = true): void {
    const id = idOf(record)
    this.#edit((rows) => rows.map((row) => (row.id === id ? gridRow(record) : row)))
    if (isMarked) this.changedId.value = id
  }

  remove(ids: ReadonlySet<string>): void {
    this.#edit((rows) => rows.filter(({ id }) => !ids.has(id)))
    this.selection.drop(ids)
  }

  /** What the reader has written is newer than a result that waits. */
  #edit(change: (rows: readonly GridRow[]) => readonly GridRow[]): void {
    this.rows.value = change(this.rows.value)
    const later = this.later.value
    if (later !== undefined) this.later.value = change(later)
  }

  /** Reads one shown record again, after it was open as a page. */
  async refresh(keys: RecordKeys): Promise<void> {
    const row = this.rowsById.value.get(idOf(keys))
    if (row === undefined) return
    const { hashKey, rangeKey } = row.record
    try {
      const path = this.path + pathOf(hashKey, ...(rangeKey === undefined ? [] : [rangeKey]))
      const record = await read<RecordRow>('GET', path)
      if (record.updatedAt !== row.record.updatedAt) this.replace(record)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'record_not_found') this.remove(new Set([row.id]))
    }
  }
}
