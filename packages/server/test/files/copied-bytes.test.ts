import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readFileSync, symlinkSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { blobPath, newBlobId } from '../../src/core/files/blob-id.ts'
import { fileData } from '../../src/core/files/file-record.ts'
import { OperatorError } from '../../src/core/operator-error.ts'
import { DirectoryBlobStore } from '../../src/files/blob-stores/directory.ts'
import { copyFiles } from '../../src/operations/transfer/copy-files.ts'
import type { Dump } from '../../src/store/transfer.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'
import { content, put } from './blob-fixture.ts'

// A copy reads. What it finds damaged must stay as it is: it may be all that is left of a file.

let top: string
beforeEach(() => {
  top = makeTempDir()
})
afterEach(() => removeTempDir(top))

const bytes = content(1_000)
const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

/** A store with one file. */
const dumpOf = (blob: string): Dump => {
  const data = fileData({
    ...{ size: bytes.length, contentType: 'a/b', visibility: 'private', sha256, blob, metadata: '{}' },
  })
  return {
    async *tables() {
      yield { id: 1, kind: 'bucket', db: 'app', name: 'b' }
    },
    async *records() {
      yield [{ rangeKey: 'a', data }]
    },
  } as unknown as Dump
}

test('within one place, by one name or two, removes nothing', async () => {
  const blob = newBlobId(Date.now())
  const directory = join(top, 'files')
  const blobStore = () => new DirectoryBlobStore(directory)
  await put(blobStore(), blob, bytes)
  symlinkSync(directory, join(top, 'link'))
  const linked = () => new DirectoryBlobStore(join(top, 'link'))
  expect(await copyFiles(dumpOf(blob), { from: blobStore(), to: blobStore() })).toEqual({
    files: 1,
    bytes: 1_000,
    copied: 0,
  })
  truncateSync(join(directory, blobPath(blob)), 900)
  for (const to of [blobStore(), linked()]) {
    await expect(copyFiles(dumpOf(blob), { from: blobStore(), to })).rejects.toBeInstanceOf(OperatorError)
    expect(readFileSync(join(directory, blobPath(blob))).equals(bytes.subarray(0, 900))).toBe(true)
  }
})

test('a blob that was cut in the target is written anew', async () => {
  const blob = newBlobId(Date.now())
  const [from, to] = [new DirectoryBlobStore(join(top, 'from')), new DirectoryBlobStore(join(top, 'to'))]
  await put(from, blob, bytes)
  await put(to, blob, bytes.subarray(0, 900))
  expect(await copyFiles(dumpOf(blob), { from, to })).toEqual({ files: 1, bytes: 1_000, copied: 1 })
  expect(readFileSync(join(top, 'to', blobPath(blob))).equals(bytes)).toBe(true)
})
