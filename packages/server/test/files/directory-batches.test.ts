import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { blobPath, newBlobId } from '../../src/core/files/blob-id.ts'
import { DirectoryPlace } from '../../src/files/places/directory.ts'
import { BatchLost, FileBatches, type FilesWriter } from '../../src/files/places/file-batches.ts'
import { fileCalls } from '../../src/files/places/file-calls.ts'
import { type BatchFault, type SmallFile, writeBatch } from '../../src/files/places/write-batch.ts'
import { eventually, makeTempDir, removeTempDir } from '../harness.ts'
import { collect, content, filesBelow, openFiles, put } from './material.ts'

// A directory whose small blobs are written in batches, as a server has it: by a thread, or here in this one, where a batch
// can be held and made to fail.

setDefaultTimeout(60_000)

let top: string
let root: string
beforeEach(() => {
  top = makeTempDir()
  root = join(top, 'files')
})
afterEach(() => removeTempDir(top))

const nowMs = Date.now()
const newId = (): string => newBlobId(nowMs)
const putSmall = (place: DirectoryPlace, id: string, bytes = 1_000, chunkBytes = 65_536): Promise<void> =>
  put(place, id, content(bytes), { known: bytes, chunkBytes })
const answerOf = (work: Promise<void>): Promise<unknown> =>
  work.then(
    () => 'durable',
    (error) => error.code,
  )

type Faults = Array<BatchFault | undefined>

/** Writes batches in this thread. `around` may come before or after, or instead. */
const writerOf = (around: (write: () => Faults, files: SmallFile[]) => Faults | Promise<Faults>) => {
  const batches: string[][] = []
  const writer: FilesWriter = {
    async write(files) {
      batches.push(files.map(({ name }) => name))
      return around(() => writeBatch(files), files)
    },
    async close() {},
  }
  return { writer, batches }
}

const placeOf = (around: Parameters<typeof writerOf>[0]) => {
  const { writer, batches } = writerOf(around)
  return { place: new DirectoryPlace(root, { batches: new FileBatches(writer) }), batches }
}

describe('by a thread', () => {
  let place: DirectoryPlace
  beforeEach(() => {
    place = new DirectoryPlace(root, { batches: new FileBatches() })
  })
  afterEach(() => place.close())

  test('many at once, of all lengths, in one chunk or many: each has its own bytes', async () => {
    const lengths = [0, 1, 4_095, 4_096, 65_535, 65_536, 65_537, 200_000]
    const blobs = Array.from({ length: 64 }, (_, n) => ({ id: newId(), bytes: lengths[n % lengths.length]! }))
    await Promise.all(blobs.map(({ id, bytes }, n) => putSmall(place, id, bytes, n % 3 === 0 ? 1_000 : 65_536)))
    for (const { id, bytes } of blobs) {
      expect(Buffer.compare(readFileSync(join(root, blobPath(id))), content(bytes))).toBe(0)
      expect(Buffer.compare(await collect(place, id, 0, bytes), content(bytes))).toBe(0)
    }
    expect(filesBelow(root)).toEqual(blobs.map(({ id }) => blobPath(id)).sort())
    expect(openFiles(root)).toEqual([])
  })

  test('the directory of the blobs is made anew if it is removed in between', async () => {
    const ids = [newId(), newId(), newId()]
    await putSmall(place, ids[0]!)
    rmSync(dirname(join(root, blobPath(ids[0]!))), { recursive: true })
    await Promise.all([putSmall(place, ids[1]!), putSmall(place, ids[2]!)])
    expect(filesBelow(root)).toEqual(ids.slice(1).map(blobPath).sort())
  })

  test('a blob is there once: a second one with its id fails, and the first stays', async () => {
    const id = newId()
    const writers = await Promise.all([place.write(id, 5), place.write(id, 5)])
    await Promise.all(writers.map((writer, n) => writer.write(Buffer.from(`byte${n}`))))
    const answers = await Promise.all(writers.map((writer) => answerOf(writer.finish(''))))
    expect(answers).toEqual(['durable', 'unavailable'])
    expect(readFileSync(join(root, blobPath(id)), 'utf8')).toBe('byte0')
    expect(filesBelow(root)).toEqual([blobPath(id)])
  })

  test('an upload that is given up before its end has written nothing; more bytes than declared are refused', async () => {
    const writer = await place.write(newId(), 10)
    await writer.write(content(5))
    await writer.abort()
    await writer.abort()
    const other = await place.write(newId(), 10)
    await other.write(content(10))
    await expect(other.write(content(1))).rejects.toBeInstanceOf(RangeError)
    expect(filesBelow(root)).toEqual([])
  })

  test('a chunk may be changed as soon as its write has resolved', async () => {
    const id = newId()
    const writer = await place.write(id, 4)
    const chunk = Buffer.from('good')
    await writer.write(chunk)
    const finishing = writer.finish('')
    chunk.fill('x')
    await finishing
    expect(readFileSync(join(root, blobPath(id)), 'utf8')).toBe('good')
    expect(await answerOf(writer.finish(''))).toBe('durable')
    await writer.abort()
    expect(filesBelow(root)).toEqual([blobPath(id)])
  })
})

