import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eventually } from '../harness.ts'
import { TestTable } from '../http/service.ts'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'
import { dayMs, findChangedAnswers } from '../stores/expected.ts'
import {
  folderOf,
  openCopy,
  postgresStores,
  readExpected,
  type StoreKind,
  sqliteStores,
  versions,
} from '../stores/kept-stores.ts'

// An operator upgrades by replacing the program, and starts it on the store that is there, unchecked. The start has to do
// all of it, from the migration to the checksums of old rows, and what it leaves must be sound.

const full = process.env.CUBBY_TEST_BINARY === 'full'

let postgres: PostgresServer
const kinds: StoreKind[] = full ? [sqliteStores, postgresStores(() => postgres)] : [sqliteStores]

export const testOldStores = (binary: () => string): void => {
  beforeAll(async () => {
    if (full) postgres = await startPostgres({ settings: { fsync: 'off' }, auth: 'password' })
  })
  afterAll(async () => {
    await postgres?.remove()
  })

  describe.each(kinds.map((kind) => [kind.engine, kind] as const))('the binary on %s', (_, kind) => {
    // The short form opens the oldest one, which has most to go through. The source opens the others, in
    // stores-sqlite.test.ts.
    for (const version of full ? versions : ['v1']) {
      for (const workers of full ? ['1', '2'] : ['1']) {
        test(`takes the store of ${version} through its start, serves it, and leaves it sound (--workers ${workers})`, async () => {
          const expected = readExpected(version)
          const options = { program: binary(), args: ['--workers', workers] }
          const server = await openCopy(kind, folderOf(version), expected, dayMs, options)
          try {
            expect(await findChangedAnswers(server, expected)).toEqual([])
            const people = () => new TestTable(server.as(expected.keys.secret!), 'app', 'people')
            await people().put('ada', { city: 'Bergen', age: 37 })
            // Rows of 0.1 get their checksums in the background.
            await eventually(
              'every row has a checksum',
              async () => ((await server.cubbyJson('verify')).unchecked === undefined ? true : undefined),
              { waitMsMax: 30_000, pauseMs: 200 },
            )
            await server.restart('SIGKILL')
            expect(await people().hashes({ index: 'i1', hash: 'Bergen' })).toEqual(['ada'])
            expect(await server.end('SIGTERM')).toBe(0)
            expect(await server.cubbyJson('verify')).toEqual({ ok: true, findings: [] })
            expect(server.log.filter(({ level }) => level === 'error')).toEqual([])
          } finally {
            await server.stop()
          }
        })
      }
    }
  })
}
