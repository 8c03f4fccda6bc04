import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { bodyBytesMax, bodyChunkBytesMin, bodyChunksFreeMax, bodyMsMax } from '../../src/core/limits.ts'
import { eventually } from '../harness.ts'
import { makeBucket } from '../http/bucket.ts'
import { ok } from '../http/service.ts'
import type { AttackReport, HoldAttack, LoopAttack, LoopRequest } from './attackers.ts'
import type { Reporter } from './reports.ts'
import {
  type Bound,
  expectMemoryWithin,
  expectNobodyRefused,
  expectServed,
  inFull,
  memoryBytes,
  mib,
  note,
  playRounds,
  Stage,
  startAttack,
  startVictim,
  watchMemory,
} from './stage.ts'
import type { VictimReport } from './victim.ts'
import { chunkedBytes, type Head, headBytes, Wire } from './wire.ts'

// Bodies that never arrive cost their sender nothing. They must not cost others their turn, their share or the process.

setDefaultTimeout(300_000)

/** Waits for its bodies to expire while the other tests run. */
let expiring: { stage: Stage; attackers: Reporter<AttackReport>; victim: Reporter<VictimReport>; startedAtMs: number }
let stage: Stage
/** The second key of the organization: turns within an organization go by key. */
let secondKey: string
const expiringConnections = inFull(10_000, 3_000)

const queryHead = (of: Stage, contentLength: number): Head => ({
  method: 'POST',
  path: `${of.attacker.table.path}/query`,
  key: of.attacker.organization.publicKey,
  headers: [['Content-Length', String(contentLength)]],
})

beforeAll(async () => {
  const patient = await Stage.open()
  const { organization, table } = patient.stranger
  const victim = await startVictim(patient.server, { key: organization.secretKey, path: table.path, pauseMs: 50 })
  const startedAtMs = performance.now()
  const head = queryHead(patient, 2)
  const attack: HoldAttack = { kind: 'hold', connections: expiringConnections, head, sent: ' ' }
  expiring = { stage: patient, victim, startedAtMs, attackers: await startAttack(patient.server, attack) }
  stage = await Stage.open()
  secondKey = ok(await stage.attacker.table.api.post('/api/keys', { kind: 'secret' }), 201).key
})
afterAll(async () => {
  await expiring?.attackers.end()
  await expiring?.victim.end()
  await Promise.all([expiring?.stage.close(), stage?.close()])
})

describe('Content-Length twice', () => {
  // A separate server: broken counters would let all later requests pass.
  let stage: Stage
  beforeAll(async () => {
    stage = await Stage.open()
  })
  afterAll(async () => {
    await stage?.close()
  })

  const valid = '{"hash":"a"}'

  /** The status of the response, or `ended`. If the server keeps reading, the whole body is sent. */
  const sendWith = async (lengths: string[], path: string, body: string, paddedTo = body.length) => {
    const wire = await Wire.open(stage.server.port)
    const headers = lengths.map((length): [string, string] => ['Content-Length', length])
    wire.send(headBytes({ method: 'POST', path, key: stage.attacker.organization.secretKey, headers }))
    wire.send(Buffer.from(body))
    const part = Buffer.alloc(mib, ' ')
    for (let sent = body.length; sent < paddedTo && !wire.ended; sent += mib) {
      wire.send(part.subarray(0, Math.min(mib, paddedTo - sent)))
      await wire.sent()
    }
    const status = await wire.answer().catch(() => 'ended')
    wire.close()
    return status
  }

  const refusedByHead = [400, 'ended']

  test('is refused, as is any other length that is not a number in digits', async () => {
    const path = `${stage.attacker.table.path}/query`
    expect(await sendWith(['12'], path, valid)).toBe(200)
    expect(await sendWith(['12', '12'], path, valid)).toBe(400)
    const odd = [
      ['12', '13'],
      ['12, 12'],
      ['12,12'],
      ['+12'],
      ['-12'],
      ['0x0c'],
      ['1.2e1'],
      ['12.0'],
      ['NaN'],
      ['Infinity'],
    ]
    for (const lengths of odd) {
      const status = await sendWith(lengths, path, valid)
      expect({ lengths, refused: refusedByHead.includes(status), status }).toMatchObject({ lengths, refused: true })
    }
  })

  test('leaves no trace: the limits still work, and large puts of others succeed', async () => {
    const { attacker, stranger } = stage
    await Promise.all(Array.from({ length: 20 }, () => sendWith(['12', '12'], `${attacker.table.path}/query`, valid)))
    const length = 8 * mib
    const head: Head = {
      method: 'POST',
      path: `${attacker.table.path}/batch`,
      key: attacker.organization.secretKey,
      headers: [['Content-Length', String(length)]],
    }
    const attack: HoldAttack = { kind: 'hold', connections: 40, head, sent: ' '.repeat(length - 1) }
    expectMemoryWithin(await stage.play(attack, { forMs: 1_000 }), 250 * mib)
    const data = { text: 'x'.repeat(400_000) }
    for (const { table } of [attacker, stranger]) {
      for (let n = 0; n < 10; n++) await table.put(`large ${n}`, data)
    }
  })

  test('is refused without keeping any of its body', async () => {
    const { path } = stage.attacker.table
    const { memory } = await watchMemory(stage.server.pid, async () => {
      for (const at of [`${path}/batch`, `${path}/query`]) {
        const length = String(300 * mib)
        expect(refusedByHead).toContain(await sendWith([length, length], at, valid, 300 * mib))
      }
    })
    expectMemoryWithin({ memory }, 100 * mib)
  })
})

