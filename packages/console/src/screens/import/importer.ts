import { batchOperationsMax } from '../../../../server/src/core/limits.ts'
import { isExpired } from '../../../../server/src/core/records/expiry.ts'
import { serverNowMs } from '../../api/clock.ts'
import { ApiError } from '../../api/error.ts'
import type { Indices } from '../../api/types.ts'
import { session } from '../../state/session.ts'
import { placementOf } from '../record/placement.ts'
import { createTable, findIndices, type Operation, putBatch, type Refused, reasonOf } from './import-requests.ts'
import { type Line, LineFault, parseLine, type RecordLine, withoutPlace } from './parse-line.ts'
import type { ReadLine } from './read-lines.ts'

export interface ImportOptions {
  /** Used instead of the names in the lines. */
  db?: string
  table?: string
  /** Tables that are missing and that no line declares are created without indices. */
  createsMissing: boolean
  /** The lines are rows of CSV: no line declares a table. */
  isCsv: boolean
  /** The owner: the lines must not go to another organization that signs in meanwhile. */
  organization: string | undefined
}

/** A body may have 12 MiB. Characters are counted, which are at most 3 bytes each. */
const batchCharactersMax = 4_000_000
const batchesAtOnceMax = 4
const refusedShownMax = 100

interface Batch {
  db: string
  table: string
  operations: Operation[]
  keys: string[]
  characters: number
}

/** Lines in, batches out, by the rules of `cubby import`: the later of two lines about one record wins. */
export class Importer {
  lines = 0
  /** Lines that are neither blank nor the head of a CSV file. */
  rows = 0
  records = 0
  expired = 0
  refusedCount = 0
  /** The first ones. */
  readonly refused: Refused[] = []
  readonly notes: Refused[] = []
  isStopped = false
  readonly #options: ImportOptions
  readonly #open = new Map<string, Batch>()
  readonly #inFlight = new Set<Promise<void>>()
  /** The record keys in both. */
  readonly #keys = new Set<string>()
  /** The value is null if the table does not exist, which was said once. */
  readonly #tables = new Map<string, Indices | null>()
  /** Maps each table to the table of the file whose records it gets. */
  readonly #sources = new Map<string, string>()
  #failure: { error: unknown } | undefined

  constructor(options: ImportOptions) {
    this.#options = options
  }

  /** Tables that are not there, as `db/table`: their records were refused. */
  get missingTables(): string[] {
    return [...this.#tables].flatMap(([path, indices]) => (indices === null ? [path] : []))
  }

  /** Throws only errors that end the import. */
  async take(line: ReadLine | RecordLine): Promise<void> {
    this.lines++
    if ('kind' in line || line.fault !== undefined || line.text.trim() !== '') this.rows++
    try {
      if ('kind' in line) return await this.#put(line)
      if (line.fault !== undefined) throw new LineFault(line.fault)
      const parsed = parseLine(line.text)
      if (parsed?.kind === 'table') await this.#declare(parsed)
      else if (parsed !== undefined) await this.#put(parsed)
    } catch (error) {
      if (!(error instanceof LineFault)) throw error
      this.#refuse({ line: this.lines, reason: error.message })
    }
  }

  async finish(): Promise<void> {
    for (const path of [...this.#open.keys()]) await this.#send(path)
    await this.#drain()
  }

  #refuse(refused: Refused): void {
    this.refusedCount++
    if (refused.reason !== '' && this.refused.length < refusedShownMax) this.refused.push(refused)
  }

  #address({ db: ownDb, table: ownTable }: Line): { db: string; table: string; path: string } {
    const db = this.#options.db ?? ownDb
    const table = this.#options.table ?? ownTable
    if (db === undefined) throw new LineFault('the line names no db. Choose a database above.')
    if (table === undefined) throw new LineFault('the line names no table. Choose a table above.')
    const path = `${db}/${table}`
    const source = `${ownDb ?? db}/${ownTable ?? table}`
    const first = this.#sources.get(path) ?? source
    this.#sources.set(path, first)
    if (first !== source) {
      throw new LineFault(`${path} takes the records of ${first}; those of ${source} would be mixed with them.`)
    }
    return { db, table, path }
  }

  async #declare(line: Extract<Line, { kind: 'table' }>): Promise<void> {
    const { db, table, path } = this.#address(line)
    await this.finish()
    this.#checkOwner()
    const indices = await orRefuse(createTable(db, table, line.indices))
    this.#tables.set(path, indices)
    if (!isSame(indices, line.indices) && this.notes.length < refusedShownMax) {
      this.notes.push({ line: this.lines, reason: `${path} exists with other indices; it keeps its own.` })
    }
  }

