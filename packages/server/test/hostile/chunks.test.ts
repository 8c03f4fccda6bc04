import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { LoopAttack, LoopRequest } from './attackers.ts'
import {
  expectMemoryWithin,
  expectNobodyRefused,
  expectStallsWithin,
  inFull,
  mib,
  playRounds,
  Stage,
  type VictimOf,
  victimsOf,
} from './stage.ts'
import { chunkedBytes, headBytes, Wire } from './wire.ts'

// A body in one-byte chunks costs its sender six bytes a byte. If it costs the server a turn of its event loop a byte, eight
// connections stop everybody else.

setDefaultTimeout(inFull(180_000, 60_000))

let stage: Stage
beforeAll(async () => {
  stage = await Stage.open()
})
afterAll(async () => {
  await stage?.close()
})

// Six bytes on the wire each: 6 MB.
const chunks = 1_000_000

/** Eight connections that send such bodies again and again. */
const attackOf = (requests: LoopRequest[]): LoopAttack => ({
  kind: 'loop',
  refusedPauseMs: 100,
  groups: [{ name: 'chunks', connections: 8, requests }],
})

const request = (method: string, path: string, key: string, start: string): LoopRequest => ({
  method,
  path,
  key,
  body: start.padEnd(chunks),
  chunkLength: 1,
})

const queries = (): LoopRequest[] => {
  const { organization, table } = stage.attacker
  return [request('POST', `${table.path}/query`, organization.publicKey, '{"hash":"a"}')]
}

/** A public key may not write: refused by its head, while the body goes on arriving. */
const refusedWrites = (): LoopRequest[] => {
  const { organization, table } = stage.attacker
  return [
    request('PUT', table.path, organization.publicKey, '{"hashKey":"a","data":{}}'),
    request('POST', `${table.path}/batch`, organization.publicKey, '{"operations":[]}'),
  ]
}

const writes = (): LoopRequest[] => {
  const { organization, table } = stage.attacker
  return [
    request('PUT', table.path, organization.secretKey, '{"hashKey":"a","data":{}}'),
    request('POST', `${table.path}/batch`, organization.secretKey, '{"operations":[{"op":"delete","hashKey":"a"}]}'),
  ]
}

const expectOthersServed = async (requests: LoopRequest[], victimOf: VictimOf): Promise<void> => {
  const seen = await playRounds(() => stage.play(attackOf(requests), { victimOf, forMs: inFull(10_000, 3_000) }))
  for (const each of seen) {
    expectNobodyRefused(each)
    expectMemoryWithin(each, 150 * mib)
    // The attack was one: connections that only wait would prove nothing.
    expect(Object.keys(each.attack.answers.chunks ?? {}).length).toBeGreaterThan(0)
  }
  expectStallsWithin(seen, 100)
}

describe.each(victimsOf)('one-byte chunks: others are served at once, those of %s', (victimOf) => {
  test('while a public key queries with them', () => expectOthersServed(queries(), victimOf))
  test('while a public key is refused with them', () => expectOthersServed(refusedWrites(), victimOf))
})

test('one-byte chunks: others are served at once while a secret key of another organization writes with them', () =>
  expectOthersServed(writes(), 'another organization'))

test('a client that streams its JSON by tokens is served: 200 kB in chunks of 4 to 8 bytes', async () => {
  const { organization, table } = stage.attacker
  const data = { list: Array.from({ length: 20_000 }, (_, n) => n + 100_000_000) }
  const body = Buffer.from(JSON.stringify({ hashKey: 'streamed', data }))
  const headers: [string, string][] = [['Transfer-Encoding', 'chunked']]
  for (const chunkLength of [4, 8]) {
    const wire = await Wire.open(stage.server.port)
    wire.send(headBytes({ method: 'PUT', path: table.path, key: organization.secretKey, headers }))
    // In pieces, as they would come from a stream.
    const bytes = chunkedBytes(body, chunkLength)
    for (let at = 0; at < bytes.length; at += 16_384) {
      wire.send(bytes.subarray(at, at + 16_384))
      await Bun.sleep(1)
    }
    expect({ chunkLength, status: await wire.answer() }).toEqual({ chunkLength, status: 200 })
    wire.close()
  }
  expect((await table.get('streamed')).body.data).toEqual(data)
})
