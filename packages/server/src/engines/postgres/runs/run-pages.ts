import { pageBytesMax, pageExpiredRowsMax } from '../../../core/limits.ts'
import { resumeScan, type TimeScan } from '../../../core/records/scan.ts'
import type { Holder } from '../../../core/shares.ts'
import { isKept, type Run, type RunStatus } from '../../../core/tasks/run.ts'
import type { CountPage } from '../../../store/records.ts'
import type { RunPage } from '../../../store/runs.ts'
import type { Database } from '../connection/database.ts'
import { bind, type Row, type Statement, type Value } from '../connection/driver.ts'
import { readKeep } from '../tasks/statements.ts'
import { runColumnCount, shortColumnsOf, textColumns, toRun } from './run-rows.ts'

// Pages have runs in the order of their last change. $1 task, $2 rows at most, $3 low, $4 high, $5 the seq of the row
// comparison, $6 the status if there is one; then the values that the statement adds.

interface Walk {
  where: string
  order: (alias: string) => string
  /** The number of values. */
  values: number
}

const walkOf = (withStatus: boolean, descending: boolean): Walk => {
  const down = descending ? ' desc' : ''
  const bounds = descending
    ? 'r.updated_at >= $3::bigint and (r.updated_at, r.seq) < ($4::bigint, $5::bigint)'
    : '(r.updated_at, r.seq) > ($3::bigint, $5::bigint) and r.updated_at < $4::bigint'
  return {
    where: `r.task_id = $1::bigint${withStatus ? ' and r.status = $6' : ''} and ${bounds}`,
    order: (alias) => `${alias}.updated_at${down}, ${alias}.seq${down}`,
    values: withStatus ? 6 : 5,
  }
}

const nameOf = (prefix: string, withStatus: boolean, descending: boolean): string =>
  `${prefix}_${withStatus ? 'status' : 'all'}${descending ? '_down' : ''}`

/** Reads a page with the texts of as many runs as fit into $(n+1) bytes, and at most one row more, without its texts. */
export const scanRuns = (withStatus: boolean, descending: boolean): Statement => {
  const { where, order, values } = walkOf(withStatus, descending)
  const size = textColumns.map((name) => `coalesce(octet_length(r.${name}), 0)`).join(' + ')
  const fits = `p.bytes <= $${values + 1}::bigint or p.bytes = p.size`
  return {
    name: nameOf('run_scan', withStatus, descending),
    text: `select ${shortColumnsOf('p')}, ${textColumns.map((name) => `case when ${fits} then p.${name} end`).join(', ')}
      from (
        select w.*, sum(w.size) over (order by ${order('w')} rows unbounded preceding) as bytes from (
          select r.*, ${size} as size from cubby_run_8 as r where ${where} order by ${order('r')} limit $2::bigint
        ) as w
      ) as p where p.bytes - p.size <= $${values + 1}::bigint order by ${order('p')}`,
  }
}

/** Returns one row: how many runs are kept (finished after $(n+1)), how many were read, and the last of them. */
export const countRuns = (withStatus: boolean, descending: boolean): Statement => {
  const { where, order, values } = walkOf(withStatus, descending)
  return {
    name: nameOf('run_count', withStatus, descending),
    text: `select c.kept, c.walked, c.updated_at, c.seq from (
        select w.*, row_number() over o as walked, lead(w.seq) over n as next,
          count(*) filter (where w.finished_at is null or w.finished_at > $${values + 1}::bigint) over o as kept
        from (
          select r.updated_at, r.seq, r.finished_at from cubby_run_8 as r where ${where}
          order by ${order('r')} limit $2::bigint
        ) as w window o as (order by ${order('w')} rows unbounded preceding), n as (order by ${order('w')})
      ) as c where c.next is null`,
  }
}

const statementsOf = (make: (withStatus: boolean, descending: boolean) => Statement): Map<string, Statement> =>
  new Map(
    [false, true].flatMap((withStatus) =>
      [false, true].map((descending) => [`${withStatus} ${descending}`, make(withStatus, descending)] as const),
    ),
  )

