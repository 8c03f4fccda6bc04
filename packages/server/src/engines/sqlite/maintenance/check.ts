import { markOf } from '../../../core/changes/log-entry.ts'
import { neverDueMs } from '../../../core/files/blob-id.ts'
import { takeChecksum } from '../../../core/records/checksum.ts'
import { faultOfRecord } from '../../../core/records/record-faults.ts'
import { noRangeKey } from '../../../core/records/record-key.ts'
import type { StoredRecord } from '../../../core/records/stored-record.ts'
import { findSecretFaults } from '../../../core/store-secrets.ts'
import type { EntriesRule } from '../../../core/tables/entries-of.ts'
import { slots } from '../../../core/tables/indices.ts'
import type { CheckNotes } from '../../../store/maintenance.ts'
import { type EntryRow, entryColumns } from '../changes/changes.ts'
import type { Connection } from '../connection.ts'
import { damaged, orDamage, walkRows } from '../disk/damage.ts'
import { checkSchema } from '../migrations/check-schema.ts'
import { firstNumbers } from '../migrations/schema.ts'
import { entriesSql } from '../records/record-writes.ts'
import { readSecrets } from '../registry/rows.ts'
import { followersNow } from '../tasks/followers.ts'
import { acceptsUnchecked } from './add-checksums.ts'
import { checkRuns } from './check-runs.ts'

interface Row extends StoredRecord {
  id: number
  table_id: number
  entries: string
}

type Notes = Required<CheckNotes>

type Part = (db: Connection, notes: Notes) => Iterable<string> | AsyncIterable<string>

/** One statement reads this many rows. Between two statements no snapshot is open, so the WAL can be reset. */
const rowsPerStep = 2_000

/**
 * Verifies the store: its schema, then SQLite's own check (pages, and every index entry against its row), then each record
 * against its checksum and its index values against its data, and that everything belongs to something that exists. It
 * continues after damage.
 */
export async function* checkStore(
  db: Connection,
  { table, uncheckedRows, foreign, step, rows }: CheckNotes = {},
): AsyncIterable<string> {
  const none = (): void => {}
  const notes: Notes = {
    ...{ table: table ?? none, uncheckedRows: uncheckedRows ?? none, foreign: foreign ?? none },
    ...{ step: step ?? none, rows: rows ?? none },
  }
  const parts: Part[] = [checkOwnSchema, checkPages, checkRegistry, checkRecords, checkLogs, checkBlobs, checkRuns]
  let isSound = true
  for (const part of parts) {
    try {
      for await (const finding of part(db, notes)) {
        isSound = false
        yield finding
      }
    } catch (error) {
      // A damaged page can stop a part. Its findings so far are reported, and the other parts still run.
      isSound = false
      yield `sqlite: ${(error as Error).message}`
    }
  }
  if (!isSound) for (const id of readTableIds(db)) if (isDamagedTable(db, id)) notes.table(id)
}

function* checkOwnSchema(db: Connection, notes: Notes): Iterable<string> {
  const { refused, foreign } = checkSchema(db)
  for (const one of foreign) notes.foreign(one)
  yield* refused
}

function* checkPages(db: Connection, notes: Notes): Iterable<string> {
  notes.step('checking pages and indexes')
  const rows = db.prepare<{ integrity_check: string }, []>('PRAGMA integrity_check').iterate()
  const treeNames = readTreeNames(db)
  for (const { integrity_check: text } of rows) {
    // One row can have several findings, after a heading.
    for (const line of text.split('\n')) {
      if (line === 'ok' || line.startsWith('***') || line === '') continue
      const row = /^row (\d+) missing from index records_/.exec(line)
      if (row !== null) noteTableOf(db, Number(row[1]), notes)
      const tree = treeNames.get(/^Tree (\d+)/.exec(line)?.[1] ?? '')
      yield `sqlite: ${line}${tree === undefined ? '' : ` (${tree})`}`
    }
  }
}

/** SQLite names a tree by its root page. */
const readTreeNames = (db: Connection): Map<string, string> =>
  new Map(
    db
      .all<{ root: string; name: string }>(
        'SELECT CAST(rootpage AS TEXT) AS root, name FROM sqlite_schema WHERE rootpage > 0',
      )
      .map(({ root, name }) => [root, name]),
  )

const noteTableOf = (db: Connection, recordId: number, notes: Notes): void => {
  const find = 'SELECT table_id FROM records WHERE id = ?1'
  const row = orDamage(() => db.one<{ table_id: number }>(find, recordId))
  if (row !== damaged && row !== undefined) notes.table(row.table_id)
}

