import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { dataBytesMax } from '../../src/core/limits.ts'
import { ok } from '../http/service.ts'
import type { LoopRequest } from './attackers.ts'
import { costlyArray, expectNobodyRefused, expectStallsWithin, inFull, mib, playRounds, Stage } from './stage.ts'

// One call of a tool may bring 12 MiB of arguments or read a megabyte of records. It takes turns with the requests of others,
// as a batch does: a step is some milliseconds.

setDefaultTimeout(inFull(180_000, 90_000))

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
  const seen = await playRounds(() =>
    stage.play(
      { kind: 'loop', refusedPauseMs: 50, groups: [{ name: 'calls', connections, requests }] },
      { forMs: inFull(6_000, 2_000) },
    ),
  )
  for (const each of seen) {
    expectNobodyRefused(each)
    expect(each.attack.answers.calls?.[200] ?? 0).toBeGreaterThan(0)
  }
  expectStallsWithin(seen, 250)
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
