import { StoreDamaged } from '../../core/store-refused.ts'
import { checkNames, type NameFinding } from '../../operations/transfer/check-names.ts'
import { checkFiles, hasFilesInBlobStore } from '../../operations/transfer/copy-files.ts'
import type { Engine } from '../../store/engine.ts'
import { holdingSweep } from '../../store/hold-sweep.ts'
import type { CheckNotes } from '../../store/maintenance.ts'
import type { TableKind } from '../../store/tables.ts'
import { type Arguments, jsonFlag } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printJson, printLine, printNote } from '../print.ts'
import { blobStoreUrlAt, filesFlag, openBlobStoreOf } from '../target/blob-store.ts'
import { findTargetStore, storeFlags, storeLocation, withStore } from '../target/store.ts'
import { fileProgress, type Progress, withProgress } from '../transfer/progress.ts'
import { showCount, showForeign } from '../transfer/progress-line.ts'

/** A table, bucket or task with findings. What a damaged registry no longer has is null. */
interface DamagedTable {
  id: number
  kind: TableKind | null
  organization: string | null
  db: string | null
  table: string | null
}

const nextStep =
  'Keep a copy of the data as it is, then restore the last good backup. Until then a running server serves the undamaged data.'

export const verifyCommand: CliCommand = {
  name: 'verify',
  summary: 'check the store for damage: records, index entries, files, tasks',
  details: `Exit 0 and one line if the store is sound. Otherwise exit 1, one line per finding on standard output, and on
standard error the damaged tables and what to do. Works beside a running server. Triggers, views and changed
tables in the file of the embedded engine are findings too: they may come from somebody else. Of files it
reports those whose bytes are missing or of another size; --bytes also reads them and compares their digests.`,
  example: 'cubby verify --bytes',
  flags: {
    ...storeFlags,
    files: filesFlag,
    bytes: { type: 'boolean', help: 'read the bytes of all files and compare their digests' },
    json: jsonFlag,
  },
  async run(args) {
    try {
      return await withStore(args, { mustExist: true, requiresOwnSchema: true }, (engine) =>
        withProgress((progress) => verify(args, engine, progress)),
      )
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error
      // The store cannot even be opened.
      if (!args.flag('json')) printLine(error.message)
      return report(args, { findings: [error.message] })
    }
  },
}

const verify = async (args: Arguments, engine: Engine, progress: Progress): Promise<number> => {
  const findings: string[] = []
  const tableIds = new Set<number>()
  const foreign: string[] = []
  let unchecked = 0
  const notes: CheckNotes = {
    step: progress.step,
    rows: progress.rows,
    foreign: (one: string) => foreign.push(one),
    table: (id: number) => tableIds.add(id),
    uncheckedRows: (count: number) => {
      unchecked = count
    },
  }
  const add = (finding: string): void => {
    findings.push(finding)
    progress.clear()
    if (!args.flag('json')) printLine(finding)
  }
  for await (const finding of engine.maintenance.check(notes)) add(finding)
  await verifyContents(args, engine, progress, ({ tableId, line }) => {
    if (tableId !== undefined) tableIds.add(tableId)
    add(line)
  }).catch((error) => add(`files: ${error.message}`))
  const tables = tableIds.size === 0 ? [] : await nameTables(engine, tableIds)
  const adopted = await engine.files.countAdopted()
  progress.clear()
  return report(args, { findings, tables, foreign, unchecked, adopted })
}

/** Names, and files with their bytes. */
const verifyContents = (
  args: Arguments,
  engine: Engine,
  progress: Progress,
  onFinding: (finding: NameFinding) => void,
): Promise<void> =>
  holdingSweep(engine, async () => {
    const dump = await engine.transfer.openDump()
    try {
      for await (const finding of checkNames(dump)) onFinding(finding)
      const onBytes = await fileProgress(progress, dump, 'checking files')
      if (!(await hasFilesInBlobStore(dump))) {
        await checkFiles(dump, undefined, true, onFinding, onBytes)
        return
      }
      const value = blobStoreUrlAt(storeLocation(args), args.text('files'))
      if (value === undefined) {
        progress.say('cubby: the bytes of files were not checked: give their place with --files')
        await checkFiles(dump, undefined, true, onFinding, onBytes)
        return
      }
      const blobStore = await openBlobStoreOf(engine, value)
      await checkFiles(dump, blobStore, args.flag('bytes'), onFinding, onBytes)
      await blobStore.close()
    } finally {
      await dump.close()
    }
  })

interface Found {
  findings: string[]
  tables?: DamagedTable[]
  /** Tables and indexes in the database that Cubby did not make. */
  foreign?: string[]
  unchecked?: number
  /** Blobs whose bytes another store may have written. */
  adopted?: number
}

const report = async (args: Arguments, found: Found): Promise<number> => {
  const { findings, tables = [], foreign = [], unchecked = 0, adopted = 0 } = found
  const storeName = (await findTargetStore(args)).describe()
  const ok = findings.length === 0
  const strangers = showForeign(foreign)
  if (args.flag('json')) {
    const noted = {
      ...(unchecked === 0 ? {} : { unchecked }),
      ...(adopted === 0 ? {} : { adopted }),
      ...(foreign.length === 0 ? {} : { foreign }),
    }
    printJson({ ok, findings, ...noted, ...(ok ? {} : { summary: { tables, next: nextStep } }) })
  } else if (ok) {
    const without = unchecked === 0 ? '' : `; ${showCount(unchecked)} of version 0.1 without a checksum yet`
    const kept = adopted === 0 ? '' : `; ${showCount(adopted, 'blob')} with bytes of another store, never removed`
    printLine(`ok: ${storeName} is sound${without}${kept}${strangers}`)
  }
  if (!ok) {
    const where = `${showCount(findings.length, 'finding')} in ${storeName}`
    printNote(`cubby: ${where}; ${showTables(tables)}${strangers}`)
    printNote(`cubby: ${nextStep}`)
  }
  return ok ? 0 : 1
}

const showTables = (tables: DamagedTable[]): string => {
  if (tables.length === 0) return 'no table could be named'
  const show = ({ id, kind, organization, db, table }: DamagedTable): string => {
    if (db === null) return `table ${id}`
    return `${kind === 'table' ? '' : `${kind} `}${db}/${table} of ${organization ?? 'an unknown organization'}`
  }
  return `damaged tables: ${tables.map(show).join(', ')}`
}

const nameTables = async (engine: Engine, ids: Set<number>): Promise<DamagedTable[]> => {
  const named = new Map<number, DamagedTable>()
  for (const id of ids) named.set(id, { id, kind: null, organization: null, db: null, table: null })
  const organizations = new Map<number, string>()
  try {
    const dump = await engine.transfer.openDump()
    try {
      for (const { id, name } of await dump.organizations()) organizations.set(id, name)
      for await (const { id, kind, orgId, db, name } of dump.tables()) {
        const organization = organizations.get(orgId) ?? null
        if (ids.has(id)) named.set(id, { id, kind, organization, db, table: name })
      }
    } finally {
      await dump.close()
    }
  } catch {
    // The registry itself is damaged. The names that could be read are kept.
  }
  return [...named.values()].sort((a, b) => a.id - b.id)
}