describe('bodies that wait for their last byte: everybody else is served', () => {
  const forMs = inFull(8_000, 1_000)
  // Large enough to need room themselves.
  const victim = { putBytes: 100_000, pauseMs: 20 }

  const expectOthersServed = async (connections: number, head: Head, sentBytes: number): Promise<void> => {
    const attack: HoldAttack = { kind: 'hold', connections, head, sent: ' '.repeat(sentBytes), renew: true }
    const seen = await stage.play(attack, { forMs, victim })
    expectNobodyRefused(seen)
    // The bytes that have arrived are bounded in total; the rest is what the requests of the victims leave for the
    // collector.
    expectMemoryWithin(seen, 250 * mib)
  }
  const secretHead = (method: string, path: string, length: number): Head => ({
    method,
    path,
    key: secondKey,
    headers: [['Content-Length', String(length)]],
  })

  test('64 that declare 1 MiB and send a byte', () => expectOthersServed(64, queryHead(stage, mib), 1))
  test('1,000 that declare 1 MiB and send a byte', () => expectOthersServed(1_000, queryHead(stage, mib), 1))
  test('1,100 that declare 64 KiB and send a byte', () => expectOthersServed(1_100, queryHead(stage, 65_536), 1))
  test('1,100 that declare 64 KiB and send all but a byte', () =>
    expectOthersServed(1_100, queryHead(stage, 65_536), 65_535))
  test('100 puts that declare 1 MiB and send all but a byte', () =>
    expectOthersServed(100, secretHead('PUT', stage.attacker.table.path, bodyBytesMax), bodyBytesMax - 1))
  test('20 batches that declare 8 MiB and send a byte', () =>
    expectOthersServed(20, secretHead('POST', `${stage.attacker.table.path}/batch`, 8 * mib), 1))

  test('room is free again when they are gone', async () => {
    await eventually('the attacker itself is served', async () => {
      const { status } = await stage.attacker.table.tryPut({ hashKey: 'a', data: { text: 'x'.repeat(400_000) } })
      return status === 200 ? true : undefined
    })
  })
})

// ── One-byte chunks ────────────────────────────────────────────────────────────────────────────────────────

// A body in one-byte chunks costs its sender six bytes per byte. If each byte costs the server a turn of its event loop, eight
// connections block everybody else.

// Six bytes on the wire each: 6 MB.
const chunks = 1_000_000

/** Eight connections that send such a body in one go, and the next one a second later: at most 48 MB per second. */
const attackOf = (requests: LoopRequest[]): LoopAttack => ({
  kind: 'loop',
  pauseMs: 1_000,
  refusedPauseMs: 1_000,
  groups: [{ name: 'chunks', connections: 8, requests }],
})

const inChunks = (method: string, path: string, key: string, start: string): LoopRequest => ({
  method,
  path,
  key,
  body: start.padEnd(chunks),
  chunkLength: 1,
})

const queries = (): LoopRequest[] => {
  const { organization, table } = stage.attacker
  return [inChunks('POST', `${table.path}/query`, organization.publicKey, '{"hash":"a"}')]
}

/** A public key may not write: rejected after the head, while the body is still arriving. */
const refusedWrites = (): LoopRequest[] => {
  const { organization, table } = stage.attacker
  return [
    inChunks('PUT', table.path, organization.publicKey, '{"hashKey":"a","data":{}}'),
    inChunks('POST', `${table.path}/batch`, organization.publicKey, '{"operations":[]}'),
  ]
}

/** Writes with another key of the victim's organization. */
const writes = (): LoopRequest[] => {
  const { table } = stage.attacker
  return [
    inChunks('PUT', table.path, secondKey, '{"hashKey":"a","data":{}}'),
    inChunks('POST', `${table.path}/batch`, secondKey, '{"operations":[{"op":"delete","hashKey":"a"}]}'),
  ]
}

/** Files: stored until there are too many chunks, refused after the head, and without any key. */
const uploads = async (): Promise<LoopRequest[]> => {
  const { organization } = stage.attacker
  const bucket = await makeBucket(stage.server.as(organization.secretKey))
  return [
    inChunks('PUT', bucket.at('a'), secondKey, ''),
    inChunks('PUT', bucket.at('a'), organization.publicKey, ''),
    inChunks('PUT', `/files/${bucket.created.id}/a`, 'none', ''),
  ]
}

