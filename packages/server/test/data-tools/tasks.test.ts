import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { openEngine } from '../../src/engines/open-engine.ts'
import type { DumpedTask } from '../../src/store/transfer.ts'
import {
  type Api,
  type ApiResponse,
  type CommandResult,
  eventually,
  type Json,
  type Organization,
  type Server,
  startServer,
  storeArguments,
} from '../harness.ts'
import { ok } from '../http/service.ts'
import { asClient, linesOf, type RunOptions, runCommand, startCommand } from './commands.ts'

// The shell is where somebody looks when work does not get done. What it shows, and what it changes, must be exact.

setDefaultTimeout(120_000)

let server: Server
let org: Organization
let api: Api
let databases = 0

beforeAll(async () => {
  server = await startServer()
  org = await server.createOrganization()
  api = server.as(org.secretKey)
})
afterAll(async () => {
  await server?.stop()
})

const newDb = (): string => `db-${++databases}`

const run = (args: string[], options: RunOptions = {}): Promise<CommandResult> =>
  runCommand(args, { ...options, env: { ...asClient(server, org), ...options.env } })

/** A success; its lines. */
const lines = async (args: string[], options?: RunOptions & { stderr?: string }): Promise<string[]> => {
  const { exitCode, stdout, stderr } = await run(args, options)
  expect({ exitCode, stderr, args }).toEqual({ exitCode: 0, stderr: options?.stderr ?? '', args })
  return linesOf(stdout)
}

const objects = async (args: string[], options?: RunOptions): Promise<Json[]> =>
  (await lines(args, options)).map((line) => JSON.parse(line))

const object = async (args: string[], options?: RunOptions): Promise<Json> => {
  const found = await objects(args, options)
  expect(found).toHaveLength(1)
  return found[0]!
}

const expectRefused = async (args: string[], exitCode: number, said: string | RegExp, options?: RunOptions) => {
  const result = await run(args, options)
  expect({ exitCode: result.exitCode, stdout: result.stdout }).toEqual({ exitCode, stdout: '' })
  expect(result.stderr).toMatch(/^cubby: [^\n]+\n$/)
  expect(result.stderr).toMatch(said)
}

/** Declares a task for a test, without a process. */
const declare = async (db: string, body: Json = {}, task = 'mail'): Promise<Json> =>
  ok(await api.put(`/v1/${db}/_tasks/${task}`, body), 201)

const addRun = async (db: string, body: Json = {}, task = 'mail'): Promise<Json> =>
  ok(await api.post(`/v1/${db}/_tasks/${task}/run`, body), 201)

const claim = async (db: string, task = 'mail'): Promise<Json> =>
  ok(await api.post(`/v1/${db}/_tasks/${task}/claim`, { waitSeconds: 5 })).runs[0]

const finish = async (db: string, { id, lease }: Json, body: Json): Promise<ApiResponse> =>
  api.post(`/v1/${db}/_tasks/mail/runs/${id}/finish`, { lease, ...body })

/** The declaration in the store itself, with what no answer shows. */
const stored = async (db: string, name: string): Promise<DumpedTask> => {
  const [, , , store] = storeArguments(server.dataDir)
  const engine = await openEngine({ data: server.dataDir, store }, { role: 'guest', mustExist: true })
  try {
    const dump = await engine.transfer.openDump()
    try {
      let id: number | undefined
      for await (const table of dump.tables()) if (table.db === db && table.name === name) id = table.id
      for await (const task of dump.tasks()) if (task.tableId === id) return task
      throw new Error(`no task ${name} in ${db}`)
    } finally {
      await dump.close()
    }
  } finally {
    await engine.close()
  }
}

const secretNote = 'cubby: keep the secret: it is shown only this once\n'
/** No task that claims runs is pushed anywhere; a name that never resolves is accepted. */
const target = 'https://receiver.invalid/mail'
/** More digits than a double has, and white space that comes back as it was sent. */
const payload = '{"n": 12345678901234567890,\n "text":"a  b"}'
const minified = '{"n":12345678901234567890,"text":"a  b"}'

