import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { decodeScanCursor, encodeScanCursor } from '../../src/core/cursor.ts'
import { CursorSeal, TextSeal } from '../../src/core/cursor-seal.ts'
import { indexBounds, parseRange, primaryBounds, timeBounds } from '../../src/core/records/range.ts'
import { type Position, resumeScan, type Scan } from '../../src/core/records/scan.ts'
import { encodeIndexValue } from '../../src/core/tables/index-value.ts'
import { edgeString } from './arbitraries.ts'
import { compareScalars, compareStrings } from './value-order.ts'

const seal = new CursorSeal([new TextSeal(Buffer.alloc(32, 1), 'cursor')], false)

interface Row {
  /** The range key, the encoded index range, or `updatedAt`. */
  range: string | number
  id: number
}

const compareRange = (range: string | number, bound: Uint8Array | number): number =>
  typeof range === 'number' ? range - (bound as number) : Buffer.compare(Buffer.from(range), bound as Uint8Array)

/** The two statements of an engine, as `Scan` describes them. */
const inScan = (scan: Scan, row: Row): boolean => {
  const low = compareRange(row.range, scan.low)
  const high = compareRange(row.range, scan.high)
  if (scan.index === 'primary') return low >= 0 && high < 0
  return scan.descending
    ? low >= 0 && (high < 0 || (high === 0 && row.id < scan.highId))
    : (low > 0 || (low === 0 && row.id > scan.lowId)) && high < 0
}

/** Range, then id. Encoded values are text, so code point order is their order too. */
const compareRows = (a: Row, b: Row): number => compareScalars(a.range, b.range) || a.id - b.id

const scanRows = (rows: Row[], scan: Scan): Row[] =>
  rows.filter((row) => inScan(scan, row)).sort((a, b) => (scan.descending ? compareRows(b, a) : compareRows(a, b)))

const table = 7
const hash = 'h'
const noIds = { lowId: 0, highId: 0 }

/** The query's own scan with the rows it is over, for each of the three forms. */
type Case = { scan: Scan; rows: Row[] }

const numbered = (ranges: (string | number)[]): Row[] => ranges.map((range, i) => ({ range, id: i + 1 }))

const primaryCase: fc.Arbitrary<Case> = fc
  .tuple(fc.uniqueArray(edgeString, { maxLength: 25 }), edgeString, edgeString, fc.boolean(), fc.boolean())
  .map(([keys, a, b, whole, descending]) => {
    const between = compareStrings(a, b) <= 0 ? [a, b] : [b, a]
    const bounds = primaryBounds(whole ? undefined : parseRange({ between }, 'primary'))
    return { scan: { index: 'primary', hash, ...bounds, ...noIds, descending }, rows: numbered(keys) }
  })

/** Few values for many rows: ties everywhere. */
const tied = fc.constantFrom<(string | number | boolean)[]>(
  false,
  true,
  -1,
  0,
  1,
  '',
  'a',
  'a\0',
  '\uffff',
  '\u{10000}',
)

const indexCase: fc.Arbitrary<Case> = fc
  .tuple(fc.array(tied, { maxLength: 40 }), fc.option(tied, { nil: undefined }), fc.boolean(), fc.boolean())
  .map(([values, operand, upward, descending]) => {
    const range = operand === undefined ? undefined : parseRange({ [upward ? 'gte' : 'lte']: operand }, 'index')
    const scan: Scan = { index: 'i2', hash, ...indexBounds(range), ...noIds, descending }
    return { scan, rows: numbered(values.map(encodeIndexValue)) }
  })

/** An index without a range field: one tie from end to end. */
const rangelessCase: fc.Arbitrary<Case> = fc.tuple(fc.nat({ max: 40 }), fc.boolean()).map(([count, descending]) => ({
  scan: { index: 'i1', hash, ...indexBounds(undefined), ...noIds, descending },
  rows: numbered(Array<string>(count).fill('')),
}))

const timeCase: fc.Arbitrary<Case> = fc
  .tuple(
    fc.array(fc.integer({ min: 1000, max: 1005 }), { maxLength: 40 }),
    fc.option(fc.double({ min: 999, max: 1006, noNaN: true }), { nil: undefined }),
    fc.boolean(),
    fc.boolean(),
  )
  .map(([instants, operand, upward, descending]) => {
    const range = operand === undefined ? undefined : parseRange({ [upward ? 'gt' : 'lt']: operand }, 't')
    return { scan: { index: 't', ...timeBounds(range), ...noIds, descending }, rows: numbered(instants) }
  })

const anyCase = fc.oneof(primaryCase, indexCase, rangelessCase, timeCase)

