import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { dataBytesMax } from '../../src/core/limits.ts'
import { eventually } from '../harness.ts'
import { ok } from '../http/service.ts'
import { rawRequest } from '../raw-connection.ts'
import type { LoopRequest } from './attackers.ts'
import { type Bound, costlyArray, expectNobodyRefused, expectServed, inFull, mib, playRounds, Stage } from './stage.ts'

// One call of a tool may bring 12 MiB of arguments or read a megabyte of records. It takes turns with the requests of others,
// as a batch does: a step is some milliseconds.

setDefaultTimeout(300_000)

let stage: Stage
beforeAll(async () => {
  stage = await Stage.open()
  const { api, path } = stage.attacker.table
  for (let n = 0; n < 50; n++) {
    ok(await api.put(path, `{"hashKey":"large ${n}","data":{"list":${costlyArray(dataBytesMax - 20)}}}`))
  }
})
afterAll(async () => {
  await stage?.close()
})

const call = (name: string, args: string): LoopRequest => ({
  method: 'POST',
  path: '/mcp',
  key: stage.attacker.organization.secretKey,
  body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`,
})

const others = async (requests: LoopRequest[], connections: number): Promise<void> => {
  const bound: Bound = { stallMs: 250, slowerMax: 40 }
  const groups = [{ name: 'calls', connections, requests }]
  const seen = await playRounds(bound, () =>
    stage.play({ kind: 'loop', refusedPauseMs: 50, groups }, { forMs: inFull(6_000, 1_000) }),
  )
  for (const each of seen) {
    expectNobodyRefused(each)
    expect(each.attack.answers.calls?.[200] ?? 0).toBeGreaterThan(0)
  }
  expectServed(seen, bound)
}

const inTable = (): string => {
  const { db, name } = stage.attacker.table
  return `"db":"${db}","table":"${name}"`
}

test('others are served while tools read large records', async () => {
  const table = inTable()
  await others([call('describe_table', `{${table}}`), call('query_records', `{${table},"index":"t","limit":100}`)], 4)
})

test('others are served while put_records writes 25 large records', async () => {
  const record = (n: number): string =>
    `{"hashKey":"${n}","overwrite":true,"data":{"list":${costlyArray(dataBytesMax - 20)}}}`
  const records = Array.from({ length: 25 }, (_, n) => record(n)).join(',')
  await others([call('put_records', `{${inTable()},"records":[${records}]}`)], 2)
})

test('others are served while calls bring arguments that are too large', async () => {
  const large = costlyArray(11 * mib)
  await others(
    [call('query_records', `{${inTable()},"hash":${large}}`), call('get_records', `{${inTable()},"keys":${large}}`)],
    2,
  )
})

// The times above depend on the machine, so their bounds are wide. This one does not: while the server works at one
// request, it answers requests of another organization. If it did all the work in one turn, it would answer none of them.

/**
 * Requests of a stranger that were answered while the server worked at this body. Undefined if the server still works on
 * calls of this key whose callers have gone, and so has no room for another.
 */
const servedDuring = async (body: string): Promise<{ served: number; text: string } | undefined> => {
  const { organization, table } = stage.stranger
  const bytes = rawRequest(stage.server, 'POST', '/mcp', {
    key: stage.attacker.organization.secretKey,
    headers: [['Content-Type', 'application/json']],
    body,
  })
  const [caller, stranger] = [await stage.server.connect(), await stage.server.connect()]
  const visit = rawRequest(stage.server, 'GET', table.path, { key: organization.secretKey })
  try {
    // Everything but the last byte: what is counted is the work, not the time of the transfer.
    caller.send(bytes.subarray(0, -1))
    for (let calm = 0; calm < 20; calm++) {
      stranger.send(visit)
      ok(await stranger.answer())
      await Bun.sleep(10)
    }
    caller.send(bytes.subarray(-1))
    let served = 0
    let isAnswered = false
    const answer = caller.answer().finally(() => {
      isAnswered = true
    })
    while (!isAnswered) {
      stranger.send(visit)
      ok(await stranger.answer())
      if (!isAnswered) served++
    }
    const { status, text } = await answer
    return status === 503 ? undefined : { served, text: ok(await answer) && text }
  } finally {
    caller.close()
    stranger.close()
  }
}

/** One that is sent with the last byte or answered with the whole is no sign of turns; the best of some attempts, because a busy machine may let this process wait. */
const expectTurns = async (body: string, sign: string): Promise<void> => {
  const seen: number[] = []
  for (let attempt = 0; attempt < 5 && Math.max(0, ...seen) < 8; attempt++) {
    const { served, text } = await eventually('the calls before it have ended', () => servedDuring(body))
    expect(text).toContain(sign)
    seen.push(served)
  }
  expect({ seen, best: Math.max(...seen) >= 8 }).toEqual({ seen, best: true })
}

const large = (n: number, more = ''): string =>
  `{"hashKey":"${n}","overwrite":true,"data":{${more}"list":${costlyArray(dataBytesMax - 100)}}}`

test('a call whose arguments are too large takes turns', async () => {
  const { body } = call('get_records', `{${inTable()},"keys":${costlyArray(11 * mib)}}`)
  await expectTurns(body as string, 'body_too_large')
})

test('put_records takes turns', async () => {
  const { db } = stage.attacker.table
  const table = 'indexed'
  ok(await stage.attacker.table.api.post(`/v1/${db}/${table}`, { indices: { i1: { hashField: 'kind' } } }), 201)
  // The last record is refused, so that nobody waits for the commit, which others could use.
  const records = Array.from({ length: 25 }, (_, n) => large(n, n === 24 ? '"kind":[],' : ''))
  const { body } = call('put_records', `{"db":"${db}","table":"${table}","records":[${records}]}`)
  await expectTurns(body as string, 'invalid_index_value')
})

test('a batch of 25 calls takes turns', async () => {
  const query = call('query_records', `{${inTable()},"index":"t","limit":100,"fields":["none"]}`).body
  await expectTurns(`[${Array(25).fill(query)}]`, '"structuredContent"')
})
