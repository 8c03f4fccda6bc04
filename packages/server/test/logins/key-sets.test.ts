import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Socket } from 'node:net'
import { CubbyError } from '../../src/core/errors.ts'
import type { IssuerKey } from '../../src/core/issuers/issuer-key.ts'
import type { FetchOptions } from '../../src/logins/fetch-keys.ts'
import { FetchPlaces } from '../../src/logins/fetch-places.ts'
import { KeySets } from '../../src/logins/key-sets.ts'
import { allowNothing, parseAllow } from '../../src/push/allow.ts'
import type { Json } from '../harness.ts'
import { authority, comes, http, type Listener, listen, loopback, type Reply } from '../push/push-fixture.ts'
import { makeKey } from './login.ts'

setDefaultTimeout(60_000)

const minute = 60_000
const startMs = 1_800_000_000_000
const [first, second] = [makeKey('ES256', { kid: 'first' }), makeKey('EdDSA', { kid: 'second' })]
const setOf = (...keys: Json[]): Buffer => http(200, JSON.stringify({ keys }))

let open: { close(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(open.map((one) => one.close()))
  open = []
})

interface KeyServer extends Listener {
  url: string
  answer: Reply
}

/** A server of keys whose answer may change. */
const serve = async (answer: Reply, options: Json = {}): Promise<KeyServer> => {
  const listener = await listen((socket) => {
    if (typeof server.answer === 'function') server.answer(socket)
    else socket.end(server.answer)
  }, options)
  open.push(listener)
  const url = `http://127.0.0.1:${listener.port}/keys?a=b`
  // Its counters are those of the listener.
  const server: KeyServer = Object.assign(Object.create(listener), { answer, url })
  return server
}

const silent: Reply = () => {}

const makeSets = (options: Partial<FetchOptions> = {}, places?: FetchPlaces, bytesMax?: number): KeySets =>
  new KeySets({ allow: loopback, ca: authority.certificate, ...options }, places, bytesMax)

const byKid =
  (kid: string) =>
  (keys: readonly IssuerKey[]): IssuerKey | undefined =>
    keys.find((key) => key.kid === kid)

/** The kid of the key that was found, `none`, or the code of the error. */
const found = async (sets: KeySets, url: string, kid: string, atMs: number, orgId = 1): Promise<string> => {
  try {
    return (await sets.find(orgId, url, byKid(kid), atMs))?.kid ?? 'none'
  } catch (error) {
    if (!(error instanceof CubbyError)) throw error
    return error.code
  }
}

const reason = (sets: KeySets, url: string): Promise<string> =>
  sets.find(1, url, byKid('first'), startMs).then(
    (key) => `found ${key?.kid}`,
    (error: CubbyError) => `${error.code}: ${error.message}`,
  )

