import { Database } from 'bun:sqlite'
import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Api,
  type Json,
  makeTempDir,
  removeTempDir,
  runCubby,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { openStream } from '../http/event-stream.ts'
import { ok, refused } from '../http/service.ts'

// A store may go back: a backup is restored, or a copy takes over that was begun earlier. A reader that has seen what the store
// no longer has must be told, whatever is written afterwards; one that has not goes on.

setDefaultTimeout(120_000)

const path = '/v1/app/orders'
const dirs: string[] = []
const servers: Server[] = []

const newDir = (): string => {
  const dir = makeTempDir()
  dirs.push(dir)
  return dir
}

const start = async (dataDir: string): Promise<Server> => {
  const server = await startServer({ dataDir })
  servers.push(server)
  return server
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
  for (const dir of dirs.splice(0)) removeTempDir(dir)
})

const makeStore = async () => {
  const dataDir = newDir()
  const server = await start(dataDir)
  const { secretKey } = await server.createOrganization()
  const api = server.as(secretKey)
  ok(await api.post(path, { changes: {} }), 201)
  return { dataDir, server, secretKey, api }
}

const put = async (api: Api, hashKey: string, data: Json = {}): Promise<void> => {
  ok(await api.put(path, { hashKey, data }))
}

const read = async (api: Api, request: Json = {}): Promise<Json> => ok(await api.post(`${path}/changes`, request))
const keysOf = ({ items }: Json): string[] => items.map(({ hashKey }: Json) => hashKey)

const expired = async (api: Api, cursor: string): Promise<void> => {
  refused(await api.post(`${path}/changes`, { cursor }), 410, 'cursor_expired', 'cursor')
}

const run = async (...args: string[]): Promise<void> => {
  const { exitCode, stderr } = await runCubby(args)
  expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' })
}

describe.skipIf(!storeIsEmbedded())('a backup is restored', () => {
  test('cursors from before it go on; later ones have expired, however much is written afterwards', async () => {
    const { dataDir, server, secretKey, api } = await makeStore()
    for (const key of ['a', 'b', 'c']) await put(api, key)
    const before = await read(api)
    const walkBefore = await read(api, { limit: 1 })
    const backup = join(newDir(), 'backup.db')
    await run('backup', 'create', backup, '--data', dataDir)
    // A walk that had begun before the backup, and has read a record as it was after it.
    await put(api, 'b', { changed: true })
    const walkAfter = await read(api, { cursor: walkBefore.cursor, limit: 1 })
    await put(api, 'lost')
    const after = await read(api, { cursor: before.cursor })
    expect(keysOf(after)).toEqual(['b', 'lost'])
    await server.stop()

    const restoredDir = newDir()
    await run('backup', 'restore', backup, '--data', restoredDir)
    const restored = (await start(restoredDir)).as(secretKey)
    for (let writes = 0; writes < 3; writes++) {
      for (const cursor of [after.cursor, walkAfter.cursor]) await expired(restored, cursor)
      await put(restored, `new${writes}`)
    }
    for (let n = 0; n < 20; n++) await put(restored, 'more', { n })
    for (const cursor of [after.cursor, walkAfter.cursor]) await expired(restored, cursor)
    expect(keysOf(await read(restored, { cursor: before.cursor }))).toEqual(['new0', 'new1', 'new2', 'more'])
    expect(keysOf(await read(restored, { cursor: walkBefore.cursor }))).toContain('c')
    await run('verify', '--data', restoredDir)
  })

  test('a put that a page left out for a later one is not lost with that one: the cursor has expired', async () => {
    const { dataDir, server, secretKey, api } = await makeStore()
    const { cursor } = await read(api, { from: 'now' })
    for (const key of ['a', 'b']) await put(api, key)
    const backup = join(newDir(), 'backup.db')
    await run('backup', 'create', backup, '--data', dataDir)
    await put(api, 'a', { lost: true })
    const page = await read(api, { cursor, limit: 1 })
    expect(keysOf(page)).toEqual(['b'])
    const stream = await openStream(server, path, { key: secretKey, body: { cursor } })
    await stream.untilReady()
    stream.close()
    const [event] = stream.events
    expect(event!.data).toContain('"b"')
    await server.stop()

    const restoredDir = newDir()
    await run('backup', 'restore', backup, '--data', restoredDir)
    const restored = (await start(restoredDir)).as(secretKey)
    for (const left of [page.cursor, event!.id!]) await expired(restored, left)
    expect(keysOf(await read(restored, { cursor }))).toEqual(['a', 'b'])
  })
})

