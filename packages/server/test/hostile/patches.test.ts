import { afterAll, beforeAll, setDefaultTimeout, test } from 'bun:test'
import { dataBytesMax } from '../../src/core/limits.ts'
import { ok } from '../http/service.ts'
import type { LoopRequest } from './attackers.ts'
import { type Bound, expectNobodyRefused, expectServed, inFull, playRounds, Stage } from './stage.ts'

// A patch of a few bytes makes the server read, change, check and write a record of 400 kB. One key that sends nothing else
// must not keep others from their requests, whether its patches are applied or refused.

setDefaultTimeout(300_000)

const records = 64
/** Many members, which are walked over one by one: a long text would be passed over. */
const members = Array.from({ length: 26_000 }, (_, i) => `"m${i}":${i}`).join(',')
const data = `{"n":1,"s":"x",${members}}`
if (data.length > dataBytesMax) throw new Error('the record is too large')

let stage: Stage
beforeAll(async () => {
  stage = await Stage.open()
  const { api, path } = stage.attacker.table
  for (let n = 0; n < records; n++) ok(await api.put(path, `{"hashKey":"k${n}","data":${data}}`))
})
afterAll(async () => {
  await stage?.close()
})

const patchOf = (hashKey: string, change: string): LoopRequest => ({
  method: 'PATCH',
  path: stage.attacker.table.path,
  key: stage.attacker.organization.secretKey,
  headers: [['Prefer', 'return=minimal']],
  body: `{"hashKey":"${hashKey}",${change}}`,
})

const others = async (requests: LoopRequest[]): Promise<void> => {
  const bound: Bound = { stallMs: 2_000, getMs: 20, slowerMax: 40 }
  const groups = [{ name: 'patches', connections: 64, requests }]
  const seen = await playRounds(bound, () =>
    stage.play({ kind: 'loop', refusedPauseMs: 50, groups }, { forMs: inFull(6_000, 1_500) }),
  )
  for (const { victims } of seen) expectNobodyRefused({ victims: { stranger: victims.stranger } })
  expectServed(seen, bound)
}

const keys = Array.from({ length: records }, (_, n) => `k${n}`)

test('others are served while records of 400 kB are patched', () =>
  others(keys.map((key) => patchOf(key, '"increment":{"/n":1}'))))

test('others are served while one record of 400 kB is patched', () => others([patchOf('k0', '"increment":{"/n":1}')]))

test('others are served while patches of records of 400 kB are refused', () =>
  others(keys.map((key) => patchOf(key, '"increment":{"/s":1}'))))
