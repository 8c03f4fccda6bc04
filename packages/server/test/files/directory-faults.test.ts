import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { blobPath, newBlobId } from '../../src/core/files/blob-id.ts'
import { newBlobStoreMark, newStoreId } from '../../src/core/files/blob-store-mark.ts'
import { DirectoryBlobStore } from '../../src/files/blob-stores/directory.ts'
import { type FileCalls, fileCalls } from '../../src/files/blob-stores/file-calls.ts'
import { eventually, makeTempDir, removeTempDir } from '../harness.ts'
import { mountSmallDisk } from '../limits/small-disk.ts'
import { collect, content, filesBelow, openFiles, put } from './blob-fixture.ts'

// A disk that is full or fails. What was not synced must not be acknowledged, and what fails must leave nothing behind.

setDefaultTimeout(120_000)

let top: string
let root: string
beforeEach(() => {
  top = makeTempDir()
  root = join(top, 'files')
})
afterEach(() => removeTempDir(top))

const newId = (): string => newBlobId(Date.now())

const failure = (code: string, path: string): Error =>
  Object.assign(new Error(`${code}: it failed, '${path}'`), { code })

/** A place where `fails` can make a call fail: it gets the name of the call and the path. */
const faultyBlobStore = (fails: (call: keyof FileCalls, path: string) => string | undefined) => {
  const paths = new Map<number, string>()
  const made: string[] = []
  const calls = Object.fromEntries(
    Object.entries(fileCalls).map(([name, call]) => [
      name,
      async (...args: unknown[]) => {
        const path = typeof args[0] === 'number' ? paths.get(args[0])! : String(args[0])
        made.push(`${name} ${path.slice(root.length)}`)
        const code = fails(name as keyof FileCalls, path)
        // A close that fails closes nevertheless, as in the kernel.
        if (code !== undefined && name === 'close') await fileCalls.close(args[0] as number)
        if (code !== undefined) throw failure(code, path)
        const result = await (call as (...args: unknown[]) => Promise<unknown>)(...args)
        if (name === 'open') paths.set(result as number, path)
        return result
      },
    ]),
  ) as unknown as FileCalls
  return { blobStore: new DirectoryBlobStore(root, { calls }), made, calls }
}

const small = content(500_000)
const large = content(20 * 1024 * 1024)

