import type { StoreSecret } from '../../../core/store-secrets.ts'
import type { Run } from '../../../core/tasks/run.ts'
import type {
  Dump,
  DumpedApiKey,
  DumpedBlob,
  DumpedChange,
  DumpedIdempotencyKey,
  DumpedIssuer,
  DumpedOrganization,
  DumpedRecord,
  DumpedRevocation,
  DumpedTable,
  DumpedTask,
  UserEpochs,
} from '../../../store/transfer.ts'
import { toEntry } from '../changes/changes.ts'
import { entryColumns } from '../changes/statements.ts'
import { bytesOfHex, fromHex } from '../connection/bytes.ts'
import type { Row, Session, Statement, StatementResult, Value } from '../connection/driver.ts'
import { toCallersError } from '../connection/failure.ts'
import { readBytes } from '../files/statements.ts'
import { indexColumns } from '../records/statements.ts'
import {
  keyColumns,
  organizationColumns,
  secretColumns,
  tableColumns,
  toApiKey,
  toOrganization,
  toSecrets,
  toTable,
} from '../registry/rows.ts'
import {
  epochColumns,
  issuerColumns,
  revocationColumns,
  toIssuer,
  toRevocation,
  toUserEpochs,
} from '../registry/user-rows.ts'
import { toRun } from '../runs/run-rows.ts'
import { getRun } from '../runs/statements.ts'
import { taskColumns, toTask } from '../tasks/task-rows.ts'

const chunkBytes = 1024 * 1024
const chunkRows = 500

const secrets: Statement = { name: 'dump_secrets', text: `select ${secretColumns} from cubby_store s` }

const organizations: Statement = {
  name: 'dump_orgs',
  text: `select ${organizationColumns}, o.purging from cubby_organization_8 o order by o.id`,
}

const keys: Statement = {
  name: 'dump_keys',
  text: `select ${keyColumns}, k.hash from cubby_api_key_8 k where k.seq > $1::bigint order by k.seq limit ${chunkRows}`,
}

const tables: Statement = {
  name: 'dump_tables',
  text: `select ${tableColumns}, t.purging from cubby_table_8 t where t.id > $1::bigint order by t.id limit ${chunkRows}`,
}

const record: Statement = {
  name: 'dump_record',
  text: `select r.id, r.hash_key, r.range_key, r.data, r.ttl_seconds, r.updated_at, ${indexColumns.map((column) => `r.${column}`).join(', ')}
    from cubby_record_8 r where r.table_id = $1::bigint and r.hash_key = $2::bytea and r.range_key = $3::bytea`,
}

const count: Statement = {
  name: 'dump_count',
  text: 'select count(*) from cubby_record_8 r where r.table_id = $1::bigint',
}

const blobs: Statement = {
  name: 'dump_blobs',
  text: `select b.id, b.table_id from cubby_blob_8 b where b.id > $1 and b.state = 'live' order by b.id limit ${chunkRows}`,
}

const tasks: Statement = {
  name: 'dump_tasks',
  text: `select ${taskColumns} from cubby_task_8 k where k.table_id > $1::bigint order by k.table_id limit ${chunkRows}`,
}

const idempotencyKeys: Statement = {
  name: 'dump_idempotency_keys',
  text: `select i.scope_id, i.scope_kind, encode(i.key_hash, 'hex'), encode(i.request_hash, 'hex'), i.org_id, i.created_at, i.result,
      i.user_hash
    from cubby_idempotency_key i
    where (i.org_id, i.created_at, i.scope_id, i.scope_kind, i.key_hash) > ($1::bigint, $2::bigint, $3::bigint, $4, $5::bytea)
    order by i.org_id, i.created_at, i.scope_id, i.scope_kind, i.key_hash limit ${chunkRows}`,
}

const changes: Statement = {
  name: 'dump_changes',
  text: `select ${entryColumns.map((column) => `c.${column}`).join(', ')}, c.table_id from cubby_change c
    where (c.table_id, c.seq) > ($1::bigint, $2::bigint) order by c.table_id, c.seq limit ${chunkRows}`,
}

const epochs: Statement = { name: 'dump_user_epochs', text: `select ${epochColumns} from cubby_store s` }

const revocations: Statement = {
  name: 'dump_revocations',
  text: `select ${revocationColumns} from cubby_revoked_user u where (u.org_id, u.user_hash) > ($1::bigint, $2)
    order by u.org_id, u.user_hash limit ${chunkRows}`,
}

