import type { Log } from '../../../core/log.ts'
import { StoreDamaged } from '../../../core/store-refused.ts'
import { Connection } from '../connection.ts'
import { firstSchema } from './first-schema.ts'
import { migrations } from './migrations.ts'
import { schemaVersion } from './schema.ts'

// A file that somebody else made may have anything in its schema. A trigger runs with the writes of the server, and a table
// of ours can have been given other rules: such a file is no store, whatever its rows say.

interface SchemaFindings {
  /** Anything that runs by itself or stands in for a table, and what is ours but is not as Cubby makes it. */
  refused: string[]
  /** Plain tables and indexes of somebody else. */
  foreign: string[]
}

interface SchemaRow {
  type: string
  name: string
  tableName: string
  sql: string | null
}

/** As text, whatever somebody else has made of the columns: SQLite reads them so, too. */
const readSchema = (db: Connection): SchemaRow[] =>
  db
    .prepare<SchemaRow, []>(
      `SELECT CAST(type AS TEXT) AS type, CAST(name AS TEXT) AS name, CAST(tbl_name AS TEXT) AS tableName,
         CAST(sql AS TEXT) AS sql FROM sqlite_schema ORDER BY rowid`,
    )
    .all()

/**
 * The text without the white space that a migration and a new store may write differently, and without the quotes that SQLite adds
 * to the name of a table that was renamed. Only SQLite's own white space: to SQLite any other is part of a name.
 */
const tokensOf = (sql: string | null): string | undefined =>
  sql
    ?.replaceAll(/[ \t\n\f\r]+/g, ' ')
    .replaceAll(/\b(TABLE|ON|REFERENCES) "([a-z_]+)"/g, '$1 $2')
    .replaceAll(/ ?([(),]) ?/g, '$1')

const isSame = (found: SchemaRow, ours: SchemaRow): boolean =>
  found.tableName === ours.tableName && tokensOf(found.sql) === tokensOf(ours.sql)

const keyOf = ({ type, name }: SchemaRow): string => `${type} ${name}`

const expected = new Map<number, SchemaRow[]>()

/** The schema that the migrations make of an empty store. */
const expectedSchema = (version: number): SchemaRow[] => {
  const known = expected.get(version)
  if (known !== undefined) return known
  const db = new Connection(':memory:', 256)
  try {
    db.run(firstSchema)
    for (const { to, run } of migrations) if (to <= version) run(db)
    const schema = readSchema(db)
    expected.set(version, schema)
    return schema
  } finally {
    db.close()
  }
}

/** The statement that makes an index of ours. That in the file may have been changed, or be damaged. */
export const ownSqlOf = (index: string): string =>
  expectedSchema(schemaVersion).find(({ name }) => name === index)!.sql!

/** SQLite's own: the counters of AUTOINCREMENT, statistics of ANALYZE, and indexes of UNIQUE columns, which have no text. */
const isOfSqlite = ({ type, name, sql }: SchemaRow): boolean =>
  name.startsWith('sqlite_') && (isPlainTable({ type, sql }) || (type === 'index' && sql === null))

/** A virtual table is a table too, by its type. */
const isPlainTable = ({ type, sql }: Pick<SchemaRow, 'type' | 'sql'>): boolean =>
  type === 'table' && sql?.startsWith('CREATE TABLE ') === true

const isPlainIndex = ({ type, sql }: SchemaRow): boolean =>
  type === 'index' && /^CREATE (UNIQUE )?INDEX /.test(sql ?? '')

const show = ({ type, name, tableName, sql }: SchemaRow): string => {
  const kind = sql?.startsWith('CREATE VIRTUAL TABLE ') ? 'virtual table' : type
  const of = type === 'index' || type === 'trigger' ? ` on ${JSON.stringify(tableName)}` : ''
  return `${kind} ${JSON.stringify(name)}${of}`
}

/** Compares the schema with that of the version. */
export const checkSchema = (db: Connection, version: number = schemaVersion): SchemaFindings => {
  const findings: SchemaFindings = { refused: [], foreign: [] }
  const missing = new Map(expectedSchema(version).map((row) => [keyOf(row), row]))
  for (const row of readSchema(db)) {
    const ours = missing.get(keyOf(row))
    missing.delete(keyOf(row))
    if (ours !== undefined) {
      if (!isSame(row, ours)) findings.refused.push(`the ${show(row)} is not that of a store of version ${version}`)
    } else if (isOfSqlite(row)) continue
    else if (isPlainTable(row) || isPlainIndex(row)) findings.foreign.push(show(row))
    else findings.refused.push(`the ${show(row)} is not made by Cubby`)
  }
  for (const row of missing.values()) findings.refused.push(`the ${show(row)} is missing`)
  return findings
}

/** Throws if the schema is not that of the store's own version. `what` is how the message names the store or backup. */
export const requireOwnSchema = (db: Connection, what: string): void => {
  const { refused } = checkSchema(db, db.pragma('user_version'))
  if (refused.length > 0) throw new StoreDamaged(`${what} is not sound: ${refused.join('; ')}`)
}

/** For a server, which goes on: a store that it has served so far must not stop with an upgrade. */
export const warnOfForeignSchema = (db: Connection, log: Log): void => {
  const { refused, foreign } = checkSchema(db)
  const file = db.path
  if (refused.length > 0) {
    const hint = 'it may change what is written: see cubby verify, and restore a backup that you trust'
    log('error', 'the schema of the store is not that of Cubby', { file, findings: refused, hint })
  }
  if (foreign.length > 0)
    log('warn', 'the store has tables or indexes that are not made by Cubby', { file, found: foreign })
}
