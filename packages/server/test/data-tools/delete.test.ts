import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { cubbyCommand, type Organization, type Server, startServer } from '../harness.ts'
import { ok } from '../http/service.ts'
import { asClient, linesOf, type RunOptions, runCommand } from './commands.ts'

setDefaultTimeout(120_000)

let server: Server
let org: Organization

beforeAll(async () => {
  server = await startServer()
  org = await server.createOrganization()
  ok(await server.as(org.secretKey).post('/v1/app/notes'), 201)
})
afterAll(async () => {
  await server?.stop()
})

const run = (args: string[], options: RunOptions = {}) =>
  runCommand(args, { ...options, env: { ...asClient(server, org), ...options.env } })

const put = async (hashKey: string, rangeKey?: string): Promise<number> =>
  ok(await server.as(org.secretKey).put('/v1/app/notes', { hashKey, rangeKey, data: {} })).updatedAt

const keysNow = async (): Promise<string[]> => {
  const { items } = ok(await server.as(org.secretKey).post('/v1/app/notes/query', { index: 't', limit: 1_000 }))
  return items.map(({ hashKey, rangeKey }: { hashKey: string; rangeKey?: string }) => [hashKey, rangeKey].join(' '))
}

const address = ['--db', 'app', '--table', 'notes']
const deleted = { exitCode: 0, stdout: '{"deleted":true}\n', stderr: '' }
const nothing = { exitCode: 0, stdout: '{"deleted":false}\n', stderr: '' }

describe('cubby delete', () => {
  test('says whether there was a record; exit 0 in both cases', async () => {
    await put('a')
    expect(await run(['delete', 'a', ...address])).toEqual(deleted)
    expect(await run(['delete', 'a', ...address])).toEqual(nothing)
  })

  test('a hash key alone is the record without a range key, and no other', async () => {
    await put('b')
    await put('b', 'r')
    expect(await run(['delete', 'b', ...address])).toEqual(deleted)
    expect((await keysNow()).filter((key) => key.startsWith('b'))).toEqual(['b r'])
    expect(await run(['delete', 'b', 'r', ...address])).toEqual(deleted)
  })

  test('takes any key: with slashes, dashes in front, percent signs', async () => {
    for (const key of ['a/b', '\\', '😀 ä', '%2F', '?#&', '"quoted"', '-dash', 'query']) {
      await put(key, key)
      expect(await run(['delete', ...address, '--', key, key])).toEqual(deleted)
      expect(await run(['delete', ...address, '--', key, key])).toEqual(nothing)
    }
  })

  // A proxy may decode %2F. The path of the key "x/y" would then be that of the record x, y: another one is gone.
  test('through a proxy that decodes paths, the record that was named and no other', async () => {
    await put('x', 'y')
    await put('x/y')
    const proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { pathname } = new URL(request.url)
        const headers = { authorization: request.headers.get('authorization')!, 'content-type': 'application/json' }
        const body = (await request.text()) || undefined
        return fetch(server.url + decodeURIComponent(pathname), { method: request.method, headers, body })
      },
    })
    const env = { CUBBY_URL: `http://127.0.0.1:${proxy.port}` }
    try {
      expect(await run(['delete', 'x/y', ...address], { env })).toEqual(deleted)
      expect(await run(['delete', 'x/y', ...address], { env })).toEqual(nothing)
    } finally {
      await proxy.stop(true)
    }
    expect((await keysNow()).filter((key) => key.startsWith('x'))).toEqual(['x y'])
  })

  for (const key of ['c', 'c/d']) {
    test(`--if-match deletes only that version: ${key}`, async () => {
      const version = await put(key)
      const refusedWith = async (ifMatch: string, said: string): Promise<void> => {
        const { exitCode, stdout, stderr } = await run(['delete', key, '--if-match', ifMatch, ...address])
        expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
        expect(stderr).toMatch(/^cubby: [^\n]+nothing was changed[^\n]+\n$/)
        expect(stderr).toContain(said)
      }
      await refusedWith(String(version - 1), `at version ${version}`)
      expect(await run(['delete', key, '--if-match', String(version), ...address])).toEqual(deleted)
      await refusedWith(String(version), 'does not exist')
      await refusedWith('*', 'does not exist')
      await put(key)
      expect(await run(['delete', key, '--if-match', '*', ...address])).toEqual(deleted)
    })
  }

  const mistakes: [string, string[], number, RegExp][] = [
    ['no key of the record', ['delete', ...address], 2, /HASHKEY is missing/],
    ['no table', ['delete', 'a', '--db', 'app'], 2, /--table NAME is missing/],
    ['a version that is none', ['delete', 'a', '--if-match', 'new', ...address], 2, /--if-match is "new"/],
    ['a key that no record has', ['delete', '..', ...address], 2, /hashKey is ".."/],
    [
      'a table that does not exist',
      ['delete', 'a', '--db', 'app', '--table', 'no'],
      1,
      /cubby table create no --db app/,
    ],
    ['a table that does not exist, any key', ['delete', 'a/b', '--db', 'app', '--table', 'no'], 1, /table create no/],
  ]
  for (const [what, args, exitCode, said] of mistakes) {
    test(`${what}: one line, exit ${exitCode}`, async () => {
      const result = await run(args)
      expect({ exitCode: result.exitCode, stdout: result.stdout }).toEqual({ exitCode, stdout: '' })
      expect(result.stderr).toMatch(/^cubby: [^\n]+\n$/)
      expect(result.stderr).toMatch(said)
    })
  }

  test('with a public key: says which key it takes', async () => {
    const { exitCode, stderr } = await run(['delete', 'a', ...address], { env: { CUBBY_KEY: org.publicKey } })
    expect(exitCode).toBe(1)
    expect(stderr).toContain('Use a secret key (svc_live_…).')
  })
})

