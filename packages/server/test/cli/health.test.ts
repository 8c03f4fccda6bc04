import { Database } from 'bun:sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { type CommandResult, eventually, runCubby, type Server, startServer, storeIsEmbedded } from '../harness.ts'

// A container or a script restarts or replaces a server by the exit code of this command. A wrong 0 keeps a dead server, a wrong
// 1 ends a good one.

setDefaultTimeout(60_000)

let server: Server
beforeAll(async () => {
  server = await startServer()
})
afterAll(async () => {
  await server.stop()
})

const health = (args: string[], env: Record<string, string> = {}): Promise<CommandResult> =>
  runCubby(['health', ...args], { env })

const ok = (line: string): CommandResult => ({ exitCode: 0, stdout: `ok: ${line}\n`, stderr: '' })
const failed = (line: string): CommandResult => ({ exitCode: 1, stdout: '', stderr: `cubby: ${line}\n` })

describe('a server that can serve: exit 0', () => {
  test('by its address', async () => {
    expect(await health(['--url', server.url])).toEqual(ok(`${server.url} can serve`))
    expect(await health(['--live'], { CUBBY_URL: `${server.url}/` })).toEqual(ok(`${server.url} is alive`))
  })

  test('by the variables of serve, whatever address it listens on', async () => {
    const env = { CUBBY_HOST: '0.0.0.0', CUBBY_PORT: String(server.port) }
    expect(await health([], env)).toEqual(ok(`http://127.0.0.1:${server.port} can serve`))
  })

  test('a flag wins over CUBBY_URL', async () => {
    const env = { CUBBY_URL: 'http://127.0.0.1:1' }
    expect((await health(['--port', String(server.port)], env)).exitCode).toBe(0)
    expect((await health(['--url', server.url], env)).exitCode).toBe(0)
  })

  test('a proxy in the environment is not asked', async () => {
    const proxy = 'http://127.0.0.1:1'
    expect((await health(['--url', server.url], { HTTP_PROXY: proxy, http_proxy: proxy })).exitCode).toBe(0)
  })
})

describe('exit 1, with one line that says why', () => {
  const others: { stop(force: boolean): unknown }[] = []
  afterEach(async () => {
    for (const other of others.splice(0)) await other.stop(true)
  })
  /** Another program on the port: it sends this text and nothing more, and leaves the connection open. */
  const listen = (text: string): string => {
    const other = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data: (socket) => void (text !== '' && socket.write(text)),
      },
    })
    others.push(other)
    return `http://127.0.0.1:${other.port}`
  }

  test('nothing listens', async () => {
    const url = listen('')
    await others.pop()!.stop(true)
    expect(await health(['--url', url])).toEqual(failed(`no answer from ${url}: nothing listens there`))
  })

  test('no answer, or none that ends, within --timeout', async () => {
    const check = async (text: string): Promise<void> => {
      const url = listen(text)
      const result = await health(['--url', url, '--timeout', '300'])
      expect(result).toEqual(failed(`no answer from ${url}: none within 300 ms`))
    }
    await Promise.all([check(''), check('HTTP/1.1 200 OK\r\ncontent-length: 18\r\n\r\n{"status":')])
  })

  test('another server, also one that answers 200 or redirects, or sends without end', async () => {
    const answer = (status: string, body: string, headers = '') =>
      `HTTP/1.1 ${status}\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`
    const check = async (status: number, text: string): Promise<void> => {
      const url = listen(text)
      expect(await health(['--url', url])).toEqual(failed(`${url} answered ${status}; is it a Cubby server?`))
    }
    await Promise.all([
      check(200, answer('200 OK', '<html>')),
      check(200, answer('200 OK', '{"status":"ok"}')),
      check(302, answer('302 Found', '', `location: ${server.url}/readyz\r\n`)),
      check(200, `HTTP/1.1 200 OK\r\ncontent-length: 9999999\r\n\r\n${'x'.repeat(100_000)}`),
    ])
  })

  test.skipIf(!storeIsEmbedded())('the store cannot be read: not ready, but alive', async () => {
    const db = new Database(join(server.dataDir, 'cubby.db'))
    db.run('PRAGMA busy_timeout = 5000')
    try {
      db.run('ALTER TABLE meta RENAME TO meta_away')
      const { exitCode, stderr } = await eventually('it is noticed', async () => {
        const result = await health(['--url', server.url])
        return result.exitCode === 0 ? undefined : result
      })
      expect(exitCode).toBe(1)
      expect(stderr).toBe(`cubby: ${server.url} answered 503: The store cannot serve requests now.\n`)
      expect((await health(['--url', server.url, '--live'])).exitCode).toBe(0)
    } finally {
      db.run('ALTER TABLE meta_away RENAME TO meta')
      db.close()
    }
  })
})
