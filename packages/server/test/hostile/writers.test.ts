import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { eventually, type Server, startServer, storeIsEmbedded } from '../harness.ts'
import { ok } from '../http/service.ts'
import type { AttackReport, LoopAttack } from './attackers.ts'
import {
  addAnswers,
  expectNobodyRefused,
  inFull,
  newParty,
  note,
  type Party,
  startAttack,
  startVictim,
  watchMemory,
} from './stage.ts'
import type { VictimReport } from './victim.ts'

// The store has a maximum rate of writes. If several clients want more than that, each must get its share. If the first one
// could fill the whole queue, the others would be locked out as long as it continues.

setDefaultTimeout(300_000)

const forMs = inFull(15_000, 1_500)

let server: Server
let parties: Party[]
let victim: Party
/** Two more keys of the first organization. */
let keys: Writer[]
beforeAll(async () => {
  server = await startServer()
  parties = []
  for (let n = 0; n < inFull(20, 3); n++) parties.push(await newParty(server))
  victim = await newParty(server)
  const { organization, table } = parties[0]!
  keys = []
  for (const name of ['one key', 'another key']) {
    const { key } = ok(await table.api.post('/api/keys', { kind: 'secret', name }), 201)
    keys.push({ name: `${name} of ${organization.name}`, key, path: table.path })
  }
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
  groups: LoopAttack['groups']
  slow: Writer
}

interface FloodSeen {
  victims: { slow: VictimReport }
  attack: AttackReport
}

/** All of them at full speed, and somebody who writes one record at a time. */
const flood = async ({ groups, slow }: Flood): Promise<FloodSeen> => {
  const quiet = await startVictim(server, { key: slow.key, path: slow.path })
  // A rejected writer retries this soon, but not so soon that the server only rejects.
  const attackers = await startAttack(server, { kind: 'loop', refusedPauseMs: 250, groups })
  try {
    const { value, memory } = await watchMemory(server.pid, async () => {
      // Each has all of its connections by now; from here on it counts, until there is enough to compare.
      await attackers.report()
      const answers: AttackReport['answers'] = {}
      const endMs = performance.now() + forMs
      const attack = await eventually(
        'enough is written',
        async () => {
          const report = await attackers.report()
          addAnswers(answers, report)
          const written = Object.values(answers).reduce((sum, outcomes) => sum + (outcomes[200] ?? 0), 0)
          return performance.now() > endMs && written >= 50 * groups.length ? { ...report, answers } : undefined
        },
        { waitMsMax: 40_000, pauseMs: 200 },
      )
      return { victims: { slow: await quiet.report() }, attack }
    })
    note(groups.map(({ connections }) => `${connections}`).join(' and '), { ...value, memory })
    ok(await server.request('GET', '/readyz'))
    return value
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

describe('organizations that write at full speed: none is shut out, and one that is slow is never refused', () => {
  const expectFair = async (writers: Writer[], connections: number, bytes: number): Promise<void> => {
    const groups = writers.map((writer) => groupOf(writer, connections, bytes))
    const seen = await flood({ groups, slow: writerOf(victim) })
    expectShares(writers, seen.attack)
    expectNobodyRefused(seen)
  }

  test('three of 2,100 connections each', () => expectFair(parties.slice(0, 3).map(writerOf), 2_100, 20))
  // Half a gigabyte for the disk.
  test.skipIf(!inFull(true, false))('three of 200 connections each that put large records', () =>
    expectFair(parties.slice(0, 3).map(writerOf), 200, 200_000),
  )
  test.skipIf(!inFull(true, false))('twenty of 256 connections each', () => expectFair(parties.map(writerOf), 256, 20))

  test('one with 16 connections next to two with 2,400: it has room for all its requests', async () => {
    const [first, second, small] = parties.map(writerOf) as [Writer, Writer, Writer]
    const groups = [groupOf(first, 2_400, 20), groupOf(second, 2_400, 20), groupOf(small, 16, 20)]
    const { attack } = await flood({ groups, slow: writerOf(victim) })
    expect(Object.keys(attack.answers[small.name] ?? {})).toEqual(['200'])
  })
})

describe('keys of one organization that write at full speed: none is shut out', () => {
  test('one with 200 connections next to one with 3,000', async () => {
    const [large, small] = keys as [Writer, Writer]
    const seen = await flood({ groups: [groupOf(large, 3_000, 20), groupOf(small, 200, 20)], slow: writerOf(victim) })
    expectShares(keys, seen.attack)
    expectNobodyRefused(seen)
  })

  test('a slow one next to one with 3,500 connections is never rejected', async () => {
    expectNobodyRefused(await flood({ groups: [groupOf(keys[0]!, 3_500, 20)], slow: writerOf(parties[0]!) }))
  })
})

test.skipIf(!storeIsEmbedded())('the store is sound after all of it', async () => {
  expect(await server.cubby('verify')).toMatchObject({ exitCode: 0 })
})
