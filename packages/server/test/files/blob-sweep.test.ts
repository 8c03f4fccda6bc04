import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type BlobSweepOptions, startBlobSweep } from '../../src/background/blobs.ts'
import type { Background } from '../../src/background/paced-steps.ts'
import { trackUploads } from '../../src/background/running-uploads.ts'
import { newBlobId, newStoreBlobId } from '../../src/core/files/blob-id.ts'
import { DirectoryBlobStore } from '../../src/files/blob-stores/directory.ts'
import { eventually, makeTempDir, removeTempDir } from '../harness.ts'
import { content, filesBelow, put } from './blob-fixture.ts'
import { FakeFiles } from './fake-files.ts'

const startMs = Date.parse('2026-03-01T12:00:00Z')
const hourMs = 3_600_000

let top: string
let files: FakeFiles
let nowMs: number
let logged: Array<{ message: string; fields: Record<string, unknown> }>
let sweep: Background | undefined
beforeEach(() => {
  top = makeTempDir()
  files = new FakeFiles()
  nowMs = startMs
  logged = []
  sweep = undefined
})
afterEach(async () => {
  await sweep?.stop()
  removeTempDir(top)
})

const log = (_level: string, message: string, fields: Record<string, unknown> = {}) =>
  void logged.push({ message, fields })

let takes = 0
const start = (blobStore: BlobSweepOptions['blobStore'], options: Partial<BlobSweepOptions> = {}): void => {
  takes = 0
  const now = () => {
    takes++
    return nowMs
  }
  sweep = startBlobSweep({ files, blobStore, now, log, jumpHoldMs: hourMs, everyMs: 2, ...options })
}
const untilSwept = (): Promise<true> => {
  const before = takes
  return eventually('several sweeps', () => takes > before + 10 || undefined)
}

const putDue = async (blobStore: DirectoryBlobStore, count: number, dueMs = startMs): Promise<string[]> => {
  const ids = Array.from({ length: count }, () => newBlobId(startMs))
  await Promise.all(ids.map((id) => put(blobStore, id, content(100))))
  for (const id of ids) files.due.set(id, dueMs)
  return ids
}

