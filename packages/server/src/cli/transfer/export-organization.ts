import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { readFileContent } from '../../core/files/file-record.ts'
import { OperatorError } from '../../core/operator-error.ts'
import { isExpired } from '../../core/records/expiry.ts'
import { isKept } from '../../core/tasks/run.ts'
import { presentApiKey } from '../../operations/api-keys/present-api-key.ts'
import { fileOf } from '../../operations/files/file-access.ts'
import { presentFile } from '../../operations/files/present-file.ts'
import { presentOrganization } from '../../operations/organizations/present-organization.ts'
import { runJson } from '../../operations/runs/present-run.ts'
import { taskJson } from '../../operations/tasks/present-task.ts'
import { tableFault } from '../../operations/transfer/check-names.ts'
import type { TableKind } from '../../store/tables.ts'
import type { Dump, DumpedIssuer, DumpedOrganization, DumpedTable, DumpedTask } from '../../store/transfer.ts'
import { keptChanges, liveRecords } from './export-source.ts'
import type { WriteFileBytes } from './file-bytes.ts'
import { minifyJson, recordLines, tableLine } from './ndjson.ts'
import { type LineWriter, writeToFile } from './write-lines.ts'

// Everything of one organization as a tree of files:
//   organization.json, keys.ndjson
//   issuers.ndjson                         those of logins. Revocations are left out: no token is valid for what is imported
//   DB/records.ndjson                      as cubby export writes it: cubby import reads it
//   DB/_buckets/BUCKET/files.ndjson        the records of files; bytes/ab/abcd… has the bytes, by their SHA-256
//   DB/_tasks/TASK/task.json, runs.ndjson
// No name can be in the way of another: names of databases and tables do not begin with an underscore and have no dot.

interface OrganizationExport {
  dump: Dump
  organization: DumpedOrganization
  /** It exists and is empty. */
  dir: string
  nowMs: number
  /** Undefined: the bytes of files are left out. */
  writeBytes: WriteFileBytes | undefined
  /** Counts records, files and runs. */
  onProgress(rows: number): void
}

export interface ExportedRows {
  databases: number
  tables: number
  records: number
  buckets: number
  files: number
  fileBytes: number
  tasks: number
  runs: number
  keys: number
}

export const exportOrganization = async (source: OrganizationExport): Promise<ExportedRows> => {
  const { dump, organization, dir, nowMs } = source
  const none = { databases: 0, tables: 0, records: 0, buckets: 0, files: 0, fileBytes: 0, tasks: 0, runs: 0, keys: 0 }
  const rows = new Counting(none, source.onProgress)
  await withLines(join(dir, 'organization.json'), async (out) => {
    await out.write(`${JSON.stringify({ ...presentOrganization(organization), exportedAt: nowMs })}\n`)
  })
  await withLines(join(dir, 'keys.ndjson'), async (out) => {
    for await (const key of dump.apiKeys()) {
      if (key.orgId !== organization.id) continue
      await out.write(`${JSON.stringify(presentApiKey(key, nowMs))}\n`)
      rows.total.keys++
    }
  })
  await exportIssuers(source)
  const all = await activeTables(dump, organization.id)
  for (const [db, tables] of Map.groupBy(all, (table) => table.db)) {
    const here = makeDirectory(dir, db)
    rows.total.databases++
    await exportTables(source, here, ofKind(tables, 'table'), rows)
    for (const bucket of ofKind(tables, 'bucket')) await exportBucket(source, here, bucket, rows)
  }
  await exportTasks(source, ofKind(all, 'task'), rows)
  return rows.total
}

class Counting {
  readonly total: ExportedRows
  readonly #onProgress: (rows: number) => void

  constructor(total: ExportedRows, onProgress: (rows: number) => void) {
    this.total = total
    this.#onProgress = onProgress
  }

  add(kind: 'records' | 'files' | 'runs', count: number): void {
    this.total[kind] += count
    this.#onProgress(this.total.records + this.total.files + this.total.runs)
  }
}

const makeDirectory = (...parts: string[]): string => {
  const dir = join(...parts)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  return dir
}

/** A file that is written whole, or not at all. */
const withLines = async (file: string, write: (out: LineWriter) => Promise<void>): Promise<void> => {
  const out = writeToFile(file, { replaces: false })
  try {
    await write(out)
    await out.end()
  } catch (error) {
    out.abandon()
    throw error
  }
}

