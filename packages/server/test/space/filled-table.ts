import { Database } from 'bun:sqlite'
import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Api, eventually, runCubby } from '../harness.ts'
import { makeTable, ok, TestTable } from '../http/service.ts'

// A table with many records, of which most are deleted, and the sizes of its store.

const batchOperations = 25
const batchesAtOnce = 4

const textOf = (i: number, bytes: number): string => String.fromCharCode(97 + (i % 26)).repeat(bytes)

const indices = { i1: { hashField: 'shelf', rangeField: 'n' } }
const keyOf = (i: number): string => `${Bun.hash(`k${i}`).toString(36)}-${i}`

/** Used through a server that was started since. */
export interface ImportedTable {
  as(api: Api): FilledTable
}

export class FilledTable {
  readonly table: TestTable
  readonly #bytes: number
  readonly #keys = new Map<number, string>()

  private constructor(table: TestTable, bytes: number) {
    this.table = table
    this.#bytes = bytes
  }

  /** Keys in no order: their index has its entries everywhere. */
  static async make(api: Api, records: number, bytes = 900): Promise<FilledTable> {
    const filled = new FilledTable(await makeTable(api, indices), bytes)
    await filled.add(0, records)
    return filled
  }

  /** The same records, imported into a store that no server has open: many times as fast. */
  static async importInto(dataDir: string, org: string, records: number, bytes = 900): Promise<ImportedTable> {
    const name = 'imported'
    const filled = new FilledTable(new TestTable(undefined as never, 'app', name), bytes)
    const file = `${dataDir}.ndjson`
    const sink = Bun.file(file).writer()
    sink.write(`${JSON.stringify({ db: 'app', table: name, indices })}\n`)
    for (let i = 0; i < records; i++) {
      filled.#keys.set(i, keyOf(i))
      sink.write(`${JSON.stringify({ hashKey: keyOf(i), data: filled.dataOf(i) })}\n`)
      if (i % 10_000 === 0) await sink.flush()
    }
    await sink.end()
    const args = ['import', file, '--db', 'app', '--table', name, '--org', org, '--data', dataDir]
    const { exitCode, stderr } = await runCubby(args)
    rmSync(file)
    if (exitCode !== 0) throw new Error(stderr)
    return { as: (api) => filled.#through(api) }
  }

  #through(api: Api): FilledTable {
    const filled = new FilledTable(new TestTable(api, this.table.db, this.table.name), this.#bytes)
    for (const [i, key] of this.#keys) filled.#keys.set(i, key)
    return filled
  }

  dataOf(i: number) {
    return { shelf: `s${i % 7}`, n: i, text: textOf(i, this.#bytes) }
  }

  async add(from: number, count: number): Promise<void> {
    const numbers = Array.from({ length: count }, (_, i) => from + i)
    for (const i of numbers) this.#keys.set(i, keyOf(i))
    await this.#batch(numbers, (i) => ({ op: 'put', hashKey: this.#keys.get(i), data: this.dataOf(i) }))
  }

  /** Deletes the records that `isGone` chooses by their number; lower numbers are older. */
  async delete(isGone: (i: number) => boolean): Promise<void> {
    const gone = [...this.#keys.keys()].filter(isGone)
    await this.#batch(gone, (i) => ({ op: 'delete', hashKey: this.#keys.get(i) }))
    for (const i of gone) this.#keys.delete(i)
  }

  async #batch(numbers: number[], operationOf: (i: number) => object): Promise<void> {
    let at = 0
    const send = async (): Promise<void> => {
      while (at < numbers.length) {
        const part = numbers.slice(at, at + batchOperations)
        at += batchOperations
        ok(await this.table.api.post(`${this.table.path}/batch`, { operations: part.map(operationOf) }))
      }
    }
    await Promise.all(Array.from({ length: batchesAtOnce }, send))
  }

  /** Lists what is wrong with the records that a listing by time returns. */
  async faults(table: TestTable = this.table): Promise<string[]> {
    const faults: string[] = []
    const left = new Map([...this.#keys].map(([i, key]) => [key, i]))
    for (const page of await table.pages({ index: 't', ascending: true, limit: 1_000 })) {
      for (const { hashKey, data } of page.items) {
        const i = left.get(hashKey)
        if (i === undefined) faults.push(`${hashKey} was deleted, or is listed twice`)
        else if (!Bun.deepEquals(data, this.dataOf(i))) faults.push(`${hashKey} has other data`)
        left.delete(hashKey)
      }
    }
    for (const key of left.keys()) faults.push(`${key} is missing`)
    return faults
  }

  /** The same for one record, by its key. */
  async faultOf(i: number): Promise<string | undefined> {
    const answer = await this.table.get(this.#keys.get(i)!)
    return answer.status === 200 && Bun.deepEquals(answer.body.data, this.dataOf(i)) ? undefined : answer.text
  }

  get numbers(): number[] {
    return [...this.#keys.keys()]
  }
}

export const walBytes = (dataDir: string): number =>
  statSync(join(dataDir, 'cubby.db-wal'), { throwIfNoEntry: false })?.size ?? 0
export const dbBytes = (dataDir: string): number => statSync(join(dataDir, 'cubby.db')).size

const withDatabase = <T>(dataDir: string, use: (db: Database) => T): T => {
  const db = new Database(join(dataDir, 'cubby.db'), { readwrite: true })
  try {
    return use(db)
  } finally {
    db.close(true)
  }
}

export const pragma = (dataDir: string, name: string): number =>
  withDatabase(dataDir, (db) => {
    const statement = db.prepare<Record<string, number>, []>(`PRAGMA ${name}`)
    try {
      return statement.get()![name]!
    } finally {
      statement.finalize()
    }
  })

/** The share of free pages, as the last commit left it. */
export const freeShare = (dataDir: string): number => pragma(dataDir, 'freelist_count') / pragma(dataDir, 'page_count')

/** The size of a copy without free or half-empty pages. */
export const compactedBytes = (dataDir: string): number => {
  const copy = join(dataDir, 'copy.tmp')
  if (existsSync(copy)) rmSync(copy)
  withDatabase(dataDir, (db) => db.run(`VACUUM INTO '${copy}'`))
  const { size } = statSync(copy)
  rmSync(copy)
  return size
}

const soon = { waitMsMax: 30_000 }

/** The free pages were given back, the file is cut off, and the WAL is empty. */
export const eventuallySmall = async (dataDir: string): Promise<void> => {
  await eventually('few pages are free', () => (freeShare(dataDir) < 0.01 ? true : undefined), soon)
  const bytes = pragma(dataDir, 'page_count') * 4_096
  await eventually('the file is cut off', () => (dbBytes(dataDir) <= bytes ? true : undefined), soon)
  await eventually('the WAL is empty', () => (walBytes(dataDir) === 0 ? true : undefined), soon)
}
