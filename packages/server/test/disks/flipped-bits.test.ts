import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { CubbyError } from '../../src/core/errors.ts'
import { pageExpiredRowsMax, recoveryMs, sweepGraceMs } from '../../src/core/limits.ts'
import { resumeScan, type Scan } from '../../src/core/records/scan.ts'
import type { RecordHead, StoredRecord } from '../../src/core/records/stored-record.ts'
import { StoreDamaged } from '../../src/core/store-refused.ts'
import { openSqliteEngine } from '../../src/engines/sqlite/engine.ts'
import type { Engine } from '../../src/store/engine.ts'
import {
  deleteOf,
  type Fixture,
  fill,
  fixtureThrough,
  indexScan,
  makeFixture,
  nameOf,
  numbered,
  primaryScan,
  putOf,
  startMs,
  startSeconds,
  timeScan,
} from '../conformance/fixture.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'
import { Random, testSeed } from '../model/random.ts'
import { rootPage } from './damaged-store.ts'
import { copyStore, flipBit } from './flip-bit.ts'

// A disk may return another bit than was written, and SQLite does not notice. Without a checksum of every row, damaged
// records would be served, exported and copied as if they were good.

setDefaultTimeout(120_000)

const flips = Number(process.env.CUBBY_TEST_FLIPS ?? 60)
const nowMs = startMs + 1_000_000
const pageBytes = 4_096

let top = ''
let file = ''
let writtenFixture: Fixture
/** The records that were written and are live at `nowMs`, by name. */
const live = new Map<string, StoredRecord>()

const indices = { i1: { hashField: 'shelf', rangeField: 'n' } }
const shelves = ['a', 'b', 'c']
const scans = [
  timeScan(),
  timeScan(undefined, true),
  primaryScan('ranges'),
  ...shelves.flatMap((shelf) => [indexScan('i1', shelf), indexScan('i1', shelf, undefined, true)]),
]

beforeAll(async () => {
  top = makeTempDir()
  const engine = await openSqliteEngine({ dataDir: join(top, 'sound') })
  writtenFixture = await makeFixture(engine, indices)
  const { table } = writtenFixture
  const puts = Array.from({ length: 90 }, (_, i) => {
    const data = { shelf: shelves[i % 3], n: i, text: i % 30 === 0 ? 'y'.repeat(9_000) : 'é'.repeat(10 + i) }
    // Some without a ttl, some that are still live, some that have expired.
    const ttlSeconds = [undefined, startSeconds + 5_000_000 + i, startSeconds + 10][i % 4 === 0 ? i % 3 : 0]
    return putOf(table, i % 5 === 0 ? 'ranges' : `key ${i}`, {
      data,
      ttlSeconds,
      rangeKey: i % 5 === 0 ? `r${i}` : undefined,
    })
  })
  await fill(writtenFixture, puts)
  for (const record of await writtenFixture.list(timeScan(), nowMs)) live.set(nameOf(record), record)
  expect(live.size).toBeGreaterThan(60)
  expect(live.size).toBeLessThan(90)
  await engine.close()
  // Removes the pages that are not in use any more.
  file = join(top, 'cubby.db')
  const db = new Database(join(top, 'sound', 'cubby.db'))
  db.run(`VACUUM INTO '${file}'`)
  db.close()
})
afterAll(() => removeTempDir(top))

/** Every page of the records: inner ones, leaves, and those that long data continues on. */
const recordPages = (type = '%'): number[] => {
  const db = new Database(file, { readonly: true })
  const pages = db
    .query<{ pageno: number }, [string]>(`SELECT pageno FROM dbstat WHERE name = 'records' AND pagetype LIKE ?`)
    .all(type)
  db.close()
  return pages.map(({ pageno }) => pageno)
}

let copies = 0

/** The error of a request, or of a command. */
const isDamage = (error: unknown): boolean =>
  error instanceof StoreDamaged || (error instanceof CubbyError && error.code === 'store_damaged')

/** The result of `read`; undefined if it throws that the store is damaged. It may throw nothing else. */
const orDamaged = async <T>(read: () => Promise<T>): Promise<{ value: T } | undefined> => {
  try {
    return { value: await read() }
  } catch (error) {
    if (isDamage(error)) return undefined
    throw error
  }
}

const headOf = ({ data: _, ...head }: StoredRecord): RecordHead => head

/** Pages that come back to where they were would never end, and hold off the runner's own time limit. */
const everyRow = 1_000

