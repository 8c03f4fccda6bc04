import { neverDueMs } from '../../../core/files/blob-id.ts'
import { takeChecksum } from '../../../core/records/checksum.ts'
import { faultOfRecord } from '../../../core/records/record-faults.ts'
import { noRangeKey } from '../../../core/records/record-key.ts'
import type { StoredRecord } from '../../../core/records/stored-record.ts'
import { findSecretFaults } from '../../../core/store-secrets.ts'
import type { EntriesRule } from '../../../core/tables/entries-of.ts'
import { slots } from '../../../core/tables/indices.ts'
import type { CheckNotes } from '../../../store/maintenance.ts'
import type { Connection } from '../connection.ts'
import { damaged, orDamage, walkRows } from '../disk/damage.ts'
import { checkSchema } from '../migrations/check-schema.ts'
import { entriesSql } from '../records/record-writes.ts'
import { readSecrets } from '../registry/secret-rows.ts'
import { acceptsUnchecked } from './add-checksums.ts'
import { checkRuns } from './check-runs.ts'

interface Row extends StoredRecord {
  id: number
  table_id: number
  entries: string
}

type Notes = Required<CheckNotes>

type Part = (db: Connection, notes: Notes) => Iterable<string> | AsyncIterable<string>

/** Rows that one statement reads. Between two statements no snapshot is open, so the WAL can be reset. */
const rowsPerStep = 2_000

/**
 * Verifies the store: its schema, then SQLite's own check (pages, and every index entry against its row), then each record
 * against its checksum and its index values against its data, and that everything belongs to something that exists. It continues
 * after damage.
 */
export async function* checkStore(
  db: Connection,
  { table, uncheckedRows, foreign }: CheckNotes = {},
): AsyncIterable<string> {
  const none = (): void => {}
  const notes: Notes = { table: table ?? none, uncheckedRows: uncheckedRows ?? none, foreign: foreign ?? none }
  const parts: Part[] = [checkOwnSchema, checkPages, checkRegistry, checkRecords, checkBlobs, checkRuns]
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
      .prepare<{ root: string; name: string }, []>(
        'SELECT CAST(rootpage AS TEXT) AS root, name FROM sqlite_schema WHERE rootpage > 0',
      )
      .all()
      .map(({ root, name }) => [root, name]),
  )

const noteTableOf = (db: Connection, recordId: number, notes: Notes): void => {
  const find = db.prepare<{ table_id: number }, [number]>('SELECT table_id FROM records WHERE id = ?1')
  const row = orDamage(() => find.get(recordId))
  if (row !== damaged && row !== null) notes.table(row.table_id)
}

/** All that can be read. */
const readTableIds = (db: Connection): number[] => {
  const ids: number[] = []
  orDamage(() => {
    for (const { id } of db.prepare<{ id: number }, []>('SELECT id FROM tables ORDER BY id').iterate()) ids.push(id)
  })
  return ids
}

/** Whether some record of the table, or entry of its indexes, cannot be read, or one has more entries than another. */
const isDamagedTable = (db: Connection, tableId: number): boolean => {
  const count = (index: string, where = ''): number | typeof damaged =>
    orDamage(
      () =>
        db
          .prepare<{ n: number }, [number]>(
            `SELECT count(*) AS n FROM records INDEXED BY ${index} WHERE table_id = ?1${where}`,
          )
          .get(tableId)!.n,
    )
  const columns = slots.map((slot) => `count(${slot}_hash) AS ${slot}`).join(', ')
  // Reads every row through the index of keys, and all of its data.
  const rows = orDamage(() =>
    db
      .prepare<Record<string, number>, [number]>(
        `SELECT count(*) AS n, total(length(data)), ${columns} FROM records INDEXED BY records_by_key WHERE table_id = ?1`,
      )
      .get(tableId),
  )
  if (rows === damaged || count('records_by_time') !== rows!.n) return true
  return slots.some((slot) => count(`records_by_${slot}`, ` AND ${slot}_hash IS NOT NULL`) !== rows![slot])
}

function* checkRegistry(db: Connection, notes: Notes): Iterable<string> {
  yield* findSecretFaults(readSecrets(db))
  const lines = (sql: string): string[] =>
    db
      .prepare<{ line: string }, []>(sql)
      .all()
      .map((row) => row.line)
  yield* lines(`SELECT 'api key ' || id || ' belongs to no organization' AS line FROM api_keys
    WHERE org_id NOT IN (SELECT id FROM organizations)`)
  const lost = db.prepare<{ id: number }, []>(
    'SELECT id FROM tables WHERE org_id NOT IN (SELECT id FROM organizations)',
  )
  for (const { id } of lost.all()) {
    notes.table(id)
    yield `table ${id} belongs to no organization`
  }
  yield* lines(`SELECT 'record id ' || max(id) || ' was never given out' AS line FROM records
    HAVING max(id) >= (SELECT value FROM meta WHERE name = 'next_record_id')`)
}

