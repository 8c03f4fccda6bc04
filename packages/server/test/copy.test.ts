import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { makeApiKey } from '../src/core/api-keys/api-key.ts'
import { recoveryMs, sweepGraceMs } from '../src/core/limits.ts'
import { openEngine } from '../src/engines/open-engine.ts'
import { compareStores, copyStore } from '../src/operations/transfer/copy-store.ts'
import type { Engine } from '../src/store/engine.ts'
import { makeFixture, startMs } from './conformance/fixture.ts'
import { idempotencyKey } from './conformance/idempotency-keys.ts'
import { makeBench } from './conformance/runs.ts'
import { type Api, type ApiResponse, type Json, makeTempDir, removeTempDir, runCubby, startServer } from './harness.ts'
import { ok } from './http/service.ts'
import { type SharedPostgres, sharedPostgres } from './postgres-server.ts'
import { makeTokens } from './token-states.ts'

setDefaultTimeout(120_000)

// A store that has outgrown its machine moves once. What the copy forgets or changes is lost for good.

const main = join(import.meta.dir, '../src/main.ts')
const records = 6_000

/** Everything that a key can see, as the texts of the answers. */
const readAll = async (api: Api): Promise<string[]> => {
  const texts: string[] = []
  const page = async (path: string, body?: object): Promise<void> => {
    for (let cursor: string | null = null; ; ) {
      const answer: ApiResponse = body === undefined ? await api.get(path) : await api.post(path, { ...body, cursor })
      // The last use of a key is written in the background, also of the one that reads here.
      texts.push(answer.text.replace(/"lastUsedAt":\d+/g, '"lastUsedAt":0'))
      cursor = answer.body.cursor ?? null
      if (cursor === null) return
    }
  }
  await page('/v1')
  await page('/v1/app')
  await page('/v1/app?deleted=true')
  await page('/api/keys')
  await page('/v1/app/orders/query', { index: 't', ascending: true, limit: 1000 })
  await page('/v1/app/orders/query', { index: 'i1', hash: 'open', limit: 1000 })
  await page('/v1/app/odd/query', { hash: 'a\u0000/😀' })
  await page('/v1/app/_tasks')
  await page('/v1/app/_tasks?deleted=true')
  await page('/v1/app/_tasks/mail/query', { limit: 10 })
  return texts
}

const oddPayload = '{ "n": 1.0,\n "n": 12345678901234567890 }'

/** Tasks with runs in every state. Nothing of them changes by itself within an hour. The runs that are held by a lease. */
const makeTasks = async (api: Api): Promise<{ held: Json; waiting: Json }> => {
  const path = '/v1/app/_tasks/mail'
  ok(await api.put(path, { attempts: 2, leaseSeconds: 3600, backoffSeconds: 3600 }), 201)
  const add = async (body: Json): Promise<Json> => ok(await api.post(`${path}/run`, body), 201)
  const end = async (body: Json): Promise<void> => {
    const [{ id, lease }] = ok(await api.post(`${path}/claim`)).runs
    ok(await api.post(`${path}/runs/${id}/finish`, { lease, ...body }))
  }
  await add({ payload: { n: 1 } })
  await end({ result: { sent: 1.5 } })
  await add({ id: 'twice' })
  await end({ error: { message: 'no\u0000 route 😀' } })
  await add({ id: 'bad' })
  await end({ error: { message: 'gone' }, retry: false })
  ok(await api.post(`${path}/runs/${(await add({})).id}/cancel`))
  await add({ key: 'user\u0000 7' })
  const [held] = ok(await api.post(`${path}/claim`)).runs
  ok(await api.post(`${path}/runs/${held.id}/extend`, { lease: held.lease, progress: { done: 3 } }))
  const waiting = await add({ key: 'user\u0000 7' })
  const odd = `{ "payload": ${oddPayload}, "id": "odd", "delaySeconds": 3600 }`
  ok(await api.raw('POST', `${path}/run`, { body: odd }), 201)
  const pushed = { url: 'https://receiver.invalid/', authorization: 'Bearer abc', paused: true }
  ok(await api.put('/v1/app/_tasks/pushed', { ...pushed, schedule: { every: 3600, payload: { a: 1 } } }), 201)
  ok(await api.post('/v1/app/_tasks/pushed/secret'))
  ok(await api.post('/v1/app/_tasks/pushed/run', {}), 201)
  ok(await api.put('/v1/app/_tasks/gone', {}), 201)
  ok(await api.delete('/v1/app/_tasks/gone'))
  return { held, waiting }
}
/** Those that `makeTasks` makes. */
const [tasks, runs] = [3, 8]
const tasksNote = `cubby: the store has ${tasks} tasks: a server on it pushes, schedules and hands out their runs. To try it without that, start it with cubby serve --no-tasks\n`