/** The ids of all tables that can be read. */
const readTableIds = (db: Connection): number[] => {
  const ids: number[] = []
  orDamage(() => {
    for (const { id } of db.prepare<{ id: number }, []>('SELECT id FROM tables ORDER BY id').iterate()) ids.push(id)
  })
  return ids
}

/**
 * Tells whether a record of the table, or an entry of its indexes, cannot be read, or one index has more entries than another.
 */
const isDamagedTable = (db: Connection, tableId: number): boolean => {
  const count = (index: string, where = ''): number | typeof damaged =>
    orDamage(() => db.count(`records INDEXED BY ${index} WHERE table_id = ?1${where}`, tableId))
  const columns = slots.map((slot) => `count(${slot}_hash) AS ${slot}`).join(', ')
  // This reads every row through the index of keys, and all of its data.
  const all = `SELECT count(*) AS n, total(length(data)), ${columns} FROM records INDEXED BY records_by_key WHERE table_id = ?1`
  const rows = orDamage(() => db.one<Record<string, number>>(all, tableId))
  if (rows === damaged || count('records_by_time') !== rows!.n) return true
  return slots.some((slot) => count(`records_by_${slot}`, ` AND ${slot}_hash IS NOT NULL`) !== rows![slot])
}

const userEpoch = `(SELECT value FROM meta WHERE name = 'user_epoch')`

function* checkRegistry(db: Connection, notes: Notes): Iterable<string> {
  yield* findSecretFaults(readSecrets(db))
  const numbers = new Set(db.all<{ name: string }>('SELECT name FROM meta').map(({ name }) => name))
  for (const name of Object.keys(firstNumbers)) if (!numbers.has(name)) yield `the store has lost the number ${name}`
  const lines = (sql: string): string[] => db.all<{ line: string }>(sql).map((row) => row.line)
  yield* lines(`SELECT 'api key ' || id || ' belongs to no organization' AS line FROM api_keys
    WHERE org_id NOT IN (SELECT id FROM organizations)`)
  const lost = 'SELECT id AS tableId FROM tables WHERE org_id NOT IN (SELECT id FROM organizations)'
  yield* report(db.all<OfTable>(lost), notes, ({ tableId }) => `table ${tableId} belongs to no organization`)
  yield* lines(`SELECT 'idempotency keys of organization ' || org_id || ' belong to nothing' AS line FROM idempotency_keys
    WHERE org_id NOT IN (SELECT id FROM organizations) GROUP BY org_id`)
  // Keys that are younger than the purge of their table, by a clock that was set back since, are removed by their age.
  yield* lines(`SELECT 'idempotency keys of table ' || scope_id || ' belong to nothing' AS line FROM idempotency_keys
    WHERE scope_kind = 'table' AND scope_id NOT IN (SELECT id FROM tables)
      AND scope_id > coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'tables'), 0) GROUP BY scope_id`)
  yield* lines(`SELECT 'idempotency key ' || id || ' is not in its index' AS line FROM idempotency_keys k
    WHERE id <= (SELECT value FROM meta WHERE name = 'idempotency_keys_indexed') AND NOT EXISTS
      (SELECT 1 FROM idempotency_key_index i WHERE i.short_hash = k.short_hash AND i.id = k.id)`)
  yield* lines(
    `SELECT 'idempotency key ' || id || ': its result is not JSON' AS line FROM idempotency_keys WHERE NOT json_valid(result)`,
  )
  yield* lines(`SELECT 'the index of idempotency keys has a wrong entry for ' || i.id AS line
    FROM idempotency_key_index i LEFT JOIN idempotency_keys k ON k.id = i.id
    WHERE printf('%012x', i.short_hash) IS NOT lower(substr(hex(k.key_hash), -12)) OR k.short_hash <> i.short_hash`)
  yield* lines(`SELECT 'a user of organization ' || org_id || ' was revoked at an epoch that the store has not reached: ' || epoch AS line
    FROM revoked_users WHERE epoch > ${userEpoch} UNION ALL
    SELECT 'issuer ' || name || ' of organization ' || org_id || ' was changed at an epoch that the store has not reached: ' || epoch
    FROM issuers WHERE epoch > ${userEpoch} UNION ALL
    SELECT 'issuer ' || name || ' of organization ' || org_id || ': its declaration is not JSON'
    FROM issuers WHERE NOT json_valid(declaration) UNION ALL
    SELECT 'revocations were swept at an epoch that the store has not reached: ' || value
    FROM meta WHERE name = 'swept_user_epoch' AND value > ${userEpoch}`)
  yield* lines(`SELECT 'revoked users of organization ' || org_id || ' belong to nothing' AS line FROM revoked_users
    WHERE org_id NOT IN (SELECT id FROM organizations) GROUP BY org_id
    UNION ALL SELECT 'issuers of organization ' || org_id || ' belong to nothing' FROM issuers
    WHERE org_id NOT IN (SELECT id FROM organizations) GROUP BY org_id`)
  yield* checkFollowers(db, notes)
  yield* lines(`SELECT 'record id ' || max(id) || ' was never given out' AS line FROM records
    HAVING max(id) >= (SELECT value FROM meta WHERE name = 'next_record_id')`)
}

