import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import {
  eventually,
  type Json,
  makeTempDir,
  type Organization,
  removeTempDir,
  runCubby,
  type Server,
  startServer,
  storeArguments,
} from '../harness.ts'
import { createKey, ok, refused } from '../http/service.ts'
import { rawRequest } from '../raw-connection.ts'
import { onTerminal } from './on-terminal.ts'

setDefaultTimeout(120_000)

let server: Server
let org: Organization
let other: Organization
beforeAll(async () => {
  server = await startServer()
  org = await server.createOrganization('acme')
  other = await server.createOrganization('other')
  ok(await server.as(org.secretKey).post('/v1/app/notes'), 201)
})
afterAll(async () => {
  await server.stop()
})

/** A command that must fail with `code`: nothing on stdout, one line on stderr, which it returns. */
const failingWith = async (code: number, ...args: string[]): Promise<string> => {
  const { exitCode, stdout, stderr } = await server.cubby(...args)
  expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: '' })
  expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
  return stderr
}

const failing = (...args: string[]): Promise<string> => failingWith(1, ...args)

const create = (...args: string[]): Promise<Json> => server.cubbyJson('keys', 'create', '--org', 'acme', ...args)

describe('keys create', () => {
  test('shows the key once, and it works at once', async () => {
    const { exitCode, stdout, stderr } = await server.cubby('keys', 'create', '--org', 'acme', '--kind', 'secret')
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    const key = /svc_live_[0-9A-Za-z]{38}/.exec(stdout)![0]
    const id = /key_[0-9A-Za-z]+/.exec(stdout)![0]
    ok(await server.as(key).put('/v1/app/notes', { hashKey: 'a', data: {} }))
    const { keys } = await server.cubbyJson('keys', 'list', '--org', 'acme')
    expect(keys[0]).toMatchObject({ id, kind: 'secret', masked: `svc_live_****${key.slice(-4)}` })
  })

  test('--json is the body of POST /api/keys', async () => {
    const expiresAt = Date.now() + 3_600_000
    const request = { kind: 'public', name: 'the reader', expiresAt, databases: ['app', 'logs'] }
    const byHttp = await createKey(server.as(org.secretKey), request)
    const byCommand = await create(
      ...['--kind', 'public', '--name', 'the reader', '--databases', 'app,logs', '--expires-at', String(expiresAt)],
    )
    expect(Object.keys(byCommand)).toEqual(Object.keys(byHttp))
    expect(byCommand).toMatchObject(request)
    expect(byCommand.key).toMatch(/^svc_pub_[0-9A-Za-z]{38}$/)
    expect(byCommand.masked).toBe(`svc_pub_****${byCommand.key.slice(-4)}`)
    const reader = server.as(byCommand.key)
    ok(await reader.get('/v1/app/notes'))
    refused(await reader.get('/v1/elsewhere'), 403, 'key_scope')
    refused(await reader.post('/v1/app/more'), 403, 'read_only_key')
  })

  test('--expires-at takes an ISO-8601 date-time', async () => {
    const key = await create('--kind', 'secret', '--expires-at', '2099-12-31T23:59:59Z')
    expect(key.expiresAt).toBe(Date.UTC(2099, 11, 31, 23, 59, 59))
  })

  test('values that the HTTP API rejects fail with one line, and no key is created', async () => {
    const before = (await server.cubbyJson('keys', 'list', '--org', 'acme')).keys.length
    const wrong = (...args: string[]) => failingWith(2, 'keys', 'create', '--org', 'acme', ...args)
    expect(await wrong('--kind', 'admin')).toContain('admin')
    await wrong('--kind', 'secret', '--expires-at', 'tomorrow')
    await wrong('--kind', 'secret', '--expires-at', '1000')
    await wrong('--kind', 'secret', '--databases', 'App')
    await wrong('--kind', 'secret', '--name', 'x'.repeat(129))
    expect((await server.cubbyJson('keys', 'list', '--org', 'acme')).keys.length).toBe(before)
  })
})