describe('the sweep of blobs', () => {
  test('an id that is none, in a store that somebody else made, is forgotten; nothing is removed, and the others are', async () => {
    const blobStore = new DirectoryBlobStore(top)
    const ids = await putDue(blobStore, 3)
    for (const id of ['../../victim', '', 'F'.repeat(32)]) files.due.set(id, startMs - 1)
    const removed: string[] = []
    start({
      remove(id) {
        removed.push(id)
        return blobStore.remove(id)
      },
    })
    await eventually('all rows are gone', () => files.due.size === 0 || undefined)
    expect(removed.toSorted()).toEqual(ids.toSorted())
    expect(logged).toEqual([])
  })

  test('removes the bytes of all that are due, and then their rows; others stay', async () => {
    const blobStore = new DirectoryBlobStore(top)
    await putDue(blobStore, 120)
    const [kept] = await putDue(blobStore, 1, startMs + hourMs)
    start(blobStore)
    await eventually('the rows are forgotten', () => files.due.size === 1 || undefined)
    await untilSwept()
    expect(filesBelow(top).map((name) => name.slice(-32))).toEqual([kept!])
    expect(logged).toEqual([])
  })

  test('bytes that the store keeps go with their row: no place is asked for them', async () => {
    const ids = Array.from({ length: 60 }, () => newStoreBlobId(startMs))
    for (const id of ids) files.due.set(id, startMs)
    const remove = () => Promise.reject(new Error('the place was asked'))
    start({ remove })
    await eventually('the rows are forgotten', () => files.due.size === 0 || undefined)
    expect(logged).toEqual([])
  })

  test('the rows of bytes that could not be removed are kept; the others go on; one line per sweep', async () => {
    const blobStore = new DirectoryBlobStore(top)
    const ids = await putDue(blobStore, 60)
    const bad = new Set([ids[0]!, ids[30]!])
    let tries = 0
    const remove = async (id: string) => {
      if (id === ids[0]) tries++
      if (bad.has(id)) throw new Error('the disk said no')
      await blobStore.remove(id)
    }
    start({ remove }, { everyMs: 100_000 })
    await eventually('a line', () => logged.length > 0 || undefined)
    expect([...files.due.keys()].sort()).toEqual([...bad].sort())
    expect(tries).toBe(1)
    expect(logged).toEqual([
      {
        message: 'bytes of files could not be removed; it is retried later',
        fields: { blobs: 2, cause: 'Error: the disk said no' },
      },
    ])
    await sweep!.stop()
    bad.clear()
    start({ remove })
    await eventually('the next sweep removes them', () => files.due.size === 0 || undefined)
    expect(filesBelow(top)).toEqual([])
  })

  test('a row is never forgotten before its bytes are gone', async () => {
    const blobStore = new DirectoryBlobStore(top)
    const [id] = await putDue(blobStore, 1)
    const order: string[] = []
    const forget = files.forget.bind(files)
    files.forget = async (ids) => {
      order.push(`forget ${ids}, ${filesBelow(top).length} files`)
      await forget(ids)
    }
    start(blobStore)
    await eventually('it is forgotten', () => files.due.size === 0 || undefined)
    expect(order).toEqual([`forget ${id}, 0 files`])
  })

  test('a store that fails is logged and tried again', async () => {
    const blobStore = new DirectoryBlobStore(top)
    await putDue(blobStore, 1)
    files.failure = new Error('no store')
    start(blobStore)
    await eventually('it is forgotten', () => files.due.size === 0 || undefined)
    expect(logged).toEqual([
      { message: 'the sweep of files failed; it is retried later', fields: { cause: 'Error: no store' } },
    ])
  })

  test('a clock that jumps ahead is not believed at once', async () => {
    const blobStore = new DirectoryBlobStore(top)
    await putDue(blobStore, 1, startMs + hourMs)
    start(blobStore)
    await untilSwept()
    nowMs += 2 * hourMs
    await untilSwept()
    expect(files.due.size).toBe(1)
    nowMs = startMs
    await untilSwept()
    expect(filesBelow(top)).toHaveLength(1)
    expect(logged).toHaveLength(1)
    expect(logged[0]!.message).toContain('the clock jumped ahead')
  })

  test('a stop waits for what is in flight, and begins nothing more', async () => {
    const ids = Array.from({ length: 50 }, () => newBlobId(startMs))
    for (const id of ids) files.due.set(id, startMs)
    const running = new Set<string>()
    let begun = 0
    const remove = async (id: string) => {
      begun++
      running.add(id)
      await Bun.sleep(20)
      running.delete(id)
    }
    start({ remove })
    await eventually('it has begun', () => running.size > 0 || undefined)
    await sweep!.stop()
    expect(running.size).toBe(0)
    expect(begun).toBeLessThan(50)
    // A removed blob is forgotten.
    expect(files.due.size).toBe(50 - begun)
  })
})

describe('running uploads', () => {
  test('are kept alive while they run, and not after', async () => {
    const uploads = trackUploads({ files, now: () => nowMs, log, everyMs: 5 })
    await Bun.sleep(20)
    expect(files.alive).toEqual([])
    uploads.begin('a')
    uploads.begin('b')
    await eventually('both', () => files.alive.length > 0 || undefined)
    expect(files.alive[0]).toEqual({ ids: ['a', 'b'], nowMs: startMs })
    uploads.end('a')
    files.alive.length = 0
    await eventually('one', () => files.alive.length > 0 || undefined)
    expect(files.alive[0]!.ids).toEqual(['b'])
    uploads.end('b')
    await Bun.sleep(10)
    files.alive.length = 0
    await Bun.sleep(20)
    expect(files.alive).toEqual([])
    await uploads.stop()
  })

  test('a store that fails is logged and told again', async () => {
    files.failure = new Error('no store')
    const uploads = trackUploads({ files, now: () => nowMs, log, everyMs: 5 })
    uploads.begin('a')
    await eventually('twice', () => files.alive.length > 1 || undefined)
    await uploads.stop()
    expect(logged.map(({ fields }) => fields.cause)).toEqual(['Error: no store'])
    const told = files.alive.length
    await Bun.sleep(20)
    expect(files.alive.length).toBe(told)
  })
})
