import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { blobPath, newBlobId } from '../../src/core/files/blob-id.ts'
import { newBlobStoreMark, newStoreId } from '../../src/core/files/blob-store-mark.ts'
import { DirectoryBlobStore } from '../../src/files/blob-stores/directory.ts'
import { BlobMissing } from '../../src/store/blob-store.ts'
import { eventually, makeTempDir, removeTempDir } from '../harness.ts'
import { collect, content, filesBelow, openFiles, put } from './blob-fixture.ts'

const dayMs = 24 * 60 * 60 * 1000

let top: string
let root: string
let blobStore: DirectoryBlobStore
beforeEach(() => {
  top = makeTempDir()
  root = join(top, 'a', 'files')
  blobStore = new DirectoryBlobStore(root)
})
afterEach(() => removeTempDir(top))

const newId = (): string => newBlobId(Date.now())
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

describe('write and read', () => {
  test('a blob has the bytes that were written, whatever the chunks and whether its length is known', async () => {
    for (const size of [0, 1, 4_095, 131_071, 131_072, 131_073, 700_000]) {
      const bytes = content(size)
      for (const chunkBytes of [1_000, 65_536, 1_000_000]) {
        for (const known of [undefined, size, 10]) {
          const id = newId()
          await put(blobStore, id, bytes, { chunkBytes, known })
          expect(await blobStore.size(id)).toBe(size)
          expect(Buffer.compare(readFileSync(join(root, blobPath(id))), bytes)).toBe(0)
          expect(Buffer.compare(await collect(blobStore, id, 0, size), bytes)).toBe(0)
        }
      }
    }
    expect(filesBelow(root).filter((name) => name.endsWith('.part'))).toEqual([])
  })

  test('a chunk may be changed as soon as its write has resolved', async () => {
    const id = newId()
    const writer = await blobStore.write(id)
    const chunk = new Uint8Array(50_000)
    for (let i = 0; i < 20; i++) {
      chunk.fill(i)
      await writer.write(chunk)
    }
    chunk.fill(99)
    await writer.finish('')
    const bytes = await collect(blobStore, id, 0, 1_000_000)
    for (let i = 0; i < 20; i++) expect([bytes[i * 50_000], bytes[i * 50_000 + 49_999]]).toEqual([i, i])
  })

  test('ranges, in chunks of at most 256 KiB', async () => {
    const bytes = content(1_500_000)
    const id = newId()
    await put(blobStore, id, bytes)
    const edges = [0, 1, 262_143, 262_144, 262_145, 524_288, 1_499_999, 1_500_000]
    for (const start of edges) {
      for (const end of edges.filter((edge) => edge >= start)) {
        const chunks: Uint8Array[] = []
        for await (const chunk of await blobStore.read(id, start, end)) chunks.push(chunk)
        expect(Buffer.compare(Buffer.concat(chunks), bytes.subarray(start, end))).toBe(0)
        for (const chunk of chunks) expect(chunk.length).toBeLessThanOrEqual(262_144)
      }
    }
  })

  test('files and directories are for their owner alone', async () => {
    const before = process.umask(0)
    try {
      const id = newId()
      const writer = await blobStore.write(id)
      expect(modeOf(join(root, `${blobPath(id)}.part`))).toBe('600')
      await writer.finish('')
      await blobStore.writeMark(newBlobStoreMark(newStoreId()))
      expect(modeOf(join(root, blobPath(id)))).toBe('600')
      expect(modeOf(join(root, 'cubby-files.mark'))).toBe('600')
      const directory = dirname(join(root, blobPath(id)))
      for (const path of [directory, dirname(directory), root, dirname(root)]) expect(modeOf(path)).toBe('700')
    } finally {
      process.umask(before)
    }
  })

  test('an id that is a path is never used as one', async () => {
    for (const id of ['../../../../etc/passwd', '', `${newId()}/x`, newId().toUpperCase().replace(/^./, 'F')]) {
      await expect(blobStore.write(id)).rejects.toThrow('not the id of a blob')
      await expect(blobStore.read(id, 0, 1)).rejects.toThrow()
      await expect(blobStore.remove(id)).rejects.toThrow()
    }
    expect(existsSync(root)).toBe(false)
  })

  test('a blob that is missing, or shorter than the range: BlobMissing before the first byte', async () => {
    await put(blobStore, newId(), content(10))
    for (const end of [1, 300_000]) await expect(blobStore.read(newId(), 0, end)).rejects.toThrow(BlobMissing)
    expect(await blobStore.size(newId())).toBeUndefined()
    const id = newId()
    await put(blobStore, id, content(300_000))
    await expect(blobStore.read(id, 299_999, 300_001)).rejects.toThrow(BlobMissing)
    await expect(blobStore.read(id, 0, 300_001)).rejects.toThrow(BlobMissing)
    expect(openFiles(root)).toEqual([])
  })

  test('a stream that ends early, or is never begun but returned, leaves no file open', async () => {
    const id = newId()
    await put(blobStore, id, content(1_000_000))
    for await (const _ of await blobStore.read(id, 0, 1_000_000)) break
    const unread = (await blobStore.read(id, 0, 1_000_000))[Symbol.asyncIterator]()
    expect(openFiles(root)).toHaveLength(1)
    await unread.return!()
    expect(await unread.next()).toEqual({ done: true, value: undefined })
    const last = (await blobStore.read(id, 0, 262_145))[Symbol.asyncIterator]()
    await last.next()
    await last.next()
    expect(openFiles(root)).toEqual([])
  })

  test('a blob that is cut while it is read ends the stream with an error, not with fewer bytes', async () => {
    const id = newId()
    await put(blobStore, id, content(1_000_000))
    const stream = (await blobStore.read(id, 0, 1_000_000))[Symbol.asyncIterator]()
    await stream.next()
    writeFileSync(join(root, blobPath(id)), content(300_000))
    await expect(stream.next()).rejects.toMatchObject({ code: 'unavailable' })
    expect(openFiles(root)).toEqual([])
  })
})

