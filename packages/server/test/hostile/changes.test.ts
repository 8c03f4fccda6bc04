import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { followersMax } from '../../src/core/limits.ts'
import { makeKept, openStream } from '../http/event-stream.ts'
import { ok, type TestTable } from '../http/service.ts'
import type { Attack, HoldAttack, LoopAttack, LoopRequest } from './attackers.ts'
import {
  type Bound,
  expectMemoryWithin,
  expectNobodyRefused,
  expectServed,
  fillTable,
  inFull,
  mib,
  playRounds,
  type Seen,
  Stage,
} from './stage.ts'

// Readers of changes come again and again, or stay. Each change is work for all who follow its table, and what a reader does not
// want must be read to find that out.

setDefaultTimeout(300_000)

const bound: Bound = { getMs: 20, slowerMax: 40 }
const events: [string, string] = ['Accept', 'text/event-stream']

let stage: Stage
/** Its log is long. */
let long: TestTable
/** Cursors of all of its log, and the first of one hash key. */
let cursors: string[]
let cursorOfNobody: string
beforeAll(async () => {
  stage = await Stage.open()
  const { api } = stage.attacker.table
  ok(await api.put(`${stage.attacker.table.path}/changes`, { keepHours: 24 }))
  long = await makeKept(api)
  cursorOfNobody = ok(await api.post(`${long.path}/changes`, { from: 'now', hash: 'nobody' })).cursor
  await fillTable(
    long,
    Array.from({ length: inFull(100_000, 20_000) }, (_, n) => ({ hashKey: `k${n}`, data: { text: 'x'.repeat(200) } })),
  )
  const stream = await openStream(stage.server, long.path, { key: api.key, body: { select: 'keys' } })
  const wanted = inFull(10_000, 1_000)
  await stream.until('enough cursors', () => stream.events.length >= wanted)
  stream.close()
  cursors = stream.events.slice(0, wanted).map(({ id }) => id!)
})
afterAll(async () => {
  await stage?.close()
})

const reading = (body: object): LoopRequest => ({
  method: 'POST',
  path: `${long.path}/changes`,
  key: stage.attacker.organization.publicKey,
  body: JSON.stringify(body),
})

/** Twice as many streams as one key may have. Those that are refused come again. */
const holding = (table: TestTable, body: object): HoldAttack => {
  const sent = JSON.stringify(body)
  const headers: [string, string][] = [events, ['Content-Length', String(sent.length)]]
  const head = { method: 'POST', path: `${table.path}/changes`, key: stage.attacker.organization.publicKey, headers }
  return { kind: 'hold', connections: followersMax / 2, head, sent, renew: true }
}

const looping = (requests: LoopRequest[]): LoopAttack => ({
  ...{ kind: 'loop', refusedPauseMs: 100, groups: [{ name: 'pages', connections: 32, requests }] },
})

const attacks: Record<string, () => Attack> = {
  'pages from many cursors': () => looping(cursors.map((cursor) => reading({ cursor, limit: 1_000 }))),
  'pages of a long log in which nothing matches': () => looping([reading({ cursor: cursorOfNobody, hash: 'nobody' })]),
  'streams of a table that others write': () => holding(stage.attacker.table, { from: 'now' }),
  'streams of a long log in which nothing matches': () => holding(long, { cursor: cursorOfNobody, hash: 'nobody' }),
  'streams of every record': () => holding(long, {}),
}

const expectAnswers = ({ attack }: Seen, kind: Attack['kind']): void => {
  const outcomes = attack.answers[kind === 'loop' ? 'pages' : 'hold'] ?? {}
  expect(outcomes[500]).toBeUndefined()
  if (kind === 'loop') expect(outcomes[200] ?? 0).toBeGreaterThan(0)
  // Those beyond the share are refused, and the others stay.
  else expect([(outcomes[503] ?? 0) > 0, attack.open >= followersMax / 4]).toEqual([true, true])
}

describe('readers of changes: the gets and puts of others stay quick', () => {
  test.each(Object.keys(attacks))('%s', async (name) => {
    const attack = attacks[name]!()
    const seen = await playRounds(bound, () => stage.play(attack, { forMs: inFull(10_000, 2_000) }))
    for (const each of seen) {
      expectNobodyRefused(each)
      expectMemoryWithin(each, 250 * mib)
      expectAnswers(each, attack.kind)
    }
    expectServed(seen, bound)
  })
})