const keysOf = async (engine: Engine, fixture: Fixture, scan: Scan, rowsMax: number): Promise<RecordHead[]> => {
  const heads: RecordHead[] = []
  for (let rest = scan; ; ) {
    const { records, next } = await engine.records.scanKeys(fixture.table, rest, rowsMax, nowMs)
    heads.push(...records.map((record) => headOf(record as StoredRecord)))
    if (next === undefined) return heads
    expect(heads.length).toBeLessThan(everyRow)
    rest = resumeScan(scan, next)
  }
}

const countOf = async (engine: Engine, fixture: Fixture, scan: Scan, rowsMax: number): Promise<number> => {
  let total = 0
  for (let rest = scan; ; ) {
    const { count, next } = await engine.records.count(fixture.table, rest, rowsMax, nowMs)
    total += count
    if (next === undefined) return total
    expect(total).toBeLessThan(everyRow)
    rest = resumeScan(scan, next)
  }
}

/** Reads everything in every way. Returns how many reads reported damage; throws if one returned wrong data. */
const readEverything = async (engine: Engine): Promise<number> => {
  const fixture = await fixtureThrough(engine, writtenFixture)
  let refused = 0
  const compare = async <T>(what: string, read: () => Promise<T>, expected: T): Promise<void> => {
    const outcome = await orDamaged(read)
    if (outcome === undefined) refused++
    else expect([what, outcome.value]).toEqual([what, expected])
  }
  for (const record of live.values()) {
    await compare(`get ${nameOf(record)}`, () => fixture.get(record.hashKey, record.rangeKey, nowMs), record)
  }
  const all = [...live.values()]
  for (let at = 0; at < all.length; at += 10) {
    const some = all.slice(at, at + 10)
    await compare(`find ${some.map(nameOf)}`, async () => engine.records.find(fixture.table, some, nowMs), some)
  }
  for (const [i, scan] of scans.entries()) {
    await compare(`scan ${i}`, () => fixture.list(scan, nowMs, 7), expectedOf[i]!)
    await compare(`keys of scan ${i}`, () => keysOf(engine, fixture, scan, 7), expectedOf[i]!.map(headOf))
    await compare(`count of scan ${i}`, () => countOf(engine, fixture, scan, 7), expectedOf[i]!.length)
  }
  const dumped = async (): Promise<unknown> => {
    const dump = await engine.transfer.openDump()
    try {
      const records = []
      for await (const chunk of dump.records(fixture.table.id, 0)) records.push(...chunk)
      return records.filter(({ ttlSeconds }) => ttlSeconds === null || ttlSeconds * 1000 > nowMs)
    } finally {
      await dump.close()
    }
  }
  await compare('dump', dumped, dumpedRecords)
  return refused
}

let expectedOf: StoredRecord[][] = []
let dumpedRecords: unknown

test('the sound store is read in every way, and is found sound', async () => {
  const engine = await openSqliteEngine({ dataDir: copyStore(top, file, () => {}) })
  try {
    const fixture = await fixtureThrough(engine, writtenFixture)
    expectedOf = await Promise.all(scans.map((scan) => fixture.list(scan, nowMs, 1_000)))
    for (const records of expectedOf) expect(records.length).toBeGreaterThan(10)
    const dump = await engine.transfer.openDump()
    const records = []
    for await (const chunk of dump.records(fixture.table.id, 0)) records.push(...chunk)
    await dump.close()
    expect(records).toHaveLength(90)
    dumpedRecords = records.filter(({ ttlSeconds }) => ttlSeconds === null || ttlSeconds * 1000 > nowMs)
    expect(await readEverything(engine)).toBe(0)
    expect(await Array.fromAsync(engine.maintenance.check())).toEqual([])
  } finally {
    await engine.close()
  }
})

test('a single changed bit in the pages of records never changes an answer; the check finds every bit that makes a request fail', async () => {
  const seed = testSeed()
  console.log(`flipped bits: CUBBY_TEST_SEED=${seed} CUBBY_TEST_FLIPS=${flips}`)
  const random = new Random(seed)
  const pages = recordPages()
  expect(pages.length).toBeGreaterThan(8)
  let noticed = 0
  for (let i = 0; i < flips; i++) {
    const [page, at, bit] = [random.pick(pages), random.int(0, pageBytes - 1), random.int(0, 7)]
    const where = `bit ${bit} of byte ${at} of page ${page}`
    const dataDir = copyStore(top, file, (handle) => flipBit(handle, (page - 1) * pageBytes + at, bit))
    try {
      const engine = await openSqliteEngine({ dataDir })
      try {
        const refused = await readEverything(engine)
        const findings = await Array.fromAsync(engine.maintenance.check())
        if (refused > 0) noticed++
        expect([where, refused > 0 && findings.length === 0]).toEqual([where, false])
      } finally {
        await engine.close()
      }
    } catch (error) {
      ;(error as Error).message = `CUBBY_TEST_SEED=${seed}, ${where}: ${(error as Error).message}`
      throw error
    }
    removeTempDir(dataDir)
  }
  console.log(`flipped bits: ${noticed} of ${flips} were noticed; the others changed nothing that is read`)
  expect(noticed).toBeGreaterThan(flips / 10)
})

