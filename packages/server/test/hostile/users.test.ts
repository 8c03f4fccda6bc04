import { afterAll, beforeAll, setDefaultTimeout, test } from 'bun:test'
import { ok } from '../http/service.ts'
import { asUser } from '../http/user.ts'
import type { LoopRequest } from './attackers.ts'
import { type Bound, expectNobodyRefused, expectServed, inFull, playRounds, Stage, startVictim } from './stage.ts'

// A user token is in the hands of a person whom nobody knows, and every application has many of them. One of them must not keep
// the others from their part, and a server that revokes users must not make everybody look up their keys again.

setDefaultTimeout(300_000)

let stage: Stage
/** A user of the attacker's organization who has done nothing wrong. */
let neighbourKey: string
let others: string[]
beforeAll(async () => {
  stage = await Stage.open()
  const { api, db, name: table } = stage.attacker.table
  const grant = { db, table, hash: 'victim', can: 'write' }
  const keyOf = async (user: string): Promise<string> => (await asUser(api, user, [grant])).key
  neighbourKey = await keyOf('neighbour')
  others = await Promise.all(Array.from({ length: 9 }, (_, n) => keyOf(`other-${n}`)))
})
afterAll(async () => {
  await stage?.close()
})

const bound: Bound = { stallMs: 2_000, getMs: 20, slowerMax: 40 }

/** Ten users and a stranger are served while these requests come on so many connections. */
const served = async (name: string, connections: number, requests: LoopRequest[]): Promise<void> => {
  const groups = [{ name, connections, requests }]
  const { path } = stage.attacker.table
  const victims = await Promise.all(others.map((key) => startVictim(stage.server, { key, path, pauseMs: 50 })))
  try {
    const seen = await playRounds(bound, () =>
      stage.play({ kind: 'loop', refusedPauseMs: 50, groups }, { forMs: inFull(6_000, 1_500), neighbourKey }),
    )
    for (const { victims } of seen) expectNobodyRefused({ victims })
    expectServed(seen, bound)
  } finally {
    await Promise.all(victims.map((victim) => victim.end()))
  }
}

test('64 connections of one user, which put and query, beside ten others', async () => {
  const { api, db, name: table, path } = stage.attacker.table
  const { key } = await asUser(api, 'mallory', [{ db, table, hash: 'bulk', can: 'write' }])
  const text = 'x'.repeat(100_000)
  for (let n = 0; n < 20; n++) ok(await api.put(path, { hashKey: 'bulk', rangeKey: `${n}`, data: { text } }))
  await served('one user', 64, [
    { method: 'PUT', path, key, body: `{"hashKey":"bulk","rangeKey":"{n}","data":{"text":"${text}"}}` },
    { method: 'POST', path: `${path}/query`, key, body: '{"hash":"bulk","limit":8}' },
    { method: 'GET', path: `${path}/bulk/1`, key },
    // Refused ones cost time too.
    { method: 'POST', path: `${path}/query`, key, body: '{"index":"t"}' },
  ])
})

test('a server that revokes one user after the other', async () => {
  const { secretKey: key } = stage.attacker.organization
  await served('revocations', 16, [{ method: 'POST', path: '/api/tokens/revoke', key, body: '{"user":"gone-{n}"}' }])
})
