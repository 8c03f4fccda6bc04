import type { DumpedBlob, DumpedChange, DumpedRecord, LoadedBlob, LoadRows } from '../../../store/transfer.ts'
import { addFeed, moveFeed, newestNumber, removeEntries } from '../changes/statements.ts'
import { entryStatements } from '../changes/table-logs.ts'
import { bigintArray, bytesArray, textArray } from '../connection/arrays.ts'
import { toBytes, toBytesOrNull } from '../connection/bytes.ts'
import { type Database, noOrg } from '../connection/database.ts'
import { type BoundStatement, bind, type Statement } from '../connection/driver.ts'
import { indexColumns } from '../records/statements.ts'
import { secretValues, writeSecrets } from '../registry/rows.ts'
import { epochValues, issuerValues, raiseUserEpochs, writeIssuer, writeRevocation } from '../registry/user-rows.ts'
import { runColumnCount, runParameters, runValues, storedRunColumns } from '../runs/run-rows.ts'
import { storedTaskColumns, storedTaskParameters, taskValues } from '../tasks/task-rows.ts'

const parameters = (count: number): string => Array.from({ length: count }, (_, i) => `$${i + 1}`).join(', ')

const loadOrganization: Statement = {
  name: 'load_org',
  text: `insert into cubby_organization_8 (id, name, created_at, deleted_at_ms, purging) values (${parameters(5)})
    on conflict do nothing`,
}

/** Sets the same mark as the deletion of an organization: see `moveEpochForOrganization`. */
const noteDeleted: Statement = { name: 'load_org_deleted', text: 'update cubby_store set organization_deleted = true' }

const loadKey: Statement = {
  name: 'load_key',
  text: `insert into cubby_api_key_8 (seq, id, org_id, kind, name, hash, last_four, databases, created_at, last_used_at,
    expires_at, revoked_at, link, rolled_from, rolled_to) values (${parameters(15)}) on conflict do nothing`,
}

const loadTable: Statement = {
  name: 'load_table',
  text: `insert into cubby_table_8 (id, org_id, db, name, indices, created_at, deleted_at_ms, purging, kind, public_id,
    keep_hours, changes_since, followers) values (${parameters(13)}) on conflict do nothing`,
}

const loadBlob: Statement = {
  name: 'load_blob',
  text: `insert into cubby_blob_8 (table_id, id, state) values ($1, $2, 'live') on conflict do nothing`,
}

/** Writes a blob with the bytes of a small file. */
const loadBlobWithBytes: Statement = {
  name: 'load_blob_bytes',
  text: `insert into cubby_blob_8 (table_id, id, state, bytes) values ($1, $2, 'live', $3::bytea) on conflict do nothing`,
}

/** Writes any number of blobs without bytes. */
const loadBlobs: Statement = {
  name: 'load_blobs',
  text: `insert into cubby_blob_8 (table_id, id, state)
    select v.table_id, v.id, 'live' from unnest($1::bigint[], $2::text[]) as v (table_id, id) on conflict do nothing`,
}

const loadTask: Statement = {
  name: 'load_task',
  text: `insert into cubby_task_8 (${storedTaskColumns}) values (${storedTaskParameters}) on conflict do nothing`,
}

/** The last value is the organization. */
const loadRun: Statement = {
  name: 'load_run',
  text: `insert into cubby_run_8 (${storedRunColumns}, org_id) values (${runParameters}, $${runColumnCount + 1}::bigint) on conflict do nothing`,
}

const loadIdempotencyKey: Statement = {
  name: 'load_idempotency_key',
  text: `insert into cubby_idempotency_key (scope_id, scope_kind, key_hash, request_hash, org_id, created_at, result,
    user_hash) values (${parameters(8)}) on conflict do nothing`,
}

/** $1 ids of tables. */
const organizationsOf: Statement = {
  name: 'load_organizations_of',
  text: 'select t.id, t.org_id from cubby_table_8 t where t.id = any ($1::bigint[])',
}

/** Sets the organizations of running runs. Nothing reads those of other runs. */
const findOrganizations = async (db: Database, { tables = [], runs = [] }: LoadRows): Promise<Map<number, number>> => {
  const organizations = new Map(tables.map(({ id, orgId }) => [id, orgId]))
  const running = runs.flatMap(({ status, taskId }) => (status === 'running' ? [taskId] : []))
  const missing = new Set(running.filter((taskId) => !organizations.has(taskId)))
  if (missing.size === 0) return organizations
  const [found] = await db.read(noOrg, { statement: organizationsOf, values: [bigintArray([...missing])] })
  for (const [id, orgId] of found!.rows) organizations.set(Number(id), Number(orgId))
  return organizations
}

