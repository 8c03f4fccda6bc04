import { isBlobId, isStoreBlobId, neverDueMs } from '../../../core/files/blob-id.ts'
import { faultOfRecord } from '../../../core/records/record-faults.ts'
import { findSecretFaults } from '../../../core/store-secrets.ts'
import type { EntriesRule } from '../../../core/tables/entries-of.ts'
import type { Indices } from '../../../core/tables/indices.ts'
import { storedFollowers } from '../../../core/tasks/following.ts'
import type { CheckNotes } from '../../../store/maintenance.ts'
import { bytesOfHex, fromHex } from '../connection/bytes.ts'
import type { Read } from '../connection/database.ts'
import { bind, type Row, type Session, type Statement, type Value } from '../connection/driver.ts'
import { toCallersError } from '../connection/failure.ts'
import { isFile } from '../files/statements.ts'
import { idStride, indexColumns } from '../records/statements.ts'
import { secretColumns, toSecrets } from '../registry/rows.ts'
import { toFollowing } from '../tasks/followers.ts'
import { checkRunsOf, checkStrayRuns, lastDrawnId } from './check-runs.ts'

const blobsPerStep = 500

// Each statement sees one state of the store. It reads the state of a blob together with the records that refer to it, so a
// file that is written meanwhile is no finding.

/** Reads the blobs of a bucket after $2, and how many records refer to each. It stops counting at two. */
export const nextBlobs: Statement = {
  name: 'check_blobs',
  text: `select b.id, b.state, b.due_at_ms, (select count(*) from (select 1 from cubby_record_8 r
      where r.table_id = $1::bigint and r.i3_hash = convert_to('f' || b.id, 'UTF8') limit 2) as x), b.bytes is not null
    from cubby_blob_8 b where b.table_id = $1::bigint and b.id > $2 order by b.id limit $3::bigint`,
}

/** Finds live blobs whose table is no bucket. */
const strayBlobs: Statement = {
  name: 'check_stray_blobs',
  text: `select b.table_id, b.id from cubby_blob_8 b
    where (b.table_id, b.id) > ($1::bigint, $2) and b.state = 'live'
      and not exists (select 1 from cubby_table_8 t where t.id = b.table_id and t.kind = 'bucket')
    order by b.table_id, b.id limit $3::bigint`,
}

/** A file that refers to a blob which is not live is reported with that file. */
const isSound = (id: string, state: string, due: string | null, files: string): boolean => {
  if (!isBlobId(id) && !isStoreBlobId(id)) return false
  if (state === 'live') return (due === null || Number(due) === neverDueMs) && files === '1'
  return ['pending', 'dead', 'removing'].includes(state) && due !== null
}

async function* checkBlobs(read: Read, tableId: number): AsyncIterable<string> {
  for (let last = ''; ; ) {
    const [found] = await read(bind(nextBlobs, tableId, last, blobsPerStep))
    for (const [id, state, due, files, hasBytes] of found!.rows) {
      if (state === 'live' && isStoreBlobId(id!) !== (hasBytes === 't')) {
        yield `blob ${id} (bucket ${tableId}): its bytes are ${hasBytes === 't' ? '' : 'not '}in the store`
      }
      if (isSound(id!, state!, due!, files!)) continue
      yield `blob ${id} (bucket ${tableId}) is ${state}: ${files} files refer to it, due at ${due}`
    }
    if (found!.rows.length < blobsPerStep) return
    last = found!.rows.at(-1)![0]!
  }
}

async function* checkStrayBlobs(read: Read): AsyncIterable<[tableId: number, finding: string]> {
  let position: [number, string] = [Number.MIN_SAFE_INTEGER, '']
  for (;;) {
    const [found] = await read(bind(strayBlobs, ...position, blobsPerStep))
    for (const [tableId, id] of found!.rows) {
      yield [Number(tableId), `blob ${id} (bucket ${tableId}): its bucket does not exist`]
    }
    if (found!.rows.length < blobsPerStep) return
    const [tableId, id] = found!.rows.at(-1)!
    position = [Number(tableId), id!]
  }
}

/** A statement reads few rows, because each may be large. */
const rowsPerStep = 100
const tablesPerStep = 500

const keysWithoutOrganization: Statement = {
  name: 'check_keys',
  text: `select 'api key ' || k.id || ' belongs to no organization' from cubby_api_key_8 k
    where not exists (select 1 from cubby_organization_8 o where o.id = k.org_id)`,
}

const tablesWithoutOrganization: Statement = {
  name: 'check_tables',
  text: `select 'table ' || t.id || ' belongs to no organization' from cubby_table_8 t
    where not exists (select 1 from cubby_organization_8 o where o.id = t.org_id)`,
}

