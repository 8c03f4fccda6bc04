import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, makeTempDir, removeTempDir, runCubby, storeIsEmbedded } from '../harness.ts'
import { ok } from '../http/service.ts'
import { endAllServing, type ServeOptions, type ServeProcess, spawnServe } from './serve-process.ts'

// Every flag can also be set in the environment, as services are: --data as CUBBY_DATA, and so on.

setDefaultTimeout(120_000)

let top: string
let dir: string
beforeEach(() => {
  top = realpathSync(makeTempDir())
  dir = join(top, 'data')
})
afterEach(async () => {
  await endAllServing()
  removeTempDir(top)
})

const whileServing = async (options: Partial<ServeOptions>, look: (serving: ServeProcess) => Promise<void> | void) => {
  const serving = spawnServe({ dataDir: dir, bare: true, ...options })
  try {
    await serving.ready
    await look(serving)
  } finally {
    await serving.end()
  }
}

const dataOf = (serving: ServeProcess): string => serving.log.find(({ message }) => message === 'listening').data

const freePort = (): number => {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  listener.stop(true)
  return listener.port
}

describe.skipIf(!storeIsEmbedded())('serve', () => {
  test('CUBBY_DATA, CUBBY_PORT and CUBBY_HOST', async () => {
    const port = freePort()
    const env = { CUBBY_DATA: dir, CUBBY_PORT: String(port), CUBBY_HOST: 'localhost', CUBBY_NO_BOOTSTRAP: 'true' }
    await whileServing({ env }, async (serving) => {
      expect(dataOf(serving)).toBe(dir)
      expect(serving.server.port).toBe(port)
      expect(serving.server.url).toBe(`http://localhost:${port}`)
      expect((await serving.server.request('GET', '/healthz')).status).toBe(200)
      expect(existsSync(join(dir, 'cubby.db'))).toBe(true)
    })
  })

  test('CUBBY_LOG=requests logs a line for a request', async () => {
    const env = { CUBBY_DATA: dir, CUBBY_PORT: '0', CUBBY_NO_BOOTSTRAP: 'true', CUBBY_LOG: 'requests' }
    await whileServing({ env }, async (serving) => {
      await serving.server.request('GET', '/v1', { headers: { 'x-request-id': 'seen-1' } })
      while (!serving.stderr.includes('seen-1')) await Bun.sleep(10)
    })
  })

  test('a flag wins over the environment', async () => {
    const env = { CUBBY_DATA: join(top, 'elsewhere'), CUBBY_PORT: 'no port at all', CUBBY_NO_BOOTSTRAP: 'true' }
    await whileServing({ env, args: ['--data', dir, '--port', '0'] }, (serving) => {
      expect(dataOf(serving)).toBe(dir)
      expect(existsSync(join(top, 'elsewhere'))).toBe(false)
    })
  })

  test('without either, ./cubby-data', async () => {
    await whileServing({ args: ['--port', '0', '--no-bootstrap'], cwd: top }, (serving) => {
      expect(dataOf(serving)).toBe(join(top, 'cubby-data'))
    })
  })

  test('a wrong value is a mistake as the flag is: one line, exit 2', async () => {
    for (const [name, value] of [
      ['CUBBY_PORT', 'http'],
      ['CUBBY_LOG', 'everything'],
      ['CUBBY_PUBLIC_URL', 'cubby.example.com'],
    ] as const) {
      const { exitCode, stderr } = await runCubby(['serve'], { env: { CUBBY_DATA: dir, [name]: value } })
      expect(exitCode).toBe(2)
      expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
      expect(stderr).toContain(value)
    }
  })

  for (const name of ['CUBBY_TEST_CLOCK', 'CUBBY_TEST_FAULTS']) {
    test(`${name} is refused outside of tests`, async () => {
      const { exitCode, stdout, stderr } = await runCubby(['serve', '--data', dir, '--port', '0'], {
        env: { [name]: join(top, 'file') },
      })
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
      expect(stderr).toMatch(new RegExp(`^cubby: [^\\n]*${name}[^\\n]*\\n$`))
      expect(existsSync(dir)).toBe(false)
    })
  }
})

describe.skipIf(!storeIsEmbedded())('the other commands', () => {
  test('CUBBY_DATA, CUBBY_JSON, CUBBY_ORG and CUBBY_KIND', async () => {
    const env = { CUBBY_DATA: dir, CUBBY_JSON: '1' }
    const made = await runCubby(['orgs', 'create', 'acme'], { env })
    expect(made.exitCode).toBe(0)
    expect(JSON.parse(made.stdout).name).toBe('acme')
    const key = await runCubby(['keys', 'create'], { env: { ...env, CUBBY_ORG: 'acme', CUBBY_KIND: 'public' } })
    expect(JSON.parse(key.stdout).kind).toBe('public')
    const verified = await runCubby(['verify'], { env })
    expect(JSON.parse(verified.stdout)).toEqual({ ok: true, findings: [] })
  })
})

