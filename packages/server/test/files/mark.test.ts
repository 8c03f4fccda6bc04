import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newBlobId } from '../../src/core/files/blob-id.ts'
import { isBlobStoreMark, newBlobStoreMark, newStoreId } from '../../src/core/files/blob-store-mark.ts'
import type { Log } from '../../src/core/log.ts'
import { OperatorError } from '../../src/core/operator-error.ts'
import { checkMark, makeMark } from '../../src/files/blob-stores/check-mark.ts'
import { CheckedBlobStore } from '../../src/files/blob-stores/checked-blob-store.ts'
import { DirectoryBlobStore } from '../../src/files/blob-stores/directory.ts'
import { type FileCalls, fileCalls } from '../../src/files/blob-stores/file-calls.ts'
import { openBlobStore } from '../../src/files/blob-stores/open-blob-store.ts'
import { BlobStoreRefused } from '../../src/store/blob-store.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'
import { collect, content, filesBelow, put } from './blob-fixture.ts'
import { FakeFiles } from './fake-files.ts'

// Two processes that are given different places would each say that the files of the other are damaged.

let top: string
let files: FakeFiles
let logged: string[]
beforeEach(() => {
  top = makeTempDir()
  files = new FakeFiles()
  logged = []
})
afterEach(() => removeTempDir(top))

const newId = (): string => newBlobId(Date.now())
const directory = (name = 'files'): DirectoryBlobStore => new DirectoryBlobStore(join(top, name))
const checked = (name = 'files'): CheckedBlobStore =>
  new CheckedBlobStore(
    directory(name),
    files,
    (level, message, fields) => void logged.push(`${level}: ${message}: ${fields?.cause}`),
  )
const refusal = async (attempt: Promise<unknown>): Promise<string> => {
  const error = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(BlobStoreRefused)
  return (error as Error).message
}

describe('at the start', () => {
  test('neither has a mark, or both the same: the place is taken', async () => {
    expect(await checkMark(directory(), files)).toBe(false)
    await makeMark(directory(), files)
    expect(isBlobStoreMark(files.mark!)).toBe(true)
    expect(await directory().readMark()).toBe(files.mark)
    expect(await checkMark(directory(), files)).toBe(true)
    await checked().checkAtStart()
    expect(logged).toEqual([])
  })

  test('the store has a mark and the place has none, or another: refused, with what to do', async () => {
    files.mark = newBlobStoreMark(files.id)
    const none = await refusal(checked().checkAtStart())
    expect(none).toContain(`${join(top, 'files')} is not where the files of this store are. It has no mark`)
    expect(none).toContain('--files')
    await directory().writeMark(newBlobStoreMark(files.id))
    const other = await refusal(checked().checkAtStart())
    expect(other).toContain('another place')
    for (const message of [none, other]) expect(message).not.toContain('\n')
    expect(existsSync(join(top, 'files', 'cubby-files.mark'))).toBe(true)
  })

  test('a place that cannot be read is logged, not refused, and is not taken for one without a mark', async () => {
    files.mark = newBlobStoreMark(files.id)
    writeFileSync(join(top, 'files'), 'not a directory')
    const blobStore = checked()
    await blobStore.checkAtStart()
    expect(logged).toEqual([expect.stringContaining('ENOTDIR')])
    await expect(blobStore.read(newId(), 0, 1)).rejects.toMatchObject({ code: 'unavailable' })
    expect(logged).toHaveLength(1)
  })

  test('a place that does not answer does not hold the start up; nor does one that fails its probe', async () => {
    files.mark = newBlobStoreMark(files.id)
    const silent = directory()
    silent.readMark = () => new Promise(() => {})
    const log: Log = (_, __, fields) => void logged.push(String(fields?.cause))
    await new CheckedBlobStore(silent, files, log).checkAtStart(false, 20)
    const failing = Object.assign(directory(), { probe: () => Promise.reject(new OperatorError('no answer')) })
    await new CheckedBlobStore(failing, files, log).checkAtStart()
    expect(logged).toEqual(['it did not answer within 0.02 s', 'no answer'])
    const wrong = Object.assign(directory(), { probe: () => Promise.reject(new BlobStoreRefused('no such bucket')) })
    // It is refused also before the first upload.
    files.mark = undefined
    expect(await refusal(new CheckedBlobStore(wrong, files, log).checkAtStart())).toBe('no such bucket')
  })
})

