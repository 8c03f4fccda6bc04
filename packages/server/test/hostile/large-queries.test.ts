import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { makeTable, ok, type TestTable } from '../http/service.ts'
import type { LoopAttack, LoopRequest } from './attackers.ts'
import {
  type Bound,
  expectMemoryWithin,
  expectNobodyRefused,
  expectServed,
  fillTable,
  inFull,
  mib,
  playRounds,
  Stage,
} from './stage.ts'

// One thread serves everybody. Whoever asks for the most must not get the most of it.

setDefaultTimeout(300_000)

let stage: Stage
let pages: TestTable
let expired: TestTable
/** One find of its records fills an answer. */
let large: TestTable
let counted: TestTable
/** A second key of the organization: within an organization, keys take turns. */
let secondKey: string
beforeAll(async () => {
  stage = await Stage.open()
  const { api } = stage.attacker.table
  secondKey = ok(await api.post('/api/keys', { kind: 'secret' }), 201).key
  pages = await makeTable(api)
  const data = { text: 'x'.repeat(900) }
  await fillTable(
    pages,
    Array.from({ length: 1_000 }, (_, n) => ({ hashKey: 'page', rangeKey: `r${n}`, data })),
  )
  large = await makeTable(api)
  await fillTable(
    large,
    Array.from({ length: 100 }, (_, n) => ({ hashKey: `r${n}`, data: { text: 'x'.repeat(10_300) } })),
  )
  expired = await makeTable(api)
  // Gone for every read, and five minutes too young for the sweep.
  const ttl = Math.floor(Date.now() / 1000) - 1
  await fillTable(
    expired,
    Array.from({ length: inFull(60_000, 20_000) }, (_, n) => ({ hashKey: 'gone', rangeKey: `r${n}`, data: {}, ttl })),
  )
  // With so many expired records in the store, counts read the rows, which costs the most.
  counted = await makeTable(api, { i1: { hashField: 'all', rangeField: 'n' } })
  await fillTable(
    counted,
    Array.from({ length: 10_001 }, (_, n) => ({
      hashKey: 'h',
      rangeKey: `r${n}`,
      data: { all: 1, n: (n * 7_919) % 10_001 },
    })),
  )
})
afterAll(async () => {
  await stage?.close()
})

const query = (table: TestTable, body: string): LoopRequest => ({
  method: 'POST',
  path: `${table.path}/query`,
  key: stage.attacker.organization.publicKey,
  body,
})

/** A find of 100 keys. */
const find = (table: TestTable, key: (n: number) => object): LoopRequest => ({
  ...query(table, JSON.stringify({ keys: Array.from({ length: 100 }, (_, n) => key(n)) })),
  path: `${table.path}/find`,
})

const nested = (open: string, close: string, bytes: number): string => {
  const levels = Math.floor(bytes / (open.length + close.length))
  return open.repeat(levels) + close.repeat(levels)
}

/** As deep as data may be, as wide as it may be. */
const deepData = (): string => {
  // `data` itself is a level and the list another.
  const one = nested('[', ']', 62 * 2)
  return `{"list":[${Array(Math.floor(400_000 / (one.length + 1)))
    .fill(one)
    .join(',')}]}`
}

/** A batch of 10 MB. */
const batch = (operation: (n: number) => string, operations: number): LoopRequest => ({
  method: 'POST',
  path: `${pages.path}/batch`,
  key: secondKey,
  body: `{"operations":[${Array.from({ length: operations }, (_, n) => operation(n)).join(',')}]}`,
})

const largeBatch = (): LoopRequest => {
  const data = `{"list":[${Array(200_000).fill('1').join(',')}]}`
  return batch((n) => `{"op":"put","hashKey":"batch ${n}","data":${data}}`, 25)
}

