import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, statSync } from 'node:fs'
import { schemaVersion } from '../../src/engines/sqlite/migrations/schema.ts'
import { runCubby, storeIsEmbedded } from '../harness.ts'
import { createKey, ok, TestTable } from '../http/service.ts'
import { type SharedPostgres, sharedPostgres } from '../postgres-server.ts'
import { dayMs, findChangedAnswers } from './expected.ts'
import {
  folderOf,
  type KeptServer,
  openCopy,
  packedProgramOf,
  postgresStores,
  programOf,
  readExpected,
  type StoreKind,
  sqliteStores,
  versions,
} from './kept-stores.ts'

// Processes of an older version may run while the store is upgraded. Tests that show what they can do then need the
// older program, and a checkout may have no history: so the program is kept with its store, as one compressed file. These
// cases show that the program works on a store of its own version.

setDefaultTimeout(120_000)

const releases: Record<string, string> = { v1: '0.1.0', v7: '0.2.0', v8: '0.3.0' }
const hasProgram = (version: string): boolean => existsSync(packedProgramOf(version))

test('the program of every version before this one is here', () => {
  const before = versions.filter((version) => version !== `v${schemaVersion}`)
  expect(before).toContain('v1')
  expect(before.filter((version) => !hasProgram(version))).toEqual([])
})

for (const version of versions.filter(hasProgram)) {
  const [from, expected, program] = [folderOf(version), readExpected(version), await programOf(version)]

  describe.skipIf(!storeIsEmbedded())(`the program of ${version}`, () => {
    let postgres: SharedPostgres
    beforeAll(async () => {
      postgres = await sharedPostgres()
    })
    afterAll(async () => {
      await postgres?.remove()
    })

    test('says its version, and is small', async () => {
      expect((await runCubby(['--version'], { program })).stdout).toBe(`cubby ${releases[version]}\n`)
      expect(statSync(packedProgramOf(version)).size).toBeLessThan(1_000_000)
    })

    const kinds: StoreKind[] = [sqliteStores, postgresStores(() => postgres)]
    describe.each(kinds.map((kind) => [kind.engine, kind] as const))('on its store on %s', (_, kind) => {
      const open = (...args: string[]): Promise<KeptServer> => openCopy(kind, from, expected, dayMs, { program, args })

      const write = async (server: KeptServer): Promise<void> => {
        const people = new TestTable(server.as(expected.keys.secret!), 'app', 'people')
        const { updatedAt } = await people.put('ada', { city: 'Bergen', age: 37 })
        await people.batch([
          { op: 'put', hashKey: 'new', data: { city: 'Bergen', age: 1 } },
          { op: 'delete', hashKey: 'age 0' },
        ])
        expect(ok(await people.get('ada'))).toMatchObject({ data: { city: 'Bergen', age: 37 }, updatedAt })
        expect(await people.hashes({ index: 'i1', hash: 'Bergen' })).toEqual(['new', 'ada'])
      }

      test('serves it: every answer is the one that was kept, writes are kept, it stops in order', async () => {
        const server = await open()
        try {
          expect(await findChangedAnswers(server, expected)).toEqual([])
          await write(server)
          const { key } = await createKey(server.as(expected.keys.secret!), { kind: 'public' })
          await server.restart()
          const people = new TestTable(server.as(key), 'app', 'people')
          expect(await people.hashes({ index: 'i1', hash: 'Bergen' })).toEqual(['new', 'ada'])
          expect(await server.cubby('verify')).toMatchObject({ exitCode: 0 })
          expect(await server.end('SIGTERM')).toBe(0)
          expect(server.log.filter(({ level }) => level === 'error')).toEqual([])
        } finally {
          await server.stop()
        }
      })

      test('serves it with several processes', async () => {
        const server = await open('--workers', '2')
        try {
          await write(server)
          expect(await server.end('SIGTERM')).toBe(0)
          // A worker of 0.1 that ends while the owner still tells it something makes this one entry in the owner's log.
          const tells = (cause: unknown): boolean => version === 'v1' && String(cause).includes('Subprocess.send()')
          expect(server.log.filter(({ level, cause }) => level === 'error' && !tells(cause))).toEqual([])
        } finally {
          await server.stop()
        }
      })

      test('runs commands beside it and without it', async () => {
        const server = await open()
        try {
          const organization = await server.createOrganization('third')
          ok(await server.as(organization.secretKey).get('/v1'))
          await server.end('SIGTERM')
          expect((await server.cubbyJson('keys', 'list', '--org', 'third')).keys).toHaveLength(2)
        } finally {
          await server.stop()
        }
      })
    })
  })
}
