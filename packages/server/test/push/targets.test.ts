import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CubbyError } from '../../src/core/errors.ts'
import { allowNothing, parseAllow } from '../../src/push/allow.ts'
import { atMostAtOnce } from '../../src/push/resolve.ts'
import { checkTarget } from '../../src/push/target.ts'
import { comes, http, type Listener, listen, push } from './push-fixture.ts'

// Without these checks a tenant could read from, and write into, the networks that this server is in. The listener here stands
// for a service inside: each way to reach it must be refused before there is a connection.

/** The listener is on all addresses of this machine, also of IPv6 if it has it. */
let inside: Listener
/** The same port on 127.0.0.2, which stands for a target that is allowed. */
let allowed: Listener

beforeAll(async () => {
  inside = await listen(http(200), { host: '127.0.0.1' })
  allowed = await listen(http(200), { host: '127.0.0.2', port: inside.port })
})
afterAll(() => Promise.all([inside.close(), allowed.close()]))

/** Other networks are allowed, so that http is not refused for the scheme alone. */
const otherNetworks = parseAllow('127.0.0.2/32,10.77.0.0/16')

const refusedAtRun = {
  status: 'failed',
  error: { code: 'target_refused', message: expect.any(String) },
  retry: false,
  retryAfterMs: null,
}

const codeOf = (check: Promise<void>) =>
  check.then(
    () => 'accepted',
    (error: CubbyError) => `${error.code} ${error.field}`,
  )

const literals = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
  ],
  ...['0', '0.0.0.0', '１２７.0.0.1', '127。0。0。1', '%31%32%37.0.0.1', '[::1]', '[::]', '[0:0:0:0:0:0:0:1]'],
  ...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[::ffff:0:127.0.0.1]', '[64:ff9b::127.0.0.1]'],
  ...[
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
    '[2001:0:808:808::80ff:fffe]',
    '[2600::5efe:7f00:1]',
  ],
  ...[
    '169.254.169.254',
    '168.63.129.16',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '192.0.0.192',
    '198.18.0.1',
    '224.0.0.1',
  ],
  ...['255.255.255.255', '240.0.0.1', '[fe80::1]', '[fd00::1]', '[fec0::1]', '[ff02::1]', '[2001:db8::1]'],
]

describe('a refused literal', () => {
  for (const host of literals) {
    test(host, async () => {
      for (const scheme of ['https', 'http']) {
        const url = `${scheme}://${host}:${inside.port}/`
        expect(await push(url, { allow: otherNetworks })).toEqual(refusedAtRun as never)
        expect(await codeOf(checkTarget(url, otherNetworks))).toBe('push_target_refused url')
        expect(await codeOf(checkTarget(url, allowNothing))).toBe('push_target_refused url')
      }
      expect(inside.connections).toBe(0)
    })
  }
})

