import { expect } from 'bun:test'
import type { Scan } from '../../src/core/records/scan.ts'
import type { StoredRecord } from '../../src/core/records/stored-record.ts'
import type { IndexScalar } from '../../src/core/tables/index-value.ts'
import { type Slot, slots } from '../../src/core/tables/indices.ts'
import type { Case } from '../engine-conformance.ts'
import { compareIndexed, compareText, matchesIndexed, matchesText, type NaiveRange } from '../model/naive-order.ts'
import { type Fixture, fill, indexScan, makeFixture, primaryScan, putOf, startMs, timeScan } from './fixture.ts'

/** Values of every type, and pairs that only bytes tell apart. Many records share each. */
const values: IndexScalar[] = [
  false,
  true,
  -1e300,
  -2.5,
  -1,
  0,
  Number.MIN_VALUE,
  1,
  1.5,
  2,
  10,
  1e300,
  '2025-06-15T15:06:40Z',
  '',
  '\0',
  'a',
  'a\0',
  'a\0b',
  'ab',
  'B',
  'é',
  '\uffff',
  '\u{10000}',
  '\u{10ffff}',
  '2025-06-15',
]

const indices = {
  i1: { hashField: 'hash', rangeField: 'range' },
  i2: { hashField: 'hash' },
  i3: { hashField: 'range', rangeField: 'hash' },
  i4: { hashField: 'same', rangeField: 'range' },
  i5: { hashField: 'range' },
}

interface Sample {
  name: string
  fields: Record<string, IndexScalar>
}

/** Every value three times as a range, in an order that is not theirs. */
const samples: Sample[] = Array.from({ length: values.length * 3 }, (_, i) => {
  const range = values[(i * 7) % values.length]!
  const hash = values[(i * 11) % 5]!
  return { name: `r${String((i * 29) % 75).padStart(2, '0')}`, fields: { hash, range, same: 'one' } }
})

/** A lower and an upper bound, inclusive or not. */
const boundsOf = (low: IndexScalar, high: IndexScalar): NaiveRange[] => [
  { gt: low, lt: high },
  { gt: low, lte: high },
  { gte: low, lt: high },
  { gte: low, lte: high },
]

const ranges: (NaiveRange | undefined)[] = [
  undefined,
  ...(['', 'a', 'a\0', 'é', '\uffff', '\u{10ffff}', 'zz'] as const).map((beginsWith) => ({ beginsWith })),
  ...[false, true, -1, 0, 1.25, 2, 'a', 'a\0', '\u{10000}', '2025-06-15T17:06:40+02:00'].flatMap(
    (value): NaiveRange[] => [{ eq: value }, { lt: value }, { lte: value }, { gt: value }, { gte: value }],
  ),
  { between: [-2.5, 1] },
  { between: [1, 1] },
  { between: [false, true] },
  { between: ['a', 'ab'] },
  { between: ['a\0', '\uffff'] },
  ...boundsOf(-2.5, 1.5),
  ...boundsOf(1, 1),
  ...boundsOf(false, true),
  ...boundsOf('a', 'ab'),
  ...boundsOf('\uffff', '\u{10ffff}'),
  ...boundsOf(-1e300, '2025-06-15T17:06:40+02:00'),
]

const loadSamples = async (fixture: Fixture): Promise<void> =>
  fill(
    fixture,
    samples.map(({ name, fields }) => putOf(fixture.table, name, { data: fields })),
  )

const expected = (slot: Slot, hash: IndexScalar, range: NaiveRange | undefined, descending: boolean): string[] => {
  const declared: { hashField: string; rangeField?: string } = indices[slot]
  const rangeOf = (sample: Sample): IndexScalar =>
    declared.rangeField === undefined ? '' : sample.fields[declared.rangeField]!
  // A stable sort: equal ones stay in creation order.
  const found = samples
    .filter((sample) => compareIndexed(sample.fields[declared.hashField]!, hash) === 0)
    .filter((sample) => matchesIndexed(rangeOf(sample), range))
    .sort((a, b) => compareIndexed(rangeOf(a), rangeOf(b)))
    .map((sample) => sample.name)
  return descending ? found.reverse() : found
}

/** The scan in pages of every size gives just this. */
const expectScan = async (fixture: Fixture, scan: Scan, names: string[], sizes = [1_000, 3]): Promise<void> => {
  for (const rowsMax of sizes) {
    const found = await fixture.names(scan, startMs, rowsMax)
    expect({ scan, rowsMax, names: found }).toEqual({ scan, rowsMax, names })
  }
}

/** A row of a scan may carry what the engine needs beside the record. */
const fieldsOf = ({ hashKey, rangeKey, data, ttlSeconds, updatedAtMs }: StoredRecord): StoredRecord => ({
  hashKey,
  rangeKey,
  data,
  ttlSeconds,
  updatedAtMs,
})

const directions = [false, true]