// A store that was restored or copied, and was given the files of the other one, would remove bytes that the other needs.
describe('the place of another store', () => {
  const markOf = async (name = 'files'): Promise<string> => (await directory(name).readMark())!

  test('is refused at the start and at the first upload, also by a store without files', async () => {
    const foreign = await directory().writeMark(newBlobStoreMark(newStoreId()))
    const message = await refusal(checked().checkAtStart())
    expect(message).toMatch(/It has the mark of another store\. .*--adopt-files/)
    await expect(checked().write(newId())).rejects.toMatchObject({ code: 'unavailable' })
    expect([await markOf(), files.mark]).toEqual([foreign, undefined])
    expect(filesBelow(join(top, 'files'))).toEqual(['cubby-files.mark'])
  })

  test('a damaged mark is refused as well', async () => {
    mkdirSync(join(top, 'files'))
    for (const damaged of ['', 'abc', `${files.id}g`]) {
      writeFileSync(join(top, 'files', 'cubby-files.mark'), damaged)
      expect(await refusal(checked().checkAtStart())).toContain('Its mark is damaged.')
    }
  })

  test('is taken over with --adopt-files: the store before the place, and the earlier store is refused from then on', async () => {
    const earlier = new FakeFiles()
    const old = new CheckedBlobStore(directory(), earlier, () => {})
    const id = newId()
    await put(old, id, content(10))
    const order: string[] = []
    files.adoptBlobs = async () => {
      order.push(`blobs, mark of the earlier: ${(await markOf()) === earlier.mark}`)
      return 1
    }
    const blobStore = checked()
    await blobStore.checkAtStart(true)
    expect(order).toEqual(['blobs, mark of the earlier: true'])
    expect([await markOf(), files.mark!.startsWith(files.id)]).toEqual([files.mark!, true])
    expect(await collect(blobStore, id, 0, 10)).toEqual(content(10))
    expect(await refusal(new CheckedBlobStore(directory(), earlier, () => {}).checkAtStart())).toContain(
      'another store',
    )
    // Also one that is running removes nothing from then on, and is refused once it has noticed.
    await expect(old.remove(id)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(old.write(newId())).rejects.toMatchObject({ code: 'unavailable' })
    expect(await collect(blobStore, id, 0, 10)).toEqual(content(10))
    // Once more there is nothing to take over.
    await checked().checkAtStart(true)
    expect(order).toHaveLength(1)
    expect(logged).toEqual([expect.stringContaining('warn: took over the files of another store')])
  })

  test('the place that the store had before is refused after an adoption, and a damaged mark of the store is replaced', async () => {
    const own = newBlobStoreMark(files.id)
    files.mark = own
    await directory().writeMark(newBlobStoreMark(newStoreId()))
    await checked().checkAtStart(true)
    expect([await markOf(), files.mark === own]).toEqual([files.mark, false])
    files.mark = newBlobStoreMark(files.id)
    expect(await refusal(checked().checkAtStart())).toContain('It has the mark of another place')
    await checked().checkAtStart(true)
    expect([await markOf(), files.adoptions]).toEqual([files.mark, 2])
  })

  test('an adoption that was interrupted between store and place is still refused, and continued by the next', async () => {
    const foreign = await directory().writeMark(newBlobStoreMark(newStoreId()))
    const stuck = directory()
    stuck.writeMark = () => Promise.reject(new Error('killed'))
    await expect(new CheckedBlobStore(stuck, files, () => {}).checkAtStart(true)).rejects.toThrow('killed')
    expect([await markOf(), files.adoptions]).toEqual([foreign, 1])
    expect(await refusal(checked().checkAtStart())).toContain('another store')
    await checked().checkAtStart(true)
    expect([await markOf(), files.adoptions]).toEqual([files.mark!, 2])
  })

  test('a directory without a mark is not adopted: its disk may not be mounted', async () => {
    files.mark = newBlobStoreMark(files.id)
    expect(await refusal(checked().checkAtStart(true))).toContain('It has no mark')
    expect([existsSync(join(top, 'files')), files.adoptions]).toEqual([false, 0])
    // The operator who is sure of it gives it one that is none.
    mkdirSync(join(top, 'files'))
    writeFileSync(join(top, 'files', 'cubby-files.mark'), 'lost')
    await checked().checkAtStart(true)
    expect([await markOf(), files.adoptions]).toEqual([files.mark, 1])
  })
})

describe('the first upload', () => {
  test('marks the place and the store; many at once make one mark', async () => {
    const places = Array.from({ length: 4 }, () => checked())
    const ids = Array.from({ length: 32 }, newId)
    await Promise.all(ids.map((id, i) => put(places[i % 4]!, id, content(10))))
    expect(await directory().readMark()).toBe(files.mark)
    for (const id of ids) expect(await checked().size(id)).toBe(10)
    expect(logged).toEqual([])
  })

  test('one that was interrupted between place and store is completed by the next', async () => {
    const writeMark = files.writeMark.bind(files)
    files.writeMark = () => Promise.reject(new Error('no store'))
    await expect(checked().write(newId())).rejects.toMatchObject({ code: 'unavailable' })
    const mark = await directory().readMark()
    expect([mark === undefined, files.mark]).toEqual([false, undefined])
    files.writeMark = writeMark
    await checked().checkAtStart()
    await put(checked(), newId(), content(10))
    expect(files.mark).toBe(mark!)
  })

  test('a place that cannot be written leaves the store without a mark, so that another can be given', async () => {
    writeFileSync(join(top, 'files'), 'not a directory')
    await expect(checked().write(newId())).rejects.toMatchObject({ code: 'unavailable' })
    expect(files.mark).toBeUndefined()
    await put(checked('other'), newId(), content(10))
  })

  test('two processes with two places: one of them is refused', async () => {
    const places = [checked('a'), checked('b')]
    const results = await Promise.allSettled(places.map((blobStore) => put(blobStore, newId(), content(10))))
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const index = results.findIndex(({ status }) => status === 'rejected')
    expect((results[index] as PromiseRejectedResult).reason).toMatchObject({ code: 'unavailable' })
    expect(filesBelow(join(top, ['a', 'b'][index]!))).toEqual(['cubby-files.mark'])
    expect(logged).toEqual([expect.stringContaining('is not where the files of this store are')])
  })
})

describe('a process that was running when the mark appeared', () => {
  test('503 and one log line while its place is wrong; it works as soon as it is right', async () => {
    const wrong = checked('wrong')
    await wrong.checkAtStart()
    const id = newId()
    await put(checked(), id, content(10))
    for (const attempt of [
      () => wrong.read(id, 0, 10),
      () => wrong.size(id),
      () => wrong.write(newId()),
      () => wrong.remove(id),
    ]) {
      const error = await attempt().catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'unavailable' })
      // Clients must not learn where files are.
      expect((error as Error).message).not.toContain(top)
    }
    expect(logged).toEqual([expect.stringMatching(/^error: .*503: .*wrong is not where the files of this store are/)])
    renameSync(join(top, 'files'), join(top, 'wrong'))
    expect(await collect(wrong, id, 0, 10)).toEqual(content(10))
    // It is not checked again, and a new fault is logged anew.
    files.mark = newBlobStoreMark(files.id)
    expect(await wrong.size(id)).toBe(10)
    expect(logged).toHaveLength(1)
  })

  test('a store that cannot be read: 503, and the next request tries again', async () => {
    const blobStore = checked()
    files.failure = new Error('no store')
    await expect(blobStore.write(newId())).rejects.toMatchObject({ code: 'unavailable' })
    expect(logged).toEqual([expect.stringContaining('no store')])
    await put(blobStore, newId(), content(10))
  })

  test('without a mark there are no bytes: a removal has nothing to do, and needs no place', async () => {
    await checked().remove(newId())
    expect(existsSync(join(top, 'files'))).toBe(false)
  })
})

