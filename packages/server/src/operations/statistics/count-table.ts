import { timeBounds } from '../../core/records/range.ts'
import { resumeScan, type TimeScan } from '../../core/records/scan.ts'
import {
  type Counted,
  countSince,
  dayMs,
  type Figure,
  type Figures,
  nothingCounted,
  weekMs,
} from '../../core/statistics/figure.ts'
import type { Engine } from '../../store/engine.ts'
import type { CountPage } from '../../store/records.ts'
import type { Table } from '../../store/tables.ts'

/** Rows of one step. Between two steps others have a turn. */
const countStepRows = 10_000
const sizeStepRows = 2_000

interface CountOptions {
  nowMs: number
  /** The time that counting rows, and then adding up their bytes, may take. 0: one step of each. */
  msMax: number
}

type CountedEngine = Pick<Engine, 'records' | 'runs' | 'statistics'>

const scanFrom = (low: number, high: number, descending = true): TimeScan => ({
  ...{ index: 't', low, high, lowId: 0, highId: 0, descending },
})

/** Lets other work of this process run, and ends the read transaction of an engine that keeps one open. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const countPage = (
  engine: CountedEngine,
  table: Table,
  scan: TimeScan,
  nowMs: number,
): CountPage | Promise<CountPage> =>
  table.kind === 'task'
    ? engine.runs.count(table, undefined, scan, countStepRows, nowMs)
    : engine.records.count(table, scan, countStepRows, nowMs)

/**
 * Counts the rows written from `low` to before `high`, newest first, until `endsAt`. One step is always made: small tables are
 * exact.
 */
const countRange = async (
  engine: CountedEngine,
  table: Table,
  { low, high, nowMs, endsAt }: { low: number; high: number; nowMs: number; endsAt: number },
): Promise<Counted> => {
  const whole = scanFrom(low, high)
  let rest = whole
  let count = 0
  let reachedMs: number
  do {
    const page = await countPage(engine, table, rest, nowMs)
    count += page.count
    if (page.next === undefined) return { count, isComplete: true, reachedMs: undefined }
    reachedMs = page.next.range as number
    rest = resumeScan(whole, page.next) as TimeScan
    await turn()
  } while (performance.now() < endsAt)
  return { count, isComplete: false, reachedMs }
}

/** Three ranges, newest first; those after one that is not complete are left out. */
const countAges = async (engine: CountedEngine, table: Table, { nowMs, msMax }: CountOptions): Promise<Counted[]> => {
  const { low, high } = timeBounds(undefined)
  const bounds = [high, nowMs - dayMs, nowMs - weekMs, low]
  const endsAt = performance.now() + msMax
  const counts: Counted[] = []
  for (let i = 0; i < 3; i++) {
    const range = { low: bounds[i + 1]!, high: bounds[i]!, nowMs, endsAt }
    counts.push(await countRange(engine, table, range))
    if (!counts.at(-1)!.isComplete) break
  }
  return counts
}

const countAll = async (engine: CountedEngine, table: Table, counts: readonly Counted[]): Promise<Figure> => {
  const value = counts.reduce((sum, { count }) => sum + count, 0)
  if (counts.every(({ isComplete }) => isComplete)) return { value, isExact: true }
  const estimate = (await engine.statistics.estimateRows(table)) ?? 0
  return { value: Math.max(value, estimate), isExact: false }
}

/** Adds the bytes up, newest first. If there is no time for all, the average of these and of some of the oldest counts. */
const measureBytes = async (engine: CountedEngine, table: Table, records: Figure, msMax: number): Promise<Figure> => {
  const { low, high } = timeBounds(undefined)
  const whole = scanFrom(low, high)
  const endsAt = performance.now() + msMax
  let rest = whole
  let rows = 0
  let bytes = 0
  do {
    const page = await engine.statistics.size(table, rest, sizeStepRows)
    rows += page.rows
    bytes += page.bytes
    if (page.next === undefined) return { value: bytes, isExact: true }
    rest = resumeScan(whole, page.next) as TimeScan
    await turn()
  } while (performance.now() < endsAt)
  const oldest = await engine.statistics.size(table, scanFrom(low, high, false), sizeStepRows)
  const average = (bytes + oldest.bytes) / Math.max(1, rows + oldest.rows)
  return { value: Math.max(bytes, Math.round(average * records.value)), isExact: false }
}

/** Exact where the time suffices, otherwise an estimate. Works in short steps. */
export const countTable = async (engine: CountedEngine, table: Table, options: CountOptions): Promise<Figures> => {
  const { nowMs, msMax } = options
  const counts = await countAges(engine, table, options)
  const [day = nothingCounted, week] = counts
  const records = await countAll(engine, table, counts)
  return {
    records,
    bytes: await measureBytes(engine, table, records, msMax),
    lastDay: countSince([day], nowMs - dayMs, nowMs),
    lastWeek: countSince(week === undefined ? [day] : [day, week], nowMs - weekMs, nowMs),
    changes: { value: table.changes === null ? 0 : await engine.statistics.countChanges(table), isExact: true },
  }
}
