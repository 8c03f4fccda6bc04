import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openS3BlobStore, type S3Options } from '../../src/files/blob-stores/s3.ts'
import { BlobMissing, type BlobStore } from '../../src/store/blob-store.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'
import { collect, digest, newId, putBlob } from './s3-blobs.ts'
import { S3TestServer } from './s3-test-server.ts'
import { startS3rver } from './s3rver.ts'

// The same promises on two servers: one from npm that others wrote, and our own, which checks signatures strictly.

setDefaultTimeout(120_000)

interface Subject {
  url: string
  env: Record<string, string>
  stop(): Promise<void>
}

const startStrict = async (): Promise<Subject> => {
  const server = await S3TestServer.start()
  return { url: `s3://${server.bucket}/some/pre-fix_1.~`, env: server.env, stop: () => server.stop() }
}

const servers: Record<string, () => Promise<Subject>> = { s3rver: startS3rver, 'a strict server': startStrict }

describe.each(Object.entries(servers))('S3 place on %s', (_, start) => {
  let subject: Subject
  let blobStore: BlobStore
  let spoolDirectory = ''
  const open = (options: S3Options = {}): Promise<BlobStore> =>
    openS3BlobStore(subject.url, subject.env, undefined, { spoolDirectory, ...options })

  beforeAll(async () => {
    spoolDirectory = makeTempDir()
    subject = await start()
    blobStore = await open()
  })
  afterAll(async () => {
    await blobStore?.close()
    await subject?.stop()
    removeTempDir(spoolDirectory)
  })

  test.each([0, 1, 65_536, 65_537, 3_000_001])('a blob of %d bytes is read as it was written', async (length) => {
    const bytes = randomBytes(length)
    const id = await putBlob(blobStore, bytes)
    expect(await blobStore.size(id)).toBe(length)
    expect(digest(await collect(await blobStore.read(id, 0, length)))).toBe(digest(bytes))
  })

  test('a range has its bytes and no others', async () => {
    const bytes = randomBytes(200_000)
    const id = await putBlob(blobStore, bytes)
    const ranges = [
      // The range is not 0 to 1: s3rver answers `bytes=0-0` with all bytes, which the blob store refuses.
      [0, 2],
      [199_999, 200_000],
      [65_535, 131_073],
      [7, 7],
    ] as const
    for (const [from, to] of ranges) {
      expect((await collect(await blobStore.read(id, from, to))).equals(bytes.subarray(from, to))).toBe(true)
    }
  })

  test('a blob that is not there: BlobMissing before the first byte, no size, and its removal is no error', async () => {
    const id = newId()
    expect(blobStore.read(id, 0, 10)).rejects.toThrow(BlobMissing)
    expect(blobStore.read(id, 0, 0)).rejects.toThrow(BlobMissing)
    expect(await blobStore.size(id)).toBeUndefined()
    await blobStore.remove(id)
  })

  test('a removed blob is gone; others stay', async () => {
    const [id, other] = [await putBlob(blobStore, randomBytes(10)), await putBlob(blobStore, randomBytes(11))]
    await blobStore.remove(id)
    expect(await blobStore.size(id)).toBeUndefined()
    expect(await blobStore.size(other)).toBe(11)
  })

  test('an upload that is given up leaves nothing, here and there', async () => {
    const id = newId()
    const writer = await blobStore.write(id)
    await writer.write(randomBytes(100_000))
    await writer.abort()
    await writer.abort()
    expect(await blobStore.size(id)).toBeUndefined()
    expect(readdirSync(spoolDirectory)).toEqual([])
  })

  test('while an upload is written, its temporary file has no name', async () => {
    const writer = await blobStore.write(newId())
    await writer.write(randomBytes(100_000))
    expect(readdirSync(spoolDirectory)).toEqual([])
    await writer.abort()
  })

  test('the first mark stays, for every process', async () => {
    expect(await blobStore.readMark()).toBeUndefined()
    expect(await blobStore.writeMark('mark-1')).toBe('mark-1')
    const second = await open()
    expect(await second.writeMark('mark-2')).toBe('mark-1')
    expect(await second.readMark()).toBe('mark-1')
    expect(await second.writeMark('mark-3', 'replace')).toBe('mark-3')
    expect(await blobStore.readMark()).toBe('mark-3')
    await second.close()
  })

  test('64 uploads at once', async () => {
    const blobs = Array.from({ length: 64 }, () => randomBytes(40_000))
    const ids = await Promise.all(blobs.map((bytes) => putBlob(blobStore, bytes)))
    const back = await Promise.all(ids.map(async (id) => collect(await blobStore.read(id, 0, 40_000))))
    expect(back.map(digest)).toEqual(blobs.map(digest))
  })

  test('a start removes the empty files of killed processes, and nothing else', async () => {
    const old = new Date(Date.now() - 2 * 60 * 60_000)
    const files = { 'cubby-spool-old': '', 'cubby-spool-new': '', 'cubby-spool-full': 'x', other: '' }
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(spoolDirectory, name), text)
      if (name !== 'cubby-spool-new') utimesSync(join(spoolDirectory, name), old, old)
    }
    await (await open()).close()
    expect(readdirSync(spoolDirectory).sort()).toEqual(['cubby-spool-full', 'cubby-spool-new', 'other'])
  })
})