/** True if the process has ended and only waits to be noticed; false where that cannot be seen. */
const hasEnded = (pid: number): boolean =>
  existsSync(`/proc/${pid}/stat`) && / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))

describe('cubby db list', () => {
  test('the databases that have a table, by name, one per line', async () => {
    const other = await server.createOrganization('databases')
    const api = server.as(other.secretKey)
    const env = asClient(server, other)
    expect(await run(['db', 'list'], { env })).toEqual({ exitCode: 0, stdout: '', stderr: '' })
    for (const name of ['shop', 'app', 'logs']) ok(await api.post(`/v1/${name}/t`), 201)
    expect((await run(['db', 'list'], { env })).stdout).toBe('app\nlogs\nshop\n')
    expect((await run(['db', 'list', '--json'], { env })).stdout).toBe('"app"\n"logs"\n"shop"\n')
    const { key } = await server.cubbyJson(
      ...['keys', 'create', '--org', 'databases', '--kind', 'public', '--databases', 'app,none'],
    )
    expect((await run(['db', 'list'], { env: { CUBBY_KEY: key } })).stdout).toBe('app\n')
  })

  test('goes through all pages', async () => {
    const many = await server.createOrganization('many')
    const api = server.as(many.secretKey)
    const names = Array.from({ length: 1_001 }, (_, i) => `d${String(i).padStart(4, '0')}`)
    for (let i = 0; i < names.length; i += 50) {
      await Promise.all(names.slice(i, i + 50).map((name) => api.post(`/v1/${name}/t`)))
    }
    const env = asClient(server, many)
    expect(linesOf((await run(['db', 'list'], { env })).stdout)).toEqual(names)
    // Nobody reads until long after the command could have ended: it must not exit before all is written.
    const child = Bun.spawn([...cubbyCommand(), 'db', 'list'], {
      env: { ...process.env, ...env },
      stdout: 'pipe',
      stderr: 'ignore',
    })
    // This process does nothing else meanwhile, so that it reads nothing either.
    for (let look = 0; look < 100 && !hasEnded(child.pid); look++) Bun.sleepSync(20)
    expect(linesOf(await new Response(child.stdout).text())).toEqual(names)
    expect(await child.exited).toBe(0)
  })
})