describe('keys', () => {
  test('are fetched with one plain request, however many ask at once', async () => {
    const server = await serve(setOf(first.jwk))
    const sets = makeSets()
    const all = await Promise.all(Array.from({ length: 50 }, () => found(sets, server.url, 'first', startMs)))
    expect([new Set(all), server.connections]).toEqual([new Set(['first']), 1])
    expect(server.received.split('\r\n')).toEqual([
      'GET /keys?a=b HTTP/1.1',
      `host: 127.0.0.1:${new URL(server.url).port}`,
      'accept: application/json',
      'accept-encoding: identity',
      'user-agent: cubby',
      'connection: close',
      '',
      '',
    ])
  })

  test('are kept for ten minutes', async () => {
    const server = await serve(setOf(first.jwk))
    const sets = makeSets()
    await found(sets, server.url, 'first', startMs)
    server.answer = setOf(second.jwk)
    expect(await found(sets, server.url, 'first', startMs + 10 * minute - 1)).toBe('first')
    expect(server.connections).toBe(1)
    expect(await found(sets, server.url, 'first', startMs + 10 * minute)).toBe('none')
    expect(server.connections).toBe(2)
  })

  test('are fetched again for an unknown kid, at most once a minute', async () => {
    const server = await serve(setOf(first.jwk))
    const sets = makeSets()
    await found(sets, server.url, 'first', startMs)
    server.answer = setOf(first.jwk, second.jwk)
    expect(await found(sets, server.url, 'second', startMs + 1)).toBe('second')
    for (let i = 0; i < 20; i++) expect(await found(sets, server.url, `third-${i}`, startMs + minute)).toBe('none')
    expect(server.connections).toBe(2)
    await found(sets, server.url, 'third', startMs + 1 + minute)
    expect(server.connections).toBe(3)
  })

  test('that are being fetched for one unknown kid are waited for by others', async () => {
    const server = await serve(setOf(first.jwk))
    const sets = makeSets()
    await found(sets, server.url, 'first', startMs)
    server.answer = setOf(first.jwk, second.jwk)
    const all = Array.from({ length: 20 }, () => found(sets, server.url, 'second', startMs + 1))
    expect(new Set(await Promise.all(all))).toEqual(new Set(['second']))
    expect(server.connections).toBe(2)
  })

  test('serve for an hour while they cannot be fetched, which is tried once a minute; then nothing does', async () => {
    const server = await serve(setOf(first.jwk))
    const sets = makeSets()
    await found(sets, server.url, 'first', startMs)
    server.answer = http(500)
    for (const minutes of [10, 10.5, 11, 59]) {
      expect(await found(sets, server.url, 'first', startMs + minutes * minute)).toBe('first')
    }
    expect(server.connections).toBe(4)
    expect(await found(sets, server.url, 'first', startMs + 60 * minute)).toBe('unavailable')
    server.answer = setOf(second.jwk)
    expect(await found(sets, server.url, 'second', startMs + 62 * minute)).toBe('second')
    expect(await found(sets, server.url, 'first', startMs + 62 * minute)).toBe('none')
  })

  test('that never came are asked for again after a second', async () => {
    const server = await serve(http(503))
    const sets = makeSets()
    for (let i = 0; i < 10; i++) expect(await found(sets, server.url, 'first', startMs + i)).toBe('unavailable')
    expect(server.connections).toBe(1)
    server.answer = setOf(first.jwk)
    expect(await found(sets, server.url, 'first', startMs + 1_000)).toBe('first')
  })

  test('are fetched again when the clock was set back', async () => {
    const server = await serve(setOf(first.jwk))
    const sets = makeSets()
    await found(sets, server.url, 'first', startMs)
    server.answer = setOf(second.jwk)
    expect(await found(sets, server.url, 'first', startMs - 100 * minute)).toBe('none')
  })

  test('belong to one organization, and those used longest ago are forgotten', async () => {
    const server = await serve(setOf(first.jwk))
    const sets = makeSets({}, undefined, 12_000)
    await found(sets, server.url, 'first', startMs, 1)
    await found(sets, server.url, 'first', startMs, 2)
    expect(server.connections).toBe(2)
    await found(sets, server.url, 'first', startMs, 1)
    expect(server.connections).toBe(2)
    await found(sets, server.url, 'first', startMs, 3)
    await found(sets, server.url, 'first', startMs, 1)
    expect(server.connections).toBe(3)
    await found(sets, server.url, 'first', startMs, 2)
    expect(server.connections).toBe(4)
  })

  // Their login service may be down: then they would have no keys at all.
  test('of an organization stay, however many addresses another one names', async () => {
    const server = await serve(setOf(first.jwk))
    const sets = makeSets({}, undefined, 20_000)
    await found(sets, server.url, 'first', startMs, 1)
    for (let i = 0; i < 8; i++) await found(sets, `${server.url}&${i}`, 'first', startMs, 2)
    expect(server.connections).toBe(9)
    server.answer = http(500)
    expect(await found(sets, server.url, 'first', startMs, 1)).toBe('first')
    // The other one keeps those that it has used last.
    expect(await found(sets, `${server.url}&7`, 'first', startMs, 2)).toBe('first')
    expect(await found(sets, `${server.url}&0`, 'first', startMs, 2)).toBe('unavailable')
  })

  test('that cannot check login tokens are left out', async () => {
    const others = [
      null,
      7,
      {},
      { kty: 'oct', k: 'AA', kid: 'first' },
      { ...first.jwk, use: 'enc' },
      { kty: 'RSA', kid: 'first' },
    ]
    const server = await serve(setOf(...others, second.jwk))
    const sets = makeSets()
    expect(await found(sets, server.url, 'first', startMs)).toBe('none')
    expect(await found(sets, server.url, 'second', startMs)).toBe('second')
  })
})

