import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { endAllServing, spawnServe } from '../cli/serve-process.ts'
import {
  cubbyCommand,
  eventually,
  makeTempDir,
  removeTempDir,
  type Server,
  startServer,
  storeArguments,
} from '../harness.ts'

setDefaultTimeout(120_000)

let server: Server
const serve = async (...args: string[]): Promise<void> => {
  server = await startServer({ args })
}
afterEach(async () => {
  await server?.stop()
})

/** Requests of every kind, each with an id of its own; how many. */
const traffic = async (): Promise<string[]> => {
  const { secretKey, publicKey } = await server.createOrganization()
  const requests: [string, string, string?, unknown?][] = [
    ['POST', '/v1/app/notes', secretKey],
    ['PUT', '/v1/app/notes', secretKey, { hashKey: 'a', data: { text: 'a secret of its own' } }],
    ['GET', '/v1/app/notes/a', publicKey],
    ['GET', '/v1/app/notes/b', publicKey],
    ['POST', '/v1/app/notes/query', publicKey, { hash: 'a' }],
    ['PUT', '/v1/app/notes', secretKey, 'not json'],
    ['PUT', '/v1/app/notes', publicKey, { hashKey: 'a', data: {} }],
    ['GET', '/v1/app/notes', undefined],
    ['GET', '/v1/app/notes', 'wrong'],
    ['GET', '/nowhere', undefined],
    ['PATCH', '/v1/app/notes', secretKey],
    ['OPTIONS', '/v1/app/notes', undefined],
    ['GET', '/healthz', undefined],
    ['GET', '/readyz', undefined],
  ]
  const ids: string[] = []
  for (const [method, path, key, body] of requests) {
    const id = `request-${ids.length}-`
    ids.push(id)
    await server.request(method, path, { key, body, headers: { 'x-request-id': id } })
  }
  return ids
}

/** The log up to and including what follows the traffic. */
const stopAndRead = async (): Promise<string[]> => {
  expect(await server.end('SIGTERM')).toBe(0)
  return server.logLines
}

describe('not on a terminal', () => {
  test('one JSON object per line, with time, level and message', async () => {
    await serve('--log', 'requests')
    await traffic()
    for (const line of await stopAndRead()) {
      const { time, level, message } = JSON.parse(line)
      expect(new Date(time).toISOString()).toBe(time)
      expect(['info', 'warn', 'error']).toContain(level)
      expect(message).toMatch(/\S/)
    }
  })

  test('no request is logged by default', async () => {
    await serve()
    await traffic()
    const lines = await stopAndRead()
    expect(lines.map((line) => JSON.parse(line).message)).toEqual(['listening', 'stopping', 'stopped'])
  })

  test('--log requests logs one line for each request, successful or not', async () => {
    await serve('--log', 'requests')
    const ids = await traffic()
    const entries = (await stopAndRead()).map((line) => JSON.parse(line))
    for (const id of ids) {
      const lines = entries.filter(({ requestId }) => requestId === id)
      expect({ id, lines: lines.length }).toEqual({ id, lines: 1 })
      expect(lines[0].method).toMatch(/^[A-Z]+$/)
      expect(lines[0].path).toStartWith('/')
      expect(lines[0].status).toBeGreaterThanOrEqual(200)
      expect(lines[0].ms).toBeGreaterThanOrEqual(0)
    }
    expect(JSON.stringify(entries)).not.toContain('a secret of its own')
  })

  test('the logged time covers the whole request', async () => {
    await serve('--log', 'requests')
    const { secretKey } = await server.createOrganization()
    const api = server.as(secretKey)
    await api.post('/v1/app/notes')
    // A page of a megabyte: it takes its time, all of it between the request and its answer.
    const data = { text: 'x'.repeat(100_000) }
    for (let i = 0; i < 9; i++) await api.put('/v1/app/notes', { hashKey: 'a', rangeKey: String(i), data })
    await api.post('/v1/app/notes/query', { hash: 'a' }, { 'x-request-id': 'the-page' })
    await api.get('/v1/app/notes/a/1', { 'x-request-id': 'the-record' })
    await stopAndRead()
    const took = (id: string): number => server.log.find(({ requestId }) => requestId === id).ms
    expect(took('the-page')).toBeGreaterThan(0.05)
    expect(took('the-record')).toBeGreaterThan(0.02)
  })
})