describe('tasks', () => {
  test('declare prints what the API answers; list, describe, drop and restore show the same task', async () => {
    const db = newDb()
    const declared = await lines(['tasks', 'declare', 'mail', '--db', db])
    expect(declared).toEqual([(await api.get(`/v1/${db}/_tasks/mail`)).text.trimEnd()])
    expect(await lines(['tasks', 'describe', 'mail', '--db', db])).toEqual(declared)
    expect(await lines(['tasks', 'list', '--db', db, '--json'])).toEqual(declared)
    const dropped = await object(['tasks', 'drop', 'mail', '--db', db])
    expect(dropped).toMatchObject({ task: 'mail', status: 'deleted' })
    expect(await objects(['tasks', 'list', '--db', db, '--json'])).toEqual([])
    expect(await objects(['tasks', 'list', '--db', db, '--json', '--deleted'])).toEqual([dropped])
    const at = String(dropped.deletedAt)
    expect(await object(['tasks', 'restore', 'mail', '--db', db, '--deleted-at', at])).toMatchObject({
      task: 'mail',
      status: 'active',
    })
  })

  test('declare takes every member of the declaration as a flag, and replaces it as a whole', async () => {
    const db = newDb()
    const words = ['tasks', 'declare', 'mail', '--db', db]
    const flags: [string, string, string, unknown][] = [
      ['--push-to', target, 'url', target],
      ['--lease-seconds', '60', 'leaseSeconds', 60],
      ['--attempts', '3', 'attempts', 3],
      ['--backoff-seconds', '7', 'backoffSeconds', 7],
      ['--concurrency', '4', 'concurrency', 4],
      ['--keep-seconds', '3600', 'keepSeconds', 3600],
    ]
    const schedule = ['--cron', '30 6 * * mon-fri', '--timezone', 'Europe/Berlin', '--payload', payload]
    const all = [...words, '--paused', ...schedule]
    for (const [flag, value] of flags) all.push(flag, value)
    // The value is in the environment, where other users do not see it.
    const env = { CUBBY_AUTHORIZATION: 'Bearer abc' }
    const [line] = await lines(all, { env, stderr: secretNote })
    const task = JSON.parse(line!)
    for (const [, , member, value] of flags) expect([member, task[member]]).toEqual([member, value])
    expect(task).toMatchObject({ paused: true, authorization: '****' })
    expect(task.secret).toStartWith('whsec_')
    expect(task.schedule).toMatchObject({ cron: '30 6 * * mon-fri', timezone: 'Europe/Berlin' })
    expect(line).toContain(`"payload":${minified}`)
    expect((await stored(db, 'mail')).declaration.authorization).toBe('Bearer abc')
    // The secret is shown once, and what is not given has its default again.
    const again = await object([...words, '--every', '60', '--if-match', String(task.updatedAt)])
    expect(again).toMatchObject({ url: null, authorization: null, attempts: 12, paused: false })
    expect(again.schedule).toMatchObject({ every: 60, payload: {} })
    expect(again.secret).toBeUndefined()
    await expectRefused([...words, '--if-match', String(task.updatedAt)], 1, /./)
    await expectRefused([...words, '--if-absent'], 1, /./)
  })

  test('list is a table: state, oldest due run, next run, target', async () => {
    const db = newDb()
    await declare(db, { paused: true }, 'pulled')
    await declare(db, { url: target, schedule: { every: 31_536_000 } }, 'pushed')
    const { runAt } = await addRun(db, {}, 'pulled')
    const due = new Date(runAt).toISOString().replace(/\.\d+Z$/, 'Z')
    const rows = (await lines(['tasks', 'list', '--db', db])).map((line) => line.split(/ {2,}/))
    expect(rows).toEqual([
      ['TASK', 'STATE', 'OLDEST DUE RUN', 'NEXT RUN', 'PUSHED TO'],
      ['pulled', 'paused', due, '-', '-'],
      ['pushed', 'active', '-', expect.stringMatching(/^20\d\d-01-01T|^20\d\d-12-/), target],
    ])
  })

  test('secret prints a new one; with --revoke-old the one before does not sign any more', async () => {
    const db = newDb()
    await declare(db, { url: target })
    const texts = async () => (await stored(db, 'mail')).secrets.map(({ text }) => text)
    const [first] = await texts()
    const { secret } = await object(['tasks', 'secret', 'mail', '--db', db])
    expect(await texts()).toEqual([secret, first])
    const only = await object(['tasks', 'secret', 'mail', '--db', db, '--revoke-old'])
    expect(await texts()).toEqual([only.secret])
  })
})