describe('keys list', () => {
  test('--json is the body of GET /api/keys, masked, newest first', async () => {
    const made = await create('--kind', 'public', '--name', 'newest')
    const byCommand = await server.cubbyJson('keys', 'list', '--org', 'acme')
    const byHttp = ok(await server.as(org.secretKey).get('/api/keys'))
    // When a key was last used is written in the background: it may move between the two.
    const still = ({ keys, cursor }: Json) => ({ cursor, keys: keys.map((key: Json) => ({ ...key, lastUsedAt: 0 })) })
    expect(still(byCommand)).toEqual(still(byHttp))
    expect(byCommand.keys[0].id).toBe(made.id)
    expect(JSON.stringify(byCommand)).not.toContain(made.key)
  })

  test('one line per key, with its id, kind and status', async () => {
    const made = await create('--kind', 'public', '--name', 'on a line')
    const { exitCode, stdout } = await server.cubby('keys', 'list', '--org', 'acme')
    expect(exitCode).toBe(0)
    const line = stdout.split('\n').find((text) => text.includes(made.id))!
    for (const part of ['public', 'active', made.masked, 'on a line']) expect(line).toContain(part)
    expect(stdout).not.toMatch(/svc_(live|pub)_[0-9A-Za-z]{38}/)
    const { keys } = await server.cubbyJson('keys', 'list', '--org', 'acme')
    expect(stdout.trimEnd().split('\n').length).toBe(keys.length + 1)
  })

  describe('scope, expiry and last use', () => {
    let used: Json
    beforeAll(async () => {
      const elsewhere = await startServer({ dataDir: join(dir, 'last-use') })
      data = elsewhere.dataDir
      const { secretKey } = await elsewhere.createOrganization('acme')
      const make = (...args: string[]) => elsewhere.cubbyJson('keys', 'create', '--org', 'acme', ...args)
      used = await make('--kind', 'secret', '--name', 'used')
      await make('--kind', 'public', '--databases', 'app,logs', '--expires-at', '2099-12-31T23:59:59Z')
      await make('--kind', 'public', '--databases', 'a,b,c,d,e')
      ok(await elsewhere.as(secretKey).get('/v1'))
      ok(await elsewhere.as(used.key).get('/v1'))
      // It writes the time of the last use when it stops.
      await elsewhere.stop()
    })
    let data: string
    const dir = makeTempDir()
    afterAll(() => removeTempDir(dir))
    const list = (...flags: string[]) => ['keys', 'list', '--org', 'acme', ...storeArguments(data), ...flags]

    test('in a pipe: one line per key, each cell without a space', async () => {
      const { stdout } = await runCubby(list())
      const [head, ...rows] = stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {2,}/))
      expect(head).toEqual(['ID', 'KIND', 'STATUS', 'KEY', 'EXPIRES', 'LAST USED', 'DATABASES', 'NAME'])
      const today = new RegExp(`^${new Date().toISOString().slice(0, 10)}T\\d\\d:\\d\\dZ$`)
      expect(rows.map((cells) => cells.slice(4))).toEqual([
        ['never', 'never', 'a,b,c,+2'],
        ['2099-12-31T23:59Z', 'never', 'app,logs'],
        ['never', expect.stringMatching(today), 'all', 'used'],
        ['never', 'never', 'all'],
        ['never', expect.stringMatching(today), 'all'],
      ])
      const { keys } = JSON.parse((await runCubby(list('--json'))).stdout)
      expect(rows[2]![5]).toBe(`${new Date(keys[2].lastUsedAt).toISOString().slice(0, 16)}Z`)
    })

    test('on a terminal of 80 columns no line wraps, and nothing is missing', async () => {
      const command = onTerminal(list(), {}, 80)
      expect(await command.exited).toBe(0)
      const lines = await eventually('the last key', () => {
        const found = command.text().trimEnd().split('\n')
        return found.length >= 10 ? found : undefined
      })
      expect(lines).toHaveLength(10)
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
      expect(lines[2]).toMatch(/^key_\w+ {2}public {2}active {3}svc_pub_\*{4}\w{4}$/)
      expect(lines[3]).toBe('  expires 2099-12-31T23:59Z, last used never, databases app,logs')
      expect(lines[4]).toEndWith('  used')
    })

    test('on a wide terminal: the table', async () => {
      const command = onTerminal(list())
      expect(await command.exited).toBe(0)
      await eventually('the last key', () => command.text().split('\n').length >= 7 || undefined)
      expect(command.text()).toBe((await runCubby(list())).stdout)
    })
  })

  test('shows nothing of another organization', async () => {
    const { keys } = await server.cubbyJson('keys', 'list', '--org', 'other')
    expect(keys.length).toBe(2)
  })
})

