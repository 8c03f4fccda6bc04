import { describe, expect, test } from 'bun:test'
import { commitBytesMax, commitRequestsMax } from '../src/core/limits.ts'
import { type Waiting, WriteQueue } from '../src/engines/sqlite/write-queue.ts'

// What is handed to the writer before its last commit is answered is bounded too: without that, one organization's
// backlog would lie in the writer, where no other organization has a turn.

const nothing = { requests: 0, bytes: 0 }

/** A request of that many bytes; its name stands where the command would. */
const waiting = (name: string, bytes = 1): Waiting =>
  ({ command: name, bytes, resolve() {}, reject() {} }) as unknown as Waiting

const names = (taken: Waiting[]): unknown[] => taken.map(({ command }) => command)

const queueOf = (count: number, bytes = 1): WriteQueue => {
  const queue = new WriteQueue()
  for (let i = 0; i < count; i++) queue.push(1, waiting(`${i}`, bytes))
  return queue
}

describe('what leaves for the writer', () => {
  test('is with what left before it one commit, in requests', () => {
    expect(queueOf(300).take(nothing)).toHaveLength(commitRequestsMax)
    expect(queueOf(300).take({ requests: commitRequestsMax - 10, bytes: 0 })).toHaveLength(10)
    expect(queueOf(5).take({ requests: commitRequestsMax - 10, bytes: 0 })).toHaveLength(5)
    expect(queueOf(300).take({ requests: commitRequestsMax, bytes: 0 })).toEqual([])
  })

  test('and in bytes; what does not fit stays, in its order', () => {
    const eighth = commitBytesMax / 8
    expect(queueOf(20, eighth).take(nothing)).toHaveLength(8)
    const queue = queueOf(20, eighth)
    expect(names(queue.take({ requests: 5, bytes: 5 * eighth }))).toEqual(['0', '1', '2'])
    expect(queue.take({ requests: 8, bytes: 8 * eighth })).toEqual([])
    expect(names(queue.take({ requests: 7, bytes: 7 * eighth }))).toEqual(['3'])
  })

  test('a request larger than a commit leaves when nothing is ahead of it, and alone', () => {
    const queue = new WriteQueue()
    queue.push(1, waiting('large', commitBytesMax + 1))
    queue.push(1, waiting('small'))
    expect(queue.take({ requests: 1, bytes: 1 })).toEqual([])
    expect(names(queue.take(nothing))).toEqual(['large'])
    expect(names(queue.take({ requests: 1, bytes: commitBytesMax + 1 }))).toEqual([])
    expect(names(queue.take(nothing))).toEqual(['small'])
    expect(queue.empty).toBe(true)
  })

  test('organizations have a turn each, however long the line of one is', () => {
    const queue = queueOf(400)
    queue.push(2, waiting('other'))
    expect(names(queue.take({ requests: commitRequestsMax - 2, bytes: 0 }))).toEqual(['0', 'other'])
  })
})