describe('a refused name', () => {
  const addresses = [
    ...['127.0.0.1', '::1', '::ffff:127.0.0.1', '::127.0.0.1', '0.0.0.0', '::', '64:ff9b::7f00:1', '2002:7f00:1::'],
    ...['fe80::1%lo', '169.254.169.254', '10.0.0.1', 'garbage', ''],
  ]
  for (const address of addresses) {
    test(`that resolves to ${address === '' ? 'nothing that can be read' : address}`, async () => {
      const resolve = async () => [address]
      for (const url of [`https://hook.example.com:${inside.port}/`, `http://hook.example.com.:${inside.port}/`]) {
        expect(await push(url, { allow: otherNetworks, resolve })).toEqual(refusedAtRun as never)
        expect(await codeOf(checkTarget(url, otherNetworks, resolve))).toBe('push_target_refused url')
      }
      expect(inside.connections).toBe(0)
    })
  }

  test('localhost, by the real resolver, in every spelling', async () => {
    for (const host of ['localhost', 'LOCALHOST', 'ⓛocalhost']) {
      const url = `https://${host}:${inside.port}/`
      expect(await push(url, { allow: allowNothing, resolve: undefined })).toEqual(refusedAtRun as never)
      expect(await codeOf(checkTarget(url, allowNothing))).toBe('push_target_refused url')
    }
    // Some resolvers do not know this one; others say 127.0.0.1.
    const dotted = await push(`https://localhost.:${inside.port}/`, { allow: allowNothing, resolve: undefined })
    expect(dotted).toMatchObject({
      status: 'failed',
      error: { code: expect.stringMatching(/^(target_refused|connection)$/) },
    })
    expect(inside.connections).toBe(0)
  })

  test('with two addresses, of which one is refused, in either order', async () => {
    const before = allowed.connections
    for (const pair of [
      ['127.0.0.2', '127.0.0.1'],
      ['127.0.0.1', '127.0.0.2'],
      ['127.0.0.2', '::ffff:127.0.0.1'],
      ['127.0.0.2', '::1'],
    ]) {
      const url = `http://hook.example.com:${inside.port}/`
      expect(await push(url, { allow: otherNetworks, resolve: async () => pair })).toEqual(refusedAtRun as never)
      expect(await codeOf(checkTarget(url, otherNetworks, async () => pair))).toBe('push_target_refused url')
    }
    expect({ inside: inside.connections, allowed: allowed.connections }).toEqual({ inside: 0, allowed: before })
  })

  test('of this machine says which flag allows it, and what that opens', async () => {
    const hint =
      'To push to this machine, start the server with --push-allow 127.0.0.1,::1. The tasks of all organizations can then reach every port of this machine.'
    for (const url of ['http://localhost:3000/', 'https://localhost/', 'http://127.0.0.1:1/', 'https://[::1]/']) {
      const error = await checkTarget(url, allowNothing, async () => ['127.0.0.1']).catch((e) => e)
      expect([url, error.code, error.hint]).toEqual([url, 'push_target_refused', hint])
    }
    // Another name that leads here tells nothing of that.
    const error = await checkTarget('https://db.internal/', allowNothing, async () => ['127.0.0.1']).catch((e) => e)
    expect(error.hint).not.toContain('this machine')
  })

  test('tells no address that it has resolved to', async () => {
    const outcome = await push('https://db.internal/', { allow: allowNothing, resolve: async () => ['10.11.12.13'] })
    expect(JSON.stringify(outcome)).not.toContain('10.11.12.13')
    const error = await checkTarget('https://db.internal/', allowNothing, async () => ['10.11.12.13']).catch((e) => e)
    expect(`${error.message} ${error.hint}`).not.toContain('10.11.12.13')
  })
})

test('a name that changes between check and connection: the connection goes to the address that was checked', async () => {
  const before = allowed.connections
  const answers = [['127.0.0.2'], ['127.0.0.1']]
  let asked = 0
  const resolve = async () => answers[Math.min(asked++, 1)]!
  const outcome = await push(`http://hook.example.com:${inside.port}/`, { allow: otherNetworks, resolve })
  expect(outcome).toEqual({ status: 'succeeded', result: null })
  expect({ asked, inside: inside.connections, allowed: allowed.connections - before }).toEqual({
    ...{ asked: 1, inside: 0, allowed: 1 },
  })
})

test('a name that was accepted when it was declared is checked again by each attempt', async () => {
  const url = `http://hook.example.com:${inside.port}/`
  await checkTarget(url, otherNetworks, async () => ['127.0.0.2'])
  expect(await push(url, { allow: otherNetworks, resolve: async () => ['127.0.0.2'] })).toMatchObject({
    status: 'succeeded',
  })
  expect(await push(url, { allow: otherNetworks, resolve: async () => ['127.0.0.1'] })).toEqual(refusedAtRun as never)
  expect(inside.connections).toBe(0)
})

test('an answer that redirects inside is not followed', async () => {
  const location = `location: http://127.0.0.1:${inside.port}/\r\n`
  for (const status of [301, 302, 303, 307, 308]) {
    const outside = await listen(http(status, '', location), { host: '127.0.0.2' })
    const url = `http://127.0.0.2:${outside.port}/`
    expect(await push(url, { allow: otherNetworks })).toMatchObject({
      status: 'failed',
      error: { code: 'http_status', message: `The target answered ${status}.` },
      retry: true,
    })
    expect(outside.connections).toBe(1)
    await outside.close()
  }
  expect(inside.connections).toBe(0)
})

test('the second address is tried if the first is closed, and only checked ones', async () => {
  const url = `http://hook.example.com:${inside.port}/`
  const before = allowed.connections
  const resolve = async () => ['127.0.0.3', '127.0.0.2']
  expect(await push(url, { allow: parseAllow('127.0.0.2/31'), resolve })).toMatchObject({ status: 'succeeded' })
  expect({ inside: inside.connections, allowed: allowed.connections - before }).toEqual({ inside: 0, allowed: 1 })
})

