import { describe, expect, test } from 'bun:test'
import type { TimeScan } from '../../src/core/records/scan.ts'
import { countSince, dayMs, weekMs } from '../../src/core/statistics/figure.ts'
import { countTable } from '../../src/operations/statistics/count-table.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Table } from '../../src/store/tables.ts'

const nowMs = 1_750_000_000_000
const table = { id: 1, kind: 'table', changes: { keepHours: 24, sinceMs: nowMs } } as Table

/** An engine with `rows` records of 100 bytes, one per second up to now. Each step takes `stepMs`. */
const engineWith = (rows: number, stepMs: number, estimate: number | undefined) => {
  const calls: TimeScan[] = []
  const timeOf = (i: number): number => nowMs - 1_000 * i
  const step = async (scan: TimeScan, rowsMax: number) => {
    calls.push(scan)
    await Bun.sleep(stepMs)
    const ids = Array.from({ length: rows }, (_, i) => i).filter(
      (i) => timeOf(i) >= scan.low && (timeOf(i) < scan.high || (timeOf(i) === scan.high && rows - i < scan.highId)),
    )
    if (!scan.descending) ids.reverse()
    const page = ids.slice(0, rowsMax)
    const last = page.at(-1)
    const isMore = page.length === rowsMax
    return { count: page.length, next: isMore ? { range: timeOf(last!), id: rows - last! } : undefined }
  }
  const engine = {
    records: { count: (_: Table, scan: TimeScan, rowsMax: number) => step(scan, rowsMax) },
    statistics: {
      async size(_: Table, scan: TimeScan, rowsMax: number) {
        const { count, next } = await step(scan, rowsMax)
        return { rows: count, bytes: count * 100, next }
      },
      estimateRows: async () => estimate,
      countChanges: async () => 7,
    },
  }
  return { engine: engine as unknown as Engine, calls }
}

describe('a table is counted', () => {
  test('exactly, if there is time', async () => {
    const { engine } = engineWith(25_000, 0, 999)
    const figures = await countTable(engine, table, { nowMs, msMax: 60_000 })
    expect(figures).toEqual({
      records: { value: 25_000, isExact: true },
      bytes: { value: 2_500_000, isExact: true },
      lastDay: { value: 25_000, isExact: true },
      lastWeek: { value: 25_000, isExact: true },
      changes: { value: 7, isExact: true },
    })
  })

  test('otherwise by estimates, never below what was counted, and in few steps', async () => {
    const { engine, calls } = engineWith(100_000, 5, 90_000)
    const { records, bytes, lastDay, lastWeek } = await countTable(engine, table, { nowMs, msMax: 1 })
    expect(records).toEqual({ value: 90_000, isExact: false })
    expect(bytes).toEqual({ value: 9_000_000, isExact: false })
    expect([lastDay.isExact, lastWeek.isExact]).toEqual([false, false])
    // One record per second: what was not counted is as dense as what was.
    expect(lastDay.value).toBeGreaterThan(86_000)
    expect(lastDay.value).toBeLessThan(87_000)
    expect(lastWeek.value).toBeGreaterThan(6 * lastDay.value)
    expect(calls.length).toBeLessThan(10)
  })

  test('without a time and without an estimate: what one step of each tells', async () => {
    const { engine, calls } = engineWith(100_000, 0, undefined)
    const { records, lastDay } = await countTable(engine, table, { nowMs, msMax: 0 })
    expect(records).toEqual({ value: 10_000, isExact: false })
    expect(lastDay.value).toBeGreaterThan(86_000)
    expect(calls.length).toBe(3)
  })

  test('exactly also without a time, if it is small', async () => {
    const { engine } = engineWith(3, 0, 0)
    expect(await countTable(engine, table, { nowMs, msMax: 0 })).toEqual({
      records: { value: 3, isExact: true },
      bytes: { value: 300, isExact: true },
      lastDay: { value: 3, isExact: true },
      lastWeek: { value: 3, isExact: true },
      changes: { value: 7, isExact: true },
    })
  })
})

test('a count that was not completed is continued as densely', () => {
  const complete = { count: 10, isComplete: true, reachedMs: undefined }
  expect(countSince([complete], nowMs - dayMs, nowMs)).toEqual({ value: 10, isExact: true })
  const half = { count: 10, isComplete: false, reachedMs: nowMs - weekMs / 2 }
  expect(countSince([complete, half], nowMs - weekMs, nowMs)).toEqual({ value: 40, isExact: false })
  expect(countSince([], nowMs - weekMs, nowMs)).toEqual({ value: 0, isExact: true })
})