const loadRecord: Statement = {
  name: 'load_record',
  text: `insert into cubby_record_8 (id, table_id, hash_key, range_key, data, ttl_seconds, updated_at, ${indexColumns.join(', ')})
    values (${parameters(7 + indexColumns.length)}) on conflict do nothing`,
}

const recordTypes = [
  'bigint',
  'bigint',
  'bytea',
  'bytea',
  'text',
  'bigint',
  'bigint',
  ...indexColumns.map(() => 'bytea'),
]

/** Writes any number of records. */
const loadRecords: Statement = {
  name: 'load_records',
  text: `insert into cubby_record_8 (id, table_id, hash_key, range_key, data, ttl_seconds, updated_at, ${indexColumns.join(', ')})
    select * from unnest(${recordTypes.map((type, i) => `$${i + 1}::${type}[]`).join(', ')}) on conflict do nothing`,
}

const recordsAtOnce = (records: DumpedRecord[]): BoundStatement => ({
  statement: loadRecords,
  values: [
    ...[bigintArray(records.map(({ id }) => id)), bigintArray(records.map(({ tableId }) => tableId))],
    ...[bytesArray(records.map(({ hashKey }) => hashKey)), bytesArray(records.map(({ rangeKey }) => rangeKey))],
    ...[textArray(records.map(({ data }) => data)), bigintArray(records.map(({ ttlSeconds }) => ttlSeconds))],
    bigintArray(records.map(({ updatedAtMs }) => updatedAtMs)),
    ...indexColumns.map((_, column) => bytesArray(records.map(({ entries }) => entries[column]!))),
  ],
})

const recordsOneByOne = (records: DumpedRecord[]): BoundStatement[] =>
  records.map((record) => ({
    statement: loadRecord,
    values: [
      ...[record.id, record.tableId, toBytes(record.hashKey), toBytes(record.rangeKey), record.data],
      ...[record.ttlSeconds, record.updatedAtMs, ...record.entries.map(toBytesOrNull)],
    ],
  }))

const blobStatements = (blobs: LoadedBlob[], fromArrays: boolean): BoundStatement[] => [
  ...plainBlobStatements(
    blobs.filter(({ bytes }) => bytes === undefined),
    fromArrays,
  ),
  ...blobs.flatMap(({ id, tableId, bytes }) =>
    bytes === undefined ? [] : [{ statement: loadBlobWithBytes, values: [tableId, id, Buffer.from(bytes, 'base64')] }],
  ),
]

const plainBlobStatements = (blobs: DumpedBlob[], fromArrays: boolean): BoundStatement[] => {
  if (!fromArrays) return blobs.map(({ id, tableId }) => ({ statement: loadBlob, values: [tableId, id] }))
  if (blobs.length === 0) return []
  const values = [bigintArray(blobs.map(({ tableId }) => tableId)), textArray(blobs.map(({ id }) => id))]
  return [{ statement: loadBlobs, values }]
}

/** Raises a sequence. It never goes back. */
const raiseSequence = (sequence: string): Statement => ({
  name: `raise_${sequence}`,
  text: `select setval('${sequence}', greatest($1::bigint, (select last_value from ${sequence})))`,
})

const raiseOrganizations = raiseSequence('cubby_organization_8_id_seq')
const raiseKeys = raiseSequence('cubby_api_key_8_seq_seq')
const raiseTables = raiseSequence('cubby_table_8_id_seq')
const raiseRecords = raiseSequence('cubby_record_id')

const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))

const raise = (statement: Statement, ids: number[]): BoundStatement[] =>
  ids.length === 0 ? [] : [{ statement, values: [ids.reduce((most, id) => Math.max(most, id))] }]

/**
 * Adds the entries of logs that are not there. If numbers are missing before them, an interrupted copy was of an older state, and
 * what it has is removed.
 */
