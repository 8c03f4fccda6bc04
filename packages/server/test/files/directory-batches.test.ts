import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { blobPath, newBlobId } from '../../src/core/files/blob-id.ts'
import { DirectoryPlace } from '../../src/files/places/directory.ts'
import { BatchLost, BatchThread, type BatchWriter, FileBatches } from '../../src/files/places/file-batches.ts'
import { fileCalls } from '../../src/files/places/file-calls.ts'
import { type Batch, type BatchFault, type BatchFaults, writeBatch } from '../../src/files/places/write-batch.ts'
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

type Around = (write: () => BatchFaults, batch: Batch) => BatchFaults | Promise<BatchFaults>

/** Writes batches in this thread. `around` may come before or after, or instead. */
const writerOf = (around: Around) => {
  const batches: Batch[] = []
  const writer: BatchWriter = {
    async write(batch) {
      batches.push(batch)
      return around(() => writeBatch(batch), batch)
    },
    async close() {},
  }
  return { writer, batches }
}

const placeOf = (around: Around, calls = fileCalls) => {
  const { writer, batches } = writerOf(around)
  return { place: new DirectoryPlace(root, { batches: new FileBatches(writer), calls }), batches }
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

  test('a removal takes the directories with it if they are old and empty, and later ones are made anew', async () => {
    const old = new DirectoryPlace(root, { batches: new FileBatches(), now: () => nowMs + 10 * 24 * 60 * 60 * 1000 })
    try {
      const ids = [newId(), newId()]
      for (const id of ids) {
        await putSmall(old, id)
        await old.remove(id)
        expect(readdirSync(root)).toEqual([])
      }
    } finally {
      await old.close()
    }
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

  // A process that sweeps meanwhile would find nothing to remove, and forget the row of a file that comes later.
  test('a place that is closed: what is answered as durable is there, and nothing else comes after the answers', async () => {
    let [durable, failed] = [0, 0]
    for (let round = 0; durable === 0 || failed === 0 || round < 20; round++) {
      const closing = new DirectoryPlace(root, { batches: new FileBatches() })
      expect(closing.mayWriteLate()).toBe(false)
      await putSmall(closing, newId())
      const ids = Array.from({ length: 60 }, newId)
      const before = filesBelow(root)
      const putting = ids.map((id) => answerOf(putSmall(closing, id, 65_536)))
      for (let n = 0; n < round % 20; n++) await new Promise((resolve) => setImmediate(resolve))
      const closed = closing.close()
      const answers = await Promise.all(putting)
      const there = filesBelow(root)
      await closed
      const paths = ids.filter((_, n) => answers[n] === 'durable').map(blobPath)
      expect(there).toEqual([...before, ...paths].sort())
      expect(filesBelow(root)).toEqual(there)
      // If its thread had not ended in time, it could have written on.
      expect(closing.mayWriteLate()).toBe(true)
      durable += paths.length
      failed += ids.length - paths.length
    }
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

test('what comes in one turn of the event loop is one batch; when there are many, the thread gets the first at once', async () => {
  const { place, batches } = placeOf((write) => write())
  await putSmall(place, newId())
  batches.length = 0
  await Promise.all(Array.from({ length: 5 }, () => putSmall(place, newId())))
  expect(batches.map(({ files }) => files.length)).toEqual([5])
  await Promise.all(Array.from({ length: 20 }, () => putSmall(place, newId())))
  expect(batches.map(({ files }) => files.length)).toEqual([5, 8, 8, 4])
})

describe('batches of a thread', () => {
  const fileOf = (name: string, directory = top) => ({ directory, name, bytes: content(1_000) })
  const none = { files: [undefined], directories: [] }

  test('that are written together: each gets its own faults', async () => {
    const thread = new BatchThread()
    try {
      writeFileSync(join(top, 'b.part'), 'of another')
      const missing = join(top, 'none')
      const faults = await Promise.all([
        thread.write({ files: [fileOf('a'), fileOf('b')], directories: [] }),
        thread.write({ files: [], directories: [top, missing] }),
        thread.write({ files: [fileOf('c', missing), fileOf('d'), fileOf('e')], directories: [missing] }),
        thread.write({ files: [fileOf('f')], directories: [] }),
      ])
      const text = expect.any(String)
      const notSynced = { code: 'ENOENT', message: text, kind: 'namesNotSynced' as const }
      expect(faults).toEqual([
        { files: [undefined, { code: 'EEXIST', message: text }], directories: [] },
        { files: [], directories: [undefined, notSynced] },
        {
          files: [{ code: 'ENOENT', message: text, kind: 'noDirectory' as const }, undefined, undefined],
          directories: [notSynced],
        },
        none,
      ])
      expect(filesBelow(top)).toEqual(['a', 'b.part', 'd', 'e', 'f'])
      for (const name of ['a', 'd', 'e', 'f']) {
        expect(Buffer.compare(readFileSync(join(top, name)), content(1_000))).toBe(0)
      }
    } finally {
      await thread.close()
    }
  })

  /** A thread that does what the name of the first file says. */
  const threadThatFails = (): BatchThread => {
    const script = join(top, 'thread.ts')
    writeFileSync(
      script,
      `self.onmessage = ({ data }) => {
        if ('close' in data) return self.postMessage({ closed: true })
        const [[, name]] = JSON.parse(data.files)
        if (name === 'throws') throw new Error('planted')
        if (name === 'exits') process.exit(1)
        if (name === 'stuck') for (;;);
        if (name !== 'silent') self.postMessage({ written: [[data.batch, { files: [undefined], directories: [] }]] })
      }`,
    )
    return new BatchThread(Bun.pathToFileURL(script).href)
  }
  const write = (thread: BatchThread, name: string): Promise<BatchFaults> =>
    thread.write({ files: [fileOf(name)], directories: [] })

  for (const name of ['throws', 'exits']) {
    test(`that ${name}: what it had fails, and the next batch starts another`, async () => {
      const thread = threadThatFails()
      try {
        expect(await write(thread, 'good')).toEqual(none)
        const lost = await Promise.allSettled([write(thread, 'silent'), write(thread, name)])
        for (const { status, reason } of lost as PromiseRejectedResult[]) {
          expect(status).toBe('rejected')
          expect(reason).toBeInstanceOf(BatchLost)
          expect(reason.message).toContain(name === 'throws' ? 'planted' : 'it has ended')
        }
        expect(await write(thread, 'good')).toEqual(none)
      } finally {
        await thread.close()
      }
    })
  }

  test('that is closed: what it had fails, and so does what comes later', async () => {
    const thread = threadThatFails()
    const waiting = write(thread, 'silent').catch((error) => error)
    await thread.close()
    expect(await waiting).toBeInstanceOf(BatchLost)
    expect((await waiting).message).toContain('is closed')
    const stuck = threadThatFails()
    const lost = write(stuck, 'stuck').catch((error) => error)
    await stuck.close()
    expect(await lost).toBeInstanceOf(BatchLost)
    expect(await write(thread, 'good').catch((error) => error)).toBeInstanceOf(BatchLost)
    await thread.close()
    const unused = threadThatFails()
    await unused.close()
    expect(await write(unused, 'good').catch((error) => error)).toBeInstanceOf(BatchLost)
  })
})

for (const [code, answer] of [
  ['EIO', 'unavailable'],
  ['ENOSPC', 'storage_full'],
  ['EDQUOT', 'storage_full'],
] as const) {
  test(`a file that fails with ${code}: ${answer}, and nothing is left; the one beside it is durable`, async () => {
    const bad = newId()
    const { place } = placeOf((write, { files }) => {
      const faults = write()
      files.forEach(({ directory, name }, i) => {
        if (name !== bad) return
        rmSync(join(directory, bad))
        faults.files[i] = { code, message: `${code}: it failed` }
      })
      return faults
    })
    const good = newId()
    const [error] = await Promise.all([putSmall(place, bad).catch((error) => error), putSmall(place, good)])
    expect(error).toMatchObject({ code: answer, cause: `files: ${code}: it failed` })
    expect(error.message + JSON.stringify(error.hint ?? '')).not.toContain(top)
    expect(filesBelow(root)).toEqual([blobPath(good)])
  })
}

test('a thread that fails: its files have failed and are gone, and the next are written', async () => {
  let fails = false
  const { place } = placeOf((write) => {
    const faults = write()
    if (fails) throw new BatchLost('the thread failed')
    return faults
  })
  const ids = [newId(), newId()]
  await putSmall(place, ids[0]!)
  fails = true
  const answers = await Promise.all([newId(), newId()].map((id) => answerOf(putSmall(place, id))))
  expect(answers).toEqual(['unavailable', 'unavailable'])
  expect(filesBelow(root)).toEqual([blobPath(ids[0]!)])
  fails = false
  await putSmall(place, ids[1]!)
  expect(filesBelow(root)).toEqual(ids.map(blobPath).sort())
})

// The kernel may have dropped the names of all of them, and reports it once: the next sync succeeds.
describe('a sync of the names', () => {
  const notSynced: BatchFault = { code: 'EIO', message: 'EIO: it failed', kind: 'namesNotSynced' }
  const allFail = ({ files, directories }: Batch): BatchFaults => ({
    files: files.map(() => notSynced),
    directories: directories.map(() => notSynced),
  })

  type Outcome = 'ok' | 'fails' | 'lost'

  /** A place with one small blob, and what is in progress in it then: each batch waits until `release` answers it, in order. */
  const heldPlace = async (calls = fileCalls) => {
    let isHeld = false
    const held: PromiseWithResolvers<Outcome>[] = []
    const { place, batches } = placeOf(async (write, batch) => {
      if (!isHeld) return write()
      const answer = Promise.withResolvers<Outcome>()
      held.push(answer)
      const outcome = await answer.promise
      if (outcome === 'lost') throw new BatchLost('the thread failed')
      return outcome === 'ok' ? write() : allFail(batch)
    }, calls)
    const id = newId()
    await putSmall(place, id)
    isHeld = true
    batches.length = 0
    /** Begins work that sends a batch. Its answer is in an array, since an async function waits for a promise that it returns. */
    const begin = async (work: () => Promise<void>): Promise<Promise<unknown>[]> => {
      const sent = batches.length
      const answer = answerOf(work())
      await eventually('its batch is sent', () => batches.length > sent || undefined)
      return [answer]
    }
    const release = (...answers: Outcome[]): void => {
      for (const answer of answers) held.shift()!.resolve(answer)
      isHeld = held.length > 0
    }
    return { place, id, begin, release }
  }

  const works = {
    'a small blob': (place: DirectoryPlace) => putSmall(place, newId()),
    'a large blob': (place: DirectoryPlace) => putSmall(place, newId(), 100_000),
    'a removal': (place: DirectoryPlace, id: string) => place.remove(id),
  }
  for (const [first, doFirst] of Object.entries(works)) {
    for (const [second, doSecond] of Object.entries(works)) {
      // Such a second one sends its sync when that of the first has ended: see directory-faults.test.ts.
      if (first !== 'a small blob' && second !== 'a small blob') continue
      test(`of ${first} fails: ${second} that was begun before it ended fails, too, and a later one does not`, async () => {
        const { place, id, begin, release } = await heldPlace()
        const [one] = await begin(() => doFirst(place, id))
        const [two] = await begin(() => doSecond(place, id))
        release('fails', 'ok')
        expect(await Promise.all([one, two])).toEqual(['unavailable', 'unavailable'])
        expect(filesBelow(root).filter((path) => path !== blobPath(id))).toEqual([])
        await putSmall(place, newId())
        await place.remove(id)
      })

      test(`of ${second} fails, after ${first} was synced: that one is durable`, async () => {
        const { place, id, begin, release } = await heldPlace()
        const [one] = await begin(() => doFirst(place, id))
        const [two] = await begin(() => doSecond(place, id))
        release('ok')
        expect(await one).toBe('durable')
        release('fails')
        expect(await two).toBe('unavailable')
      })
    }
  }

  for (const [how, answer] of [
    ['that fails', 'fails'],
    ['whose outcome is lost with the thread', 'lost'],
  ] as const) {
    test(`${how}, while a large blob is renamed: that one fails, too`, async () => {
      const renamed = Promise.withResolvers<void>()
      const isRenamed = Promise.withResolvers<void>()
      const { place, begin, release } = await heldPlace({
        ...fileCalls,
        async rename(from, to) {
          await fileCalls.rename(from, to)
          isRenamed.resolve()
          await renamed.promise
        },
      })
      const [small] = await begin(() => putSmall(place, newId()))
      const large = answerOf(putSmall(place, newId(), 100_000))
      await isRenamed.promise
      release(answer)
      expect(await small).toBe('unavailable')
      renamed.resolve()
      expect(await large).toBe('unavailable')
    })
  }
})
