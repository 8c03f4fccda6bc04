import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { parseArguments, UsageError } from '../../src/cli/arguments.ts'
import { metricsFlag, parseMetricsAddress } from '../../src/cli/metrics-address.ts'
import { metricsConnectionsMax } from '../../src/core/limits.ts'
import {
  eventually,
  makeTempDir,
  removeTempDir,
  runCubby,
  type Server,
  startServer,
  storeArguments,
} from '../harness.ts'
import { metricsOn, metricsUrl } from './scraping.ts'

setDefaultTimeout(60_000)

describe('the address of --metrics', () => {
  let server: Server
  let url: URL
  beforeAll(async () => {
    server = await startServer({ args: metricsOn })
    url = new URL(metricsUrl(server))
  })
  afterAll(async () => {
    expect(await server.stop()).toBe(0)
  })

  const ask = async (method: string, path: string): Promise<[number, string]> => {
    const answer = await fetch(new URL(path, url), { method })
    return [answer.status, await answer.text()]
  }

  test('GET and HEAD /metrics are all that it answers', async () => {
    expect((await ask('GET', '/metrics'))[0]).toBe(200)
    expect((await ask('GET', '/metrics?x=1'))[0]).toBe(200)
    const head = await fetch(url, { method: 'HEAD' })
    expect([head.status, await head.text(), Number(head.headers.get('content-length')) > 1_000]).toEqual([
      200,
      '',
      true,
    ])
    for (const path of ['/', '/metrics/', '/metricsx', '/v1', '/healthz']) {
      expect([path, await ask('GET', path)]).toEqual([path, [404, 'The metrics are at /metrics.\n']])
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) expect((await ask(method, '/metrics'))[0]).toBe(405)
  })

  test('the API does not have it, and it does not have the API', async () => {
    expect((await server.request('GET', '/metrics')).status).toBe(404)
    expect((await ask('GET', '/v1'))[0]).toBe(404)
  })

  /** What is answered to these bytes until the connection ends. */
  const send = (text: string): Promise<string> =>
    new Promise((resolve) => {
      let received = ''
      const socket = connect(Number(url.port), '127.0.0.1', () => socket.write(text))
      socket.on('data', (chunk) => {
        received += chunk
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve(received))
    })

  test('what is not HTTP, or too long, is refused, and the connection closed', async () => {
    for (const text of ['\r\n\r\n', 'GET\r\n\r\n', 'get /metrics HTTP/1.1\r\n\r\n', 'GET /metrics HTTP/2\r\n\r\n']) {
      expect(await send(text)).toStartWith('HTTP/1.1 400 ')
    }
    expect(await send(`GET /metrics HTTP/1.1\r\nX: ${'x'.repeat(10_000)}`)).toStartWith('HTTP/1.1 400 ')
    const answer = await send('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n')
    expect(answer.match(/^HTTP\/1\.1 /gm)).toEqual(['HTTP/1.1 '])
    expect(answer).toContain('Connection: close')
  })

  test('connections above the limit are closed at once; when they end, others get in', async () => {
    const open: Socket[] = []
    const closed = new Set<Socket>()
    for (let i = 0; i < metricsConnectionsMax + 5; i++) {
      const socket = connect(Number(url.port), '127.0.0.1')
      socket.on('error', () => {}).on('close', () => closed.add(socket))
      open.push(socket)
    }
    await eventually('the surplus is closed', () => closed.size >= 5 || undefined)
    expect(closed.size).toBe(5)
    // The API is not concerned.
    expect((await server.request('GET', '/healthz')).status).toBe(200)
    for (const socket of open) socket.destroy()
    await eventually('a scrape', () => ask('GET', '/metrics').catch(() => undefined))
  })
})

describe('--metrics that cannot be right', () => {
  const parse = (text: string) =>
    parseMetricsAddress(parseArguments({ flags: { metrics: metricsFlag } }, ['--metrics', text], {}))

  test('an address is a host and a port', () => {
    for (const [text, host, port] of [
      ['127.0.0.1:9464', '127.0.0.1', 9464],
      ['localhost:0', 'localhost', 0],
      ['0.0.0.0:65535', '0.0.0.0', 65_535],
      ['[::1]:9464', '::1', 9464],
      ['metrics.internal:80', 'metrics.internal', 80],
    ] as const) {
      expect(parse(text)).toEqual({ host, port })
    }
    const wrong = [
      '9464',
      ':9464',
      '127.0.0.1',
      '127.0.0.1:',
      'localhost:65536',
      '::1:9464',
      '[::1]',
      'http://a:1',
      'a b:1',
    ]
    for (const text of wrong) expect(() => parse(text)).toThrow(UsageError)
  })

  test('wrong usage: exit 2, one line with the flag and an example', async () => {
    const metrics = await runCubby(['serve', '--port', '0', '--metrics', '9464'])
    expect({ exitCode: metrics.exitCode, stdout: metrics.stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(metrics.stderr).toMatch(/^cubby: --metrics is "9464"; it takes HOST:PORT[^\n]*127\.0\.0\.1:9464[^\n]*\n$/)
    const slow = await runCubby(['serve', '--port', '0', '--log-slow', 'soon'])
    expect({ exitCode: slow.exitCode, stdout: slow.stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(slow.stderr).toMatch(/^cubby: --log-slow is "soon"[^\n]*\n$/)
  })

  test('a taken port and a foreign address: exit 1, one line that names the flag, and the store is closed', async () => {
    const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
    const dir = makeTempDir()
    try {
      for (const [address, ...more] of [[`127.0.0.1:${taken.port}`], ['192.0.2.1:9464', '--workers', '2']]) {
        const store = [...storeArguments(dir), '--port', '0', '--no-bootstrap']
        const { exitCode, stderr } = await runCubby(['serve', ...store, ...more, '--metrics', address!])
        expect({ address, exitCode }).toEqual({ address, exitCode: 1 })
        expect(stderr.trim().split('\n').at(-1)).toMatch(/^cubby: [^\n]*--metrics[^\n]*$/)
      }
    } finally {
      await taken.stop(true)
      removeTempDir(dir)
    }
  })
})