describe('abort and remove', () => {
  test('abort leaves nothing, during a write too; after a finish it changes nothing', async () => {
    const id = newId()
    const writer = await blobStore.write(id)
    const writing = writer.write(content(2_000_000)).catch((error) => error)
    await writer.abort()
    expect(await writing).toMatchObject({ code: 'unavailable' })
    await expect(writer.write(content(1))).rejects.toMatchObject({ code: 'unavailable' })
    await expect(writer.finish('')).rejects.toMatchObject({ code: 'unavailable' })
    await writer.abort()
    expect([filesBelow(root), openFiles(root)]).toEqual([[], []])

    const other = newId()
    const finished = await blobStore.write(other)
    await finished.write(content(10))
    const finishing = finished.finish('')
    await finished.abort()
    await finishing
    await finished.abort()
    expect(filesBelow(root)).toEqual([blobPath(other)])
  })

  test('remove: the blob, what an interrupted write left, and what is gone already', async () => {
    const [whole, part] = [newId(), newId()]
    await put(blobStore, whole, content(10))
    const writer = await blobStore.write(part)
    await writer.write(content(200_000))
    await blobStore.remove(whole)
    await blobStore.remove(part)
    await expect(writer.finish('')).rejects.toMatchObject({ code: 'unavailable' })
    await blobStore.remove(part)
    await blobStore.remove(newBlobId(1))
    expect(filesBelow(root)).toEqual([])
  })

  test('directories are removed when they are empty and a day old by the time of the id', async () => {
    const bornMs = Date.parse('2026-03-01T12:00:00Z')
    let nowMs = bornMs
    blobStore = new DirectoryBlobStore(root, { now: () => nowMs })
    const [first, second, third] = [newBlobId(bornMs), newBlobId(bornMs), newBlobId(bornMs)]
    for (const id of [first, second, third]) await put(blobStore, id, content(5))
    const directory = dirname(join(root, blobPath(first)))
    await blobStore.remove(first)
    nowMs += dayMs + 18 * 60_000
    await blobStore.remove(second)
    expect(readdirSync(directory)).toEqual([third])
    await blobStore.remove(third)
    expect(existsSync(directory)).toBe(false)
    // The directory above is for three days of ids.
    expect(existsSync(dirname(directory))).toBe(true)
    nowMs += 4 * dayMs
    await blobStore.remove(third)
    expect(readdirSync(root)).toEqual([])
    // Written to again, by a process whose clock is behind.
    await put(blobStore, third, content(7))
    expect(await blobStore.size(third)).toBe(7)
  })

  test('a young directory stays, although it is empty', async () => {
    const id = newId()
    await put(blobStore, id, content(5))
    await blobStore.remove(id)
    expect(existsSync(dirname(join(root, blobPath(id))))).toBe(true)
  })
})