describe('a target is given up', () => {
  const huge = `{"keys":[${'"a",'.repeat(20_000)}"a"]}`
  const chunked = (socket: Socket): void => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
    const more = (): void => {
      if (!socket.destroyed) socket.write(`1000\r\n${'a'.repeat(0x1000)}\r\n`, () => setImmediate(more))
    }
    more()
  }
  const cases: Record<string, [Reply, RegExp]> = {
    'that answers 404': [http(404, '{"keys":[]}'), /answered 404/],
    'that answers 201': [http(201, JSON.stringify({ keys: [first.jwk] })), /answered 201/],
    'whose answer is longer than 64 KiB': [http(200, huge), /too long/],
    'that sends chunks without end': [chunked, /too long/],
    'that breaks off': ['HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"keys":[', /broke off/],
    'that sends no JSON': [http(200, 'keys'), /no JSON Web Key Set/],
    'that sends no key set': [http(200, '{"keys":{}}'), /no JSON Web Key Set/],
    'that sends thousands of objects': [http(200, `{"keys":[${'{"1":1},'.repeat(3_000)}{}]}`), /no JSON Web Key Set/],
    'that sends no HTTP': ['SSH-2.0-x\r\n', /not HTTP/],
    'that never answers': [silent, /did not answer/],
    'that ends without an answer': [(socket) => socket.end(), /without an answer/],
  }
  for (const [name, [answer, words]] of Object.entries(cases)) {
    test(name, async () => {
      const server = await serve(answer)
      const startedAt = performance.now()
      // Only the target that never answers is left to the clock.
      const text = await reason(makeSets({ msMax: answer === silent ? 300 : 30_000 }), server.url)
      expect(text).toStartWith('unavailable: ')
      expect(performance.now() - startedAt).toBeLessThan(10_000)
      expect(text).toMatch(words)
      expect(await comes(() => server.open.size === 0)).toBe(true)
    })
  }

  test('that sends one byte after the other', async () => {
    const server = await serve((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const timer = setInterval(() => {
        if (socket.destroyed) clearInterval(timer)
        else socket.write('a')
      }, 5)
    })
    expect(await reason(makeSets({ msMax: 300 }), server.url)).toMatch(/did not answer/)
    expect(await comes(() => server.open.size === 0)).toBe(true)
  })

  test('that redirects: nothing is fetched from there', async () => {
    const there = await serve(setOf(first.jwk))
    const server = await serve(http(302, '', `location: ${there.url}\r\n`))
    expect(await reason(makeSets(), server.url)).toMatch(/answered 302/)
    expect(there.connections).toBe(0)
  })

  test('at a private address, also if the name was a public one before', async () => {
    const server = await serve(setOf(first.jwk), { name: 'login.example.com' })
    const at = (host: string): string => server.url.replace('http://127.0.0.1', `https://${host}`)
    const refused = (url: string, options: Partial<FetchOptions>) =>
      reason(makeSets({ allow: allowNothing, ...options }), url)
    expect(await refused(at('127.0.0.1'), {})).toMatch(/which is not public/)
    expect(await refused(server.url, {})).toMatch(/http instead of https/)
    for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', '::ffff:127.0.0.1']) {
      expect(await refused(at('login.example.com'), { resolve: async () => [address] })).toMatch(/not public/)
    }
    expect(await refused(at('login.example.com'), { resolve: async () => ['1.1.1.1', '127.0.0.1'] })).toMatch(
      /not public/,
    )
    expect(server.connections).toBe(0)
    // The name is not resolved a second time: the connection goes to the address that was checked.
    let asked = 0
    const rebinding = async () => (asked++ === 0 ? ['127.0.0.1'] : ['10.0.0.1'])
    expect(await refused(at('login.example.com'), { resolve: rebinding, allow: parseAllow('127.0.0.1') })).toBe(
      'found first',
    )
    expect(asked).toBe(1)
  })

  test('whose name does not resolve, or whose name server is silent', async () => {
    const url = 'https://login.example.com/keys'
    expect(await reason(makeSets({ resolve: async () => [] }), url)).toMatch(/does not resolve/)
    expect(await reason(makeSets({ resolve: () => new Promise(() => {}), msMax: 50 }), url)).toMatch(/did not answer/)
  })

  test('without a valid certificate', async () => {
    const server = await serve(setOf(first.jwk), { name: 'other.example.com' })
    const url = server.url.replace('http://127.0.0.1', 'https://login.example.com')
    expect(await reason(makeSets({ resolve: async () => ['127.0.0.1'] }), url)).toMatch(/certificate/)
  })
})