const copy = (from: string, to: string, ...more: string[]) => runCubby(['copy', '--from', from, '--to', to, ...more])

describe('cubby copy', () => {
  let postgres: SharedPostgres
  let url: string
  let source: string
  let secretKey: string
  let cursor: string
  let before: string[]
  let held: Json
  let waiting: Json
  let expectSameTokens: Awaited<ReturnType<typeof makeTokens>>['expectSame']
  const dirs: string[] = []
  const makeDir = (): string => {
    const dir = makeTempDir()
    dirs.push(dir)
    return join(dir, 'data')
  }

  beforeAll(async () => {
    postgres = await sharedPostgres()
    url = await postgres.createDatabase()
    source = makeDir()
    const server = await startServer({ dataDir: source })
    secretKey = (await server.createOrganization('first')).secretKey
    await server.createOrganization('second')
    const api = server.as(secretKey)
    await api.post('/v1/app/orders', {
      indices: { i1: { hashField: 'status', rangeField: 'n' }, i3: { hashField: 'n' } },
    })
    for (let start = 0; start < records; start += 25) {
      const operations = Array.from({ length: 25 }, (_, i) => ({
        op: 'put',
        hashKey: `u${(start + i) % 97}`,
        rangeKey: `o${start + i}`,
        data: { status: i % 2 === 0 ? 'open' : 'done', n: i % 5, text: 'x'.repeat(200) },
      }))
      await api.post('/v1/app/orders/batch', { operations })
    }
    await api.post('/v1/app/odd')
    const odd =
      '{ "hashKey": "a\\u0000/😀", "rangeKey": "\\u0001é", "data": {"n":1.0, "n": 12345678901234567890} , "ttl": 9999999999}'
    await api.raw('PUT', '/v1/app/odd', { body: odd })
    await api.post('/v1/app/gone')
    await api.put('/v1/app/gone', { hashKey: 'kept', data: { here: true } })
    await api.delete('/v1/app/gone')
    const made = (await api.post('/api/keys', { kind: 'public', name: 'reader', databases: ['app'] })).body
    await api.delete(`/api/keys/${made.id}`)
    cursor = (await api.post('/v1/app/orders/query', { index: 'i1', hash: 'open', limit: 10 })).body.cursor
    ;({ held, waiting } = await makeTasks(api))
    expectSameTokens = (await makeTokens(server, api)).expectSame
    await server.restart()
    before = await readAll(server.as(secretKey))
    await server.stop()
  })
  afterAll(async () => {
    await postgres.remove()
    for (const dir of dirs) removeTempDir(dir)
  })

  test('there and back ends equal, and every answer is what it was', async () => {
    const there = await copy(source, url, '--json')
    const counts = { records: records + 3, tasks, runs, files: 0 }
    expect(JSON.parse(there.stdout)).toEqual({ ok: true, ...counts, differences: [] })
    expect(there.stderr).toBe(tasksNote)
    const back = makeDir()
    const again = await copy(url, back)
    expect(again.stdout).toContain(`records/s and ${tasks} tasks with ${runs} runs\ncompared: the two stores are equal`)
    expect([again.exitCode, again.stderr]).toEqual([0, tasksNote])
    expect((await runCubby(['verify', '--data', back])).exitCode).toBe(0)
    const server = await startServer({ dataDir: back })
    expect(await readAll(server.as(secretKey))).toEqual(before)
    await expectSameTokens(server, secretKey)
    await server.stop()
  })

  test('on the new engine keys and cursors still work, a soft-deleted table can be restored, and new records sort after the old ones', async () => {
    const server = await startServer({ args: ['--store', url] })
    const api = server.as(secretKey)
    expect(await readAll(api)).toEqual(before)
    await expectSameTokens(server, secretKey)
    const next = await api.post('/v1/app/orders/query', { index: 'i1', hash: 'open', limit: 10, cursor })
    expect(next.status).toBe(200)
    await api.put('/v1/app/orders', { hashKey: 'new', data: { status: 'open', n: 4 } })
    const last = await api.post('/v1/app/orders/query', { index: 'i1', hash: 'open', ascending: false, limit: 1 })
    expect(last.body.items[0].hashKey).toBe('new')
    await api.post('/v1/app/gone/restore')
    expect((await api.get('/v1/app/gone/kept')).body.data).toEqual({ here: true })
    expect((await api.post('/v1/app/fresh')).status).toBe(201)
    expect((await api.post('/api/keys', { kind: 'public' })).status).toBe(201)
    await server.stop()
  })

  // The attempt does not know that its store was moved. If its lease were lost, the work would be done twice.
  test('a lease that was handed out before holds on the new engine, and the runs behind it go on', async () => {
    const server = await startServer({ args: ['--store', url, '--no-tasks'] })
    const api = server.as(secretKey)
    const path = '/v1/app/_tasks/mail'
    ok(await api.post(`${path}/runs/${held.id}/extend`, { lease: held.lease }))
    expect(ok(await api.post(`${path}/claim`)).runs).toEqual([])
    expect((await api.post(`${path}/runs/${held.id}/finish`, { lease: `${held.lease}x` })).status).toBe(409)
    expect(ok(await api.post(`${path}/runs/${held.id}/finish`, { lease: held.lease })).status).toBe('succeeded')
    const added = ok(await api.post(`${path}/run`, {}), 201)
    await server.stop()
    const handsOut = await startServer({ args: ['--store', url] })
    const claimed = ok(await handsOut.as(secretKey).post(`${path}/claim`, { limit: 10 })).runs
    expect(claimed.map(({ id }: Json) => id)).toEqual([waiting.id, added.id])
    expect((await handsOut.as(secretKey).get(`${path}/runs/odd`)).text).toContain(`"payload":${oddPayload}`)
    await handsOut.stop()
  })

  // A cursor shows nothing and works only with its store's secrets. A copy without them would refuse the cursors of all clients.
  describe('a store that was made on PostgreSQL', () => {
    const query = { index: 'i1', hash: 'open', limit: 10 }
    let made: string
    let key: string
    let first: ApiResponse
    let second: ApiResponse
    const secretsOf = async (store: string) =>
      (
        await postgres.query(
          `select encode(cursor_key, 'hex') as key, accepts_plain_cursors, secret_begins_at, earlier_secrets from cubby_store`,
          store,
        )
      )[0]!

    beforeAll(async () => {
      made = await postgres.createDatabase()
      const server = await startServer({ store: made })
      key = (await server.createOrganization('third')).secretKey
      const api = server.as(key)
      await api.post('/v1/app/orders', { indices: { i1: { hashField: 'status' } } })
      for (let i = 0; i < 30; i++) await api.put('/v1/app/orders', { hashKey: `u${i}`, data: { status: 'open' } })
      first = await api.post('/v1/app/orders/query', query)
      second = await api.post('/v1/app/orders/query', { ...query, cursor: first.body.cursor })
      // An earlier secret is copied too: the cursors above are of it.
      await server.cubbyJson('secrets', 'rotate')
      expect(JSON.parse((await secretsOf(made)).earlier_secrets as string)).toHaveLength(1)
      await server.stop()
      expect([first.status, second.status, second.body.items?.length]).toEqual([200, 200, 10])
    })

    const expectSameCursors = async (api: Api): Promise<void> => {
      const { cursor: _, ...page } = (await api.post('/v1/app/orders/query', query)).body
      expect(first.body).toMatchObject(page)
      const next = await api.post('/v1/app/orders/query', { ...query, cursor: first.body.cursor })
      expect(next.body.items).toEqual(second.body.items)
    }

    test('is copied to another PostgreSQL with its secrets', async () => {
      const target = await postgres.createDatabase()
      expect((await copy(made, target)).exitCode).toBe(0)
      expect(await secretsOf(target)).toEqual(await secretsOf(made))
      const server = await startServer({ store: target })
      await expectSameCursors(server.as(key))
      await server.stop()
    })

    test('is copied to the embedded engine and back with its secrets', async () => {
      const [target, back] = [makeDir(), await postgres.createDatabase()]
      expect((await copy(made, target)).exitCode).toBe(0)
      const embedded = await startServer({ dataDir: target })
      await expectSameCursors(embedded.as(key))
      await embedded.stop()
      expect((await copy(target, back)).exitCode).toBe(0)
      expect(await secretsOf(back)).toEqual(await secretsOf(made))
    })

    test('has its secrets in the target after a resumed copy too', async () => {
      const target = await postgres.createDatabase()
      await copy(made, target)
      await postgres.query(
        `update cubby_store set cursor_key = decode(repeat('ab', 32), 'hex'), earlier_secrets = '[]'`,
        target,
      )
      expect((await copy(made, target, '--resume')).exitCode).toBe(0)
      expect(await secretsOf(target)).toEqual(await secretsOf(made))
    })
  })

  test('a target that is not empty is refused in one line, and stays as it is', async () => {
    const refused = await copy(source, url)
    expect(refused.exitCode).toBe(1)
    expect(refused.stderr.trim().split('\n')).toHaveLength(1)
    expect(refused.stderr).toContain('not empty')
    expect(refused.stderr).not.toContain('p@ss')
  })

  test('an interrupted copy continues where it stopped and ends equal', async () => {
    const target = makeDir()
    let interrupted = 0
    for (let delayMs = 150; delayMs <= 450; delayMs += 100) {
      const child = Bun.spawn([process.execPath, main, 'copy', '--from', source, '--to', target, '--resume'], {
        stdout: 'ignore',
        stderr: 'ignore',
      })
      await Bun.sleep(delayMs)
      child.kill('SIGKILL')
      if ((await child.exited) !== 0) interrupted++
    }
    expect(interrupted).toBeGreaterThan(0)
    const rest = await copy(source, target, '--resume', '--json')
    expect(JSON.parse(rest.stdout)).toMatchObject({ ok: true, differences: [] })
  })

  test('a target that differs is reported, with exit 1', async () => {
    const target = makeDir()
    await copy(source, target)
    const server = await startServer({ dataDir: target, args: ['--no-tasks'] })
    const api = server.as(secretKey)
    await api.put('/v1/app/odd', { hashKey: 'extra', data: {} })
    ok(await api.put('/v1/app/_tasks/pushed', { paused: true }))
    ok(await api.post('/v1/app/_tasks/mail/runs/odd/cancel'))
    await server.stop()
    const compared = await copy(source, target, '--resume')
    expect(compared.exitCode).toBe(1)
    const lines = [
      'the records of app/odd differ, first at "extra"',
      'the tasks differ, first at app/pushed',
      'the runs differ, first at odd of app/mail',
    ]
    expect(compared.stdout).toContain(`${lines.join('\n')}\n`)
  })

  test('a store that is not given or does not exist is reported in one line', async () => {
    expect((await runCubby(['copy', '--from', source])).stderr).toContain('--to is missing')
    const nothing = await copy(makeDir(), makeDir())
    expect([nothing.exitCode, nothing.stderr.trim().split('\n').length]).toEqual([1, 1])
  })

  describe('copyStore', () => {
    const engines: Engine[] = []
    const open = async (store?: string): Promise<Engine> => {
      const engine = await openEngine({ data: store === undefined ? makeDir() : '', store }, { role: 'owner' })
      engines.push(engine)
      return engine
    }
    afterAll(async () => {
      for (const engine of engines) await engine.close()
    })

    const differencesOf = async (ours: Engine, theirs: Engine): Promise<string[]> => {
      const [one, other] = [await ours.transfer.openDump(), await theirs.transfer.openDump()]
      const found: string[] = []
      for await (const difference of compareStores(one, other)) found.push(difference)
      await one.close()
      await other.close()
      return found
    }

    const targets: [string, () => Promise<Engine>][] = [
      ['a data directory', () => open()],
      ['PostgreSQL', async () => open(await postgres.createDatabase())],
    ]
    test.each(targets)(
      'a deleted organization is deleted in the copy, since the same time: into %s',
      async (_, openTarget) => {
        const [source, target] = [await open(), await openTarget()]
        const fixture = await makeFixture(source)
        await fixture.put('a')
        await source.organizations.delete('acme', startMs)
        const dump = await source.transfer.openDump()
        await copyStore(dump, target, () => {})
        await dump.close()
        expect(await differencesOf(source, target)).toEqual([])
        expect(await target.apiKeys.find(fixture.tenant.secret)).toBeUndefined()
        const { kept } = makeApiKey({ kind: 'secret' })
        expect(await target.organizations.bootstrap('default', [kept], startMs)).toBeUndefined()
        expect(await target.organizations.restore('acme', startMs + recoveryMs - 1)).toMatchObject({
          outcome: 'restored',
        })
        expect(await target.apiKeys.find(fixture.tenant.secret)).toBeDefined()
        expect(await differencesOf(source, target)).toEqual(['the organizations differ'])
        // Purged in the copy, it does not start anew there either.
        await target.organizations.delete('acme', startMs)
        while ((await target.maintenance.purgeOrganizations(startMs + recoveryMs + sweepGraceMs, 10)) > 0) {}
        expect(await target.organizations.list()).toEqual([])
        expect(await target.organizations.bootstrap('default', [kept], startMs)).toBeUndefined()
      },
    )

    test.each(targets)(
      'rolled API keys and idempotency keys are the same in the copy: into %s',
      async (_, openTarget) => {
        const [source, target] = [await open(), await openTarget()]
        const { tenant, table } = await makeFixture(source)
        const orgId = tenant.org.id
        const { text, kept } = makeApiKey({ kind: 'secret' })
        const roll = { id: tenant.apiKey.id, oldEndMs: startMs + 5, key: kept }
        await source.apiKeys.roll(tenant.caller, roll, startMs)
        const scopes = [
          { scopeId: table.id, scopeKind: 'table', orgId },
          { scopeId: orgId, scopeKind: 'organization/app', orgId },
        ]
        const rows = Array.from({ length: 1_100 }, (_, i) => idempotencyKey(scopes[i % 2]!, `k${i}`))
        await source.transfer.load({ idempotencyKeys: rows })
        const dump = await source.transfer.openDump()
        await copyStore(dump, target, () => {})
        await dump.close()
        expect(await differencesOf(source, target)).toEqual([])
        expect(await target.apiKeys.find(text)).toMatchObject({ rolledFrom: tenant.apiKey.id })
        expect(await target.apiKeys.find(tenant.secret)).toMatchObject({ rolledTo: kept.id, expiresAtMs: startMs + 5 })
        await target.transfer.load({ idempotencyKeys: [idempotencyKey(scopes[0]!, 'one more')] })
        expect(await differencesOf(source, target)).toEqual([`the idempotency keys differ, first of table ${table.id}`])
      },
    )

    test.each(targets)(
      'verify finds idempotency keys of a table or organization that does not exist: %s',
      async (_, openTarget) => {
        const target = await openTarget()
        const { tenant, table } = await makeFixture(target)
        const orgId = tenant.org.id
        const load = (scopeId: number, scopeKind: string, ofOrgId: number): Promise<void> =>
          target.transfer.load({ idempotencyKeys: [idempotencyKey({ scopeId, scopeKind, orgId: ofOrgId }, 'k')] })
        await load(table.id, 'table', orgId)
        await load(orgId, 'organization', orgId)
        expect(await Array.fromAsync(target.maintenance.check())).toEqual([])
        await load(table.id + 7, 'table', orgId)
        await load(orgId + 7, 'organization', orgId + 7)
        const found = await Array.fromAsync(target.maintenance.check())
        expect(found.toSorted()).toEqual([
          `idempotency keys of organization ${orgId + 7} belong to nothing`,
          `idempotency keys of table ${table.id + 7} belong to nothing`,
        ])
      },
    )

    test.each(targets)(
      'interrupted within the runs, it continues after the last one: into %s',
      async (_, openTarget) => {
        const [source, target] = [await open(), await openTarget()]
        const bench = await makeBench(source)
        for (let i = 0; i < 40; i++) await Promise.all(Array.from({ length: 30 }, () => bench.add()))
        const [claimed] = await bench.claim()
        await makeBench(source, {}, { tenant: bench.tenant, name: 'other' })
        const dump = await source.transfer.openDump()
        let chunks = 0
        const load: Engine['transfer']['load'] = async (rows) => {
          if (rows.runs !== undefined && ++chunks === 2) throw new Error('pulled plug')
          return target.transfer.load(rows)
        }
        const transfer = {
          load,
          lastRecordId: (id: number) => target.transfer.lastRecordId(id),
          lastRunSeq: () => target.transfer.lastRunSeq(),
        }
        const failing: Engine = Object.assign(Object.create(target), { transfer })
        await expect(copyStore(dump, failing, () => {})).rejects.toThrow('pulled plug')
        expect(await differencesOf(source, target)).toEqual([expect.stringMatching(/^the runs differ, first at run_/)])
        const rest = await copyStore(dump, target, () => {})
        expect(rest).toMatchObject({ tasks: 2, runs: 1_200 - 500 })
        expect(await differencesOf(source, target)).toEqual([])
        await dump.close()
        const copied = (await target.tasks.find(bench.tenant.org.id, 'app', 'mail'))!
        expect(await target.runs.get(copied, claimed!.id, Date.now())).toEqual(claimed!)
        const lastSeq = await target.transfer.lastRunSeq()
        const run = { id: 'new', isNamed: true, key: null, payload: '{}', at: { delayMs: 0 } }
        const added = await target.runs.add(bench.tenant.caller, copied, run, Date.now())
        expect('run' in added && added.run.seq).toBeGreaterThan(lastSeq)
      },
    )

    // A declaration is compared as what it says. Its members may come in another order from another engine.
    test('the order of members is no difference; a header, a secret or a lease is one', async () => {
      const [source, target] = [await open(), await open()]
      const bench = await makeBench(source, { url: 'https://receiver.invalid/', authorization: 'a' })
      await bench.add()
      const dump = await source.transfer.openDump()
      await copyStore(dump, target, () => {})
      const copy = await target.transfer.openDump()
      const compare = async (change: { task?: (task: Json) => Json; run?: (run: Json) => Json }): Promise<string[]> => {
        async function* changedTasks() {
          for await (const task of copy.tasks()) yield change.task?.(task) ?? task
        }
        async function* changedRuns() {
          for await (const chunk of copy.runs(0)) yield chunk.map((run) => change.run?.(run) ?? run)
        }
        const changed = Object.assign(Object.create(copy), { tasks: changedTasks, runs: changedRuns })
        const found: string[] = []
        for await (const difference of compareStores(dump, changed)) found.push(difference)
        return found
      }
      const reversed = (object: Json): Json => Object.fromEntries(Object.entries(object).reverse())
      const reorder = (task: Json): Json => reversed({ ...task, declaration: reversed(task.declaration) })
      expect(await compare({ task: reorder, run: reversed })).toEqual([])
      const tasksDiffer = ['the tasks differ, first at app/mail']
      const declared = (more: Json) => (task: Json) => ({ ...task, declaration: { ...task.declaration, ...more } })
      expect(await compare({ task: declared({ authorization: 'b' }) })).toEqual(tasksDiffer)
      expect(await compare({ task: (task) => ({ ...task, secrets: [] }) })).toEqual(tasksDiffer)
      expect(await compare({ task: (task) => ({ ...task, servedAtMs: 1 }) })).toEqual(tasksDiffer)
      expect(await compare({ run: (run) => ({ ...run, doneLease: 'x' }) })).toHaveLength(1)
      await copy.close()
      await dump.close()
    })
  })
})
