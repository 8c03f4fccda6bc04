import { CubbyError } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { StoreDamaged } from '../../../core/store-refused.ts'

/** SQLite's code, such as `SQLITE_FULL`; empty if the error has none. */
export const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')

/** Tells whether the file itself is damaged: a page is invalid, or the disk cannot read it. */
export const isDamage = (error: unknown): boolean =>
  /^SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS))/.test(codeOf(error))

export const damaged = Symbol('damaged')

/** The result of `read`, or `damaged` if it found a damaged page. */
export const orDamage = <T>(read: () => T): T | typeof damaged => {
  try {
    return read()
  } catch (error) {
    if (isDamage(error)) return damaged
    throw error
  }
}

/**
 * The lowest id after which rows can be read again; undefined if there is none. A damaged page hides one range of ids, so
 * a binary search finds its end.
 */
export const firstReadable = (last: number, isReadableAfter: (id: number) => boolean): number | undefined => {
  let far = 1
  while (!isReadableAfter(last + far)) {
    far *= 2
    if (last + far > Number.MAX_SAFE_INTEGER) return undefined
  }
  let near = Math.floor(far / 2)
  while (far - near > 1) {
    const middle = Math.floor((near + far) / 2)
    if (isReadableAfter(last + middle)) far = middle
    else near = middle
  }
  return last + far
}

export const damageMessage = 'The store is damaged where this request reads or writes; nothing was applied.'
export const damageHint = 'The operator has to restore a backup; other records can still be read and written.'

const page = 'docs/recovering.md, "When the store is damaged"'
const whatToDo = `see which tables with cubby verify, then restore a backup; ${page}`

/** SQLite's code and message: for the log, never for the caller. */
export const causeOf = (error: unknown): string => `${codeOf(error)} ${(error as Error).message}`

/** The error for the operator if `error` means that the store cannot be opened at all; other errors as they are. */
export const refuseDamaged = (path: string, error: unknown): unknown =>
  isDamage(error)
    ? new StoreDamaged(`${path} is damaged or not a Cubby store (${causeOf(error)}): restore a backup; ${page}`)
    : error

/** The error for a command that finds damage in an open store. */
export const damagedStore = (path: string, error: unknown): StoreDamaged =>
  new StoreDamaged(`${path} is damaged (${causeOf(error)}): ${whatToDo}`)

/**
 * Remembers whether damage was found in the store. Only the first is logged, however many requests meet it. The process is
 * not ready from then on, until it is restarted after a repair.
 */
export class Damage {
  readonly #path: string
  readonly #log: Log
  #cause: string | undefined
  #listeners: ((cause: string) => void)[] = []

  constructor(path: string, log: Log) {
    this.#path = path
    this.#log = log
  }

  /** The first damage that was found; undefined if none was. */
  get cause(): string | undefined {
    return this.#cause
  }

  /** `listener` is called once, with the first damage. */
  onFirst(listener: (cause: string) => void): void {
    this.#listeners.push(listener)
  }

  note(cause: string): void {
    if (this.#cause !== undefined) return
    const hint = `${whatToDo}. Undamaged records are served. If the process is ended by SIGBUS, start it with --no-mmap`
    this.#log('error', 'the store is damaged', { file: this.#path, cause, hint })
    this.noteFromElsewhere(cause)
  }

  /** Notes damage that another process on the store has found and logged. */
  noteFromElsewhere(cause: string): void {
    if (this.#cause !== undefined) return
    this.#cause = cause
    for (const listener of this.#listeners) listener(cause)
    this.#listeners = []
  }

  /** The error for the caller of a read that threw `error`. */
  explain(error: unknown): unknown {
    if (!isDamage(error)) return error
    const cause = causeOf(error)
    this.note(cause)
    return new CubbyError('store_damaged', damageMessage, { hint: damageHint, cause })
  }
}

interface WalkOptions<Row> {
  rowsPerStep: number
  /** Findings name the rows so: `records of the ids` 5 to 9 cannot be read, `records` after number 4 are not in order. */
  unread: string
  unordered: string
  findingsOf: (row: Row) => string[]
  /** It is called with the rows of each step, before their findings. */
  onStep?: (rows: Row[]) => void
}

/**
 * Reads all rows in steps, in order of their numbers, and yields what is wrong with them. Rows that cannot be read are skipped.
 */
export async function* walkRows<Row extends object>(
  readAfter: (last: number, rowsMax: number) => Row[],
  numberOf: (row: Row) => number,
  { rowsPerStep, unread, unordered, findingsOf, onStep }: WalkOptions<Row>,
): AsyncIterable<string> {
  const read = (after: number, rowsMax: number) => orDamage(() => readAfter(after, rowsMax))
  let rowsMax = rowsPerStep
  for (let last = 0; ; ) {
    const rows = read(last, rowsMax)
    if (rows === damaged) {
      // Smaller and smaller steps find the first row that cannot be read. The walk continues after the damaged range.
      if (rowsMax > 1) rowsMax = Math.ceil(rowsMax / 8)
      else {
        const next = firstReadable(last, (after) => read(after, 1) !== damaged)
        yield `${unread} ${last + 1} to ${next ?? 'the last'} cannot be read`
        if (next === undefined) return
        last = next
        rowsMax = rowsPerStep
      }
      continue
    }
    if (rows.length === 0) return
    // A damaged page can lead back to rows that were read before.
    if (rows.some((row, i) => numberOf(row) <= (i === 0 ? last : numberOf(rows[i - 1]!)))) {
      yield `${unordered} after number ${last} are not in order: a page is damaged, and the rest of them is not checked`
      return
    }
    onStep?.(rows)
    for (const row of rows) yield* findingsOf(row)
    last = numberOf(rows.at(-1)!)
    // A server that checks its own store serves requests in between.
    await Bun.sleep(0)
  }
}
