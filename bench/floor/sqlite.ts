import { Database } from 'bun:sqlite'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Histogram } from '../load/histogram.ts'
import type { LoadResult } from '../load/load.ts'
import type { Shape } from '../load/template.ts'
import {
  batchPlus,
  batchRecords,
  dataText,
  drawValues,
  keyText,
  pageRows,
  type Scenario,
  shapeOf,
} from '../workload.ts'

// The floor of the engine: bare bun:sqlite in one process, without HTTP, API keys, tables or checks. It has the same rows
// with the same indexes, the same durability, group commit with as many pending writers, and it builds the same bytes for
// reads. `bun sqlite.ts DIR RECORDS`, then one line of JSON for each run on standard input.

export interface BareRun {
  scenario: Scenario
  seconds: number
  writers: number
}

interface Row {
  key: string
  data: string
  updated_at: number
}

type BareStore = ReturnType<typeof openBareStore>

const openBareStore = (dir: string, shape: Shape) => {
  mkdirSync(dir, { recursive: true })
  const db = new Database(join(dir, 'bare.db'), { create: true })
  db.run('PRAGMA journal_mode = WAL')
  db.run('PRAGMA synchronous = FULL')
  // The WAL is limited to about the same size as Cubby's. The default of 1,000 pages would make this floor slower.
  db.run('PRAGMA wal_autocheckpoint = 32000')
  db.run('PRAGMA cache_size = -65536')
  db.run(`CREATE TABLE items (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    status TEXT, score INTEGER, owner TEXT,
    data TEXT NOT NULL
  ) STRICT`)
  db.run('CREATE UNIQUE INDEX items_by_key ON items (key)')
  db.run('CREATE INDEX items_by_time ON items (updated_at)')
  db.run('CREATE INDEX items_by_status ON items (status, score)')
  db.run('CREATE INDEX items_by_owner ON items (owner, score)')
  // The record is looked up, then written by its id. An upsert with RETURNING would make this floor slower.
  const find = db.prepare<{ id: number; updated_at: number }, [string]>(
    'SELECT id, updated_at FROM items WHERE key = ?1',
  )
  const insert = db.prepare<unknown, (string | number)[]>(
    'INSERT INTO items (key, updated_at, status, score, owner, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)',
  )
  const update = db.prepare<unknown, (string | number)[]>(
    'UPDATE items SET updated_at = ?2, status = ?3, score = ?4, owner = ?5, data = ?6 WHERE id = ?1',
  )
  const put = (number: number): void => {
    const key = keyText(number)
    const values = drawValues(shape)
    const { status, score, owner } = values
    const found = find.get(key)
    if (found === null) insert.run(key, Date.now(), status, score, owner, dataText(values))
    else update.run(found.id, Math.max(Date.now(), found.updated_at + 1), status, score, owner, dataText(values))
  }
  for (let from = 0; from < shape.records; from += 1_000) {
    db.run('BEGIN')
    for (let i = from; i < Math.min(shape.records, from + 1_000); i++) put(i)
    db.run('COMMIT')
  }
  // Reads have their own connection with the settings of Cubby's. They keep one transaction until the next write; a new
  // one for each read would make this floor slower.
  const reader = new Database(join(dir, 'bare.db'))
  reader.run('PRAGMA cache_size = -32768')
  reader.run('PRAGMA mmap_size = 1073741824')
  const beginRead = reader.prepare('BEGIN')
  const endRead = reader.prepare('COMMIT')
  beginRead.run()
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  return {
    put,
    /** All pending writes, in one transaction and one sync. */
    commitAll(work: (() => void)[]): void {
      begin.run()
      for (const one of work) one()
      // A read transaction on an older snapshot would prevent the WAL reset.
      endRead.run()
      commit.run()
      beginRead.run()
    },
    record: reader.prepare<Row, [string]>('SELECT key, data, updated_at FROM items WHERE key = ?1'),
    // One row more than the page, as Cubby does it, to know whether there is a next page. A bound LIMIT would be slower.
    page: reader.prepare<Row, [string]>(
      `SELECT key, data, updated_at FROM items WHERE status = ?1 ORDER BY score, id LIMIT ${pageRows + 1}`,
    ),
    newest: reader.prepare<Row, []>(
      `SELECT key, data, updated_at FROM items ORDER BY updated_at DESC, id DESC LIMIT ${pageRows + 1}`,
    ),
  }
}