describe('a call that fails', () => {
  const faults: Array<[string, keyof FileCalls, (path: string) => boolean]> = [
    ['making the directory', 'makeDirectory', (path) => path !== root],
    ['the sync of the directory above', 'sync', (path) => path === root],
    ['opening', 'open', (path) => path.endsWith('.part')],
    ['writing', 'write', () => true],
    ['the sync in between', 'dataSync', () => true],
    ['the sync of the file', 'sync', (path) => path.endsWith('.part')],
    ['closing', 'close', (path) => path.endsWith('.part')],
    ['the rename', 'rename', () => true],
    ['the sync of its directory', 'sync', (path) => /\/\w{5}\/\w\w$/.test(path)],
  ]
  for (const [what, call, isMeant] of faults) {
    for (const [code, answer] of [
      ['EIO', 'unavailable'],
      ['ENOSPC', 'storage_full'],
      ['EDQUOT', 'storage_full'],
    ] as const) {
      test(`${what}, ${code}: ${answer}, nothing is left behind, and the next upload works`, async () => {
        let left = 1
        const { blobStore } = faultyBlobStore((name, path) =>
          name === call && isMeant(path) && left-- > 0 ? code : undefined,
        )
        const id = newId()
        const error = await put(blobStore, id, call === 'dataSync' ? large : small, { chunkBytes: 100_000 }).catch(
          (thrown) => thrown,
        )
        expect(error).toMatchObject({ code: answer, cause: expect.stringContaining(code) })
        expect(error.message + JSON.stringify(error.hint ?? '')).not.toContain(top)
        expect([filesBelow(root), openFiles(root)]).toEqual([[], []])
        const next = newId()
        await put(blobStore, next, content(1_000))
        expect(filesBelow(root)).toEqual([blobPath(next)])
      })
    }
  }

  test('a failed sync is not repeated: not by finish, nor by a second finish, nor by abort', async () => {
    const { blobStore, made } = faultyBlobStore((name, path) =>
      name === 'sync' && path.endsWith('.part') ? 'EIO' : undefined,
    )
    const writer = await blobStore.write(newId())
    await writer.write(content(10))
    for (const _ of [1, 2]) await expect(writer.finish('')).rejects.toMatchObject({ code: 'unavailable' })
    await writer.abort()
    expect(made.filter((call) => /^(data)?[sS]ync .*part$/.test(call))).toHaveLength(1)
    expect(made.filter((call) => call.startsWith('rename'))).toEqual([])
  })

  // The next sync of the directory above would succeed, whatever became of the name of the new one.
  test('a new directory whose name could not be synced is removed, so that its name is a new change next time', async () => {
    let left = 1
    const { blobStore } = faultyBlobStore((name, path) =>
      name === 'sync' && path === root && left-- > 0 ? 'EIO' : undefined,
    )
    await expect(blobStore.write(newId())).rejects.toMatchObject({ code: 'unavailable' })
    expect(readdirSync(root)).toEqual([])
    await put(blobStore, newId(), content(10))
  })

  // Both change names in the directory of three days: the one makes a directory in it, the other removes one.
  test('a directory that is made while the sync of a removal beside it fails is not taken as durable', async () => {
    const daysMs = 16 ** 7
    const dayMs = 24 * 60 * 60_000
    const startMs = Math.floor(Date.now() / daysMs) * daysMs
    const [old, fresh] = [newBlobId(startMs), newBlobId(startMs + 2 * dayMs)]
    const above = dirname(dirname(join(root, blobPath(fresh))))
    const isMade = Promise.withResolvers<void>()
    const mayGoOn = Promise.withResolvers<void>()
    let holds = false
    let fails = false
    const descriptors = new Map<number, string>()
    const blobStore = new DirectoryBlobStore(root, {
      now: () => startMs + 3 * dayMs,
      calls: {
        ...fileCalls,
        async open(path, ...rest) {
          const descriptor = await fileCalls.open(path, ...rest)
          descriptors.set(descriptor, path)
          return descriptor
        },
        async sync(descriptor) {
          if (fails && descriptors.get(descriptor) === above) throw failure('EIO', above)
          return fileCalls.sync(descriptor)
        },
        async makeDirectory(path, mode) {
          await fileCalls.makeDirectory(path, mode)
          if (!holds) return
          isMade.resolve()
          await mayGoOn.promise
        },
      },
    })
    await put(blobStore, old, small)
    holds = true
    const uploading = put(blobStore, fresh, small).catch((error) => error)
    await isMade.promise
    fails = true
    await expect(blobStore.remove(old)).rejects.toMatchObject({ code: 'unavailable' })
    fails = false
    mayGoOn.resolve()
    expect(await uploading).toMatchObject({ code: 'unavailable' })
    expect(filesBelow(root)).toEqual([])
    holds = false
    await put(blobStore, fresh, small)
    expect(filesBelow(root)).toEqual([blobPath(fresh)])
  })

  test('a failed sync in between fails the upload, although the last one would succeed', async () => {
    let left = 1
    const { blobStore, made } = faultyBlobStore((name) => (name === 'dataSync' && left-- > 0 ? 'EIO' : undefined))
    const writer = await blobStore.write(newId())
    await writer.write(large.subarray(0, 16 * 1024 * 1024))
    await expect(writer.finish('')).rejects.toMatchObject({ code: 'unavailable' })
    expect(made.some((call) => /^sync .*part$/.test(call))).toBe(false)
  })

  test('writes that take a part of the bytes are continued', async () => {
    const blobStore = new DirectoryBlobStore(root, {
      calls: {
        ...fileCalls,
        write: (file, bytes, at, length) => fileCalls.write(file, bytes, at, Math.min(length, 999)),
      },
    })
    const id = newId()
    await put(blobStore, id, content(300_000))
    expect(Buffer.compare(await collect(blobStore, id, 0, 300_000), content(300_000))).toBe(0)
  })

  test('a disk that takes no byte and reports nothing does not make a write run for ever', async () => {
    let writes = 0
    const write = async (): Promise<number> => {
      if (++writes > 100) throw new Error('it was tried for ever')
      return 0
    }
    const blobStore = new DirectoryBlobStore(root, { calls: { ...fileCalls, write } })
    await expect(put(blobStore, newId(), content(10))).rejects.toMatchObject({
      code: 'unavailable',
      cause: expect.stringContaining('no byte could be written'),
    })
  })

  test('a read that fails ends the stream, and leaves no file open', async () => {
    let reads = 0
    const { blobStore } = faultyBlobStore((name) => (name === 'read' && ++reads > 2 ? 'EIO' : undefined))
    const id = newId()
    await put(blobStore, id, content(1_000_000))
    const stream = (await blobStore.read(id, 0, 1_000_000))[Symbol.asyncIterator]()
    await stream.next()
    await stream.next()
    await expect(stream.next()).rejects.toMatchObject({ code: 'unavailable', cause: expect.stringContaining('EIO') })
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    await expect(blobStore.read(id, 0, 10)).rejects.toMatchObject({ code: 'unavailable' })
    expect(openFiles(root)).toEqual([])
  })

  test('a removal whose sync fails is not done; a place that may not be read has no absence', async () => {
    const mark = await new DirectoryBlobStore(root).writeMark(newBlobStoreMark(newStoreId()))
    let failing: [keyof FileCalls, string] | undefined
    const { blobStore } = faultyBlobStore((name) => (failing?.[0] === name ? failing[1] : undefined))
    expect(await blobStore.readMark()).toBe(mark)
    const id = newId()
    await put(blobStore, id, content(10))
    failing = ['sync', 'EIO']
    await expect(blobStore.remove(id)).rejects.toMatchObject({ code: 'unavailable' })
    failing = ['unlink', 'EACCES']
    await expect(blobStore.remove(id)).rejects.toMatchObject({ code: 'unavailable' })
    failing = ['open', 'EACCES']
    await expect(blobStore.readMark()).rejects.toMatchObject({ code: 'unavailable' })
    await expect(blobStore.read(id, 0, 1)).rejects.toMatchObject({ code: 'unavailable' })
    failing = ['lstat', 'EIO']
    await expect(blobStore.size(id)).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('a removal while the upload ends leaves nothing, whichever is first', async () => {
    const id = newId()
    let between: (() => Promise<void>) | undefined
    const calls: FileCalls = {
      ...fileCalls,
      async unlink(path) {
        const then = between
        between = undefined
        await fileCalls.unlink(path).finally(() => then?.())
      },
    }
    const blobStore = new DirectoryBlobStore(root, { calls })
    const writer = await blobStore.write(id)
    await writer.write(content(10))
    between = () => writer.finish('').catch(() => {})
    await blobStore.remove(id)
    expect(filesBelow(root)).toEqual([])
  })

  test('an abort waits for the write that is in flight: its descriptor could be that of another file by then', async () => {
    const inUse = new Set<number>()
    const wrong: string[] = []
    const blobStore = new DirectoryBlobStore(root, {
      calls: {
        ...fileCalls,
        async write(file, ...rest) {
          inUse.add(file)
          await Bun.sleep(5)
          const bytes = await fileCalls.write(file, ...rest)
          inUse.delete(file)
          return bytes
        },
        close(file) {
          if (inUse.has(file)) wrong.push(`closed ${file} during a write`)
          return fileCalls.close(file)
        },
      },
    })
    const writer = await blobStore.write(newId())
    const writing = writer.write(content(500_000)).catch(() => {})
    await Bun.sleep(2)
    await writer.abort()
    await writing
    expect(wrong).toEqual([])
    expect(filesBelow(root)).toEqual([])
  })
})

describe('syncs of a directory are shared', () => {
  /** A place whose syncs of directories of blobs take a while, with what happened in which order. */
  const slowBlobStore = (ends: (sync: number) => Promise<void> = () => Bun.sleep(20)) => {
    const directories = new Map<number, string>()
    const events: string[] = []
    let syncs = 0
    const calls: FileCalls = {
      ...fileCalls,
      async open(path, ...rest) {
        const descriptor = await fileCalls.open(path, ...rest)
        if (/\/\w{5}\/\w\w$/.test(path)) directories.set(descriptor, path)
        else directories.delete(descriptor)
        return descriptor
      },
      async sync(descriptor) {
        if (!directories.has(descriptor)) return fileCalls.sync(descriptor)
        const sync = ++syncs
        events.push(`sync ${sync} begins`)
        await fileCalls.sync(descriptor)
        await ends(sync)
        events.push(`sync ${sync} ends`)
      },
      async rename(from, to) {
        await fileCalls.rename(from, to)
        events.push(`renamed ${to.slice(-32)}`)
      },
    }
    return { blobStore: new DirectoryBlobStore(root, { calls }), events, syncs: () => syncs }
  }

  test('64 uploads at once need a few, and each ends after one that began after its rename', async () => {
    const { blobStore, events, syncs } = slowBlobStore()
    const nowMs = Date.now()
    const ids = Array.from({ length: 64 }, () => newBlobId(nowMs))
    await Promise.all(
      ids.map(async (id) => {
        await put(blobStore, id, content(100))
        events.push(`finished ${id}`)
      }),
    )
    expect(syncs()).toBeLessThan(32)
    for (const id of ids) {
      const [renamed, finished] = [events.indexOf(`renamed ${id}`), events.indexOf(`finished ${id}`)]
      const begun = events.findIndex((event, at) => at > renamed && /^sync \d+ begins$/.test(event))
      expect(begun).toBeGreaterThan(renamed)
      const ended = events.indexOf(events[begun]!.replace('begins', 'ends'))
      expect(finished).toBeGreaterThan(ended)
    }
  })

  // The kernel may have dropped the names of all of them, and reports it once: the next sync succeeds.
  test('one that fails fails every upload that was renamed before it ended; later ones work', async () => {
    const renamed = (events: string[]) => events.filter((event) => event.startsWith('renamed')).length
    const { blobStore, events } = slowBlobStore(async (sync) => {
      if (sync > 1) return
      await eventually('all six are renamed', () => renamed(events) === 6 || undefined)
      throw failure('EIO', 'directory')
    })
    const nowMs = Date.now()
    const first = put(blobStore, newBlobId(nowMs), content(10)).catch((error) => error.code)
    await eventually('the first sync runs', () => events.includes('sync 1 begins') || undefined)
    const beside = Array.from({ length: 5 }, () =>
      put(blobStore, newBlobId(nowMs), content(10)).catch((error) => error.code),
    )
    const answers: unknown[] = await Promise.all([first, ...beside])
    expect(answers).toEqual(Array(6).fill('unavailable'))
    expect(filesBelow(root)).toEqual([])
    const later = newBlobId(nowMs)
    await put(blobStore, later, content(10))
    expect(filesBelow(root)).toEqual([blobPath(later)])
  })
})

describe('memory', () => {
  test('a writer holds at most 256 KiB that are not written', async () => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const calls: FileCalls = {
      ...fileCalls,
      async write(...args) {
        await held
        return fileCalls.write(...args)
      },
    }
    const blobStore = new DirectoryBlobStore(root, { calls })
    const writer = await blobStore.write(newId())
    let taken = 0
    const writing = (async () => {
      for (let i = 0; i < 100; i++) {
        await writer.write(content(10_000))
        taken += 10_000
      }
    })()
    await Bun.sleep(50)
    expect(taken).toBeLessThanOrEqual(262_144)
    expect(taken).toBeGreaterThan(200_000)
    release()
    await writing
    await writer.finish('')
  })

  test('a reader reads nothing ahead', async () => {
    let reads = 0
    const calls: FileCalls = {
      ...fileCalls,
      read(...args) {
        reads++
        return fileCalls.read(...args)
      },
    }
    const blobStore = new DirectoryBlobStore(root, { calls })
    const id = newId()
    await put(blobStore, id, content(1_000_000))
    const stream = (await blobStore.read(id, 0, 1_000_000))[Symbol.asyncIterator]()
    expect(reads).toBe(0)
    await stream.next()
    await Bun.sleep(20)
    expect(reads).toBe(1)
    await stream.return!()
  })
})

const disk = await mountSmallDisk(4 * 1_048_576)
const whyNot = typeof disk === 'string' ? ` (skipped: ${disk})` : ''

test.skipIf(typeof disk === 'string')(`a disk that is full${whyNot}`, async () => {
  if (typeof disk === 'string') return
  try {
    const blobStore = new DirectoryBlobStore(disk.outsideDir)
    const id = newId()
    await put(blobStore, id, content(1_000_000))
    for (const keepBytes of [0, 4_096, 300_000]) {
      disk.fill(keepBytes)
      await expect(put(blobStore, newId(), large)).rejects.toMatchObject({ code: 'storage_full' })
      expect(filesBelow(disk.outsideDir)).toEqual([blobPath(id), 'filler'])
      expect(Buffer.compare(await collect(blobStore, id, 0, 1_000_000), content(1_000_000))).toBe(0)
      disk.free()
    }
    await put(blobStore, newId(), content(1_000_000))
    // No room for a directory, or for the mark.
    disk.fill()
    const other = new DirectoryBlobStore(join(disk.outsideDir, 'other'))
    await expect(other.writeMark(newBlobStoreMark(newStoreId()))).rejects.toMatchObject({ code: 'storage_full' })
    expect(filesBelow(join(disk.outsideDir, 'other'))).toEqual([])
  } finally {
    await disk.remove()
  }
})

test('the directory of a blob that another process removes meanwhile is made again', async () => {
  const id = newId()
  const directory = dirname(join(root, blobPath(id)))
  let left = 2
  const { blobStore } = faultyBlobStore((name, path) =>
    name === 'open' && path.endsWith('.part') && left-- > 0 ? 'ENOENT' : undefined,
  )
  mkdirSync(directory, { recursive: true })
  await put(blobStore, id, content(10))
  left = 3
  await expect(blobStore.write(newId())).rejects.toMatchObject({ code: 'unavailable' })
})
