import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { makeTempDir, removeTempDir, runCubby, storeIsEmbedded } from '../harness.ts'
import { endAllServing, type ServeOptions, type ServeProcess, spawnServe } from './serve-process.ts'

// Every flag can also be set in the environment, as services are: --data as CUBBY_DATA, and so on.

setDefaultTimeout(60_000)

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
    ] as const) {
      const { exitCode, stderr } = await runCubby(['serve'], { env: { CUBBY_DATA: dir, [name]: value } })
      expect(exitCode).toBe(2)
      expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
      expect(stderr).toContain(value)
    }
  })

  test('the clock of tests is refused outside of tests', async () => {
    const { exitCode, stdout, stderr } = await runCubby(['serve', '--data', dir, '--port', '0'], {
      env: { CUBBY_TEST_CLOCK: join(top, 'clock') },
    })
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(/^cubby: [^\n]*CUBBY_TEST_CLOCK[^\n]*\n$/)
    expect(existsSync(dir)).toBe(false)
  })
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