describe('--files', () => {
  const surroundings = { env: {}, now: Date.now }

  test('a directory: nothing is made before the first upload', async () => {
    const blobStore = await openBlobStore(join(top, 'x', 'files'), surroundings)
    expect(blobStore.description).toBe(join(top, 'x', 'files'))
    expect(await blobStore.readMark()).toBeUndefined()
    expect(existsSync(join(top, 'x'))).toBe(false)
    await put(blobStore, newId(), content(10))
    await blobStore.close()
  })

  test('a relative directory is one of the current directory', async () => {
    expect((await openBlobStore('files', surroundings)).description).toBe(join(process.cwd(), 'files'))
  })

  test('what is neither a directory nor a known URL is refused without its secrets', async () => {
    for (const value of ['', 'ftp://user:password@host/files', 'file:///tmp/files', 'GS://bucket']) {
      const message = await refusal(openBlobStore(value, surroundings))
      expect(message).toContain('it takes a directory or s3://BUCKET/PREFIX')
      expect(message).not.toContain('password')
    }
  })
})

test('a disk that is unmounted after the check: nothing is forgotten, and it works once it is back', async () => {
  const blobStore = checked()
  const id = newId()
  await put(blobStore, id, content(10))
  renameSync(join(top, 'files'), join(top, 'unmounted'))
  mkdirSync(join(top, 'files'))
  await expect(blobStore.remove(id)).rejects.toMatchObject({ code: 'unavailable' })
  await expect(blobStore.read(id, 0, 10)).rejects.toMatchObject({ code: 'unavailable' })
  rmSync(join(top, 'files'), { recursive: true })
  renameSync(join(top, 'unmounted'), join(top, 'files'))
  expect(await collect(blobStore, id, 0, 10)).toEqual(content(10))
})

test('an upload that the disk refuses is logged with its cause, many of them once', async () => {
  let code = ''
  const sync: FileCalls['sync'] = (descriptor) =>
    code === '' ? fileCalls.sync(descriptor) : Promise.reject(Object.assign(new Error(`${code}: it failed`), { code }))
  const failing = new DirectoryBlobStore(join(top, 'files'), { calls: { ...fileCalls, sync } })
  const lines: unknown[] = []
  const open = () => new CheckedBlobStore(failing, files, (...line) => void lines.push(line))
  // It makes the directory, so that later only bytes are synced.
  await put(open(), newId(), content(10))
  for (const [error, answer] of [
    ['EIO', 'unavailable'],
    ['ENOSPC', 'storage_full'],
  ] as const) {
    code = error
    const blobStore = open()
    for (let i = 0; i < 3; i++)
      await expect(put(blobStore, newId(), content(10))).rejects.toMatchObject({ code: answer })
    const message = 'the bytes of an upload could not be stored'
    expect(lines.splice(0)).toEqual([['error', message, { code: answer, cause: expect.stringContaining(error) }]])
  }
})
