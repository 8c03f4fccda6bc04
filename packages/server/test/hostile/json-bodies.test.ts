import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { dataBytesMax } from '../../src/core/limits.ts'
import { ok } from '../http/service.ts'
import type { LoopAttack, LoopRequest } from './attackers.ts'
import {
  type Bound,
  canReadMemory,
  costlyArray,
  expectMemoryWithin,
  expectNobodyRefused,
  expectServed,
  inFull,
  memoryBytes,
  mib,
  playRounds,
  type Seen,
  Stage,
  watchMemory,
} from './stage.ts'

// An object such as {"999":1} has nine bytes of JSON but takes ten thousand bytes in a JavaScript engine. A megabyte of them
// would take a gigabyte, and nobody would be served while it is built.

setDefaultTimeout(300_000)

let stage: Stage
beforeAll(async () => {
  stage = await Stage.open()
})
afterAll(async () => {
  await stage?.close()
})

const attackOf = (requests: LoopRequest[], connections = 8): LoopAttack => ({
  kind: 'loop',
  refusedPauseMs: 50,
  groups: [{ name: 'bodies', connections, requests }],
})

const costlyQuery = (bytes: number): string => `{"hash":${costlyArray(bytes - 9)}}`.padEnd(bytes)

const query = (bytes: number): LoopRequest => ({
  method: 'POST',
  path: `${stage.attacker.table.path}/query`,
  key: stage.attacker.organization.publicKey,
  body: costlyQuery(bytes),
})

const bound: Bound = { stallMs: 100, slowerMax: 40 }

const play = (on: Stage, requests: LoopRequest[], bound: Bound): Promise<Seen[]> =>
  playRounds(bound, () => on.play(attackOf(requests), { forMs: inFull(6_000, 1_000) }))

// The smaller first: each is held to the memory before the first.
describe('costly JSON: others are served', () => {
  test('while a public key queries with 64 KiB of it', async () => {
    const seen = await play(stage, [query(65_536)], bound)
    for (const each of seen) {
      expectNobodyRefused(each)
      expectMemoryWithin(each, 120 * mib)
      expect(each.attack.answers.bodies?.[400] ?? 0).toBeGreaterThan(0)
    }
    expectServed(seen, bound)
  })

  test('while a public key queries with 1 MiB of it, which is too large', async () => {
    const seen = await play(stage, [query(mib)], bound)
    for (const each of seen) {
      expectNobodyRefused(each)
      expectMemoryWithin(each, 120 * mib)
      expect(each.attack.answers.bodies?.[413] ?? 0).toBeGreaterThan(0)
    }
    expectServed(seen, bound)
  })
})

test('bodies of queries, restores and keys take 64 KiB and no more', async () => {
  const { api, path } = stage.attacker.table
  const paths = [`${path}/query`, `${path}/restore`, '/api/keys']
  for (const at of paths) {
    // White space may be there; one byte more is too much, in chunks too.
    const refusal = await api.post(at, costlyQuery(65_537))
    expect({ at, status: refusal.status, code: refusal.body.error.code }).toEqual({
      at,
      status: 413,
      code: 'body_too_large',
    })
    const chunked = await stage.server.request('POST', at, { key: api.key, body: costlyQuery(65_537), chunked: true })
    expect({ at, status: chunked.status }).toEqual({ at, status: 413 })
    expect({ at, status: (await api.post(at, costlyQuery(65_536))).status }).toEqual({ at, status: 400 })
  }
  ok(await api.post(`${path}/query`, '{"hash":"a"}'.padEnd(65_536)))
})

describe('costly JSON as data', () => {
  const data = `{"list":${costlyArray(dataBytesMax - 9)}}`
  const put = (hashKey: string): string => `{"hashKey":"${hashKey}","data":${data}}`
  // Peak of one such put, parsed whole: more than 300 MB.
  const moreBytesMax = 250 * mib
  let own: Stage
  beforeAll(async () => {
    own = await Stage.open()
  })
  afterAll(async () => {
    await own?.close()
  })

  test('is stored and returned, 8 puts at once, within the memory limit', async () => {
    expect(data.length).toBeLessThanOrEqual(dataBytesMax)
    expect(data.length).toBeGreaterThan(dataBytesMax - 20)
    const { table } = own.attacker
    await table.put('warm')
    const { memory } = await watchMemory(own.server.pid, async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => table.tryPut(put(`costly ${n}`) as never)))
      expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
    })
    expectMemoryWithin({ memory }, moreBytesMax)
    const { text } = await table.get('costly 7')
    expect(text.includes(data)).toBe(true)
  })

  test('is stored with index fields before and after it', async () => {
    const { table } = own.attacker
    const name = `${table.path}-indexed`
    ok(await table.api.post(name, { indices: { i1: { hashField: 'a', rangeField: 'b' } } }), 201)
    const inner = costlyArray(dataBytesMax - 40)
    ok(await table.api.put(name, `{"hashKey":"k","data":{"a":1,"list":${inner},"b":2}}`))
    const page = ok(await table.api.post(`${name}/query`, { index: 'i1', hash: 1, range: { eq: 2 } }))
    expect(page.count).toBe(1)
  })

  test('of a batch: within its memory too', async () => {
    const { table } = own.attacker
    const operations = Array.from(
      { length: inFull(25, 4) },
      (_, n) => `{"op":"put","hashKey":"batch ${n}","data":${data}}`,
    )
    const before = memoryBytes(own.server.pid)
    const { value, memory } = await watchMemory(own.server.pid, () =>
      table.api.post(`${table.path}/batch`, `{"operations":[${operations.join(',')}]}`),
    )
    expect(ok(value)).toEqual({ count: operations.length })
    if (canReadMemory) expect(memory.peakBytes - before).toBeLessThan(moreBytesMax)
  })

  test('others are served while 8 connections put it', async () => {
    const { table } = own.attacker
    // Another key of the victim's organization: within an organization, keys take turns.
    const { key } = ok(await table.api.post('/api/keys', { kind: 'secret' }), 201)
    const slow = { ...bound, stallMs: 250 }
    const seen = await play(own, [{ method: 'PUT', path: table.path, key, body: put('loop') }], slow)
    for (const each of seen) {
      expectNobodyRefused(each)
      expectMemoryWithin(each, moreBytesMax)
      expect(each.attack.answers.bodies?.[200] ?? 0).toBeGreaterThan(0)
    }
    expectServed(seen, slow)
  })
})