async function* checkRecords(db: Connection, notes: Notes): AsyncIterable<string> {
  const step = db.prepare<Row, [number, number]>(`
    SELECT id, table_id, CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey,
      updated_at AS updatedAtMs, ttl AS ttlSeconds, data, ${entriesSql} AS entries
    FROM records r WHERE id > ?1 ORDER BY id LIMIT ?2`)
  const ruleOf = entriesRules(db)
  const find = db.prepare<{ id: number }, [number]>('SELECT id FROM records WHERE id = ?1')
  const mayBeUnchecked = acceptsUnchecked(db)
  let unchecked = 0
  const walk = walkRows(
    (afterId, rowsMax) => step.all(afterId, rowsMax),
    ({ id }) => id,
    { rowsPerStep, unread: 'records of the ids', unordered: 'records' },
  )
  for await (const rows of walk) {
    if (typeof rows === 'string') {
      yield rows
      continue
    }
    for (const row of rows) {
      const rule = ruleOf(row.table_id)
      // A table that was purged since the row was read took its rows with it.
      if (rule === undefined && orDamage(() => find.get(row.id)) === null) continue
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
      for (const finding of findings) yield `record ${row.id} (table ${row.table_id}, ${showKey(row)}): ${finding}`
    }
  }
  notes.uncheckedRows(unchecked)
}

/** The rule for the rows of a table; undefined if there is no such table, `damaged` if its row cannot be read. */
const entriesRules = (db: Connection) => {
  const find = db.prepare<{ kind: EntriesRule['kind']; indices: string }, [number]>(
    'SELECT kind, indices FROM tables WHERE id = ?1',
  )
  const known = new Map<number, EntriesRule | undefined | typeof damaged>()
  return (tableId: number): EntriesRule | undefined | typeof damaged => {
    if (!known.has(tableId)) {
      const row = orDamage(() => find.get(tableId))
      const rule = row === damaged ? damaged : row === null ? undefined : { ...row, indices: JSON.parse(row.indices) }
      known.set(tableId, rule)
    }
    return known.get(tableId)
  }
}

/** Each file has its live blob, and each live blob its file; the store has the bytes of those blobs that it keeps. */
function* checkBlobs(db: Connection, notes: Notes): Iterable<string> {
  const files = db.prepare<{ tableId: number; name: string; blobId: string }, []>(
    `SELECT r.table_id AS tableId, CAST(r.range_key AS TEXT) AS name, substr(CAST(r.i3_hash AS TEXT), 2) AS blobId
     FROM tables t JOIN records r INDEXED BY records_by_i3 ON r.table_id = t.id AND r.i3_hash IS NOT NULL
     LEFT JOIN blobs b ON b.id = substr(CAST(r.i3_hash AS TEXT), 2) AND b.table_id = r.table_id AND b.state = 'live'
     WHERE t.kind = 'bucket' AND b.id IS NULL`,
  )
  for (const { tableId, name, blobId } of files.iterate()) {
    notes.table(tableId)
    yield `file ${JSON.stringify(name)} (bucket ${tableId}): its blob ${blobId} is not live`
  }
  const blobs = db.prepare<{ id: string; tableId: number; state: string; due: number | null; files: number }, []>(
    `SELECT b.id, b.table_id AS tableId, b.state, b.due_at AS due,
       (SELECT count(*) FROM records r WHERE r.table_id = b.table_id AND r.i3_hash = CAST('f' || b.id AS BLOB)) AS files
     FROM blobs b WHERE files <> (b.state = 'live') OR iif(b.state = 'live', b.due_at <> ${neverDueMs}, b.due_at IS NULL)
       OR length(b.id) <> 32 OR b.id GLOB '*[^0-9a-f]*'`,
  )
  for (const { id, tableId, state, due, files } of blobs.iterate()) {
    notes.table(tableId)
    yield `blob ${id} (bucket ${tableId}) is ${state}: ${files} files refer to it, due at ${due}`
  }
  yield* checkBytes(db, notes)
}

/** Only the index of `blob_bytes` is read. The bytes themselves are compared with their digests in checkFiles. */
function* checkBytes(db: Connection, notes: Notes): Iterable<string> {
  const lost = db.prepare<{ id: string; tableId: number }, []>(
    `SELECT b.id, b.table_id AS tableId FROM blobs b
     WHERE b.id >= 'f' AND b.state = 'live' AND NOT EXISTS (SELECT 1 FROM blob_bytes y WHERE y.id = b.id)`,
  )
  for (const { id, tableId } of lost.iterate()) {
    notes.table(tableId)
    yield `blob ${id} (bucket ${tableId}): its bytes are not in the store`
  }
  const stray = db.prepare<{ id: string }, []>(
    'SELECT y.id FROM blob_bytes y WHERE NOT EXISTS (SELECT 1 FROM blobs b WHERE b.id = y.id)',
  )
  for (const { id } of stray.iterate()) yield `the bytes of blob ${id} are in the store, but no row of the blob`
}

const showKey = ({ hashKey, rangeKey }: Row): string =>
  rangeKey === noRangeKey ? JSON.stringify(hashKey) : `${JSON.stringify(hashKey)} ${JSON.stringify(rangeKey)}`
