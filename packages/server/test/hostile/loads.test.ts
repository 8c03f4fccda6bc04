import { describe, setDefaultTimeout, test } from 'bun:test'
import { loadLineBytesMax, loadsOfOrganizationMax } from '../../src/core/limits.ts'
import type { StreamAttack } from './attackers.ts'
import {
  type Bound,
  expectMemoryWithin,
  expectNobodyRefused,
  expectServed,
  inFull,
  mib,
  playRounds,
  Stage,
} from './stage.ts'

// One organization sends as many loads as it may, each without end and as fast as the server takes it. All others must be
// served as before, and what the server holds must not depend on what is sent.

setDefaultTimeout(300_000)

type Body = Pick<StreamAttack, 'text' | 'times' | 'isPacked'>

/** The writer's cache of 64 MiB is filled by all who write. Without bounds each of these takes several times as much. */
const moreBytesMax = 320 * mib

const loads = async (body: Body, query = ''): Promise<void> => {
  const bound: Bound = { stallMs: 2_000, getMs: 20, slowerMax: 40 }
  // What the system has taken of an attack goes on for a while, so each has a server of its own.
  const stage = await Stage.open()
  const { organization, table } = stage.attacker
  const head = { method: 'POST', path: `${table.path}/load${query}`, key: organization.secretKey }
  const attack: StreamAttack = { kind: 'stream', connections: loadsOfOrganizationMax, head, ...body }
  const seen = await playRounds(bound, () => stage.play(attack, { forMs: inFull(6_000, 1_500) }))
  await stage.close()
  for (const { victims } of seen) expectNobodyRefused({ victims: { stranger: victims.stranger } })
  expectServed(seen, bound)
  for (const each of seen) expectMemoryWithin(each, moreBytesMax)
}

const put = (hashKey: string, text: string): string => `{"hashKey":"${hashKey}","data":{"t":"${text}"}}\n`

describe('others are served while loads store', () => {
  test('small records', () => loads({ text: put('k{n}', 'x'.repeat(60)), times: 2_000 }))
  test('the same record', () => loads({ text: put('one', 'x'.repeat(60)), times: 2_000 }))
  test('records of 400 kB', () => loads({ text: put('k{n}', 'x'.repeat(390_000)), times: 4 }))
  test('records of 400 kB, not in ASCII', () => loads({ text: put('k{n}', '€'.repeat(130_000)), times: 4 }))
})

describe('others are served while loads store nothing', () => {
  const skip = '?onError=skip'
  test('small lines that are wrong', () => loads({ text: '{}\n', times: 100_000 }, skip))
  test('lines with long names that are wrong', () => loads({ text: `{"${'x'.repeat(500_000)}":1}\n`, times: 4 }, skip))
  test('large lines that are wrong', () => loads({ text: put('k', 'x'.repeat(500_000)), times: 4 }, skip))
  test('lines that are too long', () => loads({ text: 'x'.repeat(mib), times: 8 }, skip))
  test('blank lines', () => loads({ text: '\n', times: mib }))
})

describe('others are served while a little is unpacked to very much', () => {
  const times = 64 * mib
  test('zeros', () => loads({ text: '0', times, isPacked: true }, '?onError=skip'))
  test('blank lines', () => loads({ text: '\n', times, isPacked: true }))
  test('wrong lines', () => loads({ text: '{}\n', times: times / 3, isPacked: true }, '?onError=skip'))
  test('records of which little is kept', () => {
    const text = `${put('k{n}', '€')}${' '.repeat(loadLineBytesMax - 1)}\n`
    return loads({ text, times: 16, isPacked: true })
  })
})
