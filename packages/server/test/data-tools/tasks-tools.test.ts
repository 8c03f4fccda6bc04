import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Api,
  type Json,
  makeTempDir,
  type Organization,
  removeTempDir,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { ok } from '../http/service.ts'
import { asClient, asOperator, linesOf, runCommand } from './commands.ts'

// A restored store takes up the work where the backup was made. Somebody who only looks at it must be able to keep it from
// sending last week's mail again.

setDefaultTimeout(120_000)

const path = '/v1/app/_tasks/mail'
const noteOf = (tasks: string): string =>
  `cubby: the store has ${tasks}: a server on it pushes, schedules and hands out their runs. To try it without that, start it with cubby serve --no-tasks\n`

describe.skipIf(!storeIsEmbedded())('a store with tasks', () => {
  let dir: string
  let server: Server
  let org: Organization
  let file: string
  let held: Json
  let secret: string

  beforeAll(async () => {
    dir = makeTempDir()
    server = await startServer({ dataDir: join(dir, 'data') })
    org = await server.createOrganization('acme')
    const api = server.as(org.secretKey)
    ok(await api.post('/v1/app/notes'), 201)
    ok(await api.put('/v1/app/notes', { hashKey: 'a', data: {} }))
    ok(await api.put(path, { leaseSeconds: 3600 }), 201)
    for (const id of ['first', 'second']) ok(await api.post(`${path}/run`, { id, payload: { for: id } }), 201)
    held = ok(await api.post(`${path}/claim`)).runs[0]
    const pushed = { url: 'https://receiver.invalid/', authorization: 'Bearer kept', paused: true }
    secret = ok(await api.put('/v1/app/_tasks/pushed', pushed), 201).secret
    ok(await api.put('/v1/app/_tasks/dropped', {}), 201)
    ok(await api.delete('/v1/app/_tasks/dropped'))
    file = join(dir, 'store.backup')
    const { exitCode, stdout, stderr } = await runCommand(['backup', 'create', file, '--data', server.dataDir])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toMatch(/: 1 organization, 1 table, 1 record, 3 tasks, 2 runs, [\d.]+ MB, verified\n$/)
  })
  afterAll(async () => {
    await server?.stop()
    removeTempDir(dir)
  })

  describe('a backup', () => {
    const withServer = async (dataDir: string, args: string[], use: (api: Api) => Promise<void>): Promise<void> => {
      const restored = await startServer({ dataDir, args })
      try {
        await use(restored.as(org.secretKey))
      } finally {
        await restored.end('SIGTERM')
      }
    }

    test('is restored with a line that names serve --no-tasks; with it nothing is handed out, without it all goes on', async () => {
      const data = join(dir, 'restored')
      const { exitCode, stdout, stderr } = await runCommand(['backup', 'restore', file, '--data', data, '--json'])
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: noteOf('3 tasks') })
      expect(JSON.parse(stdout)).toMatchObject({ data, tables: 1, records: 1, tasks: 3, runs: 2 })
      expect(await runCommand(['verify', '--data', data])).toMatchObject({ exitCode: 0, stderr: '' })
      await withServer(data, ['--no-tasks'], async (api) => {
        expect(ok(await api.post(`${path}/claim`)).runs).toEqual([])
        expect(ok(await api.post(`${path}/query`)).count).toBe(2)
      })
      await withServer(data, [], async (api) => {
        const claimed = ok(await api.post(`${path}/claim`, { limit: 10 })).runs
        expect(claimed.map(({ id, payload }: Json) => [id, payload])).toEqual([['second', { for: 'second' }]])
        // The lease is the one from before the backup.
        const done = await api.post(`${path}/runs/first/finish`, { lease: held.lease, result: { ok: true } })
        expect(ok(done).status).toBe('succeeded')
        ok(await api.post('/v1/app/_tasks/dropped/restore'))
      })
    })

    test('through a pipe: the line is on standard error, beside the summary', async () => {
      const data = join(dir, 'piped')
      const { stdout, stderr } = await runCommand(['backup', 'restore', '-', '--data', data], {
        stdin: readFileSync(file),
      })
      expect(stdout).toMatch(/, 3 tasks, 2 runs, [\d.]+ MB, verified\n$/)
      expect(stderr).toBe(noteOf('3 tasks'))
    })

    // docs/recovering.md says so: a backup must be kept as secret as the store.
    test('contains the secrets and headers of tasks as they are', () => {
      const bytes = readFileSync(file)
      expect([secret, 'Bearer kept'].map((text) => bytes.includes(text))).toEqual([true, true])
    })
  })

  describe('cubby verify', () => {
    const tampered = (name: string, statement: string): string => {
      const copy = join(dir, name)
      mkdirSync(copy)
      cpSync(file, join(copy, 'cubby.db'))
      const db = new Database(join(copy, 'cubby.db'))
      expect(db.run(statement).changes).toBeGreaterThan(0)
      db.close()
      return copy
    }

    test('names a damaged run and its task; backup and copy stop at it', async () => {
      const data = tampered('damaged', `UPDATE runs SET payload = replace(payload, 'second', 'sEcond')`)
      const plain = await runCommand(['verify', '--data', data])
      expect([plain.exitCode, linesOf(plain.stdout)]).toEqual([
        1,
        [expect.stringMatching(/^run second \(task \d+\): /)],
      ])
      expect(plain.stderr).toContain(`1 finding in ${data}; damaged tables: task app/mail of acme\n`)
      const { findings, summary } = JSON.parse((await runCommand(['verify', '--data', data, '--json'])).stdout)
      expect(findings).toEqual(linesOf(plain.stdout))
      expect(summary.tables).toMatchObject([{ kind: 'task', organization: 'acme', db: 'app', table: 'mail' }])
      for (const args of [
        ['backup', 'create', join(dir, 'never.backup'), '--data', data],
        ['copy', '--from', data, '--to', join(dir, 'never')],
      ]) {
        const { exitCode, stdout, stderr } = await runCommand(args)
        expect([exitCode, stdout]).toEqual([1, ''])
        expect(stderr).toMatch(/^cubby: [^\n]*\bsecond\b[^\n]*\n$/)
      }
    })

    test('names a task without a declaration', async () => {
      const data = tampered('undeclared', `DELETE FROM tasks WHERE declaration LIKE '%receiver%'`)
      const { exitCode, stdout, stderr } = await runCommand(['verify', '--data', data])
      expect([exitCode, stdout]).toEqual([1, expect.stringMatching(/^task \d+ has no declaration\n$/)])
      expect(stderr).toContain('damaged tables: task app/pushed of acme\n')
    })
  })

  test('cubby export says how many tasks it left out, through the server and from the store', async () => {
    const said = 'records of tables only: 2 tasks of app left out, see --help\n'
    const args = ['export', '--db', 'app']
    for (const result of [
      await runCommand(args, { env: asClient(server, org) }),
      await runCommand([...args, ...asOperator(server.dataDir, org)]),
    ]) {
      expect(result.exitCode).toBe(0)
      expect(result.stderr).toStartWith(said)
      expect(linesOf(result.stdout)).toHaveLength(2)
    }
    // One who names a table knows that it is not all; a public key cannot list tasks.
    const one = await runCommand([...args, '--table', 'notes'], { env: asClient(server, org) })
    expect(one.stderr).toStartWith('exported 1 record')
    const reader = await runCommand(args, { env: { ...asClient(server, org), CUBBY_KEY: org.publicKey } })
    expect([reader.exitCode, reader.stderr.startsWith('exported 1 record')]).toEqual([0, true])
    ok(await server.as(org.secretKey).post('/v1/app/_buckets/photos'), 201)
    const both = await runCommand(args, { env: asClient(server, org) })
    expect(both.stderr).toStartWith('records of tables only: 1 bucket and 2 tasks of app left out, see --help\n')
  })
})
