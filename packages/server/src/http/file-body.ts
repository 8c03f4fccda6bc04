import { CubbyError } from '../core/errors.ts'
import type { ByteRange } from '../core/files/byte-range.ts'
import type { FileContent } from '../core/files/file-record.ts'
import { connectionIdleSecondsMax, fileIdleMsMax } from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import type { Holder } from '../core/shares.ts'
import type { BytesSource } from '../operations/files/bytes-source.ts'
import { BlobChanged, BlobMissing } from '../store/blob-store.ts'
import { causeOf } from './cause-of.ts'
import type { Download, Downloads } from './downloads.ts'
import { type ResponseBodies, unread } from './response-bodies.ts'
import type { ResponseEnds } from './response-ends.ts'
import { noteStream } from './response-notes.ts'

/**
 * Up to this length the bytes of an answer are collected first and sent with a Content-Length, which Bun never sends with a
 * stream (oven-sh/bun #10507). Bun sends a file of its own accord with one, but by `sendfile`: one call sends 2 to 9 MB to a
 * fast reader, and with four such downloads other requests waited for up to 0.6 s.
 */
export const wholeFileBytesMax = 1024 * 1024

/** Shorter answers are passed to the socket at once, as those of other routes: see `Answers`. */
const countedFromBytes = 32 * 1024

export type FileBody = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null

/** A file's bytes, or some of them. */
export interface StoredBytes extends ByteRange {
  source: BytesSource
  blob: string
  /** Given for all bytes of a file: the last of them are not sent before they were compared. */
  digests?: Pick<FileContent, 'sha256' | 'crc32'>
}

/** The request that the bytes are for, and who is charged for them. */
interface FileReader extends Holder {
  readonly request: Request
  readonly requestId: string
  /** Resolves when the next chunk may be produced. */
  turn(): Promise<void>
}

/** The parts of the server that sending needs. */
interface Sending {
  readonly responseBodies: ResponseBodies
  readonly downloads: Downloads
  readonly responseEnds: ResponseEnds
  readonly log: Log
  setIdleTimeout(request: Request, seconds: number): void
}

const missing = (): CubbyError =>
  new CubbyError('store_damaged', 'The bytes of this file are missing; its record is not.', {
    hint: 'Put the file again, or restore a backup. Other files are served. For the operator: cubby verify lists what is missing.',
  })

const changed = (): CubbyError =>
  new CubbyError('store_damaged', 'The bytes of this file are not those that were uploaded; its record is unchanged.', {
    hint: 'Put the file again, or restore a backup. Other files are served. For the operator: cubby verify --bytes lists such files.',
  })

/** Logs and counts damaged bytes, and gives the error for the caller. Any other error is given as it is. */
const damageOf = (
  { log, downloads }: Sending,
  { requestId }: FileReader,
  { source, blob }: StoredBytes,
  error: unknown,
): unknown => {
  const fields = { requestId, blob, place: source.description }
  if (error instanceof BlobMissing) log('error', 'the bytes of a file are missing', fields)
  else if (error instanceof BlobChanged) log('error', 'the bytes of a file are not those that were uploaded', fields)
  else return error
  downloads.onRefused('damaged')
  return error instanceof BlobMissing ? missing() : changed()
}

/**
 * Call it with the chunks of the file, in their order. It throws at the last one if they are not as they were uploaded. They
 * are compared with their CRC-32 if there is one: SHA-256 takes as much time as all other work of a download.
 */
const comparing = ({ source, blob, start, end, digests }: StoredBytes): ((chunk: Uint8Array) => void) | undefined => {
  if (digests === undefined || source.isCompared) return undefined
  const { sha256, crc32 } = digests
  const hash = crc32 === undefined ? new Bun.CryptoHasher('sha256') : undefined
  let sum = 0
  let leftBytes = end - start
  return (chunk) => {
    if (hash === undefined) sum = Bun.hash.crc32(chunk, sum)
    else hash.update(chunk)
    leftBytes -= chunk.length
    if (leftBytes > 0) return
    const isSame = hash === undefined ? sum === crc32 : hash.digest('hex') === sha256
    if (!isSame) throw new BlobChanged(blob, source.description)
  }
}

/** Opens the bytes. If they are not there, that is known before anything is sent. */
const openBytes = async (
  sending: Sending,
  reader: FileReader,
  stored: StoredBytes,
): Promise<AsyncIterable<Uint8Array>> => {
  try {
    return await stored.source.read(stored.blob, stored.start, stored.end)
  } catch (error) {
    throw damageOf(sending, reader, stored, error)
  }
}

