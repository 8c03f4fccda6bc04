import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isStoreBlobId } from '../../core/files/blob-id.ts'
import { fileFault } from '../../core/files/file-fault.ts'
import type { FileContent } from '../../core/files/file-record.ts'
import { OperatorError } from '../../core/operator-error.ts'
import { BlobMissing, type BlobStore } from '../../store/blob-store.ts'
import type { Table } from '../../store/tables.ts'
import type { Dump } from '../../store/transfer.ts'
import { cannotWrite } from './write-lines.ts'

interface FileToWrite extends Pick<FileContent, 'blob' | 'size' | 'sha256' | 'contentType'> {
  bucket: Table
  name: string
}

/** Writes the bytes of a file below `dir`, under their digest. Files with the same bytes share them. */
export type WriteFileBytes = (dir: string, file: FileToWrite) => Promise<void>

/** `place` may be undefined if the store keeps the bytes of all files. */
export const writeFileBytes =
  (dump: Dump, blobStore: BlobStore | undefined): WriteFileBytes =>
  async (dir, file) => {
    const made = fileFault(file)
    if (made !== undefined) throw fault(file, made)
    const path = join(dir, file.sha256.slice(0, 2), file.sha256)
    if (existsSync(path)) return
    const chunks = await readChunks(dump, blobStore, file)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const hash = new Bun.CryptoHasher('sha256')
    const descriptor = orCannot(path, () => openSync(path, 'wx', 0o600))
    try {
      for await (const chunk of chunks) {
        hash.update(chunk)
        orCannot(path, () => {
          for (let at = 0; at < chunk.length; ) at += writeSync(descriptor, chunk, at)
        })
      }
      orCannot(path, () => fsyncSync(descriptor))
    } finally {
      closeSync(descriptor)
    }
    if (hash.digest('hex') !== file.sha256) throw fault(file, 'its bytes are not those that were uploaded')
  }

async function* one(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes
}

const readChunks = async (
  dump: Dump,
  blobStore: BlobStore | undefined,
  file: FileToWrite,
): Promise<AsyncIterable<Uint8Array>> => {
  const { blob, size, bucket } = file
  if (isStoreBlobId(blob)) {
    const bytes = await dump.blobBytes({ id: blob, tableId: bucket.id })
    if (bytes === undefined) throw fault(file, 'its bytes are not in the store')
    return one(bytes)
  }
  try {
    return await blobStore!.read(blob, 0, size)
  } catch (error) {
    if (!(error instanceof BlobMissing)) throw error
    throw fault(file, `its bytes are not in ${blobStore!.description}`)
  }
}

const orCannot = <T>(path: string, work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw cannotWrite(path, error as Error)
  }
}

const fault = ({ bucket, name }: FileToWrite, what: string): OperatorError =>
  new OperatorError(
    `file ${JSON.stringify(name)} of ${bucket.db}/${bucket.name}: ${what}; see cubby verify, or leave the bytes of all files out with --without-files`,
  )