// A pause that declares the task anew from what it remembers would lose the URL, the header or the schedule of others.
describe('pause and resume', () => {
  const declareAll = async (db: string): Promise<void> => {
    const body = `{"url":"${target}","authorization":"Bearer abc","leaseSeconds":60,"attempts":3,"backoffSeconds":7,
      "concurrency":4,"keepSeconds":3600,"schedule":{"every":31536000,"payload":${payload}}}`
    ok(await api.raw('PUT', `/v1/${db}/_tasks/mail`, { body }), 201)
  }

  test('keep all of the declaration, the header that no answer shows too', async () => {
    const db = newDb()
    await declareAll(db)
    const before = await stored(db, 'mail')
    const [paused] = await objects(['tasks', 'pause', 'mail', '--db', db])
    expect(paused).toMatchObject({ paused: true, authorization: '****', schedule: { nextRunAt: null } })
    const [resumed] = await lines(['tasks', 'resume', 'mail', '--db', db])
    expect(resumed).toContain(`"payload":${minified}`)
    expect(JSON.parse(resumed!).schedule.nextRunAt).toBeGreaterThan(Date.now())
    const after = await stored(db, 'mail')
    expect(after.updatedAtMs).toBeGreaterThan(before.updatedAtMs)
    // The times of the schedule begin again.
    const others = { updatedAtMs: 0, servedAtMs: 0 }
    expect({ ...after, ...others }).toEqual({ ...before, ...others })
  })

  test('change nothing if the task is as wanted already', async () => {
    const db = newDb()
    const declared = await declare(db)
    expect(await object(['tasks', 'resume', 'mail', '--db', db])).toEqual(declared)
  })

  test('a declaration that is made in between is kept', async () => {
    const db = newDb()
    await declareAll(db)
    let puts = 0
    const proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { pathname, search } = new URL(request.url)
        if (request.method === 'PUT' && ++puts === 1) {
          const other = { url: target, authorization: '****', attempts: 9 }
          ok(await api.put(pathname, other))
        }
        const body = await request.text()
        const answer = await fetch(server.url + pathname + search, {
          method: request.method,
          headers: request.headers,
          body: body === '' ? undefined : body,
        })
        return new Response(await answer.text(), { status: answer.status })
      },
    })
    try {
      const env = { CUBBY_URL: `http://127.0.0.1:${proxy.port}` }
      expect(await object(['tasks', 'pause', 'mail', '--db', db], { env })).toMatchObject({ paused: true, attempts: 9 })
    } finally {
      await proxy.stop(true)
    }
    expect(puts).toBe(2)
    const { declaration } = await stored(db, 'mail')
    expect(declaration).toMatchObject({ paused: true, attempts: 9, authorization: 'Bearer abc', schedule: null })
  })
})

