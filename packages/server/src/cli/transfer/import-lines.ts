import { CubbyError } from '../../core/errors.ts'
import { isExpired } from '../../core/records/expiry.ts'
import { readIndexEntries } from '../../core/tables/indices.ts'
import { errorLine } from '../hint-text.ts'
import { type KeyFields, parseForeignLine } from './foreign.ts'
import type { ImportProgress } from './import-state.ts'
import type { ImportRecord, ImportTable, ImportTarget } from './import-target.ts'
import { type Line, parseLine } from './ndjson.ts'
import type { ReadLine } from './read-lines.ts'

interface ImportOptions {
  /** Outranks the names in the lines. */
  db: string | undefined
  table: string | undefined
  /** The key fields of lines of other programs; undefined for the lines of an export. */
  foreign: KeyFields | undefined
  /** Lines before this one are not imported, but the tables that they declare are created. */
  fromLine: number
  now(): number
  onRefused(line: number, reason: string): void
  onNote(line: number, note: string): void
}

interface Batch {
  table: ImportTable
  firstLine: number
  records: ImportRecord[]
  bytes: number
}

/** Tables with a batch that is being filled. Most files go from table to table; this bounds those that mix many. */
const openBatchesMax = 64

/**
 * Lines in, batches out. Several batches are in flight at once, but never two with the same record, so that the later of
 * two lines about one record always wins.
 */
export class LineImporter {
  readonly #target: ImportTarget
  readonly #options: ImportOptions
  readonly #open = new Map<string, Batch>()
  readonly #inFlight = new Map<Batch, Promise<void>>()
  /** The record keys in both. */
  readonly #keys = new Set<string>()
  readonly #tables = new Map<string, ImportTable | null>()
  /** The table of the file whose records a table of the target receives, by the target's table. */
  readonly #sources = new Map<string, string>()
  #failure: { error: unknown } | undefined
  #line = 0
  records = 0
  unchanged = 0
  expired = 0
  refused = 0

  constructor(target: ImportTarget, options: ImportOptions, earlier?: ImportProgress) {
    this.#target = target
    this.#options = options
    this.records = earlier?.records ?? 0
    this.unchanged = earlier?.unchanged ?? 0
    this.expired = earlier?.expired ?? 0
    this.refused = earlier?.refused ?? 0
  }

  /** Imports the next line. Throws only errors that end the import. */
  async take(text: ReadLine): Promise<void> {
    const line = this.#line + 1
    try {
      await this.#takeLine(text, line)
    } catch (error) {
      if (!(error instanceof LineRefused)) throw error
      this.#refuse(line, error.message)
    }
    this.#line = line
  }