const attacks: Record<string, () => LoopRequest[]> = {
  'pages of 1,000 rows': () => [
    query(pages, '{"hash":"page","limit":1000}'),
    query(pages, '{"index":"t","limit":1000}'),
  ],
  'pages over expired rows': () => [
    query(expired, '{"hash":"gone","limit":1000}'),
    query(expired, '{"index":"t","limit":1}'),
  ],
  'counts and keys': () => [
    query(counted, '{"index":"i1","hash":1,"select":"count"}'),
    query(counted, '{"hash":"h","select":"keys","limit":1000}'),
    query(expired, '{"hash":"gone","select":"count"}'),
  ],
  'queries nested deep, of 64 KiB': () => [
    query(pages, `{"hash":${nested('[', ']', 65_000)}}`),
    query(pages, `{"hash":${nested('{"":', '}', 65_000).replace('}', '1}')}}`),
  ],
  'puts nested deep': () => [
    { method: 'PUT', path: pages.path, key: secondKey, body: `{"hashKey":"deep","data":${deepData()}}` },
  ],
  'finds of 100 keys, of answers of 1 MiB and of nothing': () => [
    find(large, (n) => ({ hashKey: `r${n}` })),
    find(large, (n) => ({ hashKey: `nobody ${n}` })),
  ],
  'batches of 10 MB': () => [largeBatch()],
  'batches of 10 MB that are refused': () => [batch(() => '[]', 3_300_000)],
  'listings and records of every kind': () => [
    { method: 'GET', path: '/v1', key: stage.attacker.organization.publicKey },
    { method: 'GET', path: '/v1/app?limit=1000', key: stage.attacker.organization.publicKey },
    { method: 'GET', path: '/api/keys?limit=1000', key: secondKey },
    { method: 'GET', path: pages.at('page', 'r1'), key: stage.attacker.organization.publicKey },
  ],
}

test('without an attack the victims are within every bound', async () => {
  const bound: Bound = { getMs: 20, stallMs: 100, slowerMax: 8 }
  const seen = await playRounds(bound, () =>
    stage.play({ kind: 'loop', refusedPauseMs: 0, groups: [] }, { forMs: inFull(5_000, 300) }),
  )
  for (const each of seen) {
    expectNobodyRefused(each)
    expectMemoryWithin(each, 60 * mib)
  }
  expectServed(seen, bound)
})

test('what is large and within the limits is served: three batches of 10 MB at once', async () => {
  const { path, body } = largeBatch()
  const answers = await Promise.all(Array.from({ length: 3 }, () => stage.server.as(secondKey).post(path, body)))
  for (const answer of answers) expect(ok(answer)).toEqual({ count: 25 })
})

describe('connections ask for as much as they can: the gets of others stay quick', () => {
  // The last is no burden; the short form leaves it out.
  test.each(Object.keys(attacks).slice(0, inFull(undefined, -1)))('%s', async (name) => {
    // Of batches as many as have room for their bodies at once. One of them takes longer than a get may. Served in the order
    // of their arrival, a get would wait for a request of each connection.
    const [connections, bound] = (
      name.startsWith('batches')
        ? [4, { getMs: 100, slowerMax: 40, answersMax: 0.5 }]
        : [32, { getMs: 20, slowerMax: 40, answersMax: 12 }]
    ) satisfies [number, Bound]
    const groups = [{ name, connections, requests: attacks[name]!() }]
    const attack: LoopAttack = { kind: 'loop', refusedPauseMs: 100, groups }
    const seen = await playRounds(bound, () => stage.play(attack, { forMs: inFull(6_000, 1_000) }))
    for (const each of seen) {
      expectNobodyRefused(each)
      expectMemoryWithin(each, 500 * mib)
      // Nothing that the attackers send fails by our fault.
      expect(each.attack.answers[name]?.[500]).toBeUndefined()
      expect(Object.keys(each.attack.answers[name] ?? {}).length).toBeGreaterThan(0)
    }
    expectServed(seen, bound)
  })
})