/** Reads and compares all bytes. */
const readBytes = async (
  sending: Sending,
  reader: FileReader,
  stored: StoredBytes,
  take: (chunk: Uint8Array, at: number) => void = () => {},
): Promise<void> => {
  const { source, blob, start, end } = stored
  const compare = comparing(stored)
  let at = start
  let chunks: AsyncIterator<Uint8Array> | undefined
  try {
    chunks = (await source.read(blob, start, end))[Symbol.asyncIterator]()
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next(next.value)) {
      const chunk = next.value
      if (at + chunk.length > end) throw new BlobMissing(blob, source.description)
      compare?.(chunk)
      take(chunk, at - start)
      at += chunk.length
    }
    if (at < end) throw new BlobMissing(blob, source.description)
  } catch (error) {
    await chunks?.return?.()
    throw damageOf(sending, reader, stored, error)
  }
}

const collectBytes = async (sending: Sending, reader: FileReader, stored: StoredBytes): Promise<FileBody> => {
  const whole = new Uint8Array(stored.end - stored.start)
  await readBytes(sending, reader, stored, (chunk, at) => whole.set(chunk, at))
  return whole
}

/** Checks for HEAD that the bytes are there, as far as that can be known without reading them. */
const requireBytes = async (sending: Sending, reader: FileReader, stored: StoredBytes): Promise<void> => {
  const { source, blob, end } = stored
  try {
    if (((await source.size(blob)) ?? -1) < end) throw new BlobMissing(blob, source.description)
  } catch (error) {
    throw damageOf(sending, reader, stored, error)
  }
}

const withRoom = async <T>(release: () => void, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } finally {
    release()
  }
}

/** Answers that ended a moment ago may still count. */
const roomFor = (
  { responseBodies, responseEnds }: Sending,
  reader: FileReader,
  bytes: number,
): (() => void) | undefined => {
  const room = responseBodies.takeRoom(reader, bytes)
  if (room !== undefined) return room
  responseEnds.poll()
  return responseBodies.takeRoom(reader, bytes)
}

/** Room for a stream. If there is none, slow readers of the same organization lose theirs. */
const roomForStream = async ({ responseBodies, downloads }: Sending, reader: FileReader): Promise<() => void> => {
  for (;;) {
    const room = responseBodies.takePiece(reader)
    if (room !== undefined) return room
    if (await downloads.cutSlowest(reader.orgId)) continue
    downloads.onRefused('full')
    throw unread()
  }
}

/**
 * The body of the answer with these bytes. Few bytes are collected; many are a stream, each chunk of which is read when the
 * client has taken the one before. Both count as unread until the client has them. A client that takes nothing for
 * `fileIdleMsMax` is disconnected, and a slow one when others need its room. Throws `unavailable` if there is no room,
 * `store_damaged` if the bytes are missing, or are few and were changed. A stream of changed bytes breaks off before its last
 * chunk.
 */
export const fileBody = async (sending: Sending, reader: FileReader, stored: StoredBytes): Promise<FileBody> => {
  const { request, requestId } = reader
  const { responseBodies, responseEnds, downloads, log } = sending
  const bytes = stored.end - stored.start
  if (request.method === 'HEAD') {
    await requireBytes(sending, reader, stored)
    return null
  }
  const setIdle = (seconds: number): void => sending.setIdleTimeout(request, seconds)
  if (bytes < countedFromBytes) return collectBytes(sending, reader, stored)
  const wholeRoom = bytes <= wholeFileBytesMax ? roomFor(sending, reader, bytes) : undefined
  if (wholeRoom !== undefined) {
    try {
      const whole = await collectBytes(sending, reader, stored)
      setIdle(fileIdleMsMax / 1000)
      responseEnds.watch(request, wholeRoom)
      return whole
    } catch (error) {
      wholeRoom()
      throw error
    }
  }
  const release = await roomForStream(sending, reader)
  const chunks = await withRoom(release, async () => {
    // A file of this length without room for all of its bytes is read twice, so that the response is an error and not a cut.
    if (bytes <= wholeFileBytesMax && stored.digests !== undefined) await readBytes(sending, reader, stored)
    return openBytes(sending, reader, stored)
  })
  const waitForUs = (): void => setIdle(connectionIdleSecondsMax)
  let sentAtMs = performance.now()
  const { stream, cut } = responseBodies.streamFile(reader, {
    chunks,
    bytes,
    turn: () => reader.turn(),
    check: comparing(stored),
    onWaiting: waitForUs,
    onSending(pieceBytes) {
      sentAtMs = performance.now()
      download.sentBytes += pieceBytes
      setIdle(fileIdleMsMax / 1000)
    },
    onEnd(isCancelled) {
      waitForUs()
      downloads.remove(download)
      if (isCancelled && performance.now() - sentAtMs >= fileIdleMsMax) downloads.onRefused('idle')
    },
    onFault(error) {
      if (damageOf(sending, reader, stored, error) !== error) return
      log('error', 'answer cut off', { requestId, cause: causeOf(error) })
    },
  })
  const download: Download = { orgId: reader.orgId, request, startedAtMs: sentAtMs, sentBytes: 0, cut }
  downloads.add(download)
  return noteStream(stream, bytes)
}
