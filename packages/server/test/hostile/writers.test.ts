import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Server, startServer, storeIsEmbedded } from '../harness.ts'
import { ok } from '../http/service.ts'
import type { AttackReport, LoopAttack } from './attackers.ts'
import {
  expectNobodyRefused,
  inFull,
  newParty,
  note,
  type Party,
  type Seen,
  startAttack,
  startVictim,
  watchMemory,
} from './stage.ts'

// The store takes so many writes a second and no more. When several want more than that, each gets its share; if the first
// to come could hold all places, the others would be shut out for as long as those go on.

setDefaultTimeout(inFull(180_000, 60_000))

let server: Server
let parties: Party[]
let victim: Party
beforeAll(async () => {
  server = await startServer()
  parties = []
  for (let n = 0; n < inFull(20, 3); n++) parties.push(await newParty(server))
  victim = await newParty(server)
})
afterAll(async () => {
  expect(await server?.stop()).toBe(0)
})

interface Writer {
  name: string
  key: string
  path: string
}

const writerOf = ({ organization, table }: Party): Writer => ({
  name: organization.name,
  key: organization.secretKey,
  path: table.path,
})

const groupOf = ({ name, key, path }: Writer, connections: number, bytes: number): LoopAttack['groups'][number] => ({
  name,
  connections,
  requests: [
    {
      method: 'PUT',
      path,
      key,
      headers: [['Prefer', 'return=minimal']],
      body: `{"hashKey":"k{n}","data":{"text":"${'x'.repeat(bytes)}"}}`,
    },
  ],
})

interface Flood {
  connections: number
  bytes: number
  forMs: number
  slow: Writer
}

/** All of them at full speed, and somebody who writes one record at a time. */
const flood = async (writers: Writer[], { connections, bytes, forMs, slow }: Flood): Promise<Seen> => {
  const groups = writers.map((writer) => groupOf(writer, connections, bytes))
  const quiet = await startVictim(server, { key: slow.key, path: slow.path })
  const attackers = await startAttack(server, { kind: 'loop', refusedPauseMs: 20, groups })
  try {
    const { value, memory } = await watchMemory(server.pid, async () => {
      // Each has all of its connections by now; from here on it counts.
      await attackers.report()
      await Bun.sleep(forMs)
      return { victim: await quiet.report(), attack: await attackers.report() }
    })
    note(`${writers.length} writers of ${connections} connections`, { ...value, memory })
    ok(await server.request('GET', '/readyz'))
    return { ...value, memory }
  } finally {
    await attackers.end()
    await quiet.end()
  }
}

const expectShares = (writers: Writer[], attack: AttackReport): void => {
  const written = writers.map(({ name }) => attack.answers[name]?.[200] ?? 0)
  const fair = written.reduce((sum, n) => sum + n, 0) / writers.length
  expect({ written, least: Math.min(...written) >= fair / 4, some: fair > 0 }).toMatchObject({
    least: true,
    some: true,
  })
  // Too many at once is 503; nothing else goes wrong.
  for (const { name } of writers) {
    expect(Object.keys(attack.answers[name] ?? {}).filter((outcome) => !['200', '503'].includes(outcome))).toEqual([])
  }
}

const forMs = inFull(15_000, 3_000)

describe('organizations that write at full speed: none is shut out, and one that is slow is never refused', () => {
  const expectFair = async (writers: Writer[], connections: number, bytes: number): Promise<void> => {
    const seen = await flood(writers, { connections, bytes, forMs, slow: writerOf(victim) })
    expectShares(writers, seen.attack)
    expectNobodyRefused(seen)
  }

  test('three of 2,100 connections each', () => expectFair(parties.slice(0, 3).map(writerOf), 2_100, 20))
  test('three of 64 connections each that put large records', () =>
    expectFair(parties.slice(0, 3).map(writerOf), 64, 200_000))
  test.skipIf(!inFull(true, false))('twenty of 256 connections each', () => expectFair(parties.map(writerOf), 256, 20))

  test('a small one beside one with many more connections', async () => {
    const [large, small] = parties.map(writerOf) as [Writer, Writer]
    const groups = [groupOf(large, 2_500, 20), groupOf(small, 16, 20)]
    const attackers = await startAttack(server, { kind: 'loop', refusedPauseMs: 20, groups })
    try {
      await attackers.report()
      await Bun.sleep(forMs)
      const { answers } = await attackers.report()
      expect(Object.keys(answers[small.name] ?? {})).toEqual(['200'])
    } finally {
      await attackers.end()
    }
  })
})

describe('keys of one organization that write at full speed: none is shut out', () => {
  const keysOf = async (count: number): Promise<Writer[]> => {
    const { organization, table } = parties[0]!
    const writers: Writer[] = []
    for (let n = 0; n < count; n++) {
      const { key } = ok(await table.api.post('/api/keys', { kind: 'secret', name: `writer ${n}` }), 201)
      writers.push({ name: `${organization.name} ${n}`, key, path: table.path })
    }
    return writers
  }

  test('two of 2,100 connections each', async () => {
    const writers = await keysOf(2)
    const seen = await flood(writers, { connections: 2_100, bytes: 20, forMs, slow: writerOf(victim) })
    expectShares(writers, seen.attack)
    expectNobodyRefused(seen)
  })

  test('one of 2,500 connections beside one that is slow, which is never refused', async () => {
    const [writer] = await keysOf(1)
    const seen = await flood([writer!], { connections: 2_500, bytes: 20, forMs, slow: writerOf(parties[0]!) })
    expectNobodyRefused(seen)
  })
})

test.skipIf(!storeIsEmbedded())('the store is sound after all of it', async () => {
  expect(await server.cubby('verify')).toMatchObject({ exitCode: 0 })
})
