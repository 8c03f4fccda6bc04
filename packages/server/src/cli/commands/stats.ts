import type { Figure, Figures } from '../../core/statistics/figure.ts'
import { collectStatistics, sumFigures, type TableStatistics } from '../../operations/statistics/collect-statistics.ts'
import { openClock } from '../../process/clock.ts'
import { jsonFlag } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printJson, printTable } from '../print.ts'
import { optionalName } from '../target/address.ts'
import { requireOrganization } from '../target/organization.ts'
import { storeFlags, withStore } from '../target/store.ts'

export const statsCommand: CliCommand = {
  name: 'stats',
  summary: 'count records and bytes by organization, database and table',
  details: `Counts records of tables, files of buckets and runs of tasks, and those written in the last day and week.
Bytes are those of keys and data, of files, and of payloads and results; indexes are not included. A table
that cannot be counted within a second has an estimate, marked ~. CHANGES are those that tables keep.
Works beside a running server.`,
  example: 'cubby stats --org acme --db app',
  flags: {
    ...storeFlags,
    org: { type: 'string', value: 'NAME', help: 'only this organization' },
    db: { type: 'string', value: 'NAME', help: 'only the database with this name' },
    json: jsonFlag,
  },
  run(args) {
    const db = optionalName(args, 'db')
    return withStore(args, { mustExist: true }, async (engine) => {
      const org = args.text('org')
      const organizations =
        org === undefined ? await engine.organizations.list() : [await requireOrganization(engine, org)]
      const found: TableStatistics[] = []
      const nowMs = openClock(process.env).now()
      for await (const one of collectStatistics(engine, { organizations, db, nowMs })) found.push(one)
      const deletedAt = new Map(organizations.map(({ name, deletedAtMs }) => [name, deletedAtMs]))
      if (args.flag('json')) printJson(toJson(found, deletedAt))
      else printTable([head, ...groupRows(found, deletedAt)])
      return 0
    })
  },
}

const head = ['ORGANIZATION', 'DATABASE', 'NAME', 'KIND', 'RECORDS', 'BYTES', 'LAST DAY', 'LAST WEEK', 'CHANGES']

const show = ({ value, isExact }: Figure): string => `${isExact ? '' : '~'}${value}`

const cells = ({ records, bytes, lastDay, lastWeek, changes }: Figures): string[] =>
  [records, bytes, lastDay, lastWeek, changes].map(show)

const byOrganization = (found: TableStatistics[]) => Map.groupBy(found, ({ organization }) => organization)
/** Deletion times by the name of the organization; null if it is active. */
type DeletedAt = ReadonlyMap<string, number | null>

const byDatabase = (found: TableStatistics[]) => Map.groupBy(found, ({ table }) => table.db)

/** Adds the sums of each database, of each organization and of all, as `*`, below their tables. */
const groupRows = (found: TableStatistics[], deletedAt: DeletedAt): string[][] => {
  const rows: string[][] = []
  for (const [organization, ofOrg] of byOrganization(found)) {
    for (const [db, ofDb] of byDatabase(ofOrg)) {
      for (const { table, figures } of ofDb) {
        const kind = table.deletedAtMs === null ? table.kind : `${table.kind}, deleted`
        rows.push([organization, db, table.name, kind, ...cells(figures)])
      }
      rows.push([organization, db, '*', '', ...cells(sumFigures(ofDb))])
    }
    const note = deletedAt.get(organization) === null ? '' : 'deleted'
    rows.push([organization, '*', '*', note, ...cells(sumFigures(ofOrg))])
  }
  rows.push(['*', '*', '*', '', ...cells(sumFigures(found))])
  return rows
}

const figuresJson = (figures: Figures) => {
  const entries = Object.entries(figures) as [keyof Figures, Figure][]
  return {
    ...Object.fromEntries(entries.map(([name, { value }]) => [name, value])),
    estimated: entries.filter(([, { isExact }]) => !isExact).map(([name]) => name),
  }
}

const deletedJson = (deletedAtMs: number | null) => (deletedAtMs === null ? {} : { deletedAt: deletedAtMs })

const toJson = (found: TableStatistics[], deletedAt: DeletedAt) => ({
  organizations: [...byOrganization(found)].map(([organization, ofOrg]) => ({
    organization,
    ...deletedJson(deletedAt.get(organization)!),
    ...figuresJson(sumFigures(ofOrg)),
    databases: [...byDatabase(ofOrg)].map(([db, ofDb]) => ({
      db,
      ...figuresJson(sumFigures(ofDb)),
      tables: ofDb.map(({ table: { name, kind, deletedAtMs }, figures }) => ({
        name,
        kind,
        ...deletedJson(deletedAtMs),
        ...figuresJson(figures),
      })),
    })),
  })),
  total: figuresJson(sumFigures(found)),
})
