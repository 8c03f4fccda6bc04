import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { parseArguments, UsageError } from '../../src/cli/arguments.ts'
import { metricsFlag, parseMetricsAddress } from '../../src/cli/serve-flags.ts'
import { metricsConnectionsMax } from '../../src/core/limits.ts'
import { listenForScrapes } from '../../src/metrics/listener.ts'
import {
  eventually,
  makeTempDir,
  removeTempDir,
  runCubby,
  type Server,
  startServer,
  storeArguments,
} from '../harness.ts'
import { growth, metricsOn, metricsUrl, scrape } from './scraping.ts'

setDefaultTimeout(60_000)

const refusedName = 'cubby_metrics_connections_refused_total'

/** Returns the answer to these bytes until the connection ends. */
const sendTo = (port: number, text: string): Promise<string> =>
  new Promise((resolve) => {
    let received = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(received))
  })

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

  const send = (text: string): Promise<string> => sendTo(Number(url.port), text)

  test('what is not HTTP, or too long, is refused, and the connection closed', async () => {
    for (const text of ['\r\n\r\n', 'GET\r\n\r\n', 'get /metrics HTTP/1.1\r\n\r\n', 'GET /metrics HTTP/2\r\n\r\n']) {
      expect(await send(text)).toStartWith('HTTP/1.1 400 ')
    }
    expect(await send(`GET /metrics HTTP/1.1\r\nX: ${'x'.repeat(10_000)}`)).toStartWith('HTTP/1.1 400 ')
    const answer = await send('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n')
    expect(answer.match(/^HTTP\/1\.1 /gm)).toEqual(['HTTP/1.1 '])
    expect(answer).toContain('Connection: close')
  })

  // A page whose own name was made to point at this machine sends that name.
  test('on a loopback address, Host must be a name or an address of it', async () => {
    const statusFor = async (...hosts: string[]): Promise<string> => {
      const lines = hosts.map((host) => `Host: ${host}\r\n`).join('')
      return (await send(`GET /metrics HTTP/1.1\r\n${lines}\r\n`)).slice(9, 12)
    }
    const before = await scrape(server)
    for (const host of [
      '127.0.0.1',
      '127.1.2.3:80',
      'localhost',
      'LocalHost:9464',
      'a.localhost',
      '[::1]',
      '[::1]:9464',
    ]) {
      expect([host, await statusFor(host)]).toEqual([host, '200'])
    }
    const foreign = [
      ...['evil.example', 'evil.example:9464', 'localhost.evil.example', '127.0.0.1.evil.example', '0.0.0.0', '[::2]'],
      ...['', 'localhost:x', 'notlocalhost', `${'a'.repeat(7_000)}.localhost`],
    ]
    for (const host of foreign) expect([host, await statusFor(host)]).toEqual([host, '403'])
    expect(await statusFor()).toBe('403')
    expect(await statusFor('localhost', 'localhost')).toBe('400')
    expect(await statusFor('localhost', 'evil.example')).toBe('400')
    // Paths without metrics are refused too: a foreign page learns nothing.
    expect(await send('GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n')).toStartWith('HTTP/1.1 403 ')
    const refused = growth(before, await scrape(server), refusedName, { reason: 'host' })
    expect(refused).toBe(foreign.length + 2)
  })

  test('a connection without a whole request is closed after a while', async () => {
    const before = await scrape(server)
    const closed: string[] = []
    for (const text of ['', 'GET /metrics HTTP/1.1\r\n', 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r']) {
      sendTo(Number(url.port), text).then((answer) => closed.push(answer))
    }
    // It sends something now and then, but never all of it.
    const slow = connect(Number(url.port), '127.0.0.1')
    const drip = setInterval(() => slow.write('x'), 100)
    slow
      .on('error', () => {})
      .on('close', () => {
        clearInterval(drip)
        closed.push('')
      })
    await eventually('all of them are closed', () => closed.length === 4 || undefined, { waitMsMax: 30_000 })
    expect(closed).toEqual(['', '', '', ''])
    expect(growth(before, await scrape(server), refusedName, { reason: 'idle' })).toBe(4)
    // The API is not concerned.
    expect((await server.request('GET', '/healthz')).status).toBe(200)
  })
})