/** The offset in the file of a text in the pages of the records. */
const findBytes = (handle: number, bytes: Buffer): number => {
  // Inner pages may still hold rows that have moved to leaves.
  for (const page of recordPages('leaf')) {
    const content = Buffer.alloc(pageBytes)
    readSync(handle, content, 0, pageBytes, (page - 1) * pageBytes)
    const at = content.indexOf(bytes)
    if (at >= 0) return (page - 1) * pageBytes + at
  }
  throw new Error('the bytes are not in the store')
}

/** Flips a bit of the id of a row: one byte, before the length of the row's header, the types of its values, and the values. */
const flipId = (handle: number, row: number, id: number, bit: number): void =>
  flipBit(handle, headerAt(handle, row, id) - 1, bit)

/** Returns the offset of the header of the row with this id. `row`: the offset of its first value. */
const headerAt = (handle: number, row: number, id: number): number => {
  const before = Buffer.alloc(40)
  readSync(handle, before, 0, 40, row - 40)
  return row - 40 + [...before.keys()].findLast((at) => before[at] === 40 - at && before[at - 1] === id)!
}

test('a row whose id became that of a counted one: no count leads back, and none is wrong', async () => {
  const scan = primaryScan('ranges')
  const ranges = [...live.values()].filter(({ hashKey }) => hashKey === 'ranges')
  let refused = 0
  for (const { rangeKey } of ranges) {
    for (const bit of [0, 2, 3]) {
      const other = (Number(rangeKey.slice(1)) + 1) ^ (1 << bit)
      const row = live.get(`key ${other - 1}`)
      if (row === undefined) continue
      const dataDir = copyStore(top, file, (handle) =>
        flipId(handle, findBytes(handle, Buffer.from(`${row.hashKey}#`)), other, bit),
      )
      const engine = await openSqliteEngine({ dataDir })
      try {
        const fixture = await fixtureThrough(engine, writtenFixture)
        const outcome = await orDamaged(() => countOf(engine, fixture, scan, 1))
        if (outcome === undefined) refused++
        else expect(outcome.value).toBe(ranges.length)
      } finally {
        await engine.close()
      }
      removeTempDir(dataDir)
    }
  }
  expect(refused).toBeGreaterThan(3)
})

