import type { Awaitable } from '../../core/awaitable.ts'
import { CubbyError, type ErrorCode } from '../../core/errors.ts'
import { loadCommitBytesMax, loadCommitLinesMax, loadErrorsMax, loadWaitMsMax } from '../../core/limits.ts'
import { sliceUnits } from '../../core/slices.ts'
import { readIndexEntries } from '../../core/tables/indices.ts'
import type { ReadLine } from '../../core/text/csv-records.ts'
import type { PutOperation } from '../../store/records.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, callerOf, type TableAddress } from '../access.ts'
import { notFound, requireTable, signalFollowers, writeIn } from '../lifecycle.ts'
import { parsePut } from './put-record.ts'

export interface LoadOptions extends TableAddress {
  /** What the first refused line does: it ends the load, or it is left out. */
  onError: 'stop' | 'skip'
  /** Records that exist are left as they are. */
  ifAbsent: boolean
}

/** A line that was refused. */
interface LineError {
  line: number
  code: ErrorCode
  message: string
  field?: string
}

export interface LoadOutput {
  /** Lines that were stored, that were left alone, and that were refused. */
  count: number
  skipped: number
  failed: number
  /** The first of those that were refused. */
  errors: LineError[]
}

/** The sender of a load. */
export interface LoadSender {
  /** Judges the API key again, and sets `access`. */
  authenticate(): Awaitable<void>
  readonly access: Access
  now(): number
  /** Resolves when it is the sender's turn to use the thread. */
  turn(): Promise<void>
  /** The error that ends the load, as soon as there is one. */
  readonly fault: CubbyError | undefined
  /** No more lines are wanted: whoever waits for them gets an error. */
  cut(): void
}

/**
 * A commit of few records ends after so many units of text: each record keeps the text alive that it arrived with, also the lines
 * around it of which nothing is stored.
 */
const passedUnitsMax = 4 * loadCommitBytesMax

/** What judging a line takes beside its length, as units of text: an error takes as long as a kilobyte. */
const unitsOfLine = 200

/** Less than other work does in a turn: meanwhile the writer may be waiting for the next commit. */
const turnUnits = sliceUnits / 4

const firstPauseMs = 20
const pauseMsMax = 1_000

/** A commit with the runs of those who follow the table takes no longer than others. */
const linesOfCommit = ({ followers }: Table): number => Math.ceil(loadCommitLinesMax / (1 + followers.length))

const isBlank = (line: string): boolean => /^[ \t\r]*$/.test(line)

/**
 * Stores the lines of a load in their order. One commit is in flight while the lines of the next one are read: it is not sent
 * before that one has succeeded, so the lines that are stored are always the first ones.
 */
export class RecordLoad {
  readonly #options: LoadOptions
  readonly #table: Table
  readonly #sender: LoadSender
  readonly #onCommit: (written: number, skipped: number) => void
  #linesMax: number
  readonly output: LoadOutput = { count: 0, skipped: 0, failed: 0, errors: [] }
  #line = 0
  #puts: PutOperation[] = []
  #bytes = 0
  /** The units of all lines since the last commit. */
  #passedUnits = 0
  #committing: Promise<void> = Promise.resolve()

  /** `table` is the one that the options name. */
  constructor(
    options: LoadOptions,
    table: Table,
    sender: LoadSender,
    onCommit: (written: number, skipped: number) => void = () => {},
  ) {
    this.#options = options
    this.#table = table
    this.#sender = sender
    this.#onCommit = onCommit
    this.#linesMax = linesOfCommit(table)
  }

  /** Throws what ends the load and is no fault of a line, with the number of lines that are stored. */
  async run(blocks: AsyncIterable<readonly ReadLine[]>): Promise<LoadOutput> {
    try {
      for await (const lines of blocks) if (await this.#takeUntilStopped(lines)) break
      await this.#send()
      await this.#committing
      return this.output
    } catch (error) {
      // The lines of the last commit count if it succeeds; otherwise it is what ended the load.
      const cause = await this.#committing.then(
        () => error,
        (failure: unknown) => failure,
      )
      throw cause instanceof CubbyError ? cause.afterLines(this.output.count) : cause
    }
  }