describe('runs', () => {
  let db: string
  beforeAll(async () => {
    db = newDb()
    await declare(db)
  })

  test('run prints the run; its payload has all digits, from a flag and from standard input', async () => {
    const [line] = await lines(['tasks', 'run', 'mail', '--db', db, '--payload', payload, '--delay-seconds', '3600'])
    expect(line).toContain(`"payload":${minified}`)
    const made = JSON.parse(line!)
    expect(made).toMatchObject({ status: 'queued', attempt: 0, key: null })
    expect(made.runAt - made.createdAt).toBe(3_600_000)
    const piped = await lines(['tasks', 'run', 'mail', '--db', db, '--payload', '-', '--delay-seconds', '3600'], {
      stdin: payload,
    })
    expect(piped[0]).toContain(`"payload":${minified}`)
    expect(await lines(['tasks', 'get', 'mail', made.id, '--db', db])).toEqual([line!])
  })

  test('the same --id again is the same run; with another payload it is refused', async () => {
    const call = ['tasks', 'run', 'mail', '--db', db, '--id', 'order-1', '--run-at', '2999-01-01T00:00:00Z']
    const made = await object([...call, '--payload', '{"a":1}'])
    expect(made).toMatchObject({ id: 'order-1', runAt: Date.UTC(2999, 0, 1) })
    expect(await object([...call, '--payload', '{"a":1}'])).toEqual(made)
    await expectRefused([...call, '--payload', '{"a":2}'], 1, /order-1/)
  })

  test('--run-key: the queued run of that key gets the new payload', async () => {
    const call = ['tasks', 'run', 'mail', '--db', db, '--run-key', 'user 7', '--run-at', String(Date.UTC(2999, 0, 1))]
    const made = await object([...call, '--payload', '{"a":1}'])
    expect(made).toMatchObject({ key: 'user 7', payload: { a: 1 } })
    expect(await object([...call, '--payload', '{"a":2}'])).toMatchObject({ id: made.id, payload: { a: 2 } })
    await expectRefused(['tasks', 'run', 'mail', '--db', db, '--run-key', ''], 1, /^cubby: --run-key is empty/)
  })

  test('cancel and retry change every run that is named, and print each', async () => {
    const ids = [(await addRun(db, { delaySeconds: 3600 })).id, (await addRun(db, { delaySeconds: 3600 })).id]
    const shown = async (verb: string, wanted = ids) =>
      (await objects(['tasks', verb, 'mail', ...wanted, '--db', db])).map(({ id, status }) => [id, status])
    expect(await shown('cancel')).toEqual(ids.map((id) => [id, 'cancelled']))
    expect(await shown('retry')).toEqual(ids.map((id) => [id, 'queued']))
    // One that cannot be changed does not keep the others from it.
    ok(await api.post(`/v1/${db}/_tasks/mail/runs/${ids[1]}/cancel`))
    const mixed = await run(['tasks', 'retry', 'mail', 'unknown', ...ids, '--db', db])
    expect([mixed.exitCode, linesOf(mixed.stdout).map((line) => JSON.parse(line).id)]).toEqual([1, [ids[1]!]])
    expect(linesOf(mixed.stderr)).toEqual([
      expect.stringMatching(/^cubby: .*unknown/),
      expect.stringMatching(new RegExp(`^cubby: .*${ids[0]}`)),
    ])
  })
})

describe('all runs with a status', () => {
  let db: string
  beforeAll(async () => {
    db = newDb()
    await declare(db, {})
  })

  // A list of more than one page, or of one page only: runs beyond it would stay as they are, and nobody would notice.
  test('cancel and retry go over all pages, with bounded requests in flight; a run that was changed meanwhile is skipped', async () => {
    const all = 1_010
    const numbers = Array.from({ length: all }, (_, i) => i)
    for (let at = 0; at < all; at += 25) {
      await Promise.all(
        numbers
          .slice(at, at + 25)
          .map((n) => api.post(`/v1/${db}/_tasks/mail/run`, { id: `run-${n}`, delaySeconds: 3600 })),
      )
    }
    expect(await object(['tasks', 'cancel', 'mail', '--status', 'queued', '--db', db, '--json'])).toEqual({
      cancelled: all,
      skipped: 0,
    })
    let [inFlight, most, isFirst] = [0, 0, true]
    const proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { pathname, search } = new URL(request.url)
        const isRetry = pathname.endsWith('/retry')
        if (isRetry && isFirst) {
          isFirst = false
          ok(await api.post(`/v1/${db}/_tasks/mail/runs/run-0/retry`))
        }
        if (isRetry) most = Math.max(most, ++inFlight)
        const body = await request.text()
        const answer = await fetch(server.url + pathname + search, {
          method: request.method,
          headers: request.headers,
          body,
        })
        const text = await answer.text()
        if (isRetry) inFlight--
        return new Response(text, { status: answer.status, headers: { 'content-type': 'application/json' } })
      },
    })
    const call = ['tasks', 'retry', 'mail', '--status', 'cancelled', '--db', db]
    try {
      const url = `http://127.0.0.1:${proxy.port}`
      expect(await lines(call, { env: { CUBBY_URL: url } })).toEqual([
        'retried 1,009 runs of mail; skipped 1 that changed meanwhile',
      ])
    } finally {
      await proxy.stop(true)
    }
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(8)
    expect(await lines(['tasks', 'runs', 'mail', '--status', 'queued', '--count', '--db', db])).toEqual([String(all)])
    expect(await lines(call)).toEqual(['retried 0 runs of mail'])
  })

  test('an error that is not of one run ends it, and says how far it came', async () => {
    let requests = 0
    const proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { pathname, search } = new URL(request.url)
        if (pathname.endsWith('/cancel') && ++requests > 20) {
          const error = { code: 'revoked_api_key', message: 'The API key was revoked.', requestId: 'r' }
          return Response.json({ error }, { status: 403 })
        }
        const body = await request.text()
        return fetch(server.url + pathname + search, { method: request.method, headers: request.headers, body })
      },
    })
    try {
      const env = { CUBBY_URL: `http://127.0.0.1:${proxy.port}` }
      const result = await run(['tasks', 'cancel', 'mail', '--status', 'queued', '--db', db], { env })
      expect([result.exitCode, result.stdout]).toEqual([1, ''])
      expect(result.stderr).toBe(
        'cubby: cancelled 20 runs of mail, before it failed\ncubby: The API key was revoked.\n',
      )
    } finally {
      await proxy.stop(true)
    }
  })

  test('mistakes in the call', async () => {
    await expectRefused(['tasks', 'retry', 'mail', '--db', db], 2, /RUN is missing; name runs, or give --status failed/)
    await expectRefused(
      ['tasks', 'retry', 'mail', '--status', 'queued', '--db', db],
      2,
      /takes failed, succeeded, cancelled/,
    )
    await expectRefused(['tasks', 'cancel', 'mail', '--status', 'failed', '--db', db], 2, /takes queued, running/)
    await expectRefused(['tasks', 'cancel', 'mail', 'r', '--status', 'queued', '--db', db], 2, /RUN and --status/)
  })
})

