import { OperatorError } from '../../core/operator-error.ts'
import { jsonFlag, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printJson, printLine, printNote } from '../print.ts'
import { dbFlag, requireName, tableFlag } from '../target/address.ts'
import { chooseTarget, type Target, targetFlags } from '../target/target.ts'
import { type ExportSource, openServerSource, openStoreSource, type SourceTable } from '../transfer/export-source.ts'
import { recordLines, tableLine } from '../transfer/ndjson.ts'
import { Progress } from '../transfer/progress.ts'
import { showCount, showRate } from '../transfer/progress-line.ts'
import { type LineWriter, refuseExisting, writeToFile, writeToStdout } from '../transfer/write-lines.ts'

export const exportCommand: CliCommand = {
  name: 'export',
  summary: 'export the records of a database as JSON lines',
  details: `One record per line; each table begins with a line that declares it. With --out the file is written whole or
not at all, compressed if its name ends in .gz, and an existing file is not overwritten unless --force is
given; without --out the lines go to standard output.
With --data or --store it reads one consistent snapshot of the store, also beside a running server.
It covers the records of tables only, not the files of buckets and not tasks with their runs: see cubby
backup, cubby copy, cubby files, cubby tasks.`,
  example: 'cubby export --db app --out app.ndjson.gz',
  flags: {
    db: dbFlag,
    table: { ...tableFlag, help: 'this table only' },
    out: { type: 'string', value: 'FILE', help: 'write to this file' },
    force: { type: 'boolean', help: 'with --out: replace an existing file, once the export is complete' },
    ...targetFlags,
    json: { ...jsonFlag, help: 'with --out: print the summary as JSON' },
  },
  async run(args) {
    const target = chooseTarget(args)
    const db = requireName(args, 'db')
    const only = args.text('table') === undefined ? undefined : requireName(args, 'table')
    const file = args.text('out')
    if (file === '') throw new UsageError('--out is empty; it takes the name of a file')
    if (file === undefined && args.flag('json'))
      throw new UsageError('--json needs --out: without it the output is JSON already')
    if (file === undefined && args.isGiven('force'))
      throw new UsageError('--force needs --out: there is no file to replace')
    const replaces = args.flag('force')
    // Checked before the source is opened, which may take a while.
    if (file !== undefined && !replaces) refuseExisting(file)
    const openOutput = () => (file === undefined ? writeToStdout() : writeToFile(file, { replaces }))
    const source =
      target.kind === 'store' ? await openStoreSource(target.location, target.org) : openServerSource(target.remote)
    try {
      const tables = await chooseTables(source, db, only, target.kind)
      const { records, elapsedMs } = await exportTables(db, tables, openOutput)
      // The note prevents that the export of a database is taken for all of it.
      if (only === undefined) await noteLeftOut(source, db)
      if (args.flag('json')) printJson({ tables: tables.length, records, elapsedMs: Math.round(elapsedMs) })
      else {
        const summary = `exported ${showRate(records, elapsedMs)} (${showCount(tables.length, 'table')})`
        if (file === undefined) printNote(summary)
        else printLine(summary)
      }
      return 0
    } finally {
      await source.close()
    }
  },
}

const noteLeftOut = async (source: ExportSource, db: string): Promise<void> => {
  const left: string[] = []
  for (const kind of ['bucket', 'task'] as const) {
    const count = await source.count(kind, db)
    if (count > 0) left.push(showCount(count, kind))
  }
  if (left.length > 0) printNote(`records of tables only: ${left.join(' and ')} of ${db} left out, see --help`)
}

const chooseTables = async (
  source: ExportSource,
  db: string,
  only: string | undefined,
  kind: Target['kind'],
): Promise<SourceTable[]> => {
  const tables = (await source.tables(db)).filter(({ name }) => only === undefined || name === only)
  if (tables.length > 0) return tables
  // An empty file would hide a typing error in the name.
  const missing = `there is no table ${only === undefined ? '' : `${only} `}in database ${db}`
  const listing = only === undefined ? 'cubby db list' : `cubby table list --db ${db}`
  throw new OperatorError(kind === 'server' ? `${missing}; see ${listing}` : missing)
}

const exportTables = async (db: string, tables: SourceTable[], openOutput: () => LineWriter) => {
  const out = openOutput()
  const progress = new Progress()
  const total = tables.reduce<number | undefined>(
    (sum, { count }) => (sum === undefined || count === undefined ? undefined : sum + count),
    0,
  )
  let records = 0
  try {
    for (const table of tables) {
      await out.write(tableLine(db, table.name, table.indices, table.changes))
      const toLine = recordLines(db, table.name)
      for await (const chunk of table.records()) {
        await out.write(chunk.map(toLine).join(''))
        records += chunk.length
        progress.show(records, () => (total ? records / total : undefined))
      }
    }
    await out.end()
  } catch (error) {
    out.abandon()
    throw error
  } finally {
    progress.clear()
  }
  return { records, elapsedMs: progress.elapsedMs }
}
