import { expect } from 'bun:test'
import type { Case } from '../engine-conformance.ts'
import {
  deleteOf,
  indexScan,
  makeFixture,
  numbered,
  primaryScan,
  putOf,
  startMs,
  timeScan,
  versionsOf,
} from './fixture.ts'

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

export const concurrencyCases = (it: Case): void => {
  // With equal versions two writers would each hold an ETag that the other's write does not break.
  it('many writes at once on one record give distinct versions, and the last of them is the record', async ({
    engine,
  }) => {
    const fixture = await makeFixture(engine)
    const written = await Promise.all(
      times(100, async (n) => ({ n, version: await fixture.put('a', { data: { n } }, startMs - (n % 7)) })),
    )
    const versions = written.map(({ version }) => version)
    expect(new Set(versions).size).toBe(100)
    const last = written.find(({ version }) => version === Math.max(...versions))!
    expect(await fixture.get('a')).toMatchObject({ data: `{"n":${last.n}}`, updatedAtMs: last.version })
    // One after another, as a caller does that awaits each answer, they increase.
    expect(await fixture.put('a')).toBeGreaterThan(last.version)
  })

  // With two winners one of them would have overwritten the other unseen.
  it('of racing writers that name the same version exactly one wins', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    for (let round = 0; round < 5; round++) {
      const version = await fixture.put('a', { data: { round } })
      const results = await Promise.all(
        times(20, (n) => fixture.write([putOf(fixture.table, 'a', { data: { n }, condition: { version } })])),
      )
      const winners = results.flatMap((result, n) => (result.applied ? [n] : []))
      expect(winners).toHaveLength(1)
      const record = (await fixture.get('a'))!
      expect(record.data).toBe(`{"n":${winners[0]}}`)
      for (const result of results) {
        if (!result.applied) expect(result).toEqual({ applied: false, failedOperation: 0, current: record.updatedAtMs })
      }
    }
  })

  it('of racing writers that want no record there exactly one wins', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const results = await Promise.all(
      times(20, (n) => fixture.write([putOf(fixture.table, 'a', { data: { n }, condition: 'absent' })])),
    )
    const winners = results.flatMap((result, n) => (result.applied ? [n] : []))
    expect(winners).toHaveLength(1)
    expect(await fixture.get('a')).toMatchObject({ data: `{"n":${winners[0]}}` })
  })

  it('of racing deletes exactly one finds the record', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('a')
    await fixture.put('b')
    const removed = await Promise.all(times(20, () => fixture.remove('a')))
    expect(removed.filter(Boolean)).toHaveLength(1)
    const version = (await fixture.get('b'))!.updatedAtMs
    const results = await Promise.all(times(20, () => fixture.write([deleteOf('b', '#', { version })])))
    expect(results.filter((result) => result.applied)).toHaveLength(1)
  })

  it('no increment is lost by writers that read, then write under the version read', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    await fixture.put('count', { data: { n: 0 } })
    const increment = async (): Promise<void> => {
      for (;;) {
        const { data, updatedAtMs } = (await fixture.get('count'))!
        const n = (JSON.parse(data) as { n: number }).n + 1
        const operation = putOf(fixture.table, 'count', { data: { n }, condition: { version: updatedAtMs } })
        if ((await fixture.write([operation])).applied) return
      }
    }
    await Promise.all(
      times(8, async () => {
        for (let i = 0; i < 10; i++) await increment()
      }),
    )
    expect(await fixture.get('count')).toMatchObject({ data: '{"n":80}' })
  })

  // A transfer between two accounts would show its sum wrong for a moment, and a reader would act on it.
  it('a reader that polls during batches never sees a part of one', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's' } })
    const names = ['d', 'a', 'c', 'e', 'b']
    const scans = [primaryScan('h'), timeScan(), indexScan('i1', 'x', undefined, true)]
    let reading = true
    const write = async (from: number): Promise<void> => {
      for (let n = from; reading; n += 2) {
        // Every third takes all of them away.
        const operations = names.map((rangeKey) =>
          n % 3 === 2 ? deleteOf('h', rangeKey) : putOf(fixture.table, 'h', { rangeKey, data: { s: 'x', n } }),
        )
        versionsOf(await fixture.write(operations, startMs + n))
      }
    }
    const writers = [write(0), write(1)]
    const seen = new Set<string>()
    try {
      // Until it has met many states: what is proven does not hang on how fast the machine is.
      while (seen.size < 60) {
        for (const scan of scans) {
          const { records } = await engine.records.scan(fixture.table, scan, 100, startMs)
          const states = new Set(records.map((record) => record.data))
          expect([0, names.length]).toContain(records.length)
          expect(states.size).toBe(records.length === 0 ? 0 : 1)
          for (const state of states) seen.add(state)
        }
        await Bun.sleep(0)
      }
    } finally {
      reading = false
      await Promise.all(writers)
    }
  })

  it('batches at once over the same records, in any order of keys, all come through and one is last', async ({
    engine,
  }) => {
    const fixture = await makeFixture(engine)
    const names = numbered(8)
    const results = await Promise.all(
      times(30, (n) => {
        const turned = [...names.slice(n % 8), ...names.slice(0, n % 8)]
        const order = n % 2 === 0 ? turned : turned.reverse()
        return fixture.write(order.map((rangeKey) => putOf(fixture.table, 'h', { rangeKey, data: { n } })))
      }),
    )
    expect(results.every((result) => result.applied)).toBe(true)
    const states = new Set((await fixture.list(primaryScan('h'))).map((record) => record.data))
    expect(states.size).toBe(1)
    expect(await fixture.list(primaryScan('h'))).toHaveLength(8)
  })

  it('puts and deletes at once over the same records leave records and indices that agree', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's', rangeField: 'n' } })
    const names = numbered(5)
    await Promise.all(
      times(120, (n) => {
        const [one, two] = [names[n % 5]!, names[(n * 3 + 1) % 5]!]
        const operations =
          one === two || n % 4 === 0
            ? [deleteOf(one)]
            : [
                putOf(fixture.table, one, { data: { s: 'x', n } }),
                n % 3 === 0 ? deleteOf(two) : putOf(fixture.table, two),
              ]
        return fixture.write(operations)
      }),
    )
    const records = await Promise.all(names.map((name) => fixture.get(name)))
    const found = records.filter((record) => record !== undefined)
    expect((await fixture.list(timeScan())).map((record) => record.hashKey).toSorted()).toEqual(
      found.map((record) => record.hashKey),
    )
    const indexed = found.filter((record) => record.data !== '{}').map((record) => record.hashKey)
    expect((await fixture.names(indexScan('i1', 'x'))).toSorted()).toEqual(indexed)
  })
}