describe('run --wait', () => {
  let db: string
  beforeAll(async () => {
    db = newDb()
    await declare(db, { attempts: 1 })
  })

  const start = () => startCommand(['tasks', 'run', 'mail', '--db', db, '--wait'], { env: asClient(server, org) })

  test('a run that succeeds: printed with its result, exit 0', async () => {
    const command = start()
    const held = await claim(db)
    ok(await finish(db, held, { result: { sent: 1 } }))
    const { exitCode, stdout, stderr } = await command.result
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ id: held.id, status: 'succeeded', result: { sent: 1 } })
  })

  test('a run that fails: printed too, exit 1 and one line that says why', async () => {
    const command = start()
    const held = await claim(db)
    ok(await finish(db, held, { error: { message: 'no\nroute' } }))
    const { exitCode, stdout, stderr } = await command.result
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: `cubby: the run ${held.id} has failed: worker: no\\u000aroute\n`,
    })
    expect(JSON.parse(stdout)).toMatchObject({ id: held.id, status: 'failed' })
    const later = await run(['tasks', 'get', 'mail', held.id, '--db', db, '--wait'])
    expect(later).toEqual({ exitCode, stdout, stderr })
  })

  test('a run that is cancelled: exit 1', async () => {
    const command = start()
    const held = await claim(db)
    ok(await api.post(`/v1/${db}/_tasks/mail/runs/${held.id}/cancel`))
    const { exitCode, stderr } = await command.result
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: `cubby: the run ${held.id} was cancelled\n` })
  })
})