const recordJson = ({ key, data, updated_at }: Row): string =>
  `{"hashKey":${JSON.stringify(key)},"data":${data},"updatedAt":${updated_at}}`

const cursor = 'x'.repeat(60)

const pageJson = (rows: Row[]): string => {
  let items = ''
  for (let i = 0; i < pageRows; i++) items += i === 0 ? recordJson(rows[i]!) : `,${recordJson(rows[i]!)}`
  return `{"items":[${items}],"count":${pageRows},"cursor":"${cursor}"}`
}

const measure = async (store: BareStore, shape: Shape, run: BareRun): Promise<LoadResult> => {
  const latency = new Histogram()
  const cpuBefore = process.cpuUsage()
  const startedMs = performance.now()
  const endMs = startedMs + run.seconds * 1000
  let answered = 0
  let bytes = 0
  const drawRecord = () => Math.floor(Math.random() * shape.records)

  /** The text as it would be sent. */
  const answer = (text: string): void => {
    bytes += Buffer.from(text).length
  }
  const get = () => answer(recordJson(store.record.get(keyText(drawRecord()))!))
  const reads: Partial<Record<Scenario, () => void>> = {
    get,
    page: () => answer(pageJson(store.page.all(drawValues(shape).status))),
    newest: () => answer(pageJson(store.newest.all())),
  }

  let waiting: { work: () => void; resolve: () => void }[] = []
  const write = (work: () => void): Promise<void> =>
    new Promise((resolve) => {
      if (waiting.length === 0) setImmediate(commitWaiting)
      waiting.push({ work, resolve })
    })
  const commitWaiting = (): void => {
    const group = waiting
    waiting = []
    store.commitAll(group.map(({ work }) => work))
    for (const { resolve } of group) resolve()
  }
  const put = () => {
    const number = drawRecord()
    return write(() => store.put(number))
  }
  const batch = () => {
    const base = drawRecord()
    return write(() => {
      for (let i = 0; i < batchRecords; i++) store.put((base + batchPlus(i, shape)) % shape.records)
    })
  }

  const timed = async (work: () => void | Promise<void>): Promise<void> => {
    const started = performance.now()
    await work()
    latency.record((performance.now() - started) * 1000)
    answered++
  }
  const over = () => performance.now() >= endMs
  const read = reads[run.scenario]
  if (read !== undefined) {
    while (!over()) {
      // Reads run in groups: reading the clock and a promise for each read would make this floor slower.
      const started = performance.now()
      for (let i = 0; i < 16; i++) read()
      const each = ((performance.now() - started) * 1000) / 16
      for (let i = 0; i < 16; i++) latency.record(each)
      answered += 16
    }
  } else {
    const writer = async (offset: number): Promise<void> => {
      for (let i = offset; !over(); i++) {
        if (run.scenario === 'mixed' && i % 10 !== 0) await timed(get)
        else await timed(run.scenario === 'batch' ? batch : put)
      }
    }
    await Promise.all(Array.from({ length: run.writers }, (_, i) => writer(i)))
  }
  const seconds = (performance.now() - startedMs) / 1000
  const cpu = process.cpuUsage(cpuBefore)
  if (bytes < 0) throw new Error('unreachable: the answers must be built')
  if (read === undefined && answered >= run.writers)
    latency.correct((seconds * 1e6) / Math.floor(answered / run.writers))
  return {
    requests: answered,
    seconds,
    p50Us: latency.percentileUs(50),
    p99Us: latency.percentileUs(99),
    maxUs: latency.maxUs,
    errors: { connect: 0, read: 0, write: 0, status: 0, timeout: 0 },
    cpuSeconds: (cpu.user + cpu.system) / 1e6,
  }
}

if (import.meta.main) {
  const [, , dir, recordsText] = process.argv
  const records = Number(recordsText)
  const shape = shapeOf(records)
  const store = openBareStore(dir!, shape)
  process.stderr.write(`${JSON.stringify({ message: 'listening', url: 'none://127.0.0.1:1' })}\n`)
  for await (const line of console) {
    const result = await measure(store, shape, JSON.parse(line) as BareRun)
    process.stdout.write(`${JSON.stringify(result)}\n`)
  }
  process.exit(0)
}