describe('a record of which one bit was changed', () => {
  const name = 'key 4'
  /** SQLite stores the version in six bytes. */
  const versionBytes = (): Buffer => {
    const bytes = Buffer.alloc(6)
    bytes.writeUIntBE(live.get(name)!.updatedAtMs, 0, 6)
    return bytes
  }
  const before = (text: string): Buffer => Buffer.from(text)

  // 'key 4' has a ttl: its row holds its keys, the version, the ttl, the index values, then the data and the checksum.
  const rowStart = (handle: number): number => findBytes(handle, before(`${name}#`))
  const cases: [string, (handle: number) => void][] = [
    ['its key', (handle) => flipBit(handle, rowStart(handle) + 2, 1)],
    ['its key, to that of another record', (handle) => flipBit(handle, rowStart(handle) + name.length - 1, 1)],
    ['its version, a low bit', (handle) => flipBit(handle, rowStart(handle) + name.length + 1 + 5, 3)],
    ['its version, a high bit', (handle) => flipBit(handle, rowStart(handle) + name.length + 1, 6)],
    [
      'its ttl, so that it seems to have expired',
      (handle) => flipBit(handle, rowStart(handle) + name.length + 1 + 6, 6),
    ],
    ['its ttl, a low bit', (handle) => flipBit(handle, rowStart(handle) + name.length + 1 + 6 + 3, 0)],
    ['its data', (handle) => flipBit(handle, findBytes(handle, before('"n":4,')) + 4, 0)],
    [
      'its checksum',
      (handle) => flipBit(handle, findBytes(handle, before(`"n":4,`)) + '"n":4,"text":"'.length + 2 * 14 + 2 + 3, 2),
    ],
  ]

  test('the row has the layout that these cases assume', () => {
    const handle = openSync(file, 'r')
    const bytes = Buffer.alloc(name.length + 1 + 6 + 4)
    readSync(handle, bytes, 0, bytes.length, rowStart(handle))
    closeSync(handle)
    const { ttlSeconds } = live.get(name)!
    const ttl = Buffer.alloc(4)
    ttl.writeUInt32BE(ttlSeconds!)
    expect(bytes).toEqual(Buffer.concat([before(`${name}#`), versionBytes(), ttl]))
  })

  test('its id: a dump fails instead of leaving it out', async () => {
    const dataDir = copyStore(top, file, (handle) => flipId(handle, rowStart(handle), 5, 6))
    const engine = await openSqliteEngine({ dataDir })
    try {
      const dump = await engine.transfer.openDump()
      expect(await dump.countRecords(writtenFixture.table.id)).toBe(90)
      expect(await orDamaged(() => Array.fromAsync(dump.records(writtenFixture.table.id, 0)))).toBeUndefined()
      await dump.close()
    } finally {
      await engine.close()
    }
  })

  for (const [what, damage] of cases) {
    describe(what, () => {
      const open = async (use: (engine: Engine, fixture: Fixture, log: string[]) => Promise<void>): Promise<void> => {
        const log: string[] = []
        const engine = await openSqliteEngine({
          dataDir: copyStore(top, file, damage),
          log: (_, message, fields) => log.push(`${message} ${JSON.stringify(fields)}`),
        })
        try {
          await use(engine, await fixtureThrough(engine, writtenFixture), log)
        } finally {
          await engine.close()
        }
      }
      const failure = async (read: () => Promise<unknown>): Promise<CubbyError> => {
        const error = await read().then(
          (value) => new Error(`it answered ${JSON.stringify(value)}`),
          (thrown) => thrown,
        )
        if (!isDamage(error)) throw error
        return error as CubbyError
      }

      test('store_damaged names its key and says what to do; the others are served, the store stays ready; one line is logged', async () => {
        await open(async (engine, fixture, log) => {
          // The get finds it by the index, which still has its key.
          if (!what.startsWith('its key')) {
            const error = await failure(() => fixture.get(name, undefined, nowMs))
            expect(error.message).toBe(
              `The store is damaged: the record with hashKey "${name}" is not as it was written.`,
            )
            expect(error.hint).toMatch(/^Put or delete that record.*restore a backup/)
            await failure(() => fixture.get(name, undefined, nowMs))
            const found = await failure(async () => {
              const others = [...live.values()].filter((record) => nameOf(record) !== name).slice(0, 5)
              return engine.records.find(fixture.table, [...others, { hashKey: name, rangeKey: '#' }], nowMs)
            })
            expect([found.message, found.hint]).toEqual([error.message, error.hint])
            expect(log.filter((line) => line.startsWith('a record is damaged'))).toHaveLength(1)
          }
          for (const record of live.values()) {
            if (nameOf(record) !== name)
              expect(await fixture.get(record.hashKey, record.rangeKey, nowMs)).toEqual(record)
          }
          expect(engine.ready()).toBe(true)
          const shelf = shelves[4 % 3]!
          for (const other of shelves) {
            if (other !== shelf) await fixture.list(indexScan('i1', other), nowMs)
          }
          await failure(() => fixture.list(indexScan('i1', shelf), nowMs))
          await failure(() => keysOf(engine, fixture, indexScan('i1', shelf), 1_000))
          // A count has nothing of the record in it. It goes by the indexes, which are sound.
          const onShelf = [...live.values()].filter(({ data }) => JSON.parse(data).shelf === shelf)
          expect(await countOf(engine, fixture, indexScan('i1', shelf), 1_000)).toBe(onShelf.length)
          // A page that ends before it.
          expect((await engine.records.scan(fixture.table, indexScan('i1', shelf), 1, nowMs)).records).toHaveLength(1)
          expect(engine.ready()).toBe(true)
        })
      })

      test('the check names it; a dump is refused', async () => {
        await open(async (engine, fixture) => {
          const tables: number[] = []
          const findings = await Array.fromAsync(engine.maintenance.check({ table: (id) => tables.push(id) }))
          expect(findings.some((line) => /checksum does not match/.test(line))).toBe(true)
          expect(tables).toContain(fixture.table.id)
          const dump = await engine.transfer.openDump()
          await failure(() => Array.fromAsync(dump.records(fixture.table.id, 0)))
          await dump.close()
        })
      })

      test('a put replaces it, with a version that is later and not far in the future', async () => {
        await open(async (engine, fixture) => {
          const version = await fixture.put(name, { data: { shelf: 'new', n: 1 } }, nowMs)
          expect(version).toBe(nowMs)
          expect((await fixture.get(name, undefined, nowMs))?.data).toBe('{"shelf":"new","n":1}')
          expect(await fixture.names(indexScan('i1', 'new'), nowMs)).toEqual([name])
          expect(await fixture.list(timeScan(), nowMs)).toHaveLength(live.size)
          expect(await Array.fromAsync(engine.maintenance.check())).toEqual([])
        })
      })

      test('a put while the clock is behind still gets a later version than the one that was there', async () => {
        await open(async (_, fixture) => {
          const was = live.get(name)!.updatedAtMs
          expect(await fixture.put(name, { data: { shelf: 'new', n: 1 } }, was - 5_000)).toBe(was + 1)
        })
      })

      test('a delete removes it', async () => {
        await open(async (engine, fixture) => {
          expect(await fixture.remove(name, undefined, nowMs)).toBe(true)
          expect(await fixture.get(name, undefined, nowMs)).toBeUndefined()
          expect(await fixture.list(timeScan(), nowMs)).toHaveLength(live.size - 1)
          expect(await Array.fromAsync(engine.maintenance.check())).toEqual([])
        })
      })

      test('the sweep removes it once it has expired, and the store stays ready', async () => {
        await open(async (engine) => {
          const expiredMs = (startSeconds + 6_000_000) * 1000
          while ((await engine.maintenance.sweepExpired(expiredMs, 3)) > 0);
          expect(await Array.fromAsync(engine.maintenance.check())).toEqual([])
          const dump = await engine.transfer.openDump()
          const records = (await Array.fromAsync(dump.records(writtenFixture.table.id, 0))).flat()
          await dump.close()
          expect(records.filter(({ ttlSeconds }) => ttlSeconds !== null)).toEqual([])
          expect(records).toHaveLength([...live.values()].filter(({ ttlSeconds }) => ttlSeconds === null).length)
          expect(engine.ready()).toBe(true)
        })
      })

      test('the purge of its table removes it, and the store stays ready', async () => {
        await open(async (engine, fixture) => {
          const { caller } = fixture.tenant
          await engine.tables.delete(caller, fixture.table.db, fixture.table.name, nowMs)
          while ((await engine.maintenance.purgeTables(nowMs + recoveryMs + sweepGraceMs, 20)) > 0);
          expect(await Array.fromAsync(engine.maintenance.check())).toEqual([])
          const dump = await engine.transfer.openDump()
          expect(await Array.fromAsync(dump.tables())).toEqual([])
          expect(await dump.countRecords(fixture.table.id)).toBe(0)
          await dump.close()
          expect(engine.ready()).toBe(true)
        })
      })

      test('a batch replaces it, unless a condition of another operation fails: then nothing is changed', async () => {
        await open(async (engine, fixture) => {
          const puts = [putOf(fixture.table, name, { data: { shelf: 'new', n: 1 } }), putOf(fixture.table, 'other', {})]
          const refused = await fixture.write([...puts, deleteOf('none', undefined, 'exists')], nowMs)
          expect(refused.applied).toBe(false)
          expect((await Array.fromAsync(engine.maintenance.check())).length).toBeGreaterThan(0)
          expect((await fixture.write(puts, nowMs)).applied).toBe(true)
          expect(await Array.fromAsync(engine.maintenance.check())).toEqual([])
        })
      })

      test('a condition on it is not answered from what it holds', async () => {
        await open(async (engine, fixture, log) => {
          const version = live.get(name)!.updatedAtMs
          for (const condition of ['exists', 'absent', { version }] as const) {
            // With its key changed it is found by the index, and only its version, ttl and data are looked at.
            if (what.startsWith('its key')) continue
            await failure(() => fixture.write([putOf(fixture.table, name, { condition })], nowMs))
            await failure(() => fixture.write([deleteOf(name, undefined, condition)], nowMs))
          }
          // It is a matter of one record: the store as a whole is not taken for damaged.
          expect(log.filter((line) => line.startsWith('the store is damaged'))).toEqual([])
          expect(engine.ready()).toBe(true)
        })
      })
    })
  }
})

