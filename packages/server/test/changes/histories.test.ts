import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Api, eventually, storeIsEmbedded } from '../harness.ts'
import { ok } from '../http/service.ts'
import { Random, testSeed } from '../model/random.ts'
import { type SharedPostgres, sharedPostgres } from '../postgres-server.ts'
import { HistoryLedger } from './history-ledger.ts'
import { HistoryReader, type Way } from './history-readers.ts'
import { oneProcess, type Stage, twoProcesses, twoWorkers } from './history-stage.ts'
import { besidePath, HistoryWriter, tablePath } from './history-writers.ts'
import { lineOf, TableCopy } from './table-copy.ts'

// Readers that stop and go on at any moment, while everything is written in every way and processes are killed. Without what is
// shown here a copy would differ from its table for good, and nobody would notice.

const seconds = Number(process.env.CUBBY_TEST_HISTORY_SECONDS ?? 5)
/** A process is killed once in so many seconds; in the short form once. */
const killEverySeconds = Math.min(5, seconds / 2)
const writerCount = 16
/** However slow the machine is, so many writes are made. */
const writesMin = seconds * 60
/** Together more than an hour and five minutes: the log is swept up to its newer entries. */
const clockSteps = 14
const clockStepMs = 6 * 60_000

setDefaultTimeout(90_000 + seconds * 3_000)

const any: readonly Way[] = ['pages', 'waits', 'stream']
const readings: { ways: readonly Way[]; hash?: string; select?: 'keys' }[] = [
  { ways: ['pages'] },
  { ways: ['waits'] },
  { ways: ['stream'] },
  { ways: any },
  { ways: ['stream'], hash: 'hot' },
  { ways: ['pages', 'waits'], hash: 'w0' },
  { ways: any, hash: 'w1' },
  { ways: any, select: 'keys' },
]

const readTable = async (api: Api): Promise<TableCopy> => {
  const copy = new TableCopy()
  let cursor: string | null = null
  do {
    const page = ok(await api.post(`${tablePath}/query`, { index: 't', limit: 1_000, cursor }))
    for (const item of page.items) copy.apply({ op: 'put', ...item }, 0)
    cursor = page.cursor
  } while (cursor !== null)
  return copy
}

/** The lines that a copy must have: all of them, also of records that have expired and were not swept. */
const wantedLines = (table: TableCopy, { hash, select }: { hash?: string; select?: string }): string[] =>
  [...table.records]
    .filter(([name]) => hash === undefined || name.startsWith(`${hash}/`))
    .map(([name, { version, data }]) => lineOf(name, version, select === 'keys' ? undefined : data))
    .toSorted()

