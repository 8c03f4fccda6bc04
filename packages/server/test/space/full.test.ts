import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import {
  eventually,
  makeTempDir,
  type Organization,
  removeTempDir,
  runCubbyJson,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import {
  compactedBytes,
  dbBytes,
  FilledTable,
  freeShare,
  type ImportedTable,
  pragma,
  walBytes,
} from './filled-table.ts'

// The sizes and times that docs/reference.md promises, on stores as large as it says. Takes about half an hour.

setDefaultTimeout(45 * 60_000)

const isFull = process.env.CUBBY_TEST_SPACE === 'full' && storeIsEmbedded()
const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`
const isOldest = (records: number) => (i: number) => i < 0.9 * records

describe.skipIf(!isFull)('1 GB of which the oldest 90 % are deleted', () => {
  const records = 490_000
  const recordBytes = 1_900
  let dir: string
  let server: Server
  afterAll(async () => {
    await server?.stop()
    removeTempDir(dir)
  })

  test('is within 25 % of a compacted copy, and fewer than 1 % of its pages are free, after ten idle minutes at most', async () => {
    dir = makeTempDir()
    const dataDir = join(dir, 'data')
    const { secretKey } = (await runCubbyJson(dataDir, ['orgs', 'create', 'acme'])) as Organization
    const imported = await FilledTable.importInto(dataDir, 'acme', records, recordBytes)
    const full = dbBytes(dataDir)
    expect(full).toBeGreaterThan(1e9)
    server = await startServer({ dataDir })
    const filled = imported.as(server.as(secretKey))
    await filled.delete(isOldest(records))
    console.log(`space: ${megabytes(full)}, ${pct(freeShare(dataDir))} free when the last delete was answered`)
    const started = Date.now()
    const waitMsMax = 10 * 60_000
    const everySecond = { waitMsMax, pauseMs: 1_000 }
    await eventually('few pages are free', () => (freeShare(dataDir) < 0.01 ? true : undefined), everySecond)
    const freeMs = Date.now() - started
    const bytes = pragma(dataDir, 'page_count') * 4_096
    await eventually('the file is cut off', () => (dbBytes(dataDir) <= bytes ? true : undefined), everySecond)
    await eventually('the WAL is empty', () => (walBytes(dataDir) === 0 ? true : undefined), everySecond)
    const compacted = compactedBytes(dataDir)
    console.log(
      `space: ${pct(freeShare(dataDir))} free after ${freeMs / 1_000} s, ${megabytes(dbBytes(dataDir))} after ${
        (Date.now() - started) / 1_000
      } s, a compacted copy ${megabytes(compacted)} (${(dbBytes(dataDir) / compacted).toFixed(2)} times)`,
    )
    expect(dbBytes(dataDir)).toBeLessThan(1.25 * compacted)
    expect(Date.now() - started).toBeLessThan(waitMsMax)
    expect(await filled.faults()).toEqual([])
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
  })
})

const pct = (share: number): string => `${(100 * share).toFixed(2)} %`

describe.skipIf(!isFull)('puts', () => {
  const records = 120_000
  const rounds = 5
  const roundMs = 12_000
  const dirs: string[] = []
  const servers: Server[] = []
  const stores: Record<'with' | 'without', FilledTable> = {} as never
  beforeAll(async () => {
    for (const kind of ['with', 'without'] as const) {
      const dir = makeTempDir()
      dirs.push(dir)
      const dataDir = join(dir, 'data')
      const { secretKey } = (await runCubbyJson(dataDir, ['orgs', 'create', 'acme'])) as Organization
      if (kind === 'without') turnOff(dataDir)
      const imported: ImportedTable = await FilledTable.importInto(dataDir, 'acme', records)
      const server = await startServer({ dataDir })
      servers.push(server)
      stores[kind] = imported.as(server.as(secretKey))
    }
  })
  afterAll(async () => {
    for (const server of servers) await server.stop()
    for (const dir of dirs) removeTempDir(dir)
  })

  /** Makes the store as a version without auto-vacuum made it. */
  const turnOff = (dataDir: string): void => {
    const db = new Database(join(dataDir, 'cubby.db'), { readwrite: true })
    db.run('PRAGMA auto_vacuum = NONE')
    db.run('VACUUM')
    db.close(true)
    expect(pragma(dataDir, 'auto_vacuum')).toBe(0)
  }

  /** Puts with pauses of 0 to 240 ms, so that steps of both kinds come between them. Milliseconds, in order. */
  const measure = async (filled: FilledTable): Promise<number[]> => {
    const times: number[] = []
    const end = Date.now() + roundMs
    const write = async (w: number): Promise<void> => {
      for (let i = 0; Date.now() < end; i++) {
        const started = performance.now()
        await filled.table.put(`w${w}-${i % 50}`, filled.dataOf(i))
        times.push(performance.now() - started)
        await Bun.sleep((i * 37) % 240)
      }
    }
    await Promise.all(Array.from({ length: 4 }, (_, w) => write(w)))
    return times.sort((a, b) => a - b)
  }

  test('take at most 5 ms more at p99 while pages are given back', async () => {
    const p99: Record<'with' | 'without', number[]> = { with: [], without: [] }
    for (let round = 0; round < rounds; round++) {
      for (const kind of ['with', 'without'] as const) {
        // A fifth of what is left to delete, so that every round has pages to give back.
        const limit = (0.9 * records * (round + 1)) / rounds
        await stores[kind].delete((i) => i < limit)
        const times = await measure(stores[kind])
        const at = (share: number): number => times[Math.floor(share * times.length)]!
        p99[kind].push(at(0.99))
        console.log(
          `space: round ${round} ${kind}: ${times.length} puts, p50 ${at(0.5).toFixed(2)} ms, p99 ${at(0.99).toFixed(2)} ms, ${pct(
            freeShare(servers[kind === 'with' ? 0 : 1]!.dataDir),
          )} free after it`,
        )
      }
    }
    const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
    console.log(
      `space: median p99 with ${median(p99.with).toFixed(2)} ms, without ${median(p99.without).toFixed(2)} ms`,
    )
    expect(median(p99.with) - median(p99.without)).toBeLessThan(5)
  })
})
