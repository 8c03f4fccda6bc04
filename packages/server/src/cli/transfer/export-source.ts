import { CubbyError } from '../../core/errors.ts'
import { pageRowsMax } from '../../core/limits.ts'
import { isName } from '../../core/names.ts'
import { OperatorError } from '../../core/operator-error.ts'
import { isExpired } from '../../core/records/expiry.ts'
import { noRangeKey } from '../../core/records/record-key.ts'
import type { Indices } from '../../core/tables/indices.ts'
import { openEngine, type StoreLocation } from '../../engines/open-engine.ts'
import { openClock } from '../../process/clock.ts'
import type { TableChanges, TableKind } from '../../store/tables.ts'
import type { Dump, DumpedTable } from '../../store/transfer.ts'
import { requireOrganization } from '../target/organization.ts'
import type { Remote } from '../target/remote.ts'
import type { LineChanges, RecordTexts } from './ndjson.ts'
import { memberTexts, queryPages } from './pages.ts'

export interface SourceTable {
  name: string
  indices: Indices
  changes: LineChanges | undefined
  /** undefined if counting would cost as much as reading. */
  count: number | undefined
  records(): AsyncIterable<RecordTexts[]>
}

type LeftOut = Exclude<TableKind, 'table'>

export interface ExportSource {
  /** The active tables of a database, by name. */
  tables(db: string): Promise<SourceTable[]>
  /** Returns the number of active buckets or tasks of the database, which an export does not cover. */
  count(kind: LeftOut, db: string): Promise<number>
  close(): Promise<void>
}

/** One snapshot of the store. Writes during the export do not change it. Records are in creation order. */
export const openStoreSource = async (location: StoreLocation, org: string): Promise<ExportSource> => {
  const engine = await openEngine(location, { role: 'guest', mustExist: true })
  let dump: Dump | undefined
  const close = async (): Promise<void> => {
    await dump?.close()
    await engine.close()
  }
  try {
    const { id: orgId } = await requireOrganization(engine, org)
    const snapshot = await engine.transfer.openDump()
    dump = snapshot
    const nowMs = openClock(process.env).now()
    return {
      async tables(db) {
        const found = await active(snapshot, 'table', orgId, db)
        found.sort((a, b) => (a.name < b.name ? -1 : 1))
        const counts: number[] = []
        for (const { id } of found) counts.push(await snapshot.countRecords(id))
        return found.map(({ id, name, indices, changes }, i) => ({
          name,
          indices,
          changes: keptChanges(changes),
          count: counts[i],
          records: () => liveRecords(snapshot, id, nowMs),
        }))
      },
      count: async (kind, db) => (await active(snapshot, kind, orgId, db)).length,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

const active = async (dump: Dump, kind: TableKind, orgId: number, db: string): Promise<DumpedTable[]> => {
  const found: DumpedTable[] = []
  for await (const table of dump.tables()) {
    if (table.kind === kind && table.orgId === orgId && table.db === db && table.deletedAtMs === null) found.push(table)
  }
  return found
}

export async function* liveRecords(dump: Dump, tableId: number, nowMs: number): AsyncIterable<RecordTexts[]> {
  for await (const records of dump.records(tableId, 0)) {
    yield records
      .filter(({ ttlSeconds }) => !isExpired(ttlSeconds, nowMs))
      .map(({ hashKey, rangeKey, data, ttlSeconds, updatedAtMs }) => ({
        hashKey: JSON.stringify(hashKey),
        rangeKey: rangeKey === noRangeKey ? undefined : JSON.stringify(rangeKey),
        data,
        ttl: ttlSeconds ?? undefined,
        updatedAt: updatedAtMs,
      }))
  }
}

export const openServerSource = (remote: Remote): ExportSource => ({
  tables: (db) => listTables(remote, db),
  // A server of an older version knows no buckets or no tasks, and rejects the name. A public key cannot list tasks.
  count: (kind, db) =>
    countListed(remote, kind, db).catch((error) => {
      if (error instanceof CubbyError) return 0
      throw error
    }),
  async close() {},
})

const countListed = async (remote: Remote, kind: LeftOut, db: string): Promise<number> => {
  let count = 0
  for (let after = ''; ; ) {
    const path = `/v1/${db}/_${kind}s?limit=${pageRowsMax}${after}`
    const page = JSON.parse(await remote.request({ method: 'GET', path, repeatable: true }))
    count += page[`${kind}s`].length
    if (page.cursor === null) return count
    after = `&cursor=${encodeURIComponent(page.cursor)}`
  }
}

interface ListedTable {
  table: string
  indices: Indices
  changes?: LineChanges & { since: number }
}

/** Nothing of the log is exported, so its beginning does not matter. */
export const keptChanges = (changes: TableChanges | null): LineChanges | undefined =>
  changes === null || changes.keepHours === null ? undefined : { keepHours: changes.keepHours }

const listTables = async (remote: Remote, db: string): Promise<SourceTable[]> => {
  const tables: SourceTable[] = []
  for (let cursor = ''; ; ) {
    const after = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const path = `/v1/${db}?limit=${pageRowsMax}${after}`
    const page = JSON.parse(await remote.request({ method: 'GET', path, repeatable: true }))
    for (const { table, indices, changes } of page.tables as ListedTable[]) {
      // Paths of requests are made of it.
      if (!isName(table)) throw new OperatorError(`the server names a table ${JSON.stringify(table)}, which is no name`)
      tables.push({
        name: table,
        indices,
        changes: changes && { keepHours: changes.keepHours },
        count: undefined,
        records: () => queriedRecords(remote, db, table),
      })
    }
    if (page.cursor === null) return tables
    cursor = page.cursor
  }
}

/**
 * Reads by `t`, oldest first: a record that is written meanwhile moves ahead of the reader and is read again, newer. In the
 * other order it would be missed.
 */
async function* queriedRecords(remote: Remote, db: string, table: string): AsyncIterable<RecordTexts[]> {
  const query = { index: '"t"', ascending: 'true', limit: String(pageRowsMax) }
  for await (const page of queryPages(remote, db, table, query)) {
    yield page.items.map((item) => {
      const texts = memberTexts(item)
      return {
        hashKey: texts.get('hashKey')!,
        rangeKey: texts.get('rangeKey'),
        data: texts.get('data')!,
        ttl: texts.get('ttl'),
        updatedAt: texts.get('updatedAt')!,
      }
    })
  }
}
