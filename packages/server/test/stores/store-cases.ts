import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import {
  eventually,
  isWhole,
  makeTempDir,
  removeTempDir,
  runCubby,
  storeArguments,
  storeIsEmbedded,
} from '../harness.ts'
import { createKey, ok, refused, TestTable } from '../http/service.ts'
import { dayMs, findChangedAnswers } from './expected.ts'
import { folderOf, type KeptServer, openCopy, readExpected, type StoreKind, versions } from './kept-stores.ts'

// Every later version must open the store of an older one, and respond as the older one did. `write-store.ts` of their version
// wrote these stores, with the same content on each engine.

setDefaultTimeout(120_000)

export const storeCases = (kind: StoreKind): void => {
  const { engine, file, schemaVersion } = kind
  test(`the store of this version on ${engine} is here`, () => {
    expect(versions).toContain(`v${schemaVersion}`)
    expect(existsSync(join(folderOf(`v${schemaVersion}`), file))).toBe(true)
  })

  // The quick part opens only the store of 0.1, which takes every migration.
  for (const version of isWhole ? versions : versions.slice(0, 1)) {
    const from = folderOf(version)
    const expected = readExpected(version)

    describe.skipIf(!storeIsEmbedded())(`the store of ${version} on ${kind.engine}`, () => {
      let server: KeptServer
      beforeAll(async () => {
        server = await openCopy(kind, from, expected, dayMs)
      })
      afterAll(async () => {
        await server?.stop()
      })

      test('is one small file', () => {
        const known = ['cubby.db', 'cubby.sql', 'expected.json', 'program.tar.gz', 'files']
        expect(readdirSync(from).filter((name) => !known.includes(name))).toEqual([])
        expect(statSync(join(from, kind.file)).size).toBeLessThan(300_000)
      })

      test('is sound before a server has touched it', async () => {
        const dataDir = makeTempDir()
        try {
          const { store, files } = await kind.copy(from, dataDir)
          const place = files === undefined ? [] : ['--files', files]
          expect(await runCubby(['verify', '--bytes', ...place, ...storeArguments(dataDir, store)])).toMatchObject({
            exitCode: 0,
            stdout: expect.stringMatching(/^ok: /),
            stderr: '',
          })
        } finally {
          removeTempDir(dataDir)
        }
      })

      test('answers every request as it did when it was written', async () => {
        expect(expected.answers.length).toBeGreaterThan(100)
        expect(await findChangedAnswers(server, expected)).toEqual([])
      })

      test('refuses the keys that it refused, and knows the others', async () => {
        const tables = (key: string) => server.as(expected.keys[key]!).get('/v1/logs')
        ok(await tables('secret'))
        ok(await tables('public'))
        ok(await tables('scoped'))
        ok(await tables('lasting'))
        refused(await tables('expiring'), 401, 'expired_api_key')
        if (expected.keys.rolled !== undefined) refused(await tables('rolled'), 401, 'expired_api_key')
        if (expected.keys.next !== undefined) ok(await tables('next'))
        refused(await tables('revoked'), 403, 'revoked_api_key')
      })

      describe('and can be written to', () => {
        const table = (name: string, db = 'app') => new TestTable(server.as(expected.keys.secret!), db, name)

        test('records: put, overwrite, delete, batch, with their indices', async () => {
          const people = table('people')
          const ada = ok(await people.get('ada'))
          const inOslo = await people.hashes({ index: 'i1', hash: 'Oslo' })
          const version = (await people.put('ada', { city: 'Bergen', age: 37 })).updatedAt
          expect(version).toBeGreaterThan(ada.updatedAt)
          expect(await people.hashes({ index: 'i1', hash: 'Bergen' })).toEqual(['ada'])
          expect(await people.hashes({ index: 'i1', hash: 'Oslo' })).toEqual(inOslo.filter((key) => key !== 'ada'))
          expect(ok(await people.delete('tags'))).toEqual({ deleted: true })
          await people.batch([
            { op: 'put', hashKey: 'new', data: { city: 'Bergen', age: 1 } },
            { op: 'delete', hashKey: 'age 0' },
            {
              op: 'put',
              hashKey: 'no hash',
              data: { city: 'Bergen', age: 2 },
              ifUpdatedAt: ok(await people.get('no hash')).updatedAt,
            },
          ])
          expect(await people.hashes({ index: 'i1', hash: 'Bergen' })).toEqual(['new', 'no hash', 'ada'])
          const plain = table('plain')
          expect(ok(await plain.delete('ranges', '\u0000'))).toEqual({ deleted: true })
          expect((await plain.ranges({ hash: 'ranges' }))[0]).toBe('\u0000\u0000')
          // An expired record is created again.
          await table('events', 'logs').put('an hour', { kind: 'new' })
          expect(await table('events', 'logs').hashes({ index: 'i1', hash: 'new' })).toEqual(['an hour'])
        })

        test('tables: both that were deleted come back, one after the other', async () => {
          const gone = table('gone')
          const { tables } = ok(await gone.api.get('/v1/app?deleted=true'))
          const [older, newer] = tables
          ok(await gone.api.post(`${gone.path}/restore`))
          expect(await gone.hashes({ index: 'i1', hash: 2 })).toEqual(['b'])
          ok(await gone.api.delete(gone.path))
          ok(await gone.api.post(`${gone.path}/restore`, { deletedAt: older.deletedAt }))
          expect(await gone.hashes({ index: 't' })).toEqual(['a'])
          expect(newer.deletedAt).toBeGreaterThan(older.deletedAt)
          ok(await gone.api.post('/v1/app/brand-new', { indices: { i1: { hashField: 'a' } } }), 201)
        })

        test('keys: new ones work, old ones are revoked, organizations are made', async () => {
          const { key } = await createKey(server.as(expected.keys.secret!), { kind: 'public' })
          ok(await server.as(key).get('/v1/app/people'))
          const { keys } = await server.cubbyJson('keys', 'list', '--org', 'acme')
          const scoped = keys.find(({ name }: { name: string }) => name === 'only logs')
          expect((await server.cubby('keys', 'revoke', scoped.id, '--org', 'acme')).exitCode).toBe(0)
          refused(await server.as(expected.keys.scoped!).get('/v1/logs'), 403, 'revoked_api_key')
          ok(await server.as((await server.createOrganization('third')).secretKey).get('/v1'))
        })

        test.skipIf(expected.keys.deleted === undefined)(
          'organizations: the deleted one is, and can be restored',
          async () => {
            const api = server.as(expected.keys.deleted!)
            refused(await api.get('/v1/app/people/ada'), 401, 'invalid_api_key')
            await server.cubbyJson('orgs', 'restore', 'initech')
            expect(ok(await api.get('/v1/app/people/ada')).data).toEqual({ of: 'a deleted one' })
          },
        )

        test('it is sound afterwards, and after a restart', async () => {
          expect(await server.cubby('verify')).toMatchObject({ exitCode: 0 })
          await server.restart()
          expect(await table('people').hashes({ index: 'i1', hash: 'Bergen' })).toEqual(['new', 'no hash', 'ada'])
          expect(await server.cubby('verify')).toMatchObject({ exitCode: 0 })
        })
      })

      test('past its seven days the deleted table is removed, the rest stays', async () => {
        const later = await openCopy(kind, from, expected, 8 * dayMs)
        try {
          const api = later.as(expected.keys.secret!)
          expect(ok(await api.get('/v1/app?deleted=true')).tables).toEqual([])
          refused(await api.post('/v1/app/gone/restore'), 404, 'table_not_found')
          ok(await api.get('/v1/app/people/ada'))
          refused(await api.get('/v1/logs/events/two%20days'), 404, 'record_not_found')
          ok(await api.get('/v1/logs/events/until%209999'))
          await eventually('the sweeps are done', async () => {
            const deleted = await later.copy.count('tables', 'deleted_at is not null')
            const expired = await later.copy.count('records', 'ttl < 253402300799')
            return deleted + expired === 0 ? true : undefined
          })
          expect(await later.cubby('verify')).toMatchObject({ exitCode: 0 })
        } finally {
          await later.stop()
        }
      })
    })
  }
}
