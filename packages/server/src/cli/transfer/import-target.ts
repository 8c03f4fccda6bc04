import { CubbyError } from '../../core/errors.ts'
import { batchOperationsMax, loadCommitLinesMax, loadsOfOrganizationMax } from '../../core/limits.ts'
import { OperatorError } from '../../core/operator-error.ts'
import type { RecordToPut } from '../../core/records/record-data.ts'
import { noRangeKey } from '../../core/records/record-key.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import type { IndexEntries, Indices } from '../../core/tables/indices.ts'
import { findStore, type StoreLocation } from '../../engines/open-engine.ts'
import type { LoadOutput } from '../../operations/records/record-load.ts'
import { openClock } from '../../process/clock.ts'
import type { Engine } from '../../store/engine.ts'
import type { PutOperation } from '../../store/records.ts'
import type { Table } from '../../store/tables.ts'
import { requireOrganization } from '../target/organization.ts'
import type { Remote } from '../target/remote.ts'
import { minifyJson } from './ndjson.ts'

export interface ImportTable {
  db: string
  name: string
  indices: Indices
  /** Created by this import: it holds nothing of an earlier one. */
  isNew: boolean
}

export interface ImportRecord extends RecordToPut {
  line: number
  entries: IndexEntries
  updatedAtMs: number | undefined
}

interface RefusedLine {
  line: number
  error: CubbyError
}

interface WriteReport {
  /** The number of records that were there already, with the same content. */
  unchanged: number
  refused: RefusedLine[]
}

/** The target of an import. An error that it throws ends the import. */
export interface ImportTarget {
  /** The text for messages. It also identifies the target when an import is continued. */
  readonly description: string
  readonly batchRecordsMax: number
  readonly batchBytesMax: number
  readonly batchesAtOnceMax: number
  /** The new table, or the existing one with any indices. */
  createTable(db: string, table: string, indices: Indices, keepHours?: number): Promise<ImportTable>
  findTable(db: string, table: string): Promise<ImportTable | undefined>
  /** No two of the records have the same key. */
  write(table: ImportTable, records: ImportRecord[]): Promise<WriteReport>
  close(): Promise<void>
}

// ── Directly into a store ──────────────────────────────────────────────────────────────────────────────────

interface StoreTable extends ImportTable {
  stored: Table
}

class StoreTarget implements ImportTarget {
  readonly description: string
  readonly batchRecordsMax: number
  readonly batchBytesMax = 4 * 1024 * 1024
  readonly batchesAtOnceMax = 8
  readonly #engine: Engine
  readonly #orgId: number
  readonly #now = openClock(process.env).now

  constructor(engine: Engine, storeName: string, org: string, orgId: number) {
    this.#engine = engine
    this.#orgId = orgId
    this.description = `${storeName}, organization ${org}`
    this.batchRecordsMax = engine.transfer.importBatchRecords
  }

  get #caller() {
    return { orgId: this.#orgId, apiKey: undefined }
  }

  async createTable(db: string, name: string, indices: Indices, keepHours?: number): Promise<StoreTable> {
    const { tables } = this.#engine
    const { table, created } = await tables.create(this.#caller, db, name, indices, this.#now(), keepHours)
    return { db, name, indices: table.indices, isNew: created, stored: table }
  }

  async findTable(db: string, name: string): Promise<StoreTable | undefined> {
    const table = await this.#engine.tables.find(this.#orgId, db, name)
    return table && { db, name, indices: table.indices, isNew: false, stored: table }
  }

  async write(table: StoreTable, records: ImportRecord[]): Promise<WriteReport> {
    const nowMs = this.#now()
    const missing = table.isNew ? records : await this.#missing(table.stored, records, nowMs)
    const operations = missing.map(({ hashKey, rangeKey, data, ttlSeconds, entries, updatedAtMs }): PutOperation => {
      return { op: 'put', hashKey, rangeKey, data, ttlSeconds, entries, updatedAtMs, condition: undefined }
    })
    if (operations.length > 0) await this.#engine.records.write(this.#caller, table.stored, operations, nowMs)
    return { unchanged: records.length - missing.length, refused: [] }
  }

  // Writing a record again would raise its version. An import that is continued or repeated must give the same store as one
  // that was never interrupted.
  async #missing(table: Table, records: ImportRecord[], nowMs: number): Promise<ImportRecord[]> {
    const present = await Promise.all(
      records.map((record) =>
        record.updatedAtMs === undefined ? undefined : this.#engine.records.get(table, record, nowMs),
      ),
    )
    return records.filter((record, i) => !isSame(present[i], record))
  }

  close(): Promise<void> {
    return this.#engine.close()
  }
}

/** Exports leave out white space: a record that differs from its own export in nothing else is the same. */
const isSame = (there: StoredRecord | undefined, { data, ttlSeconds, updatedAtMs }: ImportRecord): boolean =>
  there?.updatedAtMs === updatedAtMs &&
  there?.ttlSeconds === ttlSeconds &&
  (there.data === data || minifyJson(there.data) === minifyJson(data))

export const openStoreTarget = async (location: StoreLocation, org: string): Promise<ImportTarget> => {
  const store = await findStore(location)
  const engine = await store.open({ role: 'owner', mustExist: true })
  try {
    return new StoreTarget(engine, store.describe(), org, (await requireOrganization(engine, org)).id)
  } catch (error) {
    await engine.close()
    throw error
  }
}