const expectQuick = async (requests: LoopRequest[]): Promise<void> => {
  // Such bodies cost next to nothing when they are given up at once, and nearly all of the time when they are not.
  const bound: Bound = { stallMs: 100, slowerMax: 8 }
  const seen = await playRounds(bound, () => stage.play(attackOf(requests), { forMs: inFull(6_000, 2_000) }))
  for (const each of seen) {
    expectNobodyRefused(each)
    expectMemoryWithin(each, 150 * mib)
    // The attack was one: connections that only wait would prove nothing.
    expect(Object.keys(each.attack.answers.chunks ?? {}).length).toBeGreaterThan(0)
  }
  expectServed(seen, bound)
}

describe('one-byte chunks: others are served at once', () => {
  test('while a public key queries with them', () => expectQuick(queries()))
  test('while a public key is refused with them', () => expectQuick(refusedWrites()))
  test('while a secret key writes with them', () => expectQuick(writes()))
  test('while files are put with them, with and without the right', async () => expectQuick(await uploads()))
})

test('a client that streams its JSON by tokens is served; one that streams far more of them gets an error with a hint', async () => {
  const { organization, table } = stage.attacker
  const headers: [string, string][] = [['Transfer-Encoding', 'chunked']]
  const stream = async (body: string, chunkLength: number): Promise<number> => {
    const wire = await Wire.open(stage.server.port)
    wire.send(headBytes({ method: 'PUT', path: table.path, key: organization.secretKey, headers }))
    // In pieces, as they would come from a stream.
    const bytes = chunkedBytes(Buffer.from(body), chunkLength)
    for (let at = 0; at < bytes.length; at += 16_384) {
      wire.send(bytes.subarray(at, at + 16_384))
      await Bun.sleep(1)
    }
    const status = await wire.answer()
    wire.close()
    return status
  }
  const list = (items: number) => Array.from({ length: items }, (_, n) => n + 100_000_000)
  const bodyOf = (hashKey: string, items: number) => JSON.stringify({ hashKey, data: { list: list(items) } })
  const inLimits = bodyOf('streamed', (bodyChunksFreeMax * 5) / 10 - 20)
  expect(Math.ceil(inLimits.length / 5)).toBeLessThanOrEqual(bodyChunksFreeMax)
  expect(await stream(inLimits, 5)).toBe(200)
  expect((await table.get('streamed')).body.data.list).toHaveLength((bodyChunksFreeMax * 5) / 10 - 20)
  // Larger chunks may be many more.
  const large = bodyOf('in lines', 30_000)
  expect(Math.ceil(large.length / bodyChunkBytesMin)).toBeGreaterThan(1_000)
  expect(await stream(large, bodyChunkBytesMin)).toBe(200)
  expect(await stream(bodyOf('too fine', 20_000), 5)).toBe(400)
  expect((await table.get('too fine')).status).toBe(404)
  // Its other chunked bodies wait for a moment, those of a known length do not.
  expect(await stream(bodyOf('beside', 1), 5)).toBe(503)
  await table.put('of a known length')
  await eventually(
    'chunked bodies are taken again',
    async () => (await stream(bodyOf('beside', 1), 5)) === 200 || undefined,
  )
})

// ── Expiry ─────────────────────────────────────────────────────────────────────────────────────────────────

test(`${expiringConnections} bodies that time out together: the server stays alive and serves others`, async () => {
  const { stage: patient, attackers, victim, startedAtMs } = expiring
  // Every one is answered: at once when there was no room for it, else by the time that a body may take.
  const waitMsMax = bodyMsMax + 20_000 - (performance.now() - startedAtMs)
  const ended: Record<string, number> = {}
  await eventually(
    'all of them have been answered',
    async () => {
      const report = await attackers.report()
      for (const [outcome, times] of Object.entries(report.answers.hold ?? {})) {
        ended[outcome] = (ended[outcome] ?? 0) + times
      }
      return ended[503] === expiringConnections || report.open === 0 ? true : undefined
    },
    { waitMsMax: Math.max(waitMsMax, 5_000), pauseMs: 500 },
  )
  const seen = { victims: { stranger: await victim.report() }, attack: await attackers.report() }
  const nowBytes = memoryBytes(patient.server.pid)
  note('expiry', { ...seen, memory: { beforeBytes: 0, peakBytes: nowBytes } })
  await patient.expectWell()
  expectNobodyRefused(seen)
  // Each heard why, and none heard that the server failed.
  expect(Object.keys(ended).filter((outcome) => !['503', 'ended'].includes(outcome))).toEqual([])
  expect(ended['503']).toBe(expiringConnections)
  // 10,000 connections at once leave their traces, but not more than some kilobytes each.
  expect(nowBytes).toBeLessThan(400 * mib)
  const { table } = patient.stranger
  await table.put('afterwards')
  ok(await table.get('afterwards'))
  expect(patient.server.log.filter(({ level }) => level === 'error')).toEqual([])
})