/** The active ones are sorted by database and name. Paths are made of both, so each must be a name. */
const activeTables = async (dump: Dump, orgId: number): Promise<DumpedTable[]> => {
  const found: DumpedTable[] = []
  for await (const table of dump.tables()) {
    if (table.orgId !== orgId || table.deletedAtMs !== null) continue
    const fault = tableFault(table)
    if (fault !== undefined) throw new OperatorError(`${fault}; see cubby verify`)
    found.push(table)
  }
  const nameOf = ({ db, name }: DumpedTable): string => `${db}/${name}`
  return found.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
}

const ofKind = (tables: DumpedTable[], kind: TableKind): DumpedTable[] => tables.filter((table) => table.kind === kind)

/** An organization without issuers has no file of them. */
const exportIssuers = async ({ dump, organization, dir }: OrganizationExport): Promise<void> => {
  const issuers: DumpedIssuer[] = []
  for await (const issuer of dump.issuers()) if (issuer.orgId === organization.id) issuers.push(issuer)
  if (issuers.length === 0) return
  await withLines(join(dir, 'issuers.ndjson'), (out) =>
    out.write(issuers.map((one) => `${issuerJson(one)}\n`).join('')),
  )
}

const issuerJson = ({ name, declaration, createdAtMs, updatedAtMs }: DumpedIssuer): string => {
  const at = { createdAt: createdAtMs, updatedAt: updatedAtMs }
  return JSON.stringify({ name, ...JSON.parse(declaration), ...at })
}

const exportTables = async (
  { dump, nowMs }: OrganizationExport,
  dir: string,
  tables: DumpedTable[],
  rows: Counting,
): Promise<void> => {
  if (tables.length === 0) return
  await withLines(join(dir, 'records.ndjson'), async (out) => {
    for (const { id, db, name, indices, changes } of tables) {
      await out.write(tableLine(db, name, indices, keptChanges(changes)))
      const toLine = recordLines(db, name)
      for await (const records of liveRecords(dump, id, nowMs)) {
        await out.write(records.map(toLine).join(''))
        rows.add('records', records.length)
      }
    }
  })
  rows.total.tables += tables.length
}

const exportBucket = async (
  { dump, nowMs, writeBytes }: OrganizationExport,
  dir: string,
  bucket: DumpedTable,
  rows: Counting,
): Promise<void> => {
  const here = makeDirectory(dir, '_buckets', bucket.name)
  await withLines(join(here, 'files.ndjson'), async (out) => {
    for await (const records of dump.records(bucket.id, 0)) {
      for (const record of records) {
        if (isExpired(record.ttlSeconds, nowMs)) continue
        const content = readFileContent(record.data)
        await writeBytes?.(join(here, 'bytes'), { ...content, bucket, name: record.rangeKey })
        await out.write(`${minifyJson(presentFile(fileOf(bucket, record)))}\n`)
        rows.total.fileBytes += content.size
        rows.add('files', 1)
      }
    }
  })
  rows.total.buckets++
}

const exportTasks = async (
  { dump, dir, nowMs }: OrganizationExport,
  tasks: DumpedTable[],
  rows: Counting,
): Promise<void> => {
  const wanted = new Map(tasks.map((task) => [task.id, task]))
  for await (const stored of dump.tasks()) {
    const task = wanted.get(stored.tableId)
    if (task === undefined) continue
    const here = makeDirectory(dir, task.db, '_tasks', task.name)
    await withLines(join(here, 'task.json'), (out) => out.write(`${declarationJson(task, stored)}\n`))
    await withLines(join(here, 'runs.ndjson'), async (out) => {
      for await (const runs of dump.runsOf(task.id)) {
        const kept = runs.filter((run) => isKept(run, stored.declaration.keepSeconds, nowMs))
        await out.write(kept.map((run) => `${minifyJson(runJson(run, task.name))}\n`).join(''))
        rows.add('runs', kept.length)
      }
    })
    rows.total.tasks++
  }
}

/** Returns the declaration as the API shows it: without secrets, and with the authorization hidden. */
const declarationJson = (task: DumpedTable, { declaration, updatedAtMs, nextRunAtMs }: DumpedTask): string =>
  minifyJson(taskJson({ task, state: { declaration, updatedAtMs, nextRunAtMs, oldestRunAtMs: null } }))