// ── Through the server ─────────────────────────────────────────────────────────────────────────────────────

class ServerTarget implements ImportTarget {
  readonly description: string
  readonly batchBytesMax = 4 * 1024 * 1024
  readonly #remote: Remote
  /** False for a server of 0.2. */
  #takesLoads = true

  constructor(remote: Remote) {
    this.#remote = remote
    this.description = `${remote.url}, key ${remote.maskedKey}`
  }

  get batchRecordsMax(): number {
    return this.#takesLoads ? loadCommitLinesMax : batchOperationsMax
  }

  /** Two imports at once get all their loads: a server takes four of an organization. */
  get batchesAtOnceMax(): number {
    return this.#takesLoads ? loadsOfOrganizationMax / 2 : 8
  }

  async createTable(db: string, name: string, indices: Indices, keepHours?: number): Promise<ImportTable> {
    const changes = keepHours === undefined ? undefined : { keepHours }
    const path = `/v1/${db}/${name}`
    try {
      await this.#remote.request({ method: 'POST', path, body: JSON.stringify({ indices, changes }), repeatable: true })
      return { db, name, indices, isNew: false }
    } catch (error) {
      if (!(error instanceof CubbyError && error.code === 'table_exists')) throw error
      return (await this.findTable(db, name))!
    }
  }

  async findTable(db: string, name: string): Promise<ImportTable | undefined> {
    try {
      const text = await this.#remote.request({ method: 'GET', path: `/v1/${db}/${name}`, repeatable: true })
      return { db, name, indices: JSON.parse(text).indices, isNew: false }
    } catch (error) {
      if (error instanceof CubbyError && error.code === 'table_not_found') return undefined
      throw error
    }
  }

  async write(table: ImportTable, records: ImportRecord[]): Promise<WriteReport> {
    if (this.#takesLoads) {
      try {
        return { unchanged: 0, refused: await this.#load(table, records) }
      } catch (error) {
        if (!(error instanceof CubbyError && error.code === 'method_not_allowed')) throw error
        this.#takesLoads = false
      }
    }
    const refused: RefusedLine[] = []
    for (let from = 0; from < records.length; from += batchOperationsMax) {
      refused.push(...(await this.#sendBatch(table, records.slice(from, from + batchOperationsMax))))
    }
    return { unchanged: 0, refused }
  }

  /** Lines are checked by the server's rules before they are sent, but a server of another version may have others. */
  async #load({ db, name }: ImportTable, records: ImportRecord[]): Promise<RefusedLine[]> {
    const refused: RefusedLine[] = []
    for (let left = records; left.length > 0; ) {
      const { failed, errors } = await this.#sendLines(`/v1/${db}/${name}/load?onError=skip`, left)
      for (const { line, code, message } of errors) {
        refused.push({ line: left[line - 1]!.line, error: new CubbyError(code, message) })
      }
      // An answer names only the first refused lines. Those after the last one that it names are sent again, to learn the others.
      left = failed > errors.length ? left.slice(errors.at(-1)!.line) : []
    }
    return refused
  }

  async #sendLines(path: string, records: ImportRecord[]): Promise<LoadOutput> {
    const body = records.map((record) => `{${putMembers(record)}}\n`).join('')
    const headers = { 'content-type': 'application/x-ndjson' }
    const text = await this.#remote.request({ method: 'POST', path, headers, body, repeatable: true })
    const output: LoadOutput = JSON.parse(text)
    if (output.count + output.failed === records.length) return output
    throw new OperatorError(
      `${this.#remote.url} did not say what became of each of the ${records.length} lines of a load`,
    )
  }

  async #sendBatch({ db, name }: ImportTable, records: ImportRecord[]): Promise<RefusedLine[]> {
    const refused: RefusedLine[] = []
    for (let left = records; left.length > 0; ) {
      const body = `{"operations":[${left.map((record) => `{"op":"put",${putMembers(record)}}`).join(',')}]}`
      try {
        await this.#remote.request({ method: 'POST', path: `/v1/${db}/${name}/batch`, body, repeatable: true })
        break
      } catch (error) {
        const at = failedOperation(error)
        if (at === undefined || left[at] === undefined) throw error
        refused.push({ line: left[at].line, error: error as CubbyError })
        left = left.filter((_, i) => i !== at)
      }
    }
    return refused
  }

  async close(): Promise<void> {}
}

const putMembers = ({ hashKey, rangeKey, data, ttlSeconds }: ImportRecord): string => {
  const range = rangeKey === noRangeKey ? '' : `,"rangeKey":${JSON.stringify(rangeKey)}`
  const ttl = ttlSeconds === null ? '' : `,"ttl":${ttlSeconds}`
  return `"hashKey":${JSON.stringify(hashKey)}${range},"data":${data}${ttl}`
}

const failedOperation = (error: unknown): number | undefined => {
  const [, position] = (error instanceof CubbyError && /^operations\[(\d+)\]/.exec(error.field ?? '')) || []
  return position === undefined ? undefined : Number(position)
}

export const openServerTarget = (remote: Remote): ImportTarget => new ServerTarget(remote)