describe('the mark', () => {
  test('is written once: of two processes at the same time both have the same', async () => {
    expect(await blobStore.readMark()).toBeUndefined()
    const marks = Array.from({ length: 8 }, () => newBlobStoreMark(newStoreId()))
    const found = await Promise.all(marks.map((mark) => new DirectoryBlobStore(root).writeMark(mark)))
    expect(new Set(found).size).toBe(1)
    expect(marks).toContain(found[0]!)
    expect(await blobStore.readMark()).toBe(found[0])
    expect(await blobStore.writeMark(newBlobStoreMark(newStoreId()))).toBe(found[0]!)
    expect(readdirSync(root)).toEqual(['cubby-files.mark'])
  })

  test('a place that cannot be read is not one without a mark', async () => {
    mkdirSync(dirname(root), { recursive: true })
    writeFileSync(root, 'a file')
    await expect(blobStore.readMark()).rejects.toMatchObject({ code: 'unavailable' })
    rmSync(root)
    mkdirSync(join(root, 'cubby-files.mark'), { recursive: true })
    await expect(blobStore.readMark()).rejects.toMatchObject({ code: 'unavailable' })
    rmSync(root, { recursive: true })
    mkdirSync(root)
    // One that is damaged is a mark, and is not written over.
    for (const damaged of ['', 'abc']) {
      writeFileSync(join(root, 'cubby-files.mark'), damaged)
      expect(await blobStore.readMark()).toBe(damaged)
      expect(await blobStore.writeMark(newBlobStoreMark(newStoreId()))).toBe(damaged)
    }
    const mark = newBlobStoreMark(newStoreId())
    expect(await blobStore.writeMark(mark, 'replace')).toBe(mark)
    expect(readdirSync(root)).toEqual(['cubby-files.mark'])
  })

  // The directory is there and empty, as if its disk was unmounted. Without this check, rows of blobs would be forgotten,
  // records called damaged, and new bytes written where nobody finds them.
  test('a place that has lost its mark: nothing is called missing, removed or written', async () => {
    await blobStore.writeMark(newBlobStoreMark(newStoreId()))
    const id = newId()
    await put(blobStore, id, content(5))
    rmSync(root, { recursive: true })
    mkdirSync(root)
    for (const attempt of [() => blobStore.read(id, 0, 5), () => blobStore.size(id), () => blobStore.remove(id)]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'unavailable' })
    }
    await expect(blobStore.write(newId())).rejects.toMatchObject({ code: 'unavailable' })
    expect(filesBelow(root)).toEqual([])
    rmSync(root, { recursive: true })
    await expect(blobStore.write(newId())).rejects.toMatchObject({ code: 'unavailable' })
    expect(existsSync(root)).toBe(false)
  })
})

