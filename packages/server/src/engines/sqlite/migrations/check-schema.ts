import type { Log } from '../../../core/log.ts'
import { StoreDamaged } from '../../../core/store-refused.ts'
import { Connection } from '../connection.ts'
import { firstSchema } from './first-schema.ts'
import { migrations } from './migrations.ts'
import { schemaVersion } from './schema.ts'

// A file that somebody else made may have anything in its schema. A trigger runs with the writes of the server, and a table
// of ours may have other rules. Such a file is no store, whatever rows it has.

interface SchemaFindings {
  /** Objects that run by themselves or replace a table, and objects of Cubby that differ from those that Cubby makes. */
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

/** Reads all columns as text, whatever somebody else has stored in them. SQLite reads them as text too. */
const readSchema = (db: Connection): SchemaRow[] =>
  db
    .prepare<SchemaRow, []>(
      `SELECT CAST(type AS TEXT) AS type, CAST(name AS TEXT) AS name, CAST(tbl_name AS TEXT) AS tableName,
         CAST(sql AS TEXT) AS sql FROM sqlite_schema ORDER BY rowid`,
    )
    .all()

/**
 * Removes the white space that a migration and a new store may write differently, and the quotes that SQLite adds to the name
 * of a table that was renamed. Other white space than SQLite's own stays: to SQLite it is part of a name.
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

/** Returns the schema that the migrations make of an empty store. */
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

/** Returns the statement that makes an index of ours. The one in the file may be changed or damaged. */
export const ownSqlOf = (index: string): string =>
  expectedSchema(schemaVersion).find(({ name }) => name === index)!.sql!

/**
 * SQLite itself makes the counters of AUTOINCREMENT, statistics of ANALYZE, and indexes of UNIQUE columns, which have no text.
 */
const isOfSqlite = ({ type, name, sql }: SchemaRow): boolean =>
  name.startsWith('sqlite_') && (isPlainTable({ type, sql }) || (type === 'index' && sql === null))

/** The type alone does not tell: a virtual table has the type `table` too. */
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

/** A server only logs the findings: a store that it has served so far must not stop with an upgrade. */
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