// A flag that the environment silently outvotes changes, copies or checks another store than the one that was named.
describe.skipIf(!storeIsEmbedded())('a flag wins over the environment', () => {
  /** Nothing listens there, so a command that uses it fails. */
  const elsewhere = 'postgres://nobody@127.0.0.1:1/none'

  test('--data DIR is that directory although CUBBY_STORE is set, for every command on a store', async () => {
    const env = { CUBBY_STORE: elsewhere, CUBBY_JSON: '1' }
    const file = join(top, 'backup')
    for (const args of [
      ['orgs', 'create', 'acme'],
      ['orgs', 'list'],
      ['keys', 'create', '--org', 'acme', '--kind', 'public'],
      ['keys', 'list', '--org', 'acme'],
      ['verify'],
      ['backup', 'create', file],
    ]) {
      const { exitCode, stderr } = await runCubby([...args, '--data', dir], { env })
      expect({ args, exitCode, stderr }).toEqual({ args, exitCode: 0, stderr: '' })
    }
    const restored = await runCubby(['backup', 'restore', file, '--data', join(top, 'restored')], { env })
    expect(restored.exitCode).toBe(0)
    // Without the flag the environment says where.
    expect((await runCubby(['verify'], { env: { ...env, CUBBY_DATA: dir } })).stderr).toContain('127.0.0.1:1')
    // And --store still wins over --data.
    const both = await runCubby(['verify', '--data', dir, '--store', elsewhere])
    expect(both.stderr).toContain('127.0.0.1:1')
  })

  test('serve says that CUBBY_STORE is not used', async () => {
    const env = { CUBBY_STORE: elsewhere, CUBBY_NO_BOOTSTRAP: 'true' }
    await whileServing({ env, args: ['--data', dir, '--port', '0'] }, (serving) => {
      expect(dataOf(serving)).toBe(dir)
      expect(serving.log.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
        'CUBBY_STORE is not used: --data is given',
      ])
    })
  })

  test('also when it says the same as the environment: --data DIR with CUBBY_DATA=DIR is the store, not the server', async () => {
    expect((await runCubby(['orgs', 'create', 'acme', '--data', dir])).exitCode).toBe(0)
    const env = { CUBBY_DATA: dir, CUBBY_URL: 'http://127.0.0.1:1', CUBBY_KEY: 'svc_live_none', CUBBY_STORE: elsewhere }
    const lines = join(top, 'lines.ndjson')
    writeFileSync(
      lines,
      '{"db":"app","table":"notes","indices":{}}\n{"db":"app","table":"notes","hashKey":"a","data":{}}\n',
    )
    const imported = await runCubby(['import', lines, '--data', dir, '--org', 'acme'], { env })
    expect(imported).toMatchObject({ exitCode: 0, stderr: '' })
    const exported = await runCubby(['export', '--db', 'app', '--data', dir, '--org', 'acme'], { env })
    expect(exported.exitCode).toBe(0)
    expect(exported.stdout).toContain('"hashKey":"a"')
    // The two contradict each other only if both are in the environment.
    const { exitCode, stderr } = await runCubby(['export', '--db', 'app'], { env: { CUBBY_DATA: dir, CUBBY_KEY: 'x' } })
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('CUBBY_DATA') })
  })

  test('--key with CUBBY_KEY of the same value is the server, not the store', async () => {
    const env = { CUBBY_DATA: dir, CUBBY_KEY: 'svc_live_same' }
    const { exitCode, stderr } = await runCubby(
      ['export', '--db', 'app', '--url', 'http://127.0.0.1:1', '--key', 'svc_live_same'],
      { env },
    )
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('http://127.0.0.1:1') })
  })

  test("--data of put is the record's data, although CUBBY_DATA says the same", async () => {
    await whileServing({ env: { CUBBY_DATA: dir, CUBBY_PORT: '0' } }, async (serving) => {
      const key = await eventually('the key', () => /svc_live_[0-9A-Za-z]{38}/.exec(serving.stdout)?.[0])
      ok(await serving.server.as(key).post('/v1/app/notes'), 201)
      const env = { CUBBY_DATA: '{"n":1}', CUBBY_URL: serving.server.url, CUBBY_KEY: key }
      const put = ['put', 'a', '--db', 'app', '--table', 'notes']
      const given = await runCubby([...put, '--data', '{"n":1}'], { env })
      expect({ exitCode: given.exitCode, data: JSON.parse(given.stdout).data }).toEqual({ exitCode: 0, data: { n: 1 } })
      // And never from the environment: that is the data directory.
      expect((await runCubby(put, { env })).exitCode).toBe(2)
    })
  })
})