const runHistory = async (open: (random: Random) => Promise<Stage>): Promise<void> => {
  const seed = testSeed()
  const stage = await open(new Random(seed))
  try {
    const first = await stage.api()
    ok(await first.post(tablePath, { changes: { keepHours: 1 } }), 201)
    ok(await first.post(besidePath, { changes: {} }), 201)
    const old = ok(await first.post(`${tablePath}/changes`, { from: 'now' })).cursor
    const ledger = new HistoryLedger()
    const writers = Array.from({ length: writerCount }, (_, i) => new HistoryWriter(i, stage, ledger, seed + i))
    const readers = readings.map((how, i) => new HistoryReader(stage, ledger, seed + 100 + i, how))
    const end = performance.now() + seconds * 1_000
    let isOver = false
    const isQuiet = {
      writers: () => (performance.now() > end && ledger.writes >= writesMin) || isOver,
      readers: () => isOver,
    }
    const repeat = async (everyMs: number, work: () => unknown): Promise<void> => {
      for (let next = performance.now() + everyMs; next < end; next += everyMs) {
        while (performance.now() < next && !isOver) await Bun.sleep(20)
        if (!isOver) await work()
      }
    }
    const writing = Promise.all([
      ...writers.map((writer) => writer.run(isQuiet.writers)),
      repeat((seconds * 1_000) / (clockSteps + 1), () => stage.moveClock(clockStepMs)),
      repeat(killEverySeconds * 1_000, () => stage.killOne()),
    ])
    const reading = Promise.all(readers.map((reader) => reader.run(isQuiet.readers)))
    try {
      await Promise.race([writing, reading])
      await writing
    } finally {
      isOver = true
      await Promise.allSettled([writing, reading])
    }
    await reading

    const api = await stage.api()
    // What expires soon has been read, has expired, and is swept.
    const ttl = Math.floor(stage.now() / 1000) + 600
    for (const hashKey of ['w0', 'w1', 'hot']) {
      ok(await api.put(tablePath, { hashKey, rangeKey: 'brief', data: { mark: 'brief' }, ttl }))
    }
    for (const reader of readers) {
      await reader.drain()
      const isWanted = reader.hash === undefined || ['w0', 'w1', 'hot'].includes(reader.hash)
      expect([...reader.copy.records.keys()].some((name) => name.endsWith('/brief'))).toBe(isWanted)
    }
    stage.moveClock(20 * 60_000)
    const table = await eventually(
      'every copy has what the table has',
      async () => {
        const found = await readTable(api)
        for (const reader of readers) await reader.drain()
        const isEqual = readers.every(
          (reader, i) =>
            wantedLines(reader.copy, readings[i]!).join('\n') === wantedLines(found, readings[i]!).join('\n'),
        )
        return isEqual ? found : undefined
      },
      { waitMsMax: 20_000, pauseMs: 200 },
    ).catch(() => readTable(api))
    for (const [i, reader] of readers.entries()) {
      const { copy, faults } = reader
      expect({ i, faults: [...faults, ...copy.faults].slice(0, 5) }).toEqual({ i, faults: [] })
      expect({ i, lines: wantedLines(copy, readings[i]!) }).toEqual({ i, lines: wantedLines(table, readings[i]!) })
    }
    expect(ledger.compareAll(table, stage.now())).toEqual([])
    for (const [i, sent] of ledger.sent.entries()) {
      const counted = ['h0', 'h1', 'h2'].reduce(
        (sum, key) => sum + (JSON.parse(table.records.get(`hot/${key}`)?.data ?? '{}')[`w${i}`] ?? 0),
        0,
      )
      expect(counted).toBeGreaterThanOrEqual(ledger.acknowledged[i]!)
      expect(counted).toBeLessThanOrEqual(sent)
    }
    // What nobody needs any more is swept while it is read.
    await eventually('the log is swept', async () =>
      (await api.post(`${tablePath}/changes`, { cursor: old })).status === 410 ? true : undefined,
    )
    expect(await stage.servers[0]!.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
    const sum = (of: (reader: HistoryReader) => number) => readers.reduce((total, reader) => total + of(reader), 0)
    console.log(
      `history: CUBBY_TEST_SEED=${seed}, ${ledger.writes} writes (${ledger.unknown} without an outcome), ${stage.kills} kills, ` +
        `${sum(({ items }) => items)} items in ${sum(({ sessions }) => sessions)} sessions, ` +
        `${sum(({ restarts }) => restarts)} cursors expired`,
    )
    expect(stage.kills).toBeGreaterThan(0)
  } finally {
    await stage.remove()
  }
}

test('one process: every copy equals its table, no version goes back, and nothing answered is lost', () =>
  runHistory(oneProcess))

test.skipIf(!storeIsEmbedded() || process.platform !== 'linux')('the same of two workers', () => runHistory(twoWorkers))

describe('on PostgreSQL', () => {
  let postgres: SharedPostgres
  beforeAll(async () => {
    postgres = await sharedPostgres()
  })
  afterAll(() => postgres.remove())

  test('the same of two processes', () => runHistory((random) => twoProcesses(postgres, random)))
})
