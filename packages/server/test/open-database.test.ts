import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Connection, openDatabase } from '../src/engines/sqlite/connection.ts'

// A schema that somebody else made can call functions in defaults, checks and indexes. Without this setting SQLite lets it
// call all of them.

const source = join(import.meta.dir, '../src')

test('no connection trusts the schema of its file', () => {
  const db = openDatabase(':memory:')
  expect(db.query('PRAGMA trusted_schema').get()).toEqual({ trusted_schema: 0 })
  db.close()
  const connection = new Connection(':memory:', 256)
  expect(connection.prepare('PRAGMA trusted_schema').get()).toEqual({ trusted_schema: 0 })
  connection.close()
})

test('there is no other way to open an SQLite file', () => {
  const opening = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (name) =>
      name.endsWith('.ts') &&
      /^import (?!type )[^;]*?from 'bun:sqlite'/m.test(readFileSync(join(source, name), 'utf8')),
  )
  expect(opening).toEqual(['engines/sqlite/connection.ts'])
})