describe('on a terminal', () => {
  let dir: string
  beforeEach(() => {
    dir = makeTempDir()
  })
  afterEach(async () => {
    await endAllServing()
    removeTempDir(dir)
  })

  // Other systems have a `script` that takes other words.
  test.skipIf(process.platform !== 'linux' || Bun.which('script') === null)('readable lines, no JSON', async () => {
    const pidFile = join(dir, 'pid')
    const words = [...cubbyCommand(), 'serve', ...storeArguments(join(dir, 'data')), '--port', '0']
    const quoted = [...words, '--no-bootstrap', '--log', 'requests'].map((word) => `'${word}'`).join(' ')
    const command = `echo $$ > '${pidFile}'; exec ${quoted}`
    const terminal = Bun.spawn(['script', '--quiet', '--return', '--command', command, '/dev/null'], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'ignore',
    })
    let screen = ''
    let url: string
    const reading = (async () => {
      for await (const chunk of terminal.stdout) screen += new TextDecoder().decode(chunk)
    })()
    try {
      url = await eventually('the start-up line', () => /http:\/\/[0-9.:]+/.exec(screen)?.[0])
      await (await fetch(`${url}/v1/app/notes`)).text()
      await eventually('the line of the request', () => (screen.includes('/v1/app/notes') ? true : undefined))
      process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGTERM')
      expect(await terminal.exited).toBe(0)
      await reading
    } finally {
      terminal.kill('SIGKILL')
    }
    const lines = screen.trimEnd().split(/\r?\n/)
    const data = join(dir, 'data')
    expect(lines[0]).toBe(`Cubby is listening on ${url}, with the store in ${data}. Ctrl+C stops it.`)
    expect(lines.filter((line) => line.includes('listening'))).toEqual([lines[0]!])
    expect(lines.some((line) => line.includes('/v1/app/notes') && line.includes('401'))).toBe(true)
    expect(lines.at(-1)).toContain('stopped')
    for (const line of lines) expect(line).not.toContain('{')
  })

  test('what is piped elsewhere stays JSON', async () => {
    const serving = spawnServe({ dataDir: join(dir, 'data'), args: ['--no-bootstrap'] })
    await serving.ready
    expect(await serving.end()).toBe(0)
    for (const line of serving.stderr.trimEnd().split('\n')) JSON.parse(line)
  })
})

test.skipIf(!existsSync('/dev/full') || !existsSync('/proc/self/stat'))(
  'a log that cannot be written costs its lines and nothing else',
  async () => {
    // The banner on standard output says that it runs: the line on standard error is lost.
    const wrapper = ['sh', '-c', 'exec "$@" 2>/dev/full', 'sh']
    const dataDir = makeTempDir()
    const serving = spawnServe({ dataDir, wrapper })
    await eventually('the banner', () => serving.stdout.includes('Cubby is running') || undefined)
    // A process that logs its own errors never rests: it is running or waits for a processor whenever one looks.
    const look = (): { sleeps: boolean; ticks: number } => {
      const fields = readFileSync(`/proc/${serving.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
      return { sleeps: fields[0] === 'S', ticks: Number(fields[11]) + Number(fields[12]) }
    }
    const looks: ReturnType<typeof look>[] = []
    await eventually('it rests', () => {
      looks.push(look())
      const last = looks.slice(-10)
      return (last.length === 10 && last.every(({ sleeps, ticks }) => sleeps && ticks === last[0]!.ticks)) || undefined
    })
    expect(await serving.end()).toBe(0)
    removeTempDir(dataDir)
  },
)
