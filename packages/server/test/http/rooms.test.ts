import { afterEach, expect, test } from 'bun:test'
import { Shares } from '../../src/core/shares.ts'
import type { BuiltResponse } from '../../src/core/slices.ts'
import { type Room, Rooms } from '../../src/http/rooms.ts'

// An answer that is built in several turns takes memory between them. Its room is taken before anything is read.

const mib = 1_048_576
const ada = { orgId: 1, keySeq: 1 }
const bob = { orgId: 1, keySeq: 2 }
const eve = { orgId: 2, keySeq: 3 }

let rooms: Rooms
afterEach(() => rooms.stop())

const open = (bytesMax = 64 * mib, msMax?: number): Shares => {
  const shares = new Shares(bytesMax, () => rooms.wake())
  rooms = new Rooms(shares, msMax)
  return shares
}

const iterations = async (count = 3): Promise<void> => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve))
}

/** Those who began, in order, with what they hold. */
const begun = new Map<string, Room>()
afterEach(() => begun.clear())
const ask = (name: string, holder: typeof ada, built: BuiltResponse = 'listing', listingsMax = 1): Promise<void> => {
  const room = rooms.tryEnter(holder, built, listingsMax)
  if (room !== undefined) begun.set(name, room)
  return room === undefined
    ? rooms.enter(holder, built, listingsMax).then((entered) => void begun.set(name, entered))
    : Promise.resolve()
}
const names = (): string[] => [...begun.keys()]

test('one API key builds one listing at a time, in the order of their arrival; other keys build theirs', async () => {
  const shares = open()
  for (const name of ['a1', 'a2', 'a3']) ask(name, ada)
  ask('b1', bob)
  ask('e1', eve)
  await iterations()
  expect(names()).toEqual(['a1', 'b1', 'e1'])
  expect(shares.used).toBe(3 * mib)
  begun.get('a1')!.leave()
  begun.get('a1')!.leave()
  await iterations()
  expect(names()).toEqual(['a1', 'b1', 'e1', 'a2'])
  begun.get('a2')!.leave()
  await iterations()
  for (const name of ['a3', 'b1', 'e1']) begun.get(name)!.leave()
  expect(shares.used).toBe(0)
})

test('an engine that reads in parallel builds as many listings of a key', async () => {
  open()
  for (let n = 0; n < 9; n++) ask(`a${n}`, ada, 'listing', 8)
  await iterations()
  expect(names()).toHaveLength(8)
  begun.get('a3')!.leave()
  await iterations()
  expect(names()).toHaveLength(9)
})

test('while a batch of the same key is built, it is still one listing at a time', async () => {
  open()
  ask('batch', ada, 'batch')
  ask('a1', ada)
  begun.get('a1')!.leave()
  ask('a2', ada)
  begun.get('batch')!.leave()
  ask('a3', ada)
  await iterations()
  expect(names()).toEqual(['batch', 'a1', 'a2'])
})

test('no newcomer begins before one that waits', async () => {
  open()
  ask('a1', ada)
  ask('a2', ada)
  begun.get('a1')!.leave()
  expect(rooms.tryEnter(ada, 'listing', 1)).toBeUndefined()
  await iterations()
  expect(names()).toEqual(['a1', 'a2'])
})

test('a caller without room waits until some is given back; others have theirs', async () => {
  const shares = open()
  // A key alone reaches a quarter.
  shares.take(ada.orgId, ada.keySeq, 16 * mib)
  ask('a1', ada)
  ask('a2', ada, 'batch')
  ask('b1', bob)
  ask('e1', eve, 'batch')
  await iterations()
  expect(names()).toEqual(['b1', 'e1'])
  shares.give(ada.orgId, ada.keySeq, 16 * mib)
  await iterations()
  expect(names()).toEqual(['b1', 'e1', 'a1', 'a2'])
})

test('listings and batches leave some room for other answers of their key', async () => {
  const shares = open()
  for (let n = 0; n < 40; n++) ask(`a${n}`, ada, n % 2 === 0 ? 'batch' : 'listing', 40)
  await iterations()
  expect(names().length).toBeLessThan(16)
  expect(shares.hasRoom(ada.orgId, ada.keySeq, 64 * 1024)).toBe(true)
})

test('a batch counts as the sum of its answers', async () => {
  const shares = open()
  ask('a1', ada, 'batch')
  const batch = begun.get('a1')!
  const before = shares.used
  batch.add(1_000)
  expect(shares.used).toBe(before)
  batch.add(3 * mib)
  expect(shares.used).toBe(3 * mib + 1_000)
  batch.leave()
  expect(shares.used).toBe(0)
})

test('who has waited too long is refused, counted, and does not keep the next one waiting', async () => {
  const shares = open(undefined, 0)
  shares.take(ada.orgId, ada.keySeq, 16 * mib)
  const error = await ask('a1', ada).catch((caught) => caught)
  expect(error).toMatchObject({ code: 'unavailable' })
  expect(rooms.lateCount).toBe(1)
  shares.give(ada.orgId, ada.keySeq, 16 * mib)
  await iterations()
  ask('a2', ada)
  expect(names()).toEqual(['a2'])
})

test('whatever order they come in, all who wait are served when those before them leave', async () => {
  const shares = open(8 * mib)
  const all: string[] = []
  for (let n = 0; n < 300; n++) {
    const name = `n${n}`
    all.push(name)
    ask(name, [ada, bob, eve][n % 3]!, n % 2 === 0 ? 'listing' : 'batch')
  }
  const left = new Set<string>()
  for (let round = 0; left.size < all.length && round < 1_000; round++) {
    for (const [name, room] of begun) {
      left.add(name)
      room.leave()
    }
    await iterations(1)
  }
  expect({ left: left.size, used: shares.used }).toEqual({ left: all.length, used: 0 })
})