const logStatements = async (db: Database, changes: DumpedChange[], fromArrays: boolean): Promise<BoundStatement[]> => {
  const logs = [...Map.groupBy(changes, ({ tableId }) => tableId)]
  if (logs.length === 0) return []
  const feeds = await db.read(noOrg, ...logs.map(([tableId]) => bind(newestNumber, tableId)))
  return logs.flatMap(([tableId, copied], i) => {
    const newest = Number(feeds[i]!.rows[0]?.[1] ?? 0)
    const added = copied.filter(({ seq }) => seq > newest)
    const last = added.at(-1)
    if (last === undefined) return []
    const firstKept = added.findLastIndex(({ seq }, at) => seq > (added[at - 1]?.seq ?? newest) + 1)
    return [
      bind(addFeed, tableId),
      ...(firstKept < 0 ? [] : [bind(removeEntries, tableId, last.seq)]),
      ...entryStatements(tableId, firstKept < 0 ? added : added.slice(firstKept), fromArrays),
      bind(moveFeed, tableId, last.seq),
    ]
  })
}

/** Adds the rows of a copy with their ids, in one transaction. */
export const loadRows = async (db: Database, rows: LoadRows, fromArrays: boolean): Promise<void> => {
  const {
    secrets,
    organizations = [],
    apiKeys = [],
    tables = [],
    records = [],
    blobs = [],
    tasks = [],
    runs = [],
    idempotencyKeys = [],
    userEpochs,
    revocations = [],
    issuers = [],
  } = rows
  const organizationOf = await findOrganizations(db, rows)
  const logs = await logStatements(db, rows.changes ?? [], fromArrays)
  const bound: BoundStatement[] = [
    ...(secrets === undefined ? [] : [{ statement: writeSecrets, values: secretValues(secrets) }]),
    ...organizations.map(({ id, name, createdAtMs, deletedAtMs, purging }) => ({
      statement: loadOrganization,
      values: [id, name, createdAtMs, deletedAtMs, purging ? 't' : 'f'],
    })),
    ...(organizations.some(({ deletedAtMs }) => deletedAtMs !== null) ? [{ statement: noteDeleted, values: [] }] : []),
    ...apiKeys.map((key) => ({
      statement: loadKey,
      values: [
        ...[key.seq, key.id, key.orgId, key.kind, json(key.name), key.hash, key.lastFour, json(key.databases)],
        ...[key.createdAtMs, key.lastUsedAtMs, key.expiresAtMs, key.revokedAtMs, key.link],
        ...[key.rolledFrom, key.rolledTo],
      ],
    })),
    ...(userEpochs === undefined ? [] : [bind(raiseUserEpochs, ...epochValues(userEpochs))]),
    ...revocations.map((one) => bind(writeRevocation, one.orgId, one.userHash, one.epoch, one.revokedAtMs)),
    ...issuers.map((issuer) => bind(writeIssuer, ...issuerValues(issuer))),
    ...tables.map((table) => ({
      statement: loadTable,
      values: [
        ...[table.id, table.orgId, table.db, table.name, JSON.stringify(table.indices)],
        ...[table.createdAtMs, table.deletedAtMs, table.purging ? 't' : 'f', table.kind, table.publicId],
        ...[table.changes?.keepHours ?? null, table.changes?.sinceMs ?? null, JSON.stringify(table.followers)],
      ],
    })),
    ...tables.flatMap(({ id, changes, followers }) =>
      changes === null && followers.length === 0 ? [] : [bind(addFeed, id)],
    ),
    ...logs,
    ...(fromArrays && records.length > 0 ? [recordsAtOnce(records)] : recordsOneByOne(records)),
    ...blobStatements(blobs, fromArrays),
    ...tasks.map((task) => ({ statement: loadTask, values: taskValues(task) })),
    ...runs.map((run) => ({
      statement: loadRun,
      values: [...runValues(run), run.status === 'running' ? (organizationOf.get(run.taskId) ?? 0) : 0],
    })),
    ...idempotencyKeys.map((key) => ({
      statement: loadIdempotencyKey,
      values: [
        ...[key.scopeId, key.scopeKind, Buffer.from(key.keyHash, 'hex'), Buffer.from(key.requestHash, 'hex')],
        ...[key.orgId, key.createdAtMs, key.result, key.userHash],
      ],
    })),
    ...raise(
      raiseOrganizations,
      organizations.map(({ id }) => id),
    ),
    ...raise(
      raiseKeys,
      apiKeys.map(({ seq }) => seq),
    ),
    ...raise(
      raiseTables,
      tables.map(({ id }) => id),
    ),
    // Runs are numbered from the same sequence.
    ...raise(raiseRecords, [...records.map(({ id }) => id), ...runs.map(({ seq }) => seq)]),
  ]
  if (bound.length > 0) await db.write(noOrg, ...bound)
}
