import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Api,
  makeTempDir,
  type Organization,
  removeTempDir,
  runCubby,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { runCommand } from './commands.ts'

// The bytes of small files are in the store. A store whose other files are all gone still has the mark of their place.

setDefaultTimeout(120_000)

describe.skipIf(!storeIsEmbedded())('a store that has only small files left', () => {
  const dir = makeTempDir()
  const backup = join(dir, 'backup')
  const file = '/v1/app/_buckets/docs/small.txt'
  let server: Server
  let org: Organization

  beforeAll(async () => {
    server = await startServer({ args: ['--small-files-in-store'] })
    org = await server.createOrganization('acme')
    const api: Api = server.as(org.secretKey)
    await api.post('/v1/app/_buckets/docs')
    await api.put('/v1/app/_buckets/docs/large.bin', 'x'.repeat(50_000))
    await api.put(file, 'hello small')
    await api.delete('/v1/app/_buckets/docs/large.bin')
  })
  afterAll(async () => {
    await server?.stop()
    removeTempDir(dir)
  })

  test('is served again after a restore, from a file and from a pipe', async () => {
    expect(await runCubby(['backup', 'create', backup, '--data', server.dataDir])).toMatchObject({ exitCode: 0 })
    expect(existsSync(`${backup}.files`)).toBe(false)
    for (const from of ['file', 'pipe']) {
      const data = join(dir, from)
      const command =
        from === 'file'
          ? runCubby(['backup', 'restore', backup, '--data', data])
          : runCommand(['backup', 'restore', '-', '--data', data], { stdin: readFileSync(backup) })
      expect(await command).toMatchObject({ exitCode: 0, stderr: '' })
      const restored = await startServer({ dataDir: data })
      try {
        const headers = { authorization: `Bearer ${org.secretKey}` }
        expect(await (await fetch(restored.url + file, { headers })).text()).toBe('hello small')
        const api = restored.as(org.secretKey)
        expect((await api.put('/v1/app/_buckets/docs/next.bin', 'y'.repeat(50_000))).status).toBe(200)
      } finally {
        await restored.stop()
      }
    }
  })

  test('is refused by a backup to a pipe, as every store with files', async () => {
    const refused = await runCommand(['backup', 'create', '-', '--data', server.dataDir])
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('the store has files') })
    expect((await runCommand(['backup', 'create', '-', '--without-files', '--data', server.dataDir])).exitCode).toBe(0)
  })

  test('is not backed up, restored or verified if their bytes are damaged', async () => {
    const db = new Database(backup)
    db.run(`UPDATE blob_bytes SET bytes = CAST('jello small' AS BLOB)`)
    db.run('PRAGMA journal_mode = DELETE')
    db.close()
    const wrong = expect.stringContaining('are not those that were uploaded')
    const [file, pipe] = [join(dir, 'damaged'), join(dir, 'damaged-pipe')]
    expect(await runCubby(['backup', 'restore', backup, '--data', file])).toMatchObject({ exitCode: 1, stderr: wrong })
    const piped = runCommand(['backup', 'restore', '-', '--data', pipe], { stdin: readFileSync(backup) })
    expect(await piped).toMatchObject({ exitCode: 1, stderr: wrong })
    expect(await runCubby(['backup', 'verify', backup])).toMatchObject({ exitCode: 1, stderr: wrong })
    expect([file, pipe].map((data) => existsSync(join(data, 'cubby.db')))).toEqual([false, false])
  })
})