describe('keys roll', () => {
  const roll = (id: string, ...more: string[]): Promise<Json> =>
    server.cubbyJson('keys', 'roll', id, '--org', 'acme', ...more)
  const find = async (id: string): Promise<Json> =>
    (await server.cubbyJson('keys', 'list', '--org', 'acme')).keys.find((key: Json) => key.id === id)

  test('prints the new key once; both work, the old one for 24 hours', async () => {
    const old = await create('--kind', 'public', '--name', 'page', '--databases', 'app')
    const { exitCode, stdout, stderr } = await server.cubby('keys', 'roll', old.id, '--org', 'acme')
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    const [, id, key] = /^organization {2}acme\nid {12}(key_\w+)\nkey {11}(svc_pub_\w+)\n$/.exec(stdout)!
    const rolled = await find(id!)
    expect(rolled).toMatchObject({ kind: 'public', name: 'page', databases: ['app'], rolledFrom: old.id })
    expect(await find(old.id)).toMatchObject({ rolledTo: id, expiresAt: rolled.createdAt + 86_400_000 })
    for (const each of [key!, old.key]) ok(await server.as(each).get('/v1/app/notes'))
    expect(JSON.stringify(await server.cubbyJson('keys', 'list', '--org', 'acme'))).not.toContain(key!)
  })

  test('--json is the body of POST /api/keys/:id/roll', async () => {
    const old = await create('--kind', 'secret')
    const byCommand = await roll(old.id)
    const byHttp = ok(await server.as(org.secretKey).post(`/api/keys/${byCommand.id}/roll`), 201)
    expect(Object.keys(byCommand)).toEqual(Object.keys(byHttp))
    expect(byCommand.rolledFrom).toBe(old.id)
  })

  test('--overlap 0s revokes the old key in the running server before the command exits', async () => {
    for (const more of [[], ['--json']]) {
      const { id, key } = await create('--kind', 'secret')
      const caller = server.as(key)
      // The server has the key in its cache.
      ok(await caller.get('/v1'))
      expect((await server.cubby('keys', 'roll', id, '--org', 'acme', '--overlap', '0s', ...more)).exitCode).toBe(0)
      refused(await caller.get('/v1'), 403, 'revoked_api_key')
    }
  })

  test('--overlap 30m ends it in half an hour; 366d is the most', async () => {
    for (const [overlap, ms] of [
      ['30m', 1_800_000],
      ['366d', 366 * 86_400_000],
    ] as const) {
      const { id } = await create('--kind', 'secret')
      const { createdAt } = await roll(id, '--overlap', overlap)
      expect((await find(id)).expiresAt).toBe(createdAt + ms)
    }
    const { id } = await create('--kind', 'secret')
    for (const overlap of ['367d', '24', 'a day', '-1h']) {
      expect(await failingWith(2, 'keys', 'roll', id, '--org', 'acme', `--overlap=${overlap}`)).toContain('--overlap')
    }
    expect((await find(id)).rolledTo).toBeNull()
  })

  test('a key that is not active, an unknown id, and one of another organization: exit 1, nothing rolled', async () => {
    const old = await create('--kind', 'secret')
    const { id } = await roll(old.id)
    expect(await failing('keys', 'roll', old.id, '--org', 'acme')).toContain(id)
    const { keys } = await server.cubbyJson('keys', 'list', '--org', 'other')
    const unknown = await failing('keys', 'roll', 'key_00000000000000000000', '--org', 'acme')
    expect(unknown).toContain('cubby keys list --org acme')
    expect(await failing('keys', 'roll', keys[0].id, '--org', 'acme')).toBe(unknown)
    expect((await server.cubbyJson('keys', 'list', '--org', 'other')).keys).toEqual(keys)
  })
})

