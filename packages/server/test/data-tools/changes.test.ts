import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { cubbyCommand, type Json, makeTempDir, type Organization, removeTempDir, startServer } from '../harness.ts'
import { ok } from '../http/service.ts'
import { asClient, asOperator, expectDone, linesOf, readText, runCommand } from './commands.ts'

// The changes of a table at a shell: what is kept, what is read from where, and that a copy of the table keeps them too.

setDefaultTimeout(120_000)

let server: Awaited<ReturnType<typeof startServer>>
let org: Organization
let dir: string
beforeAll(async () => {
  dir = makeTempDir()
  server = await startServer()
  org = await server.createOrganization('acme')
})
afterAll(async () => {
  await server?.stop()
  removeTempDir(dir)
})

const env = () => asClient(server, org)
const run = (...args: string[]) => runCommand(args, { env: env() })
const object = async (...args: string[]): Promise<Json> => JSON.parse(await expectDone(args, { env: env() }))
const change = (table: string, ...args: string[]) => ['changes', '--db', 'app', '--table', table, ...args]
const put = async (table: string, hashKey: string, rangeKey: string, data: Json): Promise<void> => {
  ok(await server.as(org.secretKey).put(`/v1/app/${table}`, { hashKey, rangeKey, data }))
}

test('a table keeps its changes from its creation or later, for another time, or no longer', async () => {
  expect((await object('table', 'create', 'kept', '--db', 'app', '--changes', '7d')).changes.keepHours).toBe(168)
  expect(await object('table', 'create', 'plain', '--db', 'app')).not.toHaveProperty('changes')
  const refused = await run(...change('plain'))
  expect([refused.exitCode, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toContain('table changes plain --db app --keep 24h')
  expect((await object('table', 'changes', 'plain', '--db', 'app', '--keep', '24h')).changes.keepHours).toBe(24)
  expect((await object('table', 'changes', 'plain', '--db', 'app', '--keep', '2h')).changes.keepHours).toBe(2)
  expect(await object('table', 'changes', 'plain', '--db', 'app', '--keep', 'none')).not.toHaveProperty('changes')
  for (const keep of [[], ['--keep', '24'], ['--keep', '0h']])
    expect((await run('table', 'changes', 'plain', '--db', 'app', ...keep)).exitCode).toBe(2)
})

describe('cubby changes', () => {
  beforeAll(async () => {
    await object('table', 'create', 'orders', '--db', 'app', '--changes', '24h')
    await put('orders', 'ada', 'o-1', { n: 1 })
    await put('orders', 'bob', 'o-2', { n: 2 })
  })

  test('shows every record, then what has changed since the cursor that it named', async () => {
    const first = await run(...change('orders'))
    expect([first.exitCode, first.stdout]).toEqual([0, 'put "ada" "o-1" {"n":1}\nput "bob" "o-2" {"n":2}\n'])
    const [, cursor] = /^to go on from here: --cursor (\S+)\n$/.exec(first.stderr)!
    expect(await expectDone(change('orders', '--hash', 'bob'), { env: env() })).toBe('put "bob" "o-2" {"n":2}\n')
    const now = await run(...change('orders', '--from', 'now'))
    expect([now.exitCode, now.stdout]).toEqual([0, ''])
    await put('orders', 'ada', 'o-1', { n: 3 })
    await expectDone(['delete', 'bob', 'o-2', '--db', 'app', '--table', 'orders'], { env: env() })
    const next = (...args: string[]) => expectDone(change('orders', '--cursor', cursor!, ...args), { env: env() })
    expect(await next()).toBe('put "ada" "o-1" {"n":3}\ndelete "bob" "o-2"\n')
    expect(await next('--select', 'keys')).toBe('put "ada" "o-1"\ndelete "bob" "o-2"\n')
    const items = (await next('--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(items).toMatchObject([
      { op: 'put', hashKey: 'ada', rangeKey: 'o-1', data: { n: 3 } },
      { op: 'delete', hashKey: 'bob', rangeKey: 'o-2' },
    ])
    expect((await run(...change('orders', '--cursor', 'x'))).exitCode).toBe(1)
  })

  test('with --follow a change is shown when it comes, and nothing is asked meanwhile', async () => {
    let asked = 0
    const between = Bun.serve({
      port: 0,
      fetch(request) {
        asked++
        const { pathname } = new URL(request.url)
        return fetch(`${server.url}${pathname}`, {
          method: request.method,
          headers: request.headers,
          body: request.body,
        })
      },
    })
    const command = [...cubbyCommand(), ...change('orders', '--from', 'now', '--follow')]
    const environment = { ...process.env, ...env(), CUBBY_URL: `http://127.0.0.1:${between.port}` }
    const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'ignore', env: environment })
    try {
      const reader = child.stdout.getReader()
      const shown = reader.read()
      // Nobody can see when it has begun to follow, so there is a write until it shows one.
      let isShown = false
      void shown.then(() => {
        isShown = true
      })
      let writes = 0
      for (; !isShown; writes++) {
        await put('orders', 'live', 'o-3', { n: writes })
        await Bun.sleep(50)
      }
      expect(Buffer.from((await shown).value!).toString()).toMatch(/^(put "live" "o-3" \{"n":\d+\}\n)+$/)
      reader.releaseLock()
      await Bun.sleep(300)
      // The first request says from where, and each of the others waits for a change.
      expect(asked).toBeLessThanOrEqual(writes + 2)
      expect(child.exitCode).toBeNull()
    } finally {
      child.kill('SIGINT')
      await child.exited
      await between.stop(true)
    }
  })

  test('a call that cannot be meant is refused before anything is asked', async () => {
    for (const args of [
      ['--from', 'yesterday'],
      ['--from', 'now', '--cursor', 'x'],
      ['--select', 'all'],
    ])
      expect((await run(...change('orders', ...args))).exitCode).toBe(2)
  })
})

test('an export says that a table keeps its changes, and an import makes it so', async () => {
  await object('table', 'create', 'moved', '--db', 'app', '--changes', '48h')
  await put('moved', 'a', '#', {})
  const file = join(dir, 'moved.ndjson')
  await expectDone(['export', '--db', 'app', '--table', 'moved', '--out', file], { env: env() })
  expect(JSON.parse(linesOf(readText(file))[0]!).changes).toEqual({ keepHours: 48 })
  const straight = await expectDone(['export', ...asOperator(server.dataDir, org), '--db', 'app', '--table', 'moved'])
  expect(straight).toBe(readText(file))
  const other = await server.createOrganization('globex')
  await expectDone(['import', file], { env: asClient(server, other) })
  expect(ok(await server.as(other.secretKey).get('/v1/app/moved')).changes.keepHours).toBe(48)
})