  /** Every line up to `line` is done: imported, skipped or rejected. */
  progress(): ImportProgress {
    let line = this.#line
    for (const batch of [...this.#open.values(), ...this.#inFlight.keys()]) line = Math.min(line, batch.firstLine - 1)
    const { records, unchanged, expired, refused } = this
    return { line, records, unchanged, expired, refused }
  }

  /** Sends the open batches and waits until none is in flight. */
  async finish(): Promise<void> {
    for (const key of [...this.#open.keys()]) await this.#send(key)
    await this.#waitForBatches()
  }

  /** Waits for the batches in flight, whatever their outcome. Open batches are not sent. */
  async drain(): Promise<void> {
    await Promise.all(this.#inFlight.values())
  }

  async #takeLine(text: ReadLine, line: number): Promise<void> {
    const { foreign } = this.#options
    if (line < this.#options.fromLine) {
      if (typeof text !== 'string' || foreign !== undefined || !text.includes('"indices"')) return
      const parsed = attempt(() => parseLine(text))
      if (parsed?.kind === 'table') await this.#declare(parsed, line)
      return
    }
    if (typeof text !== 'string') {
      if (text.fault === '') return this.#refuseSilently()
      throw new LineRefused(text.fault)
    }
    if (text.trim() === '') return
    const parsed = orRefuse(() => (foreign === undefined ? parseLine(text) : parseForeignLine(text, foreign)))
    if (parsed.kind === 'table') await this.#declare(parsed, line)
    else await this.#put(parsed, line)
  }

  #address({ db: ownDb, table: ownTable }: Line): { db: string; name: string; path: string } {
    const db = this.#options.db ?? ownDb
    const name = this.#options.table ?? ownTable
    if (db === undefined) throw new LineRefused('the line names no db, and --db is not given.')
    if (name === undefined) throw new LineRefused('the line names no table, and --table is not given.')
    const path = `${db}/${name}`
    const source = `${ownDb ?? db}/${ownTable ?? name}`
    const first = this.#sources.get(path)
    if (first === undefined) this.#sources.set(path, source)
    else if (first !== source) {
      throw new LineRefused(`${path} takes the records of ${first}; those of ${source} would be mixed with them.`)
    }
    return { db, name, path }
  }

  async #declare(line: Extract<Line, { kind: 'table' }>, number: number): Promise<void> {
    const { db, name, path } = this.#address(line)
    await this.#sendAndWait(path)
    const table = await this.#target.createTable(db, name, line.indices, line.keepHours)
    // Declared a second time, as in concatenated files: it is still the table that this import created.
    const isNew = table.isNew || this.#tables.get(path)?.isNew === true
    this.#tables.set(path, { ...table, isNew })
    if (JSON.stringify(table.indices) !== JSON.stringify(line.indices)) {
      this.#options.onNote(number, `${path} exists with other indices than declared here; it keeps its own.`)
    }
  }

  async #put({ record, updatedAtMs, ...line }: Extract<Line, { kind: 'record' }>, number: number): Promise<void> {
    const { db, name, path } = this.#address(line as Line)
    const table = await this.#findTable(db, name, path)
    if (table === undefined) return this.#refuseSilently()
    const entries = orRefuse(() => readIndexEntries(table.indices, record))
    // It could not be read anyway, and a server rejects a ttl that is more than a day in the past.
    if (isExpired(record.ttlSeconds, this.#options.now())) {
      this.expired++
      return
    }
    const key = JSON.stringify([path, record.hashKey, record.rangeKey])
    if (this.#keys.has(key)) await this.finish()
    let batch = this.#open.get(path)
    if (batch === undefined) {
      if (this.#open.size >= openBatchesMax) await this.finish()
      batch = { table, firstLine: number, records: [], bytes: 0 }
      this.#open.set(path, batch)
    }
    this.#keys.add(key)
    batch.records.push({ ...record, line: number, entries, updatedAtMs })
    batch.bytes += record.data.length
    const { batchRecordsMax, batchBytesMax } = this.#target
    if (batch.records.length >= batchRecordsMax || batch.bytes >= batchBytesMax) await this.#send(path)
  }

  /** undefined for a missing table that was reported: it may have many lines, all rejected for the same reason. */
  async #findTable(db: string, name: string, path: string): Promise<ImportTable | undefined> {
    const known = this.#tables.get(path)
    if (known !== undefined) return known ?? undefined
    const found = await this.#target.findTable(db, name)
    this.#tables.set(path, found ?? null)
    if (found !== undefined) return found
    throw new LineRefused(
      `there is no table ${path}, and no line before declares it; later lines for it are rejected without a message. ` +
        `Create it: cubby table create ${name} --db ${db}`,
    )
  }

  /** Sends the table's batch, and waits while too many are in flight. */
  async #send(path: string): Promise<void> {
    const batch = this.#open.get(path)
    if (batch === undefined) return
    this.#open.delete(path)
    this.#inFlight.set(batch, this.#write(path, batch))
    while (this.#inFlight.size >= this.#target.batchesAtOnceMax) {
      await Promise.race(this.#inFlight.values())
      this.#throwFailure()
    }
  }

  async #sendAndWait(path: string): Promise<void> {
    await this.#send(path)
    await this.#waitForBatches()
  }

  async #waitForBatches(): Promise<void> {
    await this.drain()
    this.#throwFailure()
  }

  /** Never rejects: `take` or `finish` throws the failure. */
  async #write(path: string, batch: Batch): Promise<void> {
    try {
      const { unchanged, refused } = await this.#target.write(batch.table, batch.records)
      this.records += batch.records.length - refused.length
      this.unchanged += unchanged
      for (const { line, error } of refused) this.#refuse(line, errorLine(error))
      for (const { hashKey, rangeKey } of batch.records) this.#keys.delete(JSON.stringify([path, hashKey, rangeKey]))
      this.#inFlight.delete(batch)
    } catch (error) {
      // It stays in #inFlight: `progress` must not count its lines as done.
      this.#failure ??= { error }
    }
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }

  #refuse(line: number, reason: string): void {
    this.refused++
    this.#options.onRefused(line, reason)
  }

  #refuseSilently(): void {
    this.refused++
  }
}

class LineRefused extends Error {}

const orRefuse = <T>(work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw error instanceof CubbyError ? new LineRefused(errorLine(error)) : error
  }
}

const attempt = <T>(work: () => T): T | undefined => {
  try {
    return work()
  } catch {
    return undefined
  }
}