const issuers: Statement = {
  name: 'dump_issuers',
  text: `select ${issuerColumns} from cubby_issuer i where (i.org_id, i.name) > ($1::bigint, $2)
    order by i.org_id, i.name limit ${chunkRows}`,
}

const fileMark: Statement = { name: 'dump_file_mark', text: 'select s.file_mark from cubby_store s' }

type Send = (...bound: { statement: Statement; values: Value[] }[]) => Promise<StatementResult[]>

/** Reads a store through its own connection and transaction, which have one snapshot from the first row to the last. */
export const openDump = async (session: Session): Promise<Dump> => {
  const send: Send = async (...bound) => {
    try {
      return await session.send(bound, Number.POSITIVE_INFINITY)
    } catch (error) {
      throw toCallersError(error, false)
    }
  }
  const rows = async (statement: Statement, ...values: Value[]): Promise<Row[]> =>
    (await send({ statement, values }))[0]!.rows

  await session.run('begin isolation level repeatable read read only')
  // The snapshot is taken by the first read, not by BEGIN.
  await session.run('select 1 from cubby_store')
  return {
    secrets: async (): Promise<StoreSecret[]> => toSecrets((await rows(secrets))[0]!),

    organizations: async (): Promise<DumpedOrganization[]> =>
      (await rows(organizations)).map((row) => ({ ...toOrganization(row), purging: row.at(-1) === 't' })),

    async *apiKeys(): AsyncIterable<DumpedApiKey> {
      for (let last = 0; ; ) {
        const page = await rows(keys, last)
        for (const row of page) yield { ...toApiKey(row, 0), hash: row.at(-1)! }
        if (page.length === 0) return
        last = Number(page.at(-1)![0])
      }
    },

    async *tables(): AsyncIterable<DumpedTable> {
      for (let last = 0; ; ) {
        const page = await rows(tables, last)
        for (const row of page) yield { ...toTable(row, 0), purging: row.at(-1) === 't' }
        if (page.length === 0) return
        last = Number(page.at(-1)![0])
      }
    },

    records: (tableId: number, afterId: number) => dumpRecords(session, send, tableId, afterId),

    countRecords: async (tableId: number): Promise<number> => Number((await rows(count, tableId))[0]![0]),

    async *blobs(): AsyncIterable<DumpedBlob> {
      for (let last = ''; ; ) {
        const page = await rows(blobs, last)
        for (const [id, tableId] of page) yield { id: id!, tableId: Number(tableId) }
        if (page.length === 0) return
        last = page.at(-1)![0]!
      }
    },

    blobBytes: async ({ id, tableId }: DumpedBlob): Promise<Uint8Array | undefined> => {
      const bytes = (await rows(readBytes, tableId, id))[0]?.[0]
      return bytes == null ? undefined : bytesOfHex(bytes)
    },

    async *tasks(): AsyncIterable<DumpedTask> {
      for (let last = 0; ; ) {
        const page = await rows(tasks, last)
        for (const row of page) yield toTask(row)
        if (page.length === 0) return
        last = Number(page.at(-1)![0])
      }
    },

    runs: (afterSeq: number) => dumpRuns(session, send, `dump_runs_${afterSeq}`, `seq > ${afterSeq} order by seq`),

    runsOf: (taskId: number) => dumpRuns(session, send, `dump_runs_of_${taskId}`, `task_id = ${taskId} order by id`),

    countRuns: async (): Promise<number> => Number((await session.run('select count(*) from cubby_run_8'))[0]![0]),

    async *idempotencyKeys(): AsyncIterable<DumpedIdempotencyKey> {
      for (let last: Value[] = [0, 0, 0, '', Buffer.alloc(0)]; ; ) {
        const page = await rows(idempotencyKeys, ...last)
        for (const row of page) yield toIdempotencyKey(row)
        if (page.length === 0) return
        const [scopeId, scopeKind, keyHash, , orgId, createdAt] = page.at(-1)!
        last = [orgId!, createdAt!, scopeId!, scopeKind!, Buffer.from(keyHash!, 'hex')]
      }
    },

    userEpochs: async (): Promise<UserEpochs> => toUserEpochs((await rows(epochs))[0]!),

    async *revocations(): AsyncIterable<DumpedRevocation> {
      for (let last: Value[] = [0, '']; ; ) {
        const page = await rows(revocations, ...last)
        for (const row of page) yield toRevocation(row)
        if (page.length === 0) return
        last = page.at(-1)!.slice(0, 2)
      }
    },

    async *issuers(): AsyncIterable<DumpedIssuer> {
      for (let last: Value[] = [0, '']; ; ) {
        const page = await rows(issuers, ...last)
        for (const row of page) yield toIssuer(row)
        if (page.length === 0) return
        last = page.at(-1)!.slice(0, 2)
      }
    },

    async *changes(): AsyncIterable<DumpedChange[]> {
      for (let last: Value[] = [0, 0]; ; ) {
        const page = await rows(changes, ...last)
        if (page.length === 0) return
        yield page.map((row) => ({ tableId: Number(row.at(-1)), ...toEntry(row) }))
        last = [page.at(-1)!.at(-1)!, page.at(-1)![0]!]
      }
    },

    fileMark: async (): Promise<string | undefined> => (await rows(fileMark))[0]![0] ?? undefined,

    close: () => session.close(),
  }
}