/** Finds idempotency keys whose table, bucket, task or organization does not exist. */
const strayIdempotencyKeys: Statement = {
  name: 'check_stray_idempotency_keys',
  text: `select distinct 'idempotency keys of ' || i.scope_kind || ' ' || i.scope_id || ' belong to nothing'
    from cubby_idempotency_key i where not exists (select 1 from cubby_organization_8 o where o.id = i.org_id)
      or i.scope_kind = 'table' and not exists (select 1 from cubby_table_8 t where t.id = i.scope_id)`,
}

/** Finds counters of tables that do not exist, and logs of those that never had one. A table that was followed has a counter. */
const strayLogs: Statement = {
  name: 'check_stray_logs',
  text: `select distinct 'the log of table ' || l.table_id || ' belongs to no table that keeps changes' from (
      select f.table_id, false as has_entries from cubby_feed f union all select c.table_id, true from cubby_change c
    ) as l where not exists (select 1 from cubby_table_8 t
      where t.id = l.table_id and (t.changes_since is not null or not l.has_entries))`,
}

/** The counter of a log, and its first and newest numbers and how many there are. */
const logState: Statement = {
  name: 'check_log',
  text: `select f.seq, (select min(a.seq) from cubby_change a where a.table_id = $1::bigint),
      (select max(b.seq) from cubby_change b where b.table_id = $1::bigint),
      (select count(*) from cubby_change c where c.table_id = $1::bigint)
    from cubby_feed f where f.table_id = $1::bigint`,
}

async function* checkLog(read: Read, tableId: number, keeps: boolean): AsyncIterable<string> {
  const [found] = await read(bind(logState, tableId))
  const row = found!.rows[0]
  if (row === undefined) {
    yield `the log of table ${tableId} has no counter`
    return
  }
  const [counter, first, last, count] = row
  if (last === null) {
    if (keeps) yield `the log of table ${tableId} has no entry`
    return
  }
  if (counter !== last) yield `the log of table ${tableId} counts to ${counter}, its newest entry is ${last}`
  if (Number(last) - Number(first) + 1 !== Number(count)) {
    yield `the log of table ${tableId} has gaps: ${count} entries from ${first} to ${last}`
  }
}

/** Reads the list of followers of a table beside the tasks that follow it, in one snapshot. */
export const followersOf: Statement = {
  name: 'check_followers',
  text: `select k.table_id, k.name, k.declaration, t.followers from cubby_table_8 t left join lateral (
      select x.table_id, d.name, x.declaration from cubby_task_8 x cross join lateral (
        select n.db, n.name from cubby_table_8 n where n.id = x.table_id limit 1
      ) as d where x.org_id = t.org_id and x.follows = t.name and d.db = t.db
    ) as k on true where t.id = $1::bigint`,
}

/** A write adds the runs of the tasks in the list. */
async function* checkFollowers(read: Read, tableId: number): AsyncIterable<string> {
  const [found] = await read(bind(followersOf, tableId))
  const { rows } = found!
  // It may have been purged since.
  if (rows.length === 0) return
  const followers = storedFollowers(toFollowing(rows.filter(([id]) => id !== null)))
  if (followers !== rows[0]![3]) yield `table ${tableId} does not list the tasks that follow it`
}

const userEpoch = '(select s.user_epoch from cubby_store s)'
const noOrganization = (orgId: string): string =>
  `not exists (select 1 from cubby_organization_8 o where o.id = ${orgId})`

/** Finds revoked users and issuers of organizations that do not exist, and epochs above that of the store. */
const userFaults: Statement = {
  name: 'check_users',
  text: `select 'a user of organization ' || u.org_id || ' was revoked at an epoch that the store has not reached: ' || u.epoch
      from cubby_revoked_user u where u.epoch > ${userEpoch}
    union all select 'issuer ' || i.name || ' of organization ' || i.org_id || ' was changed at an epoch that the store has not reached: '
      || i.epoch from cubby_issuer i where i.epoch > ${userEpoch}
    union all select 'revocations were swept at an epoch that the store has not reached: ' || s.swept_user_epoch
      from cubby_store s where s.swept_user_epoch > s.user_epoch
    union all select distinct 'revoked users of organization ' || u.org_id || ' belong to nothing'
      from cubby_revoked_user u where ${noOrganization('u.org_id')}
    union all select distinct 'issuers of organization ' || i.org_id || ' belong to nothing'
      from cubby_issuer i where ${noOrganization('i.org_id')}`,
}