test('what comes while a batch is written is one batch', async () => {
  const held = Promise.withResolvers<void>()
  const { place, batches } = placeOf(async (write) => {
    await held.promise
    return write()
  })
  const ids = Array.from({ length: 5 }, newId)
  const putting = Promise.all(ids.map((id) => putSmall(place, id)))
  await eventually('they are sent', () => batches.length > 0 || undefined)
  held.resolve()
  await putting
  expect(batches.flat().toSorted()).toEqual(ids.toSorted())
  expect(batches).toHaveLength(1)
})

for (const [code, answer] of [
  ['EIO', 'unavailable'],
  ['ENOSPC', 'storage_full'],
  ['EDQUOT', 'storage_full'],
] as const) {
  test(`a file that fails with ${code}: ${answer}, and nothing is left; the one beside it is durable`, async () => {
    const bad = newId()
    const { place } = placeOf((write, files) =>
      write().map((fault, i) => {
        if (files[i]!.name !== bad) return fault
        rmSync(join(files[i]!.directory, bad))
        return { code, message: `${code}: it failed` }
      }),
    )
    const good = newId()
    const [error] = await Promise.all([putSmall(place, bad).catch((error) => error), putSmall(place, good)])
    expect(error).toMatchObject({ code: answer, cause: `files: ${code}: it failed` })
    expect(error.message + JSON.stringify(error.hint ?? '')).not.toContain(top)
    expect(filesBelow(root)).toEqual([blobPath(good)])
  })
}

test('a thread that fails: its files have failed and are gone, and the next are written', async () => {
  let left = 1
  const { place } = placeOf((write) => {
    if (left-- === 0) return write()
    write()
    throw new BatchLost('the thread failed')
  })
  const answers = await Promise.all([newId(), newId()].map((id) => answerOf(putSmall(place, id))))
  expect(answers).toEqual(['unavailable', 'unavailable'])
  expect(filesBelow(root)).toEqual([])
  left = 0
  await putSmall(place, newId())
})

// The kernel may have dropped the names of all of them, and reports it once: the next sync succeeds.
describe('a sync of the names that fails', () => {
  const notSynced: BatchFault = { code: 'EIO', message: 'EIO: it failed', kind: 'namesNotSynced' }

  test('in a batch: it fails what was begun before it ended, in the next batch too', async () => {
    const held = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let batch = 0
    const { place, batches } = placeOf(async (write, files) => {
      const n = batch++
      if (n >= held.length) return write()
      await held[n]!.promise
      return n === 0 ? files.map(() => notSynced) : write()
    })
    const first = answerOf(putSmall(place, newId()))
    await eventually('the first batch is sent', () => batches.length === 1 || undefined)
    const second = answerOf(putSmall(place, newId()))
    await eventually('the second batch is sent', () => batches.length === 2 || undefined)
    held[0]!.resolve()
    expect(await first).toBe('unavailable')
    held[1]!.resolve()
    expect(await second).toBe('unavailable')
    expect(filesBelow(root)).toEqual([])
    expect(await answerOf(putSmall(place, newId()))).toBe('durable')
  })

  test('of a large blob beside it: a batch that was begun before fails, too', async () => {
    const held = Promise.withResolvers<void>()
    const { writer, batches } = writerOf(async (write) => {
      await held.promise
      return write()
    })
    const directories = new Set<number>()
    let fails = true
    const place = new DirectoryPlace(root, {
      batches: new FileBatches(writer),
      calls: {
        ...fileCalls,
        async open(path, ...rest) {
          const descriptor = await fileCalls.open(path, ...rest)
          if (/\/\w{5}\/\w\w$/.test(path)) directories.add(descriptor)
          else directories.delete(descriptor)
          return descriptor
        },
        async sync(descriptor) {
          if (fails && directories.has(descriptor)) throw Object.assign(new Error('EIO'), { code: 'EIO' })
          return fileCalls.sync(descriptor)
        },
      },
    })
    const small = answerOf(putSmall(place, newId()))
    await eventually('the batch is sent', () => batches.length === 1 || undefined)
    expect(await answerOf(putSmall(place, newId(), 100_000))).toBe('unavailable')
    fails = false
    held.resolve()
    expect(await small).toBe('unavailable')
    expect(filesBelow(root)).toEqual([])
    expect(await answerOf(putSmall(place, newId()))).toBe('durable')
  })

  test('in a batch, while a large blob is renamed: that one fails, too', async () => {
    const held = Promise.withResolvers<void>()
    const renamed = Promise.withResolvers<void>()
    const { writer, batches } = writerOf(async (_write, files) => {
      await held.promise
      return files.map(() => notSynced)
    })
    const place = new DirectoryPlace(root, {
      batches: new FileBatches(writer),
      calls: {
        ...fileCalls,
        async rename(from, to) {
          await fileCalls.rename(from, to)
          held.resolve()
          await renamed.promise
        },
      },
    })
    const small = answerOf(putSmall(place, newId()))
    await eventually('the batch is sent', () => batches.length === 1 || undefined)
    const large = answerOf(putSmall(place, newId(), 100_000))
    expect(await small).toBe('unavailable')
    renamed.resolve()
    expect(await large).toBe('unavailable')
    expect(filesBelow(root)).toEqual([])
  })
})