// A link that somebody put into the directory could have any file of the server read, or blobs written and removed elsewhere.
describe('a symbolic link', () => {
  const outside = (): string => join(top, 'outside')
  const directoryOf = (id: string): string => dirname(join(root, blobPath(id)))

  /** The directory is elsewhere, and a link leads to it. */
  const replaceByLink = (path: string): void => {
    renameSync(path, outside())
    symlinkSync(outside(), path)
  }

  test('as the directory itself is followed', async () => {
    mkdirSync(outside())
    mkdirSync(dirname(root))
    symlinkSync(outside(), root)
    const id = newId()
    const mark = newBlobStoreMark(newStoreId())
    await put(blobStore, id, content(10))
    expect(await blobStore.writeMark(mark)).toBe(mark)
    expect(await blobStore.size(id)).toBe(10)
    expect(await collect(blobStore, id, 0, 10)).toEqual(content(10))
    await blobStore.remove(id)
    expect(filesBelow(outside())).toEqual(['cubby-files.mark'])
  })

  test('in the place of a blob is no blob, and is removed without what it leads to', async () => {
    const id = newId()
    await put(blobStore, id, content(10))
    const path = join(root, blobPath(id))
    replaceByLink(path)
    expect(await blobStore.size(id)).toBeUndefined()
    for (const end of [1, 10]) await expect(blobStore.read(id, 0, end)).rejects.toThrow(BlobMissing)
    expect(openFiles(top)).toEqual([])
    await blobStore.remove(id)
    expect([existsSync(path), readFileSync(outside()).length]).toEqual([false, 10])
  })

  for (const [what, above] of [
    ['directory of a blob', (id: string) => directoryOf(id)],
    ['directory above it', (id: string) => dirname(directoryOf(id))],
  ] as const) {
    test(`in the place of the ${what}: nothing is read, written or removed there`, async () => {
      const id = newId()
      await put(blobStore, id, content(10))
      replaceByLink(above(id))
      const before = filesBelow(outside())
      expect(await blobStore.size(id)).toBeUndefined()
      await expect(blobStore.read(id, 0, 10)).rejects.toThrow(BlobMissing)
      await expect(blobStore.remove(id)).rejects.toMatchObject({
        code: 'unavailable',
        cause: expect.stringContaining('is a symbolic link'),
      })
      const next = newBlobId(Number.parseInt(id.slice(0, 12), 16))
      // One that has used the directory, and one that has not.
      for (const other of [blobStore, new DirectoryBlobStore(root)]) {
        await expect(put(other, next, content(5))).rejects.toMatchObject({
          code: 'unavailable',
          cause: expect.stringContaining('is a symbolic link'),
        })
      }
      expect([filesBelow(outside()), openFiles(top)]).toEqual([before, []])
    })

    test(`in the place of the ${what}, where blobs were read before: nothing is read a second later`, async () => {
      const id = newId()
      await put(blobStore, id, content(10))
      await collect(blobStore, id, 0, 10)
      replaceByLink(above(id))
      const refused = () =>
        collect(blobStore, id, 0, 10).then(
          () => undefined,
          (error) => error,
        )
      expect(await eventually('it is refused', refused)).toBeInstanceOf(BlobMissing)
    })

    test(`in the place of the ${what}: small files, whose length is known, are not either`, async () => {
      const id = newId()
      await put(blobStore, id, content(10), { known: 10 })
      replaceByLink(above(id))
      const before = filesBelow(outside())
      const next = newBlobId(Number.parseInt(id.slice(0, 12), 16))
      const error = await put(blobStore, next, content(5), { known: 5 }).catch((thrown) => thrown)
      expect(error).toMatchObject({ code: 'unavailable', cause: expect.stringContaining('is a symbolic link') })
      expect(filesBelow(outside())).toEqual(before)
    })
  }

  test('in the place of the directory above, while there is none below it: none is made there', async () => {
    const id = newId()
    mkdirSync(outside())
    mkdirSync(root, { recursive: true })
    symlinkSync(outside(), dirname(directoryOf(id)))
    await expect(put(blobStore, id, content(5))).rejects.toMatchObject({
      code: 'unavailable',
      cause: expect.stringContaining('is a symbolic link'),
    })
    expect(readdirSync(outside())).toEqual([])
  })

  test('in the place of the mark is none', async () => {
    mkdirSync(root, { recursive: true })
    writeFileSync(outside(), `${newBlobStoreMark(newStoreId())}\n`)
    symlinkSync(outside(), join(root, 'cubby-files.mark'))
    expect(await blobStore.readMark()).toBeUndefined()
    await expect(blobStore.writeMark(newBlobStoreMark(newStoreId()))).rejects.toMatchObject({ code: 'unavailable' })
  })
})

test('a mark that is a path is never used as one', async () => {
  mkdirSync(join(root, 'cubby-files.mark.'), { recursive: true })
  await expect(blobStore.writeMark('/../../../escaped')).rejects.toThrow('not the mark of a place')
  expect(readdirSync(top)).toEqual(['a'])
})