// The data of a large record is not read by a write that replaces it, so its version and ttl are compared with the indexes.
describe('a large record of which one bit was changed', () => {
  const name = 'large'
  const ttlSeconds = startSeconds + 5_000_000
  const version = startMs + 7_000

  const open = async (
    offset: number,
    bit: number,
    use: (engine: Engine, fixture: Fixture) => Promise<void>,
  ): Promise<void> => {
    const dataDir = join(top, `large-${++copies}`)
    const sound = await openSqliteEngine({ dataDir })
    const written = await makeFixture(sound, indices)
    await written.put(name, { data: { shelf: 'a', n: 1, text: 'z'.repeat(50_000) }, ttlSeconds }, version)
    await written.put('other', { data: { shelf: 'a', n: 2 } }, version)
    await sound.close()
    const path = join(dataDir, 'cubby.db')
    const row = Buffer.alloc(name.length + 1 + 6 + 4)
    row.write(`${name}#`)
    row.writeUIntBE(version, name.length + 1, 6)
    row.writeUInt32BE(ttlSeconds, name.length + 1 + 6)
    const at = readFileSync(path).indexOf(row)
    expect(at).toBeGreaterThan(0)
    const handle = openSync(path, 'r+')
    flipBit(handle, at + name.length + 1 + offset, bit)
    closeSync(handle)
    const engine = await openSqliteEngine({ dataDir })
    try {
      await use(engine, await fixtureThrough(engine, written))
    } finally {
      await engine.close()
    }
  }

  const cases: [string, number, number][] = [
    ['its version, a high bit', 0, 6],
    ['its version, a low bit', 5, 3],
    ['its ttl, so that it seems to have expired', 6, 6],
    ['its ttl, a low bit', 9, 0],
  ]
  for (const [what, offset, bit] of cases) {
    test(`${what}: a put replaces it, with the next version`, async () => {
      await open(offset, bit, async (engine, fixture) => {
        expect(await fixture.put(name, { data: { shelf: 'new', n: 1 } }, version - 5_000)).toBe(version + 1)
        expect((await fixture.get(name, undefined, nowMs))?.data).toBe('{"shelf":"new","n":1}')
        expect(await Array.fromAsync(engine.maintenance.check())).toEqual([])
      })
    })

    test(`${what}: its keys are not sent, and it is counted`, async () => {
      await open(offset, bit, async (engine, fixture) => {
        for (const scan of [primaryScan(name), timeScan(), timeScan(undefined, true), indexScan('i1', 'a')]) {
          const outcome = await orDamaged(() => keysOf(engine, fixture, scan, 10))
          // A scan by time has the version from its index, as a page of records has it.
          if (scan.index === 't' && what.startsWith('its version')) {
            const head = { hashKey: name, rangeKey: '#', ttlSeconds, updatedAtMs: version }
            expect(outcome?.value).toContainEqual(head)
          } else expect(outcome).toBeUndefined()
          expect(await countOf(engine, fixture, scan, 10)).toBe(scan.index === 'primary' ? 1 : 2)
        }
        expect(engine.ready()).toBe(true)
      })
    })

    test(`${what}: a delete removes it; a condition on it is rejected`, async () => {
      await open(offset, bit, async (engine, fixture) => {
        for (const condition of ['exists', 'absent', { version }] as const) {
          const error = await fixture.write([deleteOf(name, undefined, condition)], nowMs).catch((thrown) => thrown)
          expect(isDamage(error)).toBe(true)
        }
        expect(await fixture.remove(name, undefined, nowMs)).toBe(true)
        expect(await fixture.list(timeScan(), nowMs)).toHaveLength(1)
        expect(await Array.fromAsync(engine.maintenance.check())).toEqual([])
      })
    })
  }
})