describe('the form of the URL', () => {
  const check = (url: string, allow = allowNothing, resolve = async (): Promise<string[]> => ['8.8.8.8']) =>
    codeOf(checkTarget(url, allow, resolve))

  test('https to public addresses is accepted, with ports, names of other scripts and a dot at the end', async () => {
    for (const url of ['https://hook.example.com', 'https://hook.example.com:8443/a?b#c', 'https://bücher.example./']) {
      expect(await check(url)).toBe('accepted')
    }
    expect(await check('https://8.8.8.8/')).toBe('accepted')
    expect(await check('https://[::ffff:8.8.8.8]/')).toBe('accepted')
  })

  test('other schemes, users and passwords, and what is no URL are refused', async () => {
    const bad = [
      'ftp://hook.example.com',
      'file:///etc/passwd',
      'data:,x',
      'ws://hook.example.com',
      'hook.example.com',
      '',
    ]
    for (const url of [
      ...bad,
      '/path',
      'https://',
      'https://a b/',
      'https://ada@hook.example.com',
      'https://:x@hook.example.com',
    ]) {
      expect(await check(url)).toBe('push_target_refused url')
      expect(await push(url, { allow: otherNetworks, resolve: async () => ['127.0.0.2'] })).toEqual(
        refusedAtRun as never,
      )
    }
    for (const url of ['https://[fe80::1%25eth0]/', 'https://999.1.1.1/', 'https://1.2.3.4.5/', 'https://[::1']) {
      expect(await check(url)).toBe('push_target_refused url')
    }
  })

  test('http is accepted only where every address is in --push-allow', async () => {
    const allow = parseAllow('10.0.0.0/8')
    expect(await check('http://hook.example.com/')).toBe('push_target_refused url')
    expect(await check('http://hook.example.com/', allow)).toBe('push_target_refused url')
    expect(await check('http://hook.example.com/', allow, async () => ['10.0.0.1', '8.8.8.8'])).toBe(
      'push_target_refused url',
    )
    expect(await check('http://hook.example.com/', allow, async () => ['10.0.0.1'])).toBe('accepted')
    expect(await check('http://10.1.1.1/', allow)).toBe('accepted')
    expect(await check('http://8.8.8.8/', allow)).toBe('push_target_refused url')
    expect(await check('https://hook.example.com/', allow, async () => ['10.0.0.1', '8.8.8.8'])).toBe('accepted')
  })

  test('a name that does not resolve, or not in time, is accepted when it is declared; later it is `connection`', async () => {
    const unknown = () => Promise.reject(Object.assign(new Error('no'), { code: 'DNS_ENOTFOUND' }))
    const silent = () => new Promise<string[]>(() => {})
    expect(await check('https://unknown.example.com/', allowNothing, unknown)).toBe('accepted')
    expect(await check('https://unknown.example.com/', allowNothing, async () => [])).toBe('accepted')
    expect(await codeOf(checkTarget('https://slow.example.com/', allowNothing, silent, 20))).toBe('accepted')
    for (const resolve of [unknown, async () => []]) {
      const outcome = await push('https://unknown.example.com/', { allow: allowNothing, resolve })
      expect(outcome).toMatchObject({ status: 'failed', retry: true, error: { code: 'connection' } })
    }
    const late = await push('https://slow.example.com/', { allow: allowNothing, resolve: silent, ms: 50 })
    expect(late).toMatchObject({ status: 'failed', retry: true, error: { code: 'timeout' } })
  })

  test('lookups for declarations are bounded: names above the bound count as unknown', async () => {
    const answers: (() => void)[] = []
    const slow = atMostAtOnce(() => new Promise((done) => answers.push(() => done(['10.0.0.1']))), 2)
    const checkSlow = () => codeOf(checkTarget('https://hook.example.com/', allowNothing, slow))
    const first = [checkSlow(), checkSlow()]
    expect(await checkSlow()).toBe('accepted')
    expect(answers).toHaveLength(2)
    for (const answer of answers) answer()
    expect(await Promise.all(first)).toEqual(['push_target_refused url', 'push_target_refused url'])
    const next = checkSlow()
    answers[2]!()
    expect(await next).toBe('push_target_refused url')
  })
})

test('no connection came late', async () => {
  expect(await comes(() => inside.connections > 0 || allowed.open.size === 0)).toBe(true)
  expect(inside.connections).toBe(0)
})