describe('the connections of the listener', () => {
  const request = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n'

  /** A listener whose time for a request does not end unless it is given. */
  const listen = async (scraped: () => Promise<string>, requestMsMax = 600_000, host = '127.0.0.1') => {
    const refused: string[] = []
    const { port, close } = await listenForScrapes({ host, port: 0 }, scraped, {
      onRefused: (reason) => refused.push(reason),
      requestMsMax,
    })
    const ended: number[] = []
    const sockets: Socket[] = []
    /** Opens one, and sends something. */
    const open = async (text = ''): Promise<void> => {
      const n = sockets.length
      const socket = connect(port, '127.0.0.1')
      sockets.push(socket)
      socket.on('error', () => {}).on('close', () => ended.push(n))
      await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
      socket.write(text)
    }
    const closeAll = async (): Promise<void> => {
      for (const socket of sockets) socket.destroy()
      await close()
    }
    return { port, refused, ended, open, closeAll }
  }

  test('a newcomer that finds all places taken replaces the oldest that has sent no request', async () => {
    const { port, refused, ended, open, closeAll } = await listen(async () => 'all is well')
    // Part of a request is none.
    for (let i = 0; i < metricsConnectionsMax; i++) await open(i % 2 === 0 ? '' : 'GET /metrics')
    await open()
    await open()
    expect(await sendTo(port, request)).toEndWith('all is well')
    await eventually('the first are closed', () => ended.length === 3 || undefined)
    expect(ended).toEqual([0, 1, 2])
    expect(refused).toEqual(['replaced', 'replaced', 'replaced'])
    await closeAll()
  })

  test('one that has sent its request keeps its place; when all have, a newcomer is closed', async () => {
    const pages = Promise.withResolvers<string>()
    let scrapes = 0
    const { port, refused, ended, open, closeAll } = await listen(() => {
      scrapes++
      return pages.promise
    })
    const waiting = metricsConnectionsMax - 1
    const answers = Array.from({ length: waiting }, () => sendTo(port, request))
    await eventually('all of them are read', () => scrapes === waiting || undefined)
    await open()
    answers.push(sendTo(port, request))
    await eventually('the idle one has left its place', () => scrapes === metricsConnectionsMax || undefined)
    await eventually('it is closed', () => ended.length === 1 || undefined)
    expect(await sendTo(port, request)).toBe('')
    expect(refused).toEqual(['replaced', 'full'])
    pages.resolve('all is well')
    for (const answer of await Promise.all(answers)) expect(answer).toEndWith('all is well')
    await closeAll()
  })

  test('one that has its answer and stays open gives its place to a newcomer, and is closed after a while', async () => {
    const { port, refused, closeAll } = await listen(async () => 'all is well', 1_000)
    const answered = Array.from({ length: metricsConnectionsMax }, async () => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {})
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
      await new Promise((resolve) => socket.once('data', resolve))
      return socket
    })
    const sockets = await Promise.all(answered)
    expect(await sendTo(port, request)).toEndWith('all is well')
    await eventually('the others are closed', () => refused.length === metricsConnectionsMax || undefined)
    expect(refused.toSorted()).toEqual([...Array(metricsConnectionsMax - 1).fill('idle'), 'replaced'])
    for (const socket of sockets) socket.destroy()
    await closeAll()
  })

  test('a loopback address of IPv4 that is written as one of IPv6 is one', async () => {
    const { port, closeAll } = await listen(async () => 'all is well', undefined, '::ffff:127.0.0.1')
    expect(await sendTo(port, 'GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n')).toStartWith('HTTP/1.1 403 ')
    await closeAll()
  })

  test('the time for a request does not end an answer that takes longer', async () => {
    const page = Promise.withResolvers<string>()
    const { port, refused, open, ended, closeAll } = await listen(() => page.promise, 1_000)
    const answer = sendTo(port, request)
    await open()
    await eventually('one that was opened later is closed', () => ended.length === 1 || undefined)
    page.resolve('all is well')
    expect(await answer).toEndWith('all is well')
    expect(refused).toEqual(['idle'])
    await closeAll()
  })

  test('on another address, any Host is accepted', async () => {
    const { port, refused, closeAll } = await listen(async () => 'all is well', undefined, '0.0.0.0')
    for (const lines of ['Host: metrics.internal:9464\r\n', 'Host: evil.example\r\n', '']) {
      expect(await sendTo(port, `GET /metrics HTTP/1.1\r\n${lines}\r\n`)).toStartWith('HTTP/1.1 200 ')
    }
    expect(await sendTo(port, 'GET /metrics HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n')).toStartWith('HTTP/1.1 400 ')
    expect(refused).toEqual([])
    await closeAll()
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