// The checksum of long data is not compared if only the keys are wanted. An index entry could then be returned as it is.
describe('a large record whose index entry was changed', () => {
  const names = ['large-1', 'large-2']
  const cases: [string, string, (name: string) => [Buffer, number, number]][] = [
    ['of keys', 'records_by_key', (name) => [Buffer.from(`${name}#`), name.length - 1, 2]],
    ['of times', 'records_by_time', () => [asVersion(startMs + 7_000), 5, 0]],
    ['of ttls', 'records_by_ttl', () => [ttlBytes(startSeconds + 5_000_000), 3, 0]],
  ]
  const ttlBytes = (ttlSeconds: number): Buffer => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(ttlSeconds)
    return bytes
  }
  test.each(cases)('the index %s: no other keys are sent', async (_, index, place) => {
    const dataDir = join(top, `entry-${++copies}`)
    let engine = await openSqliteEngine({ dataDir })
    const fixture = await makeFixture(engine, indices)
    for (const [i, name] of names.entries()) {
      const fields = {
        data: { shelf: 'a', n: i, text: 'z'.repeat(50_000) },
        ttlSeconds: startSeconds + 5_000_000 + 8 * i,
      }
      await fixture.put(name, fields, startMs + 7_000 + 8 * i)
    }
    const written = (await fixture.list(timeScan(), nowMs)).map(headOf)
    await engine.close()
    flipNear(join(dataDir, 'cubby.db'), index, ...place(names[0]!))
    engine = await openSqliteEngine({ dataDir })
    try {
      const through = await fixtureThrough(engine, fixture)
      for (const scan of [timeScan(), indexScan('i1', 'a'), ...names.map((name) => primaryScan(name))]) {
        const outcome = await orDamaged(() => keysOf(engine, through, scan, 10))
        const expected = scan.index === 'primary' ? written.filter(({ hashKey }) => hashKey === scan.hash) : written
        // A record may be missing with its entry: see docs/reference.md, "Checksums". None is wrong.
        for (const head of outcome?.value ?? []) expect(expected).toContainEqual(head)
      }
    } finally {
      await engine.close()
    }
  })

  test('data alone: its keys are sent, as nothing of them is damaged', async () => {
    const dataDir = join(top, `entry-${++copies}`)
    let engine = await openSqliteEngine({ dataDir })
    const fixture = await makeFixture(engine, indices)
    await fixture.put('a', { data: { shelf: 'a', n: 1, mark: 'MARK', text: 'z'.repeat(50_000) } })
    await fixture.put('b', { data: { shelf: 'a', n: 2 } })
    const written = (await fixture.list(indexScan('i1', 'a'), nowMs)).map(headOf)
    await engine.close()
    flipNear(join(dataDir, 'cubby.db'), 'records', Buffer.from('MARK'), 0, 0)
    engine = await openSqliteEngine({ dataDir })
    try {
      const through = await fixtureThrough(engine, fixture)
      expect(await orDamaged(() => through.list(indexScan('i1', 'a'), nowMs))).toBeUndefined()
      expect(await keysOf(engine, through, indexScan('i1', 'a'), 10)).toEqual(written)
      // The place where a page ends is computed from the data, so here it is read.
      expect(await orDamaged(() => keysOf(engine, through, indexScan('i1', 'a'), 1))).toBeUndefined()
      expect(await orDamaged(() => countOf(engine, through, indexScan('i1', 'a'), 1))).toBeUndefined()
    } finally {
      await engine.close()
    }
  })
})

