import { describe, expect, test } from 'bun:test'
import { commitBytesMax, commitRequestsMax, writeQueueRequestsMax } from '../src/core/limits.ts'
import { type QueuedWrite, WriteQueue } from '../src/engines/sqlite/write/write-queue.ts'

// The work that is handed to the writer before its last commit is answered is bounded too. Without that, one organization's
// backlog would lie in the writer, where no other organization has a turn.

const nothing = { requests: 0, weight: 0 }

/** A request of that many bytes, of an organization and an API key; its name stands where the command's kind would. */
const waiting = (name: string, bytes = 1, orgId = 1, keySeq = 1): QueuedWrite =>
  ({
    command: { kind: name, fence: { orgId, keySeq } },
    bytes,
    weight: bytes,
    resolve() {},
    reject() {},
  }) as unknown as QueuedWrite

const names = (taken: QueuedWrite[]): unknown[] => taken.map(({ command }) => command.kind)

const queueOf = (count: number, bytes = 1): WriteQueue => {
  const queue = new WriteQueue()
  for (let i = 0; i < count; i++) queue.push(waiting(`${i}`, bytes))
  return queue
}

describe('what leaves for the writer', () => {
  test('is with what left before it one commit, in requests', () => {
    expect(queueOf(300).take(nothing)).toHaveLength(commitRequestsMax)
    expect(queueOf(300).take({ requests: commitRequestsMax - 10, weight: 0 })).toHaveLength(10)
    expect(queueOf(5).take({ requests: commitRequestsMax - 10, weight: 0 })).toHaveLength(5)
    expect(queueOf(300).take({ requests: commitRequestsMax, weight: 0 })).toEqual([])
  })

  test('and in bytes; what does not fit stays, in its order', () => {
    const eighth = commitBytesMax / 8
    expect(queueOf(20, eighth).take(nothing)).toHaveLength(8)
    const queue = queueOf(20, eighth)
    expect(names(queue.take({ requests: 5, weight: 5 * eighth }))).toEqual(['0', '1', '2'])
    expect(queue.take({ requests: 8, weight: 8 * eighth })).toEqual([])
    expect(names(queue.take({ requests: 7, weight: 7 * eighth }))).toEqual(['3'])
  })

  test('a request larger than a commit leaves when nothing is ahead of it, and alone', () => {
    const queue = new WriteQueue()
    queue.push(waiting('large', commitBytesMax + 1))
    queue.push(waiting('small'))
    expect(queue.take({ requests: 1, weight: 1 })).toEqual([])
    expect(names(queue.take(nothing))).toEqual(['large'])
    expect(names(queue.take({ requests: 1, weight: commitBytesMax + 1 }))).toEqual([])
    expect(names(queue.take(nothing))).toEqual(['small'])
    expect(queue.empty).toBe(true)
  })

  test('organizations have a turn each, however long the line of one is', () => {
    const queue = queueOf(400)
    queue.push(waiting('other', 1, 2))
    expect(names(queue.take({ requests: commitRequestsMax - 2, weight: 0 }))).toEqual(['0', 'other'])
  })

  test('and so have the API keys of one organization', () => {
    const queue = queueOf(400)
    queue.push(waiting('other key', 1, 1, 2))
    expect(names(queue.take({ requests: commitRequestsMax - 2, weight: 0 }))).toEqual(['0', 'other key'])
  })
})

describe('room to wait', () => {
  /** Pushes until there is no more room; how many went in. */
  const fill = (queue: WriteQueue, orgId: number, keySeq: number, bytes: number): number => {
    let count = 0
    try {
      for (; count < 20_000; count++) queue.push(waiting('', bytes, orgId, keySeq))
    } catch (error) {
      expect(error).toMatchObject({ code: 'unavailable' })
    }
    return count
  }

  test('however many organizations fill the queue, in requests or in bytes, the next finds some', () => {
    for (const bytes of [0, 400_000]) {
      const queue = new WriteQueue()
      for (let orgId = 1; orgId <= 100; orgId++) expect(fill(queue, orgId, orgId, bytes)).toBeGreaterThan(0)
    }
  })

  test('however many requests of one API key wait, another key of the organization finds some', () => {
    const queue = new WriteQueue()
    expect(fill(queue, 1, 1, 0)).toBe(writeQueueRequestsMax / 4)
    expect(fill(queue, 1, 2, 0)).toBeGreaterThan(100)
  })

  test('what has left gives its room back, in requests and in bytes', () => {
    for (const bytes of [0, 400_000]) {
      const queue = new WriteQueue()
      const first = fill(queue, 1, 1, bytes)
      while (!queue.empty) queue.take(nothing)
      expect(fill(queue, 1, 1, bytes)).toBe(first)
    }
  })

  test('maintenance is never refused', () => {
    const queue = new WriteQueue()
    for (let orgId = 1; orgId <= 100; orgId++) fill(queue, orgId, orgId, 0)
    queue.push({ ...waiting('sweep'), command: { kind: 'sweep' } as unknown as QueuedWrite['command'] })
    expect(names(Array.from({ length: 100 }, () => queue.take(nothing)).flat())).toContain('sweep')
  })
})