describe('paging', () => {
  /** All pages of a query, each resumed through a cursor as a client would. `between` runs after each page. */
  const pages = (scan: Scan, rowsOf: () => Row[], limit: number, between: (position: Position) => void): Row[] => {
    const met: Row[] = []
    let cursor: string | undefined
    for (;;) {
      const position = cursor === undefined ? undefined : decodeScanCursor(seal, cursor, table, scan)
      const rest = scanRows(rowsOf(), position === undefined ? scan : resumeScan(scan, position))
      met.push(...rest.slice(0, limit))
      if (rest.length <= limit) return met
      const last = rest[limit - 1]!
      cursor = encodeScanCursor(seal, table, scan, last)
      between(last)
    }
  }

  test('meets each row of the scan exactly once, in order, in either direction', () => {
    fc.assert(
      fc.property(anyCase, fc.integer({ min: 1, max: 7 }), ({ scan, rows }, limit) => {
        expect(
          pages(
            scan,
            () => rows,
            limit,
            () => {},
          ),
        ).toEqual(scanRows(rows, scan))
      }),
      { numRuns: 1500 },
    )
  })

  test('goes on where it was when the last row met is removed meanwhile', () => {
    fc.assert(
      fc.property(anyCase, fc.integer({ min: 1, max: 7 }), ({ scan, rows }, limit) => {
        let present = rows
        const met = pages(
          scan,
          () => present,
          limit,
          (last) => {
            present = present.filter((row) => row.id !== last.id)
          },
        )
        expect(met).toEqual(scanRows(rows, scan))
      }),
      { numRuns: 500 },
    )
  })

  test('meets the rows that stay exactly once, whatever is added meanwhile', () => {
    fc.assert(
      fc.property(anyCase, fc.integer({ min: 1, max: 7 }), ({ scan, rows }, limit) => {
        let present = rows
        const met = pages(
          scan,
          () => present,
          limit,
          (last) => {
            // A row of the same range as the last one; in the primary order ranges are unique.
            if (scan.index === 'primary' || present.length > rows.length * 2) return
            present = [...present, { range: last.range, id: present.length + 1 }]
          },
        )
        expect(met.filter((row) => row.id <= rows.length)).toEqual(scanRows(rows, scan))
        expect(new Set(met.map((row) => row.id)).size).toBe(met.length)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a resumed scan', () => {
  /** Any place: a row's own, as a page ends with, or what a client could write into a cursor, inside and outside. */
  const anyPosition = ({ scan, rows }: Case): fc.Arbitrary<Position> => {
    const forged = fc.record({
      range:
        scan.index === 't'
          ? fc.oneof(fc.integer({ min: 995, max: 1010 }), fc.maxSafeInteger())
          : fc.oneof(edgeString, edgeString.map(encodeIndexValue), tied.map(encodeIndexValue)),
      id: fc.oneof(fc.nat({ max: 45 }), fc.constant(Number.MAX_SAFE_INTEGER)),
    })
    return rows.length === 0 ? forged : fc.oneof(forged, fc.constantFrom(...rows))
  }

  const caseAndPosition = anyCase.chain((known) => fc.tuple(fc.constant(known), anyPosition(known)))

  test('is the rows of the scan behind the position, wherever that lies: it never widens', () => {
    fc.assert(
      fc.property(caseAndPosition, ([{ scan, rows }, position]) => {
        const behind = (row: Row): boolean => {
          const order =
            scan.index === 'primary' ? compareScalars(row.range, position.range) : compareRows(row, position)
          return scan.descending ? order < 0 : order > 0
        }
        expect(scanRows(rows, resumeScan(scan, position))).toEqual(scanRows(rows, scan).filter(behind))
      }),
      { numRuns: 3000 },
    )
  })

  // An engine that steps over expired rows goes on within a page, whose scan a cursor has already moved.
  test('resumes again: only the rows behind both positions are left', () => {
    const caseAndTwo = anyCase.chain((known) => fc.tuple(fc.constant(known), anyPosition(known), anyPosition(known)))
    fc.assert(
      fc.property(caseAndTwo, ([{ scan, rows }, first, second]) => {
        const once = resumeScan(scan, first)
        const behindSecond = scanRows(rows, resumeScan(scan, second))
        expect(scanRows(rows, resumeScan(once, second))).toEqual(
          scanRows(rows, once).filter((row) => behindSecond.includes(row)),
        )
      }),
      { numRuns: 2000 },
    )
  })

  test('resumes again among equal rows, downwards too', () => {
    const rows = numbered(['', '', '', '', ''])
    const scan: Scan = { index: 'i1', hash, ...indexBounds(undefined), ...noIds, descending: true }
    const behindFour = resumeScan(scan, { range: '', id: 4 })
    expect(scanRows(rows, behindFour).map((row) => row.id)).toEqual([3, 2, 1])
    expect(scanRows(rows, resumeScan(behindFour, { range: '', id: 2 })).map((row) => row.id)).toEqual([1])
  })

  test('stays in its table order, hash and direction', () => {
    fc.assert(
      fc.property(caseAndPosition, ([{ scan }, position]) => {
        const { low, high, lowId, highId, ...same } = resumeScan(scan, position)
        const { low: ownLow, high: ownHigh, lowId: ownLowId, highId: ownHighId, ...own } = scan
        expect(same).toEqual(own)
        // Only the bound that the direction starts from moves.
        if (scan.descending) expect([low, lowId]).toEqual([ownLow, ownLowId])
        else expect([high, highId]).toEqual([ownHigh, ownHighId])
      }),
    )
  })

  test('leaves the scan it came from as it was', () => {
    fc.assert(
      fc.property(caseAndPosition, ([{ scan }, position]) => {
        const before = structuredClone(scan)
        resumeScan(scan, position)
        expect(scan).toEqual(before)
      }),
    )
  })
})
