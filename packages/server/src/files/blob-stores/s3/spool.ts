import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { CubbyError } from '../../../core/errors.ts'

const namePrefix = 'cubby-spool-'
const chunkBytes = 64 * 1024
const leftoverMsMin = 60 * 60 * 1000

/**
 * The bytes of one upload on the local disk, until their number and digest are known. The file has no name: it is unlinked
 * as soon as it is open, so that its space is free again when the process ends, however it ends.
 */
export class Spool {
  readonly #file: FileHandle
  #bytes = 0
  #closed: Promise<void> | undefined

  private constructor(file: FileHandle) {
    this.#file = file
  }

  static async open(directory: string): Promise<Spool> {
    const path = join(directory, namePrefix + randomBytes(12).toString('hex'))
    const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600).catch(refuse)
    await unlink(path)
    return new Spool(file)
  }

  get bytes(): number {
    return this.#bytes
  }

  async write(chunk: Uint8Array): Promise<void> {
    // The last write before the disk is full may be a short one.
    for (let at = 0; at < chunk.length; ) {
      const { bytesWritten } = await this.#file.write(chunk, at, chunk.length - at, this.#bytes).catch(refuse)
      at += bytesWritten
      this.#bytes += bytesWritten
    }
  }

  /** All bytes from the first one; each attempt of an upload reads its own. `onTaken` is called for each chunk. */
  stream(onTaken: (isLast: boolean) => void): ReadableStream<Uint8Array> {
    let at = 0
    return new ReadableStream({
      pull: async (controller) => {
        const chunk = new Uint8Array(Math.min(chunkBytes, this.#bytes - at))
        const { bytesRead } = await this.#file.read(chunk, 0, chunk.length, at)
        if (bytesRead === 0) throw new Error('the temporary file of an upload is shorter than what was written to it')
        at += bytesRead
        controller.enqueue(chunk.subarray(0, bytesRead))
        onTaken(at === this.#bytes)
        if (at === this.#bytes) controller.close()
      },
    })
  }

  /** Frees the space. May be called again. */
  close(): Promise<void> {
    this.#closed ??= this.#file.close()
    return this.#closed
  }
}

const refuse = (error: NodeJS.ErrnoException): never => {
  const isFull = error.code === 'ENOSPC' || error.code === 'EDQUOT'
  const message = isFull
    ? "The server's directory for temporary files is full. Nothing was stored."
    : "The server's directory for temporary files cannot be written. Nothing was stored."
  throw new CubbyError(isFull ? 'storage_full' : 'unavailable', message, {
    hint: 'The operator has to look at it; downloads still work.',
    cause: `temporary file of an upload: ${error.code ?? error.message}`,
  })
}

/**
 * A process that is killed between the two calls that open and unlink a file leaves an empty one. Removes such files,
 * unless they are so new that another process may be there just now.
 */
export const removeLeftovers = async (directory: string, nowMs: number): Promise<void> => {
  const names = (await readdir(directory)).filter((name) => name.startsWith(namePrefix))
  for (const path of names.map((name) => join(directory, name))) {
    const found = await stat(path).catch(() => undefined)
    if (found?.isFile() && found.size === 0 && found.mtimeMs < nowMs - leftoverMsMin) await unlink(path).catch(() => {})
  }
}
