import { type Indices, indexEntries, slots } from '../../core/indices.ts'
import type { Connection } from './connection.ts'
import { entriesSql } from './rows.ts'

interface Row {
  id: number
  table_id: number
  hashKey: string
  rangeKey: string
  data: string
  indices: string | null
  entries: string
}

/** Rows a statement looks at, so that the log can start over between two of them. */
const rowsPerStep = 2_000

/**
 * Verifies the store: SQLite's own check (pages, and every index entry against its row), then each record's
 * index values against its data, and that everything belongs to something that exists.
 */
export async function* checkStore(db: Connection): AsyncIterable<string> {
  for (const part of [checkPages, checkRegistry, checkRecords]) {
    try {
      yield* part(db)
    } catch (error) {
      // A damaged page can stop a part; what it found so far stands, and the other parts still look.
      yield `sqlite: ${(error as Error).message}`
    }
  }
}

function* checkPages(db: Connection): Iterable<string> {
  const rows = db.prepare<{ integrity_check: string }, []>('PRAGMA integrity_check').iterate()
  for (const { integrity_check: text } of rows) {
    // Several findings can stand in one row, under a heading.
    for (const line of text.split('\n')) {
      if (line !== 'ok' && !line.startsWith('***') && line !== '') yield `sqlite: ${line}`
    }
  }
}

function* checkRegistry(db: Connection): Iterable<string> {
  const lines = (sql: string): string[] =>
    db
      .prepare<{ line: string }, []>(sql)
      .all()
      .map((row) => row.line)
  yield* lines(`SELECT 'api key ' || id || ' belongs to no organization' AS line FROM api_keys
    WHERE org_id NOT IN (SELECT id FROM organizations)`)
  yield* lines(`SELECT 'table ' || id || ' belongs to no organization' AS line FROM tables
    WHERE org_id NOT IN (SELECT id FROM organizations)`)
  yield* lines(`SELECT 'record id ' || max(id) || ' was never given out' AS line FROM records
    HAVING max(id) >= (SELECT value FROM meta WHERE name = 'next_record_id')`)
}

async function* checkRecords(db: Connection): AsyncIterable<string> {
  const step = db.prepare<Row, [number, number]>(`
    SELECT r.id, r.table_id, CAST(r.hash_key AS TEXT) AS hashKey, CAST(r.range_key AS TEXT) AS rangeKey, r.data,
      t.indices, ${entriesSql} AS entries
    FROM records r LEFT JOIN tables t ON t.id = r.table_id
    WHERE r.id > ?1 ORDER BY r.id LIMIT ?2`)
  for (let last = 0; ; ) {
    const rows = step.all(last, rowsPerStep)
    if (rows.length === 0) return
    for (const row of rows) {
      const finding = checkRecord(row)
      if (finding !== undefined)
        yield `record ${row.id} (table ${row.table_id}, ${JSON.stringify(row.hashKey)}): ${finding}`
    }
    last = rows.at(-1)!.id
    // A server that checks itself goes on answering.
    await Bun.sleep(0)
  }
}

const checkRecord = (row: Row): string | undefined => {
  if (row.indices === null) return 'its table does not exist'
  let data: unknown
  try {
    data = JSON.parse(row.data)
  } catch {
    return 'its data is not JSON'
  }
  let expected: (string | null)[]
  try {
    expected = indexEntries(JSON.parse(row.indices) as Indices, data as Record<string, unknown>)
  } catch (error) {
    return `its data cannot be indexed: ${(error as Error).message}`
  }
  const stored = JSON.parse(row.entries) as (string | null)[]
  const wrong = expected.findIndex((value, i) => value !== stored[i])
  return wrong < 0 ? undefined : `${slots[wrong >> 1]} does not hold what its data says`
}