/** The pages of an index of the store in `path`. */
const pagesOf = (path: string, name: string): number[] => {
  const db = new Database(path, { readonly: true })
  const pages = db.query<{ pageno: number }, [string]>('SELECT pageno FROM dbstat WHERE name = ?').all(name)
  db.close()
  return pages.map(({ pageno }) => pageno)
}

/** Flips a bit of the byte `offset` bytes behind the start of `bytes`. */
const flipNear = (path: string, name: string, bytes: Buffer, offset: number, bit: number): void => {
  const handle = openSync(path, 'r+')
  try {
    for (const page of pagesOf(path, name)) {
      const content = Buffer.alloc(pageBytes)
      readSync(handle, content, 0, pageBytes, (page - 1) * pageBytes)
      const at = content.lastIndexOf(bytes)
      if (at < 0) continue
      flipBit(handle, (page - 1) * pageBytes + at + offset, bit)
      return
    }
  } finally {
    closeSync(handle)
  }
  throw new Error(`the bytes are not in ${name}`)
}

const asVersion = (updatedAtMs: number): Buffer => {
  const bytes = Buffer.alloc(6)
  bytes.writeUIntBE(updatedAtMs, 0, 6)
  return bytes
}

test('a purge does not follow damaged index entries to a record of another table', async () => {
  const dataDir = join(top, 'tables')
  const path = join(dataDir, 'cubby.db')
  let engine = await openSqliteEngine({ dataDir })
  const { tenant } = await makeFixture(engine, {}, { name: 'first' })
  const other = await makeFixture(engine, {}, { tenant, name: 'other' })
  const deleted = await makeFixture(engine, {}, { tenant, name: 'deleted' })
  expect([other.table.id, deleted.table.id]).toEqual([2, 3])
  await other.put('a live one', { data: { n: 1 } }, startMs - 1)
  await fill(
    deleted,
    numbered(30).map((name) => putOf(deleted.table, name)),
  )
  await engine.tables.delete(tenant.caller, 'app', 'deleted', startMs)
  await engine.close()
  // The id of the table stands before the rest of an entry.
  flipNear(path, 'records_by_key', Buffer.from('a live one#'), -1, 0)
  flipNear(path, 'records_by_time', asVersion(startMs - 1), -1, 0)
  engine = await openSqliteEngine({ dataDir })
  while ((await engine.maintenance.purgeTables(startMs + recoveryMs + sweepGraceMs, 20)) > 0);
  expect(engine.ready()).toBe(true)
  await engine.close()
  const db = new Database(path, { readonly: true })
  expect(db.query('SELECT table_id FROM records NOT INDEXED').all()).toEqual([{ table_id: 2 }])
  expect(db.query('SELECT id FROM tables ORDER BY id').all()).toEqual([{ id: 1 }, { id: 2 }])
  db.close()
})