/**
 * The database sorts keys and sizes by creation, in its own temporary storage. The records, or runs, are then read by their
 * keys, as many at a time as their sizes allow.
 */
const dumpRecords = (session: Session, send: Send, tableId: number, afterId: number): AsyncIterable<DumpedRecord[]> =>
  readSorted(
    session,
    `dump_${tableId}_${afterId}`,
    `select hash_key, range_key, octet_length(data) from cubby_record_8
     where table_id = ${tableId} and id > ${afterId} order by id`,
    async (wanted) => {
      const bound = wanted.map(([hash, range]) => ({
        statement: record,
        values: [tableId, bytesOfHex(hash!), bytesOfHex(range!)],
      }))
      // Citus has no snapshot over several statements: a record that was removed since the keys were read is missing.
      return (await send(...bound)).flatMap(({ rows }) => rows.map((row) => toDumped(tableId, row)))
    },
  )

const dumpRuns = (session: Session, send: Send, cursor: string, which: string): AsyncIterable<Run[]> =>
  readSorted(
    session,
    cursor,
    `select task_id, id, octet_length(payload) + coalesce(octet_length(result), 0) from cubby_run_8
     where ${which}`,
    async (wanted) => {
      const bound = wanted.map(([taskId, id]) => ({ statement: getRun, values: [taskId!, id!] }))
      return (await send(...bound)).flatMap(({ rows }) => rows.map(toRun))
    },
  )

/** `places` reads two columns that name a row, and its size. `read` returns the rows that some of them name. */
async function* readSorted<T>(
  session: Session,
  cursor: string,
  parameters: string,
  read: (wanted: Row[]) => Promise<T[]>,
): AsyncIterable<T[]> {
  await session.run(`declare ${cursor} no scroll cursor for ${parameters}`)
  for (;;) {
    const fetched = await session.run(`fetch ${chunkRows} from ${cursor}`)
    let wanted: Row[] = []
    let bytes = 0
    for (const position of fetched) {
      wanted.push(position)
      bytes += Number(position[2])
      if (bytes < chunkBytes) continue
      yield await read(wanted)
      wanted = []
      bytes = 0
    }
    if (wanted.length > 0) yield await read(wanted)
    if (fetched.length < chunkRows) break
  }
  await session.run(`close ${cursor}`)
}

const toIdempotencyKey = (row: Row): DumpedIdempotencyKey => ({
  scopeId: Number(row[0]),
  scopeKind: row[1]!,
  keyHash: row[2]!,
  requestHash: row[3]!,
  orgId: Number(row[4]),
  createdAtMs: Number(row[5]),
  result: row[6]!,
  userHash: row[7] ?? null,
})

const toDumped = (tableId: number, row: Row): DumpedRecord => {
  const [id, hashKey, rangeKey, data, ttl, updatedAt, ...entries] = row
  return {
    id: Number(id),
    tableId,
    hashKey: fromHex(hashKey!),
    rangeKey: fromHex(rangeKey!),
    data: data!,
    ttlSeconds: ttl == null ? null : Number(ttl),
    updatedAtMs: Number(updatedAt),
    entries: entries.map((entry) => (entry === null ? null : fromHex(entry))),
  }
}