const statements = { scan: statementsOf(scanRuns), count: statementsOf(countRuns) }

export interface PageRequest {
  db: Database
  holder: Holder
  taskId: number
  status: RunStatus | undefined
  scan: TimeScan
  rowsMax: number
  /** A test's own time. */
  at: number | null
}

const valuesOf = ({ taskId, status }: PageRequest, scan: TimeScan, rows: number): Value[] => {
  const values: Value[] = [taskId, rows, scan.low, scan.high, scan.descending ? scan.highId : scan.lowId]
  return status === undefined ? values : [...values, status]
}

/** Takes one round trip, unless the page passes many runs that are no longer kept. */
export const readRunPage = async (request: PageRequest): Promise<RunPage> => {
  const { db, holder, taskId, status, scan, rowsMax, at } = request
  const statement = statements.scan.get(`${status !== undefined} ${scan.descending}`)!
  const runs: Run[] = []
  let bytes = 0
  let skippedLeft = pageExpiredRowsMax
  let rest = scan
  let position: { range: number; id: number } | undefined
  for (;;) {
    const rowsLeft = rowsMax - runs.length + 1
    const [found, keep] = await db.read(
      holder,
      bind(statement, ...valuesOf(request, rest, rowsLeft), Math.max(pageBytesMax - bytes, 0)),
      bind(readKeep, taskId, at),
    )
    const [keepSeconds, nowMs] = (keep!.rows[0] ?? ['0', '0']).map(Number) as [number, number]
    for (const row of found!.rows) {
      const run = toRun(row)
      if (!isKept(run, keepSeconds, nowMs)) {
        skippedLeft--
      } else {
        const size = sizeOf(row)
        // A page has its first run, however large that is. A row without its texts is the first that did not fit.
        const isFull =
          runs.length === rowsMax || (runs.length > 0 && bytes + size > pageBytesMax) || run.payload === null
        if (isFull && runs.length > 0) return { runs, next: position }
        if (run.payload === null) break
        runs.push(run)
        bytes += size
      }
      position = { range: run.updatedAtMs, id: run.seq }
    }
    // A walk that was cut short by bytes has a row without texts at its end.
    const isWhole = found!.rows.length < rowsLeft && found!.rows.at(-1)?.[runColumnCount - 2] !== null
    if (isWhole) return { runs, next: undefined }
    if (skippedLeft <= 0) return { runs, next: position }
    if (position !== undefined) rest = resumeScan(scan, position) as TimeScan
  }
}

const sizeOf = (row: Row): number =>
  row.slice(-textColumns.length).reduce((sum, text) => sum + (text == null ? 0 : Buffer.byteLength(text)), 0)

export const countRunPage = async (request: PageRequest): Promise<CountPage> => {
  const { db, holder, taskId, status, scan, rowsMax, at } = request
  const statement = statements.count.get(`${status !== undefined} ${scan.descending}`)!
  const [keep] = await db.read(holder, bind(readKeep, taskId, at))
  const [keepSeconds, nowMs] = (keep!.rows[0] ?? ['0', '0']).map(Number) as [number, number]
  let count = 0
  let skippedLeft = pageExpiredRowsMax
  let rest = scan
  for (;;) {
    const rows = rowsMax - count
    const finishedAfterMs = nowMs - 1000 * keepSeconds
    const [found] = await db.read(holder, bind(statement, ...valuesOf(request, rest, rows), finishedAfterMs))
    const row = found!.rows[0]
    if (row === undefined) return { count, next: undefined }
    const [kept, walked, range, id] = row.map(Number) as [number, number, number, number]
    count += kept
    skippedLeft -= walked - kept
    if (walked < rows) return { count, next: undefined }
    const position = { range, id }
    if (count >= rowsMax || skippedLeft <= 0) return { count, next: position }
    rest = resumeScan(scan, position) as TimeScan
  }
}