describe('runs lists', () => {
  let db: string
  let ids: string[]
  beforeAll(async () => {
    db = newDb()
    await declare(db, { attempts: 1 })
    ids = []
    for (const body of [{ id: 'bad' }, { key: 'user 7\u001b[31m' }, { payload: { a: 1 }, delaySeconds: 3600 }]) {
      ids.push((await addRun(db, body)).id)
    }
    ok(await finish(db, await claim(db), { error: { message: 'x'.repeat(500) } }))
  })

  const list = ['tasks', 'runs', 'mail', '--db']

  test('a table, the one that changed last first: status, attempt, times, id, key, error', async () => {
    const table = await lines([...list, db])
    const rows = table.map((line) => line.split(/ {2,}/))
    // Columns are aligned, although an escape is longer than what it stands for.
    const errorAt = table[0]!.indexOf('ERROR')
    expect(table.map((line) => line.slice(errorAt - 2, errorAt + 1))).toEqual(['  E', '  w', '  -', '  -'])
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    expect(rows).toEqual([
      ['STATUS', 'ATTEMPT', 'RUN AT', 'UPDATED', 'ID', 'KEY', 'ERROR'],
      ['failed', '1', time, time, 'bad', '-', `worker: ${'x'.repeat(191)}…`],
      ['queued', '0', time, time, ids[2]!, '-', '-'],
      ['queued', '0', time, time, ids[1]!, 'user 7\\u001b[31m', '-'],
    ])
  })

  test('--status, --oldest, --limit and --count', async () => {
    const shown = async (flags: string[], stderr = '') =>
      (await lines([...list, db, '--json', ...flags], { stderr })).map((line) => JSON.parse(line).id)
    expect(await shown(['--status', 'queued', '--oldest'])).toEqual([ids[1]!, ids[2]!])
    expect(await shown(['--limit', '1'], 'there are more: give a larger --limit\n')).toEqual(['bad'])
    expect(await lines([...list, db, '--count', '--status', 'queued'])).toEqual(['2'])
  })

  test('a public key reads runs without payload and key, and can change nothing', async () => {
    const env = { CUBBY_KEY: org.publicKey }
    const runs = await objects([...list, db, '--json'], { env })
    expect(runs).toHaveLength(3)
    for (const shown of runs) expect(shown).not.toContainAnyKeys(['payload', 'key'])
    expect((await lines([...list, db], { env }))[3]).toMatch(/ - +-$/)
    for (const refused of [['run', 'mail'], ['list']]) {
      await expectRefused(['tasks', ...refused, '--db', db], 1, /Use a secret key/, { env })
    }
  })

  test('goes through all pages', async () => {
    const many = newDb()
    await declare(many, { paused: true })
    for (let i = 0; i < 1_050; i += 25) {
      const operations = Array.from({ length: 25 }, () => ({ op: 'run' }))
      ok(await api.post(`/v1/${many}/_tasks/mail/batch`, { operations }))
    }
    const found = await objects([...list, many, '--json', '--limit', '2000'])
    expect(new Set(found.map(({ id }) => id)).size).toBe(1_050)
    expect(await lines([...list, many, '--count'])).toEqual(['1050'])
    const page = await lines([...list, many, '--limit', '1001'], { stderr: 'there are more: give a larger --limit\n' })
    expect(page).toHaveLength(1_002)
  })
})

describe('what a server refuses is told as a command', () => {
  test('a task that is not there, and one that was deleted', async () => {
    const db = newDb()
    await expectRefused(['tasks', 'run', 'mail', '--db', db], 1, `cubby tasks declare mail --db ${db}`)
    await declare(db)
    ok(await api.delete(`/v1/${db}/_tasks/mail`))
    await expectRefused(['tasks', 'pause', 'mail', '--db', db], 1, `cubby tasks restore mail --db ${db}`)
  })

  test('a target that is refused, and a schedule that is malformed: nothing is declared', async () => {
    const db = newDb()
    const declare = ['tasks', 'declare', 'mail', '--db', db]
    await expectRefused([...declare, '--push-to', 'https://10.0.0.1/'], 1, /10\.0\.0\.1/)
    await expectRefused([...declare, '--cron', '@daily'], 1, /cron/)
    // --url is the server.
    await expectRefused([...declare, '--push-to', 'ftp://example.com'], 1, /^cubby: --push-to .*ftp/)
    expect(ok(await api.get(`/v1/${db}/_tasks`)).tasks).toEqual([])
  })
})

// The last one: it stops the server.
test('a server that stops while a command waits: the command ends with one line', async () => {
  const db = newDb()
  await declare(db)
  const command = startCommand(['tasks', 'run', 'mail', '--db', db, '--wait'], { env: asClient(server, org) })
  await eventually('the run is there', async () => {
    const { count } = ok(await api.post(`/v1/${db}/_tasks/mail/query`, {}))
    return count === 1 ? true : undefined
  })
  await server.end('SIGTERM')
  const { exitCode, stderr } = await command.result
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/^cubby: no answer from [^\n]+\n$/)
})