test('a page that ends with a damaged expired record is refused: its cursor would lead past others', async () => {
  const dataDir = join(top, 'expired')
  const path = join(dataDir, 'cubby.db')
  let engine = await openSqliteEngine({ dataDir })
  const fixture = await makeFixture(engine)
  const puts = Array.from({ length: pageExpiredRowsMax + 1 }, (_, i) =>
    putOf(fixture.table, `k${i}`, { ttlSeconds: startSeconds + 10 }),
  )
  await fill(fixture, puts)
  await fixture.put('behind', { data: { n: 1 } }, startMs + 1)
  const last = `k${pageExpiredRowsMax - 1}`
  expect(await fixture.names(timeScan(), nowMs)).toEqual(['behind'])
  await engine.close()
  // Its version, which is where the next page of the index by time begins.
  flipNear(path, 'records', Buffer.from(`${last}#`), last.length + 1 + 2, 6)
  engine = await openSqliteEngine({ dataDir })
  try {
    const through = await fixtureThrough(engine, fixture)
    expect(await orDamaged(() => through.names(timeScan(), nowMs))).toBeUndefined()
  } finally {
    await engine.close()
  }
})

// The header of a row has its own length and the type of every value. A row whose header became shorter has fewer values:
// the last one, `data`, is null then.
test('every bit of the header of a row, one by one', async () => {
  const name = 'key 4'
  let refused = 0
  for (let bit = 0; bit < 8; bit++) {
    for (const fromEnd of [1, 2, 'length'] as const) {
      const dataDir = copyStore(top, file, (handle) => {
        const row = findBytes(handle, Buffer.from(`${name}#`))
        flipBit(handle, fromEnd === 'length' ? headerAt(handle, row, 5) : row - fromEnd, bit)
      })
      const engine = await openSqliteEngine({ dataDir })
      try {
        refused += await readEverything(engine)
      } finally {
        await engine.close()
      }
      removeTempDir(dataDir)
    }
  }
  expect(refused).toBeGreaterThan(24)
})

test('however many records are damaged, the log is bounded', async () => {
  const dataDir = copyStore(top, file, () => {})
  const db = new Database(join(dataDir, 'cubby.db'))
  db.run(`WITH RECURSIVE series (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM series WHERE value < 300)
    INSERT INTO records (id, table_id, hash_key, range_key, updated_at, data)
    SELECT 5000000 + value, 1, CAST('bad ' || value AS BLOB), CAST('#' AS BLOB), 1, '{"n":1}000000' FROM series`)
  db.close()
  const log: string[] = []
  const engine = await openSqliteEngine({ dataDir, log: (_, message) => log.push(message) })
  try {
    const fixture = await fixtureThrough(engine, writtenFixture)
    for (let round = 0; round < 2; round++) {
      for (let i = 1; i <= 300; i++)
        expect(await orDamaged(() => fixture.get(`bad ${i}`, undefined, nowMs))).toBeUndefined()
    }
    expect(log.filter((message) => message === 'a record is damaged')).toHaveLength(100)
    expect(log.filter((message) => message.startsWith('more records are damaged'))).toHaveLength(1)
    expect(log.length).toBeLessThan(105)
  } finally {
    await engine.close()
  }
})

test('the root of the records is where the pages begin', () => {
  expect(recordPages()).toContain(rootPage(file, 'records'))
})
