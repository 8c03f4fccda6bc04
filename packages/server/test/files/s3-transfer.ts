import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { newBlobId } from '../../src/core/files/blob-id.ts'
import { openS3BlobStore } from '../../src/files/blob-stores/s3.ts'

// A process that uploads and downloads one blob, and prints what it needed: s3-transfer.ts PLACE SPOOL BYTES [DOWNLOADS].
// With DOWNLOADS so many others have begun before, and are not read.

const [url = '', spoolDirectory = '', size = '', unread = '0'] = process.argv.slice(2)
const bytes = Number(size)
const chunkBytes = 64 * 1024

/** Memory that is the process's own, not that of files. */
const anonymousBytes = (): number =>
  Number(/RssAnon:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) * 1024

const before = anonymousBytes()
let peak = before
const watch = setInterval(() => {
  peak = Math.max(peak, anonymousBytes())
}, 5)

try {
  const blobStore = await openS3BlobStore(url, process.env, undefined, { spoolDirectory })
  const id = newBlobId(Date.now())
  const writer = await blobStore.write(id, bytes)
  const hash = createHash('sha256')
  const chunk = Buffer.alloc(chunkBytes)
  for (let at = 0; at < bytes; at += chunkBytes) {
    const part = chunk.subarray(0, Math.min(chunkBytes, bytes - at))
    hash.update(part)
    await writer.write(part)
  }
  const sha256 = hash.digest('hex')
  await writer.finish(sha256).finally(() => writer.abort())

  const downloads = await Promise.all(Array.from({ length: Number(unread) }, () => blobStore.read(id, 0, bytes)))
  // A reader that pauses keeps nothing.
  if (downloads.length > 0) await Bun.sleep(2_000)
  Bun.gc(true)
  const pausedBytes = anonymousBytes() - before
  const read = createHash('sha256')
  for await (const part of await blobStore.read(id, 0, bytes)) read.update(part)
  for (const download of downloads) await (download as AsyncIterableIterator<Uint8Array>).return!()
  await blobStore.close()
  console.log(JSON.stringify({ isSame: read.digest('hex') === sha256, gainedBytes: peak - before, pausedBytes }))
} catch (error) {
  const { code, message, cause } = error as { code?: string; message: string; cause?: unknown }
  console.log(JSON.stringify({ code, message, cause }))
}
clearInterval(watch)