/** Checks that each table lists the tasks that follow it: a write adds the runs of those in the list. */
function* checkFollowers(db: Connection, notes: Notes): Iterable<string> {
  const rows = db.all<OfTable & { orgId: number; db: string; name: string; followers: string }>(
    `SELECT id AS tableId, org_id AS orgId, db, name, followers FROM tables t
     WHERE kind = 'table' AND deleted_at IS NULL AND (followers <> '[]'
       OR EXISTS (SELECT 1 FROM tasks k WHERE k.org_id = t.org_id AND k.follows = t.name))`,
  )
  const wrong = rows.filter((row) => followersNow(db, row) !== row.followers)
  yield* report(wrong, notes, ({ tableId }) => `table ${tableId} does not list the tasks that follow it`)
  const untold = db.all<OfTable & { follows: string | null; declared: string | null }>(
    `SELECT table_id AS tableId, follows, iif(t.deleted_at IS NULL, declaration ->> '$.on.table', NULL) AS declared
     FROM tasks k JOIN tables t ON t.id = k.table_id WHERE follows IS NOT declared`,
  )
  yield* report(untold, notes, ({ tableId }) => `task ${tableId} does not follow the table that it declares`)
}

interface OfTable {
  tableId: number
}

/** Yields a finding for each row, and notes its table. */
function* report<Row extends OfTable>(rows: Iterable<Row>, notes: Notes, describe: (row: Row) => string) {
  for (const row of rows) {
    notes.table(row.tableId)
    yield describe(row)
  }
}

async function* checkRecords(db: Connection, notes: Notes): AsyncIterable<string> {
  const step = `SELECT id, table_id, CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey,
      updated_at AS updatedAtMs, ttl AS ttlSeconds, data, ${entriesSql} AS entries
    FROM records r WHERE id > ?1 ORDER BY id LIMIT ?2`
  const ruleOf = entriesRules(db)
  const mayBeUnchecked = acceptsUnchecked(db)
  let [unchecked, checked] = [0, 0]
  notes.step('checking records')
  const last = orDamage(() => db.one<{ id: number | null }>('SELECT max(id) AS id FROM records')!.id)
  const findingsOf = (row: Row): string[] => {
    const rule = ruleOf(row.table_id)
    // A table that was purged since the row was read took its rows with it.
    if (rule === undefined && orDamage(() => db.one('SELECT id FROM records WHERE id = ?1', row.id)) === undefined)
      return []
    const result = takeChecksum(row.table_id, row)
    const findings: string[] = []
    if (result === 'unchecked' && mayBeUnchecked) unchecked++
    else if (result === 'unchecked') findings.push('it has no checksum')
    else if (result === 'damaged') findings.push('it is not as it was written: its checksum does not match')
    const content =
      rule === undefined
        ? 'its table does not exist'
        : faultOfRecord(rule === damaged ? undefined : rule, row, () => JSON.parse(row.entries))
    if (content !== undefined) findings.push(content)
    if (findings.length > 0) notes.table(row.table_id)
    return findings.map((finding) => `record ${row.id} (table ${row.table_id}, ${showKey(row)}): ${finding}`)
  }
  const onStep = (rows: Row[]): void => {
    checked += rows.length
    notes.rows(checked, last === damaged || last === null ? undefined : rows.at(-1)!.id / last)
  }
  yield* walkRows(
    (afterId, rowsMax) => db.all<Row>(step, afterId, rowsMax),
    ({ id }) => id,
    { rowsPerStep, unread: 'records of the ids', unordered: 'records', findingsOf, onStep },
  )
  notes.uncheckedRows(unchecked)
}

/** The rule for the rows of a table; undefined if there is no such table, `damaged` if its row cannot be read. */
const entriesRules = (db: Connection) => {
  const find = 'SELECT kind, indices FROM tables WHERE id = ?1'
  const known = new Map<number, EntriesRule | undefined | typeof damaged>()
  return (tableId: number): EntriesRule | undefined | typeof damaged => {
    if (!known.has(tableId)) {
      const row = orDamage(() => db.one<{ kind: EntriesRule['kind']; indices: string }>(find, tableId))
      const rule = row === damaged ? damaged : row && { ...row, indices: JSON.parse(row.indices) }
      known.set(tableId, rule)
    }
    return known.get(tableId)
  }
}