describe.skipIf(!storeIsEmbedded())('a store is copied', () => {
  test('cursors go on in the copy, but not those from after it', async () => {
    const { dataDir, server, secretKey, api } = await makeStore()
    for (const key of ['a', 'b']) await put(api, key)
    const before = await read(api)
    await put(api, 'c')
    await server.end('SIGTERM')
    const copyDir = newDir()
    await run('copy', '--from', dataDir, '--to', join(copyDir, 'store'))
    await server.start()
    const again = server.as(secretKey)
    await put(again, 'after')
    const after = await read(again, { cursor: before.cursor })
    expect(keysOf(after)).toEqual(['c', 'after'])
    const copied = (await start(join(copyDir, 'store'))).as(secretKey)
    expect(ok(await copied.get(path)).changes).toEqual(ok(await again.get(path)).changes)
    expect(keysOf(await read(copied, { cursor: before.cursor }))).toEqual(['c'])
    await expired(copied, after.cursor)
    await put(copied, 'own')
    await expired(copied, after.cursor)
    expect(keysOf(await read(copied, { cursor: before.cursor }))).toEqual(['c', 'own'])
    await run('verify', '--data', join(copyDir, 'store'))
  })

  test('an export and an import carry how long changes are kept', async () => {
    const { dataDir, server } = await makeStore()
    await server.stop()
    const dir = newDir()
    const file = join(dir, 'app.ndjson')
    const org = (JSON.parse((await runCubby(['orgs', 'list', '--data', dataDir, '--json'])).stdout) as Json)
      .organizations[0].name
    await run('export', '--data', dataDir, '--org', org, '--db', 'app', '--out', file)
    expect(await Bun.file(file).text()).toContain('"changes":{"keepHours":24}')
    const target = await makeStore()
    ok(await target.api.delete(path))
    await target.server.end('SIGTERM')
    const targetOrg = (
      JSON.parse((await runCubby(['orgs', 'list', '--data', target.dataDir, '--json'])).stdout) as Json
    ).organizations[0].name
    await run('import', file, '--data', target.dataDir, '--org', targetOrg)
    await target.server.start()
    expect(ok(await target.server.as(target.secretKey).get(path)).changes.keepHours).toBe(24)
  })
})

describe.skipIf(!storeIsEmbedded())('an entry of the log is damaged', () => {
  const spoiled = async (sql: string) => {
    const store = await makeStore()
    for (const key of ['a', 'b', 'c', 'd']) await put(store.api, key)
    const { cursor } = await read(store.api, { from: 'now' })
    const start = await read(store.api)
    await put(store.api, 'e')
    await put(store.api, 'f')
    await put(store.api, 'g')
    await store.server.end('SIGTERM')
    const db = new Database(join(store.dataDir, 'cubby.db'))
    expect(db.run(sql).changes).toBe(1)
    db.close()
    await store.server.start()
    return { ...store, api: store.server.as(store.secretKey), cursor, start }
  }

  for (const [what, sql] of [
    ['has another key', "UPDATE changes SET hash_key = x'78' WHERE hash_key = x'66'"],
    ['has another version', "UPDATE changes SET version = version + 1 WHERE hash_key = x'66'"],
    ['has another time', "UPDATE changes SET at = at - 1 WHERE hash_key = x'66'"],
    ['is missing', "DELETE FROM changes WHERE hash_key = x'66'"],
    ['has another number', "UPDATE changes SET seq = seq + 100 WHERE hash_key = x'66'"],
  ] as const) {
    test(`one that ${what} is not passed over: a read says so, verify names it, and records are served`, async () => {
      const { api, cursor, dataDir } = await spoiled(sql)
      refused(await api.post(`${path}/changes`, { cursor }), 500, 'store_damaged')
      expect(ok(await api.get(`${path}/f`)).hashKey).toBe('f')
      await put(api, 'still-works')
      const { exitCode, stdout } = await runCubby(['verify', '--data', dataDir])
      expect(exitCode).toBe(1)
      expect(stdout).toContain('in the log of table')
    })
  }

  test('a bit that flipped in a version, of the entry or of the record, is noticed: the record was not written again', async () => {
    const { api, cursor, dataDir, server, secretKey } = await spoiled(
      "UPDATE tables SET purging = 0 WHERE name = 'orders'",
    )
    const { updatedAt } = ok(await api.get(`${path}/f`))
    await server.end('SIGTERM')
    const file = join(dataDir, 'cubby.db')
    const bytes = readFileSync(file)
    // In both rows the version follows the two keys.
    const version = Buffer.alloc(6)
    version.writeUIntBE(updatedAt, 0, 6)
    const places = Array.from({ length: bytes.length }, (_, at) => at).filter(
      (at) => bytes[at] === 0x66 && bytes[at + 1] === 0x23 && bytes.subarray(at + 2, at + 8).equals(version),
    )
    expect(places.length).toBe(2)
    for (const at of places) {
      const flipped = Buffer.from(bytes)
      flipped[at + 7]! ^= 4
      writeFileSync(file, flipped)
      await server.start()
      refused(await server.as(secretKey).post(`${path}/changes`, { cursor }), 500, 'store_damaged')
      await server.end('SIGTERM')
    }
  })
})
