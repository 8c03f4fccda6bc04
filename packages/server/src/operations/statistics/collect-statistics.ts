import { pageRowsMax } from '../../core/limits.ts'
import { addFigures, type Figures, noFigures } from '../../core/statistics/figure.ts'
import type { Engine } from '../../store/engine.ts'
import type { Organization } from '../../store/organizations.ts'
import type { Table, TableListing } from '../../store/tables.ts'
import { countTable } from './count-table.ts'

/** Rows of one table are counted for so long, and so are its bytes. */
const tableMsMax = 1_000
/** All tables together. After that only small ones are counted. */
const allMsMax = 60_000

export interface TableStatistics {
  organization: string
  table: Table
  figures: Figures
}

type Areas = Pick<Engine, 'tables' | 'buckets' | 'tasks'>
type Listed = Pick<Engine['tables'], 'list' | 'listDeleted'>

/** Lists tables of one kind in one database, deleted ones too: they take space until they are purged. */
async function* listKind(area: Listed, orgId: number, db: string, nowMs: number): AsyncGenerator<Table> {
  for (const list of [
    (listing: TableListing) => area.list(listing),
    (listing: TableListing) => area.listDeleted(listing, nowMs),
  ]) {
    let after: TableListing['after']
    for (;;) {
      const tables = await list({ orgId, db, after, limit: pageRowsMax })
      yield* tables
      const last = tables.at(-1)
      if (tables.length < pageRowsMax || last === undefined) break
      after = { name: last.name, deletedAtMs: last.deletedAtMs ?? 0 }
    }
  }
}

async function* listDatabases({ tables }: Areas, orgId: number): AsyncGenerator<string> {
  for (let after: string | undefined; ; ) {
    const names = await tables.listDatabases(orgId, after, pageRowsMax)
    yield* names
    if (names.length < pageRowsMax) return
    after = names.at(-1)
  }
}

interface StatisticsInput {
  organizations: readonly Organization[]
  /** Restricts the figures to this database. */
  db: string | undefined
  nowMs: number
  tableMsMax?: number
  allMsMax?: number
}

/**
 * Yields figures by organization, database, kind and name. A database that has only deleted tables is not listed, unless it is
 * named.
 */
export async function* collectStatistics(engine: Engine, input: StatisticsInput): AsyncGenerator<TableStatistics> {
  const { organizations, db: wanted, nowMs } = input
  const endsAt = performance.now() + (input.allMsMax ?? allMsMax)
  for (const { id: orgId, name: organization } of organizations) {
    const databases = wanted === undefined ? listDatabases(engine, orgId) : [wanted]
    for await (const db of databases) {
      for (const area of [engine.tables, engine.buckets, engine.tasks]) {
        for await (const table of listKind(area, orgId, db, nowMs)) {
          const msMax = Math.max(0, Math.min(input.tableMsMax ?? tableMsMax, endsAt - performance.now()))
          yield { organization, table, figures: await countTable(engine, table, { nowMs, msMax }) }
        }
      }
    }
  }
}

export const sumFigures = (all: readonly TableStatistics[]): Figures =>
  all.reduce((sum, { figures }) => addFigures(sum, figures), noFigures)