  /** True if a refused line ends the load. The API key is judged here too: a load without good lines has no commits. */
  async #takeUntilStopped(lines: readonly ReadLine[]): Promise<boolean> {
    await this.#turn()
    await this.#patiently(async () => this.#sender.authenticate())
    let units = 0
    for (const line of lines) {
      this.#line++
      this.#passedUnits += typeof line === 'string' ? line.length + 1 : 1
      if (line === '') continue
      if (units >= turnUnits) {
        await this.#turn()
        units = 0
      }
      units += unitsOfLine + (typeof line === 'string' ? line.length : 0)
      if (typeof line === 'string' && isBlank(line)) continue
      const put = this.#read(line)
      if (put === undefined) {
        if (this.#options.onError === 'stop') return true
        continue
      }
      await this.#add(put)
    }
    return false
  }

  #read(line: ReadLine): PutOperation | undefined {
    try {
      if (typeof line !== 'string') throw faultOf(line)
      const record = parsePut(line, this.#sender.now())
      const { hashKey, rangeKey, data, ttlSeconds } = record
      const entries = readIndexEntries(this.#table.indices, record)
      return { op: 'put', hashKey, rangeKey, data, ttlSeconds, entries, condition: undefined }
    } catch (error) {
      if (!(error instanceof CubbyError)) throw error
      const { code, field } = error
      const message = error.message.replace(/^The body /, 'The line ').replace(/ in the body\.$/, ' in the line.')
      this.output.failed++
      if (this.output.errors.length < loadErrorsMax) this.output.errors.push({ line: this.#line, code, message, field })
      return undefined
    }
  }

  async #add(put: PutOperation): Promise<void> {
    const bytes = Buffer.byteLength(put.data)
    const isFull = this.#puts.length >= this.#linesMax || this.#bytes + bytes > loadCommitBytesMax
    if (isFull || this.#passedUnits > passedUnitsMax) {
      await this.#send()
      await this.#turn()
    }
    this.#puts.push(put)
    this.#bytes += bytes
  }

  /** Begins the next commit when the one before has succeeded. */
  async #send(): Promise<void> {
    const puts = this.#puts
    this.#puts = []
    this.#bytes = 0
    this.#passedUnits = 0
    await this.#committing
    if (puts.length === 0) return
    if (this.#sender.fault !== undefined) throw this.#sender.fault
    this.#committing = this.#patiently(() => this.#commit(puts))
    this.#committing.catch(() => this.#sender.cut())
  }

  /** The API key and the table are judged for every commit. */
  async #commit(puts: PutOperation[]): Promise<void> {
    const { db, table: name, ifAbsent } = this.#options
    await this.#sender.authenticate()
    const { access } = this.#sender
    const nowMs = this.#sender.now()
    const address = { db, table: name }
    const table = await requireTable(access, address, nowMs)
    // Another table with this name may have other indices.
    if (table.id !== this.#table.id) throw await notFound('table', access, address, nowMs)
    this.#linesMax = linesOfCommit(table)
    const written = await writeIn('table', access, address, nowMs, () =>
      access.engine.records.putAll(callerOf(access), table, puts, ifAbsent, nowMs),
    )
    signalFollowers(access, table)
    this.output.count += written
    this.output.skipped += puts.length - written
    this.#onCommit(written, puts.length - written)
  }

  async #turn(): Promise<void> {
    await this.#patiently(() => this.#sender.turn())
    if (this.#sender.fault !== undefined) throw this.#sender.fault
  }

  /** Repeats what was not done because there was no room or no store, for some time. */
  async #patiently(work: () => Promise<void>): Promise<void> {
    const endsAtMs = performance.now() + loadWaitMsMax
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
      try {
        return await work()
      } catch (error) {
        const isRefusal = error instanceof CubbyError && error.code === 'unavailable'
        if (!isRefusal || this.#sender.fault !== undefined || performance.now() + pauseMs > endsAtMs) throw error
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }
  }
}

const faultOf = ({ fault, lossyText }: Exclude<ReadLine, string>): CubbyError => {
  const message = `${fault[0]!.toUpperCase()}${fault.slice(1)}`
  return new CubbyError(lossyText === undefined ? 'body_too_large' : 'invalid_json', message)
}