describe('keys revoke', () => {
  test('takes effect in the running server before the command exits', async () => {
    for (const more of [[], ['--json'], []]) {
      const { id, key } = await create('--kind', 'secret')
      const caller = server.as(key)
      // The server has the key in its cache.
      ok(await caller.put('/v1/app/notes', { hashKey: id, data: {} }))
      const { exitCode, stdout } = await server.cubby('keys', 'revoke', id, '--org', 'acme', ...more)
      expect(exitCode).toBe(0)
      expect(stdout).toContain(id)
      refused(await caller.put('/v1/app/notes', { hashKey: id, data: {} }), 403, 'revoked_api_key')
      refused(await caller.get(`/v1/app/notes/${id}`), 403, 'revoked_api_key')
    }
  })

  test('also for a request whose body was still arriving', async () => {
    const { id, key } = await create('--kind', 'secret')
    const body = JSON.stringify({ hashKey: `late ${id}`, data: {} })
    const connection = await server.connect()
    const headers: [string, string][] = [['Content-Length', String(body.length)]]
    connection.send(rawRequest(server, 'PUT', '/v1/app/notes', { key, headers }))
    connection.send(body.slice(0, 5))
    expect((await server.cubby('keys', 'revoke', id, '--org', 'acme')).exitCode).toBe(0)
    connection.send(body.slice(5))
    refused(await connection.answer(), 403, 'revoked_api_key')
    connection.close()
    const path = `/v1/app/notes/${encodeURIComponent(`late ${id}`)}`
    refused(await server.as(org.secretKey).get(path), 404, 'record_not_found')
  })

  test('--json is the body of DELETE /api/keys/:id; a second time changes nothing', async () => {
    const { id } = await create('--kind', 'public')
    const first = await server.cubbyJson('keys', 'revoke', id, '--org', 'acme')
    expect([first.id, first.status, typeof first.revokedAt]).toEqual([id, 'revoked', 'number'])
    expect(await server.cubbyJson('keys', 'revoke', id, '--org', 'acme')).toEqual(first)
    expect(ok(await server.as(org.secretKey).delete(`/api/keys/${id}`))).toEqual(first)
  })

  test("an unknown id, and another organization's: exit 1, nothing revoked", async () => {
    const { keys } = await server.cubbyJson('keys', 'list', '--org', 'other')
    const unknown = await failing('keys', 'revoke', 'key_00000000000000000000', '--org', 'acme')
    const foreign = await failing('keys', 'revoke', keys[0].id, '--org', 'acme')
    expect(foreign).toBe(unknown)
    ok(await server.as(other.secretKey).get('/v1'))
    ok(await server.as(other.publicKey).get('/v1'))
  })

  test('an operator who lost every key makes a new one', async () => {
    for (const { id } of (await server.cubbyJson('keys', 'list', '--org', 'other')).keys) {
      expect((await server.cubby('keys', 'revoke', id, '--org', 'other')).exitCode).toBe(0)
    }
    refused(await server.as(other.secretKey).get('/v1'), 403, 'revoked_api_key')
    const { key } = await server.cubbyJson('keys', 'create', '--org', 'other', '--kind', 'secret')
    ok(await server.as(key).get('/v1'))
  })
})

test('without --org: the organization default, named in the output', async () => {
  await server.createOrganization('default')
  const text = async (...args: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await server.cubby('keys', ...args)
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    return stdout
  }
  const created = await text('create', '--kind', 'secret')
  const [, id, key] = /^organization {2}default\nid {12}(key_\w+)\nkey {11}(svc_live_\w+)\n$/.exec(created)!
  expect(ok(await server.as(key!).get('/api/keys/self')).organization).toBe('default')
  const table = await text('list', '--org', 'default')
  expect(await text('list')).toBe(`organization default\n${table}`)
  expect(await text('roll', id!)).toStartWith('organization  default\n')
  expect(await text('revoke', id!)).toBe(`revoked ${id} of the organization default\n`)
})

test('an unknown organization: exit 1 and one line that names it, for each command', async () => {
  for (const words of [['create', '--kind', 'secret'], ['list'], ['roll', 'key_1'], ['revoke', 'key_1']]) {
    expect(await failing('keys', ...words, '--org', 'nobody')).toContain('nobody')
  }
})