// Without this, one organization with slow targets would keep all others from logging in.
describe('places for fetches', () => {
  /** Fetches that end when they are told to. */
  const hold = (places: FetchPlaces, orgId: number) => {
    const held = { running: false, end: (): void => {}, done: undefined as unknown as Promise<string> }
    held.done = places
      .run(orgId, async () => {
        held.running = true
        await new Promise<void>((resolve) => {
          held.end = resolve
        })
        return 'done'
      })
      .catch((error: Error) => error.constructor.name)
    return held
  }
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve))
  const running = (all: { running: boolean }[]): number => all.filter((one) => one.running).length

  test('an organization has two, and all together sixteen; the next organization gets the next one', async () => {
    const places = new FetchPlaces()
    const ofOne = Array.from({ length: 10 }, () => hold(places, 1))
    const others = [2, 3, 4, 5, 6, 7, 8].flatMap((orgId) => Array.from({ length: 3 }, () => hold(places, orgId)))
    await settle()
    expect([running(ofOne), running(others)]).toEqual([2, 14])
    const late = hold(places, 9)
    await settle()
    expect(late.running).toBe(false)
    // One of the organization with the longest backlog ends: others had waited for less time, but it has had its turn.
    for (const one of [ofOne[0]!, ...others.filter(({ running }) => running).slice(0, 7)]) {
      one.end()
      await one.done
      await settle()
    }
    expect([late.running, running(ofOne) <= 4]).toEqual([true, true])
    for (let i = 0; i < 40; i++) {
      for (const one of [...ofOne, ...others, late]) one.end()
      await settle()
    }
    expect(new Set(await Promise.all([...ofOne, ...others, late].map(({ done }) => done)))).toEqual(new Set(['done']))
  })

  test('whoever gets none in time is told so, and takes none later', async () => {
    const places = new FetchPlaces(20)
    const held = [hold(places, 1), hold(places, 1)]
    const third = hold(places, 1)
    expect(await third.done).toBe('NoPlace')
    for (const one of held) one.end()
    await Promise.all(held.map(({ done }) => done))
    const next = [hold(places, 1), hold(places, 1)]
    await settle()
    expect([third.running, running(next)]).toEqual([false, 2])
    for (const one of next) one.end()
  })

  test('are given back when targets are slow: another organization is not delayed, and the same one is told after a while', async () => {
    const slow = await Promise.all(Array.from({ length: 3 }, () => serve(silent)))
    const server = await serve(setOf(first.jwk))
    const sets = makeSets({ msMax: 30_000 }, new FetchPlaces(100))
    const [one, two, three] = slow.map(({ url }) => found(sets, url, 'first', startMs, 1))
    expect(await found(sets, server.url, 'first', startMs, 2)).toBe('first')
    expect(await three).toBe('unavailable')
    for (const { open } of slow) for (const socket of open) socket.destroy()
    expect(await Promise.all([one, two])).toEqual(['unavailable', 'unavailable'])
  })
})
