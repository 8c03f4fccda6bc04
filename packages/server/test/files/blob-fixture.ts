import { readdirSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { BlobStore } from '../../src/store/blob-store.ts'

/** Bytes that differ at every place that matters: no two chunks are alike. */
export const content = (bytes: number): Buffer => {
  const made = Buffer.alloc(bytes)
  for (let i = 0; i < bytes; i++) made[i] = (i * 31 + (i >> 8) * 7 + (i >> 16)) & 255
  return made
}

export const put = async (
  blobStore: BlobStore,
  id: string,
  bytes: Uint8Array,
  { chunkBytes = 65_536, known }: { chunkBytes?: number; known?: number | undefined } = {},
): Promise<void> => {
  const writer = await blobStore.write(id, known)
  for (let at = 0; at < bytes.length; at += chunkBytes) await writer.write(bytes.subarray(at, at + chunkBytes))
  await writer.finish(new Bun.CryptoHasher('sha256').update(bytes).digest('hex'))
}

export const collect = async (blobStore: BlobStore, id: string, start: number, end: number): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(await blobStore.read(id, start, end)))

/** The files below a directory, by their paths in it; none if it is not there. */
export const filesBelow = (directory: string): string[] => {
  try {
    return readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(directory, name)).isFile())
      .sort()
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return []
    throw error
  }
}

/** The files below the directory that this process has open. */
export const openFiles = (directory: string): string[] =>
  readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`)
      return path.startsWith(directory) ? [path] : []
    } catch {
      return []
    }
  })