const nextIssuers: Statement = {
  name: 'check_issuers',
  text: `select i.org_id, i.name, i.declaration from cubby_issuer i where (i.org_id, i.name) > ($1::bigint, $2)
    order by i.org_id, i.name limit ${rowsPerStep}`,
}

async function* checkIssuers(read: Read): AsyncIterable<string> {
  for (let last: Value[] = [0, '']; ; ) {
    const [found] = await read(bind(nextIssuers, ...last))
    for (const [orgId, name, declaration] of found!.rows) {
      if (!isJson(declaration!)) yield `issuer ${name} of organization ${orgId}: its declaration is not JSON`
    }
    if (found!.rows.length < rowsPerStep) return
    last = found!.rows.at(-1)!.slice(0, 2)
  }
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const readSecrets: Statement = { name: 'check_secrets', text: `select ${secretColumns} from cubby_store s` }

export const nextTables: Statement = {
  name: 'check_next_tables',
  // With `exists` all tasks would be read for each page of tables.
  text: `select t.id, t.indices, t.kind, t.keep_hours, t.changes_since, t.kind = 'table' and t.deleted_at_ms is null and (
      t.followers <> '[]'
      or (select true from cubby_task_8 k where k.org_id = t.org_id and k.follows = t.name limit 1) is true), t.followers <> '[]'
    from cubby_table_8 t where t.id > $1::bigint order by t.id limit $2::bigint`,
}

const nextRecordsWith = (kind: 'table' | 'bucket', more: string): Statement => ({
  name: `check_records${kind === 'table' ? '' : '_of_bucket'}`,
  text: `select r.id, r.hash_key, r.range_key, r.data, r.updated_at${more},
      ${indexColumns.map((column) => `r.${column}`).join(', ')}
    from cubby_record_8 r where r.table_id = $1::bigint and (r.hash_key, r.range_key) > ($2::bytea, $3::bytea)
    order by r.hash_key, r.range_key limit $4::bigint`,
})

/** The rows of a bucket include the state of each file's blob at the same moment. */
export const nextRecords: Record<'table' | 'bucket', Statement> = {
  table: nextRecordsWith('table', ', null'),
  bucket: nextRecordsWith(
    'bucket',
    `, (select b.state from cubby_blob_8 b where b.table_id = $1::bigint
        and b.id = case when ${isFile('r')} then convert_from(substr(r.i3_hash, 2), 'UTF8') end)`,
  ),
}

/** Finds the first table id between two tables of the registry that has records. */
const strayTable: Statement = {
  name: 'check_stray',
  text: `select r.table_id from cubby_record_8 r where r.table_id > $1::bigint and r.table_id < $2::bigint
    order by r.table_id limit 1`,
}

const isTable: Statement = { name: 'check_is_table', text: 'select 1 from cubby_table_8 t where t.id = $1::bigint' }

/**
 * Verifies the store: each record's index values against its data, that its id was given out, that every record, table and
 * key belongs to something that exists, that logs have no gaps, that files and live blobs refer to each other, and that runs are what their status
 * says. That index entries and rows agree is the database's own guarantee.
 */
export async function* checkStore(
  open: () => Promise<Session>,
  namesManyTables: boolean,
  { table: noteTable = () => {}, step: noteStep, rows: noteRows }: CheckNotes = {},
): AsyncIterable<string> {
  const session = await open()
  let checked = 0
  const read: Read = async (...bound) => {
    const found = await session.send(bound, Number.POSITIVE_INFINITY)
    checked += found[0]!.rows.length
    noteRows?.(checked)
    return found
  }
  noteStep?.('checking rows')
  try {
    yield* check(read, namesManyTables, noteTable)
  } catch (error) {
    throw toCallersError(error, false)
  } finally {
    await session.close()
  }
}

type NoteTable = (tableId: number) => void

async function* check(read: Read, namesManyTables: boolean, noteTable: NoteTable): AsyncIterable<string> {
  const [keys, tables, users, secrets] = await read(
    bind(keysWithoutOrganization),
    bind(tablesWithoutOrganization),
    bind(userFaults),
    bind(readSecrets),
  )
  yield* findSecretFaults(toSecrets(secrets!.rows[0]!))
  for (const row of [...keys!.rows, ...tables!.rows, ...users!.rows]) yield row[0]!
  yield* checkIssuers(read)
  let last = Number.MIN_SAFE_INTEGER
  for (;;) {
    const [found] = await read(bind(nextTables, last, tablesPerStep))
    for (const [tableId, declared, kind, keepHours, changesSince, mayBeFollowed, hasFollowers] of found!.rows) {
      const id = Number(tableId)
      if (namesManyTables) yield* checkStrays(read, last, id, noteTable)
      const rule = ruleOf(kind!, declared!)
      if (kind === 'task') {
        // It has no records: one that refers to it is a finding.
        yield* checkTable(read, id, undefined, noteTable)
        yield* noted(id, noteTable, checkRunsOf(read, id))
      } else if (rule === undefined) {
        noteTable(id)
        yield `table ${id} has a kind that is not known: ${JSON.stringify(kind)}`
      } else {
        yield* checkTable(read, id, rule, noteTable)
      }
      if (mayBeFollowed === 't') yield* noted(id, noteTable, checkFollowers(read, id))
      if (changesSince !== null || hasFollowers === 't') {
        yield* noted(id, noteTable, checkLog(read, id, keepHours !== null))
      }
      last = id
    }
    if (found!.rows.length < tablesPerStep) break
  }
  if (!namesManyTables) return
  yield* checkStrays(read, last, Number.MAX_SAFE_INTEGER, noteTable)
  const [keysOfNothing, logsOfNothing] = await read(bind(strayIdempotencyKeys), bind(strayLogs))
  for (const [finding] of [...keysOfNothing!.rows, ...logsOfNothing!.rows]) yield finding!
  for (const strays of [checkStrayBlobs(read), checkStrayRuns(read)]) {
    for await (const [tableId, finding] of strays) {
      noteTable(tableId)
      yield finding
    }
  }
}

async function* noted(tableId: number, noteTable: NoteTable, findings: AsyncIterable<string>): AsyncIterable<string> {
  for await (const finding of findings) {
    noteTable(tableId)
    yield finding
  }
}

const ruleOf = (kind: string, declared: string): EntriesRule | undefined =>
  kind === 'table' || kind === 'bucket' ? { kind, indices: JSON.parse(declared) as Indices } : undefined

/** Finds records of tables that do not exist, with table ids between the two. */
async function* checkStrays(read: Read, after: number, before: number, noteTable: NoteTable): AsyncIterable<string> {
  for (let last = after; ; ) {
    const [found] = await read(bind(strayTable, last, before))
    const row = found!.rows[0]
    if (row === undefined) return
    last = Number(row[0])
    // It may have been created after the tables were listed.
    const [table] = await read(bind(isTable, last))
    if (table!.rows.length === 0) yield* checkTable(read, last, undefined, noteTable)
  }
}

async function* checkTable(
  read: Read,
  tableId: number,
  rule: EntriesRule | undefined,
  noteTable: NoteTable,
): AsyncIterable<string> {
  const isBucket = rule?.kind === 'bucket'
  const statement = nextRecords[isBucket ? 'bucket' : 'table']
  let position: Buffer[] = [Buffer.alloc(0), Buffer.alloc(0)]
  for (;;) {
    // The last id is read after the records: the ids of records created in between have been given out by then.
    const [found, ids] = await read(bind(statement, tableId, ...position, rowsPerStep), bind(lastDrawnId))
    const { rows } = found!
    for (const row of rows) {
      const finding = checkRecord(row, rule, Number(ids!.rows[0]![0]))
      if (finding === undefined) continue
      noteTable(tableId)
      yield `${nameOf(row, rule, tableId)}: ${finding}`
    }
    if (rows.length < rowsPerStep) break
    const [, hashKey, rangeKey] = rows.at(-1)!
    position = [bytesOfHex(hashKey!), bytesOfHex(rangeKey!)]
  }
  if (isBucket) yield* noted(tableId, noteTable, checkBlobs(read, tableId))
}

/** All files have the same hash key; the range key is the name. */
const nameOf = ([id, hashKey, rangeKey]: Row, rule: EntriesRule | undefined, tableId: number): string =>
  rule?.kind === 'bucket'
    ? `file ${JSON.stringify(fromHex(rangeKey!))} (bucket ${tableId})`
    : `record ${id} (table ${tableId}, ${JSON.stringify(fromHex(hashKey!))})`

const checkRecord = (row: Row, rule: EntriesRule | undefined, lastId: number): string | undefined => {
  const [id, , rangeKey, text, updatedAt, blobState, ...stored] = row
  if (rule === undefined) return 'its table does not exist'
  if (Number(id) >= lastId + idStride) return 'its id was never given out'
  const record = { rangeKey: fromHex(rangeKey!), data: text!, updatedAtMs: Number(updatedAt) }
  const fault = faultOfRecord(rule, record, () => stored.map((entry) => (entry == null ? null : fromHex(entry))))
  if (fault !== undefined) return fault
  if (rule.kind !== 'bucket' || blobState === 'live') return undefined
  return `its blob ${fromHex(stored[4]!).slice(1)} is not live`
}