export const scanCases = (it: Case): void => {
  it('declared index: booleans, then numbers, then strings by UTF-8 bytes, either way, in every slot', async ({
    engine,
  }) => {
    const fixture = await makeFixture(engine, indices)
    await loadSamples(fixture)
    for (const slot of slots) {
      const hashes = slot === 'i4' ? ['one', 'two'] : [...values, 'none', 3]
      for (const hash of hashes) {
        for (const descending of directions) {
          const names = expected(slot, hash, undefined, descending)
          await expectScan(fixture, indexScan(slot, hash, undefined, descending), names, [1_000, 1, 2])
        }
      }
    }
  })

  it('declared index: every operator matches its operand’s own type, either way', async ({ engine }) => {
    const fixture = await makeFixture(engine, indices)
    await loadSamples(fixture)
    for (const range of ranges) {
      for (const descending of directions) {
        await expectScan(fixture, indexScan('i4', 'one', range, descending), expected('i4', 'one', range, descending))
        await expectScan(fixture, indexScan('i1', true, range, descending), expected('i1', true, range, descending))
      }
    }
  })

  it('primary: range keys by UTF-8 bytes, every operator, either way', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const rangeKeys = [
      '#',
      '"',
      '$',
      '\0',
      'a',
      'a\0',
      'a\0b',
      'ab',
      'B',
      'é',
      '\uffff',
      '\u{10000}',
      '\u{10ffff}',
      '10',
      '9',
    ]
    const puts = rangeKeys.map((rangeKey) => putOf(fixture.table, 'h', { rangeKey }))
    const near = ['h\0', 'g', 'H', 'h#'].flatMap((hash) => [
      putOf(fixture.table, hash, { rangeKey: 'a' }),
      putOf(fixture.table, hash),
    ])
    await fill(fixture, [...puts, ...near])
    const operators: (NaiveRange | undefined)[] = [
      undefined,
      ...['', 'a', 'a\0', '\uffff', '\u{10ffff}'].map((beginsWith) => ({ beginsWith })),
      ...['', '\0', '#', 'a', 'a\0', 'aa', '\u{10000}', '\u{10ffff}'].flatMap((text): NaiveRange[] => [
        { eq: text },
        { lt: text },
        { lte: text },
        { gt: text },
        { gte: text },
      ]),
      { between: ['a', 'ab'] },
      { between: ['#', '#'] },
      ...boundsOf('a', 'ab'),
      ...boundsOf('#', '#'),
      ...boundsOf('', '\u{10000}'),
    ]
    for (const range of operators) {
      const ascending = rangeKeys.filter((key) => matchesText(key, range)).sort(compareText)
      for (const descending of directions) {
        const found = await fixture.list(primaryScan('h', range, descending), startMs, 2)
        expect({ range, descending, keys: found.map((record) => record.rangeKey) }).toEqual({
          range,
          descending,
          keys: descending ? ascending.toReversed() : ascending,
        })
      }
    }
    expect(await fixture.list(primaryScan('h\0'))).toHaveLength(2)
    expect(await fixture.list(primaryScan('none'))).toEqual([])
  })

  it('t: by updatedAt, every operator, either way', async ({ engine }) => {
    const fixture = await makeFixture(engine)
    const instants = [5, 3, 3, 8, 0, 3, 5, 1, 8, 8].map((step, i) => ({ name: `r${9 - i}`, at: startMs + step }))
    for (const { name, at } of instants) await fixture.put(name, {}, at)
    const iso = new Date(startMs + 3).toISOString()
    const operators: (NaiveRange | undefined)[] = [
      undefined,
      ...[startMs - 1, startMs, startMs + 3, startMs + 2.5, startMs + 8, startMs + 9, iso, 1e300, -1e300].flatMap(
        (at): NaiveRange[] => [{ eq: at }, { lt: at }, { lte: at }, { gt: at }, { gte: at }],
      ),
      { between: [startMs + 1, startMs + 5] },
      { between: [iso, startMs + 3.5] },
      ...boundsOf(startMs + 1, startMs + 5),
      ...boundsOf(iso, startMs + 3),
      ...boundsOf(startMs + 2.5, startMs + 7.5),
    ]
    for (const range of operators) {
      const names = instants
        .filter(({ at }) => matchesIndexed(at, range))
        .sort((a, b) => a.at - b.at)
        .map(({ name }) => name)
      await expectScan(fixture, timeScan(range), names, [1_000, 1, 2])
      await expectScan(fixture, timeScan(range, true), names.toReversed(), [1_000, 1, 2])
    }
  })

  it('a hash is matched whole, not by its beginning', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's' }, i2: { hashField: 's', rangeField: 'r' } })
    for (const s of ['a', 'ab', 'a\0', '', 'A', '1', 1, true, 'true']) {
      await fixture.put(JSON.stringify(s), { data: { s, r: 'x' } })
    }
    for (const s of ['a', 'ab', 'a\0', '', 'A', '1', 1, true, 'true', 'b', 0, false]) {
      const names = ['b', 0, false].includes(s) ? [] : [JSON.stringify(s)]
      for (const slot of ['i1', 'i2'] as const) expect(await fixture.names(indexScan(slot, s))).toEqual(names)
    }
  })

  it('a scan gives the records as getRecord does', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 's' } })
    await fixture.put('a', { rangeKey: 'r', data: '{ "s":\t"x" }', ttlSeconds: startMs / 1000 + 5 }, startMs - 7)
    const record = await fixture.get('a', 'r')
    for (const scan of [primaryScan('a'), indexScan('i1', 'x'), timeScan()]) {
      expect((await fixture.list(scan)).map(fieldsOf)).toEqual([record!])
    }
  })
}