/** Checks the logs of tables: each entry, that none is missing, and that those who read on find the newest. */
function* checkLogs(db: Connection, notes: Notes): Iterable<string> {
  const empty = `SELECT id AS tableId FROM tables t WHERE changes_since IS NOT NULL AND purging = 0
    AND NOT EXISTS (SELECT 1 FROM changes c WHERE c.table_id = t.id)`
  yield* report(db.all<OfTable>(empty), notes, ({ tableId }) => `the log of table ${tableId} has no entry`)
  const lost = `SELECT DISTINCT table_id AS tableId FROM changes c
    WHERE NOT EXISTS (SELECT 1 FROM tables t WHERE t.id = c.table_id AND t.changes_since IS NOT NULL)`
  yield* report(db.all<OfTable>(lost), notes, ({ tableId }) => `the log of table ${tableId} belongs to nothing`)
  const rows = db.prepare<EntryRow & OfTable, []>(
    `SELECT table_id AS tableId, ${entryColumns} FROM changes ORDER BY table_id, seq`,
  )
  let last: (EntryRow & OfTable) | undefined
  for (const row of rows.iterate()) {
    const { tableId, seq, checksum } = row
    const finding = (what: string): string => {
      notes.table(tableId)
      return `entry ${seq} in the log of table ${tableId}: ${what}`
    }
    if (markOf(row) !== checksum) yield finding('it is not as it was written: its checksum does not match')
    if (last?.tableId === tableId && seq !== last.seq + 1) yield finding(`the one before it is ${last.seq}`)
    last = row
  }
}

/** Checks that each file has its live blob, and each live blob its file and, if the store keeps them, its bytes. */
function* checkBlobs(db: Connection, notes: Notes): Iterable<string> {
  notes.step('checking files and runs')
  const files = db.prepare<{ tableId: number; name: string; blobId: string }, []>(
    `SELECT r.table_id AS tableId, CAST(r.range_key AS TEXT) AS name, substr(CAST(r.i3_hash AS TEXT), 2) AS blobId
     FROM tables t JOIN records r INDEXED BY records_by_i3 ON r.table_id = t.id AND r.i3_hash IS NOT NULL
     LEFT JOIN blobs b ON b.id = substr(CAST(r.i3_hash AS TEXT), 2) AND b.table_id = r.table_id AND b.state = 'live'
     WHERE t.kind = 'bucket' AND b.id IS NULL`,
  )
  yield* report(
    files.iterate(),
    notes,
    ({ tableId, name, blobId }) => `file ${JSON.stringify(name)} (bucket ${tableId}): its blob ${blobId} is not live`,
  )
  const blobs = db.prepare<{ id: string; tableId: number; state: string; due: number | null; files: number }, []>(
    `SELECT b.id, b.table_id AS tableId, b.state, b.due_at AS due,
       (SELECT count(*) FROM records r WHERE r.table_id = b.table_id AND r.i3_hash = CAST('f' || b.id AS BLOB)) AS files
     FROM blobs b WHERE files <> (b.state = 'live') OR iif(b.state = 'live', b.due_at <> ${neverDueMs}, b.due_at IS NULL)
       OR length(b.id) <> 32 OR b.id GLOB '*[^0-9a-f]*'`,
  )
  yield* report(
    blobs.iterate(),
    notes,
    ({ id, tableId, state, due, files }) =>
      `blob ${id} (bucket ${tableId}) is ${state}: ${files} files refer to it, due at ${due}`,
  )
  // Only the index of `blob_bytes` is read. The bytes themselves are compared with their digests in checkFiles.
  const lost = db.prepare<{ id: string; tableId: number }, []>(
    `SELECT b.id, b.table_id AS tableId FROM blobs b
     WHERE b.id >= 'f' AND b.state = 'live' AND NOT EXISTS (SELECT 1 FROM blob_bytes y WHERE y.id = b.id)`,
  )
  yield* report(
    lost.iterate(),
    notes,
    ({ id, tableId }) => `blob ${id} (bucket ${tableId}): its bytes are not in the store`,
  )
  const stray = db.prepare<{ id: string }, []>(
    'SELECT y.id FROM blob_bytes y WHERE NOT EXISTS (SELECT 1 FROM blobs b WHERE b.id = y.id)',
  )
  for (const { id } of stray.iterate()) yield `the bytes of blob ${id} are in the store, but no row of the blob`
}

const showKey = ({ hashKey, rangeKey }: Row): string =>
  rangeKey === noRangeKey ? JSON.stringify(hashKey) : `${JSON.stringify(hashKey)} ${JSON.stringify(rangeKey)}`