  async #indicesOf(db: string, table: string, path: string): Promise<Indices> {
    const known = this.#tables.get(path)
    // The reason is said once: the table may have many lines.
    if (known === null) throw new LineFault('')
    if (known !== undefined) return known
    this.#checkOwner()
    const found =
      (await findIndices(db, table)) ??
      (this.#options.createsMissing ? await orRefuse(createTable(db, table, '{}')) : null)
    this.#tables.set(path, found)
    if (found !== null) return found
    throw new LineFault(
      this.#options.isCsv
        ? `there is no table ${path}. The rows after this one are only counted.`
        : `there is no table ${path}, and no line before declares it. Its later lines are only counted.`,
    )
  }

  async #put(record: RecordLine): Promise<void> {
    const { db, table, path } = this.#address(record)
    const { fault } = placementOf(record.data, await this.#indicesOf(db, table, path))
    if (fault !== undefined) throw new LineFault(`data: ${withoutPlace(fault.message)}.`)
    if (isExpired(record.ttlSeconds ?? null, serverNowMs())) {
      this.expired++
      return
    }
    const key = JSON.stringify([path, record.hashKey, record.rangeKey])
    if (this.#keys.has(key)) await this.finish()
    this.#keys.add(key)
    const { operation } = record
    const open = this.#open.get(path)
    if (open && open.characters + operation.length > batchCharactersMax) await this.#send(path)
    // Files go from table to table; this bounds those that mix many.
    if (this.#open.size >= batchesAtOnceMax && !this.#open.has(path)) await this.#send(this.#open.keys().next().value!)
    const batch = this.#open.get(path) ?? { db, table, operations: [], keys: [], characters: 0 }
    this.#open.set(path, batch)
    batch.operations.push({ line: this.lines, operation })
    batch.keys.push(key)
    batch.characters += operation.length
    if (batch.operations.length >= batchOperationsMax) await this.#send(path)
  }

  async #send(path: string): Promise<void> {
    const batch = this.#open.get(path)
    if (batch === undefined) return
    this.#open.delete(path)
    const running = this.#write(batch).finally(() => this.#inFlight.delete(running))
    this.#inFlight.add(running)
    while (this.#inFlight.size >= batchesAtOnceMax) await Promise.race(this.#inFlight)
    this.#throwFailure()
  }

  /** Never rejects: the failure is thrown where the import waits. */
  async #write({ db, table, operations, keys }: Batch): Promise<void> {
    try {
      const steps = { isStopped: () => this.isStopped, checkOwner: () => this.#checkOwner() }
      const refused = await putBatch(db, table, operations, steps)
      this.records += operations.length - refused.length
      for (const each of refused) this.#refuse(each)
      for (const key of keys) this.#keys.delete(key)
    } catch (error) {
      this.#failure ??= { error }
    }
  }

  #checkOwner(): void {
    if (session.value?.self.organization !== this.#options.organization) {
      throw new Error('You signed out before the import had ended.')
    }
  }

  async #drain(): Promise<void> {
    await Promise.all(this.#inFlight)
    this.#throwFailure()
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }
}

/** A name or declaration that the server rejects is the fault of the line. */
const orRefuse = async <T>(request: Promise<T>): Promise<T> => {
  try {
    return await request
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) throw new LineFault(reasonOf(error))
    throw error
  }
}

const isSame = (indices: Indices, declared: string): boolean => {
  const other = JSON.parse(declared) as Indices
  const slots = new Set([...Object.keys(indices), ...Object.keys(other)]) as Set<keyof Indices>
  return [...slots].every(
    (slot) =>
      indices[slot]?.hashField === other[slot]?.hashField && indices[slot]?.rangeField === other[slot]?.rangeField,
  )
}
