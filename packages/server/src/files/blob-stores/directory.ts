import { dirname, join, resolve } from 'node:path'
import { isBlobId } from '../../core/files/blob-id.ts'
import { isBlobStoreMark } from '../../core/files/blob-store-mark.ts'
import { BlobMissing, type BlobStore, type BlobWriter } from '../../store/blob-store.ts'
import { blobStoreError, blobStoreUnavailable } from './blob-store-errors.ts'
import { DirectoryReader, readChunkBytes, readFully } from './directory-reader.ts'
import { DirectoryTree, NoDirectory } from './directory-tree.ts'
import { DirectoryWriter } from './directory-writer.ts'
import { codeOf, type FileCalls, fileCalls, readFlags, SymbolicLink, syncDirectory } from './file-calls.ts'
import { SharedSync } from './shared-sync.ts'

const fileMode = 0o600
const markName = 'cubby-files.mark'
/** A mark is shorter. A longer one is damaged, which this much of it shows. */
const markBytesMax = 128

/** The number of times that a directory is made anew if another process removes it before it has a file. */
const attemptsMax = 3

interface DirectoryOptions {
  now?: () => number
  calls?: FileCalls
}

/**
 * Blobs as files of a directory on a local or network disk: `<5 digits>/<2 digits>/<id>`. Several processes may use it at
 * once. It is made at the first write. It may be a symbolic link itself, but nothing below it may.
 */
export class DirectoryBlobStore implements BlobStore {
  readonly description: string
  readonly #calls: FileCalls
  readonly #now: () => number
  readonly #tree: DirectoryTree
  readonly #names: SharedSync
  /** The mark that was last seen. A place that loses it is not there: its disk was unmounted, for example. */
  #mark: string | undefined
  #isClosed = false

  constructor(directory: string, { now = Date.now, calls = fileCalls }: DirectoryOptions = {}) {
    this.description = resolve(directory)
    this.#calls = calls
    this.#now = now
    this.#names = new SharedSync((path) => this.#syncNearest(path))
    this.#tree = new DirectoryTree(calls, this.description, this.#names)
  }

  /** Calls that wait in the pool may still run when the place is closed. */
  mayWriteLate(): boolean {
    return this.#isClosed
  }

  async write(id: string, bytes?: number): Promise<BlobWriter> {
    const { directory, file } = this.#pathsOf(id)
    const part = `${file}.part`
    const descriptor = await this.#inDirectory(id, () => this.#create(id, part))
    return new DirectoryWriter(this.#calls, this.#names, { directory, part, file }, descriptor, bytes)
  }

  async #create(id: string, part: string): Promise<number> {
    await this.#tree.refuseLinks(id)
    try {
      return await this.#calls.open(part, 'wx', fileMode)
    } catch (error) {
      throw codeOf(error) === 'ENOENT' ? new NoDirectory((error as Error).message) : error
    }
  }

  /** Makes the directory of the blob, and makes it anew if `use` throws NoDirectory. */
  async #inDirectory<T>(id: string, use: () => Promise<T>): Promise<T> {
    try {
      for (let attempt = 1; ; attempt++) {
        await this.#tree.prepare(id, () => this.#confirmOrMake())
        try {
          return await use()
        } catch (error) {
          if (!(error instanceof NoDirectory) || attempt === attemptsMax) throw error
          this.#tree.forget(id)
        }
      }
    } catch (error) {
      throw blobStoreError(error)
    }
  }

  /** The file is open until the stream has ended: iterate it, or call `return` of its iterator. */
  async read(id: string, start: number, end: number): Promise<AsyncIterable<Uint8Array>> {
    let descriptor: number | undefined
    try {
      descriptor = await this.#absent(this.#open(id))
      if (descriptor === undefined) throw new BlobMissing(id, this.description)
      if (end - start > readChunkBytes) {
        if ((await this.#calls.size(descriptor)) < end) throw new BlobMissing(id, this.description)
        const reader = new DirectoryReader(this.#calls, descriptor, start, end)
        descriptor = undefined
        return reader
      }
      const chunk = new Uint8Array(end - start)
      if ((await readFully(this.#calls, descriptor, chunk, start)) < chunk.length) {
        throw new BlobMissing(id, this.description)
      }
      return oneChunk(chunk)
    } catch (error) {
      throw error instanceof BlobMissing ? error : blobStoreError(error)
    } finally {
      if (descriptor !== undefined) await this.#calls.close(descriptor).catch(() => {})
    }
  }

  /** Throws SymbolicLink if a directory above the file is one. */
  async #open(id: string): Promise<number> {
    const opening = this.#calls.open(this.#pathsOf(id).file, readFlags)
    const checking = this.#tree.refuseLinksToRead(id)
    if (checking === undefined) return opening
    const [opened, checked] = await Promise.allSettled([opening, checking])
    if (opened.status === 'rejected') throw opened.reason
    if (checked.status === 'fulfilled') return opened.value
    await this.#calls.close(opened.value).catch(() => {})
    throw checked.reason
  }

  async size(id: string): Promise<number | undefined> {
    const { file } = this.#pathsOf(id)
    try {
      const found = await this.#absent(Promise.all([this.#calls.lstat(file), this.#tree.refuseLinks(id)]))
      return found?.[0].isFile() ? found[0].size : undefined
    } catch (error) {
      throw blobStoreError(error)
    }
  }

  /** Durable when it resolves: the row is forgotten then, and nobody would find a file that came back. */
  async remove(id: string): Promise<void> {
    const { directory, file } = this.#pathsOf(id)
    try {
      await this.#tree.refuseLinks(id)
      await this.#names.change(directory, async () => {
        // The part is removed first: a running writer cannot give the bytes their name in between.
        const part = await this.#unlink(`${file}.part`)
        const whole = await this.#unlink(file)
        if (!part && !whole) await this.#confirm()
        await this.#tree.prune(id, this.#now())
      })
    } catch (error) {
      throw blobStoreError(error)
    }
  }

  async readMark(): Promise<string | undefined> {
    try {
      const mark = await this.#loadMark()
      if (mark !== undefined) this.#mark = mark
      return mark
    } catch (error) {
      throw blobStoreError(error)
    }
  }

  async writeMark(mark: string, how?: 'replace'): Promise<string> {
    if (!isBlobStoreMark(mark)) throw new Error(`not the mark of a place: ${JSON.stringify(mark)}`)
    const file = join(this.description, markName)
    // One that a killed process has left must not be in the way.
    const part = `${file}.${mark}.${crypto.randomUUID()}.part`
    try {
      await this.#tree.makeRoot()
      // Synced also if another process has written it: that one may not have come to it yet.
      await this.#names.change(this.description, async () => {
        const descriptor = await this.#calls.open(part, 'wx', fileMode)
        try {
          await this.#calls.write(descriptor, Buffer.from(`${mark}\n`), 0, mark.length + 1)
          await this.#calls.sync(descriptor)
          // A link fails if there is a mark, and the mark is whole as soon as it is there.
          if (how === 'replace') await this.#calls.rename(part, file)
          else
            await this.#calls.link(part, file).catch((error: unknown) => {
              if (codeOf(error) !== 'EEXIST') throw error
            })
        } finally {
          await this.#calls.close(descriptor).catch(() => {})
          await this.#calls.unlink(part).catch(() => {})
        }
      })
      const found = await this.#loadMark()
      if (found === undefined) throw new Error(`${file} is not there although it was written`)
      this.#mark = found
      return found
    } catch (error) {
      throw blobStoreError(error)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
  }

  #pathsOf(id: string): { directory: string; file: string } {
    if (!isBlobId(id)) throw new Error(`not the id of a blob: ${id}`)
    const directory = this.#tree.directoryOf(id)
    return { directory, file: join(directory, id) }
  }

  /** undefined if there is no such file, and that is certain. What is behind a symbolic link is none of this place. */
  async #absent<T>(result: Promise<T>): Promise<T | undefined> {
    try {
      return await result
    } catch (error) {
      if (isLink(error)) return undefined
      if (codeOf(error) !== 'ENOENT') throw error
      await this.#confirm()
      return undefined
    }
  }

  /** Tells whether there was such a file. */
  async #unlink(path: string): Promise<boolean> {
    try {
      await this.#calls.unlink(path)
      return true
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return false
      throw error
    }
  }

  /** Throws if the place is not there. A file that is missing would then say nothing. */
  async #confirm(): Promise<void> {
    if (this.#mark === undefined) await this.#calls.stat(this.description)
    else if ((await this.#loadMark()) !== this.#mark) {
      throw blobStoreUnavailable(`files: ${this.description} has lost its mark; is its disk mounted?`)
    }
  }

  #confirmOrMake(): Promise<void> {
    return this.#mark === undefined ? this.#tree.makeRoot() : this.#confirm()
  }

  async #loadMark(): Promise<string | undefined> {
    const path = join(this.description, markName)
    let descriptor: number
    try {
      descriptor = await this.#calls.open(path, readFlags)
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || isLink(error)) return undefined
      throw error
    }
    try {
      const bytes = new Uint8Array(markBytesMax)
      return Buffer.from(bytes.subarray(0, await readFully(this.#calls, descriptor, bytes, 0)))
        .toString()
        .trim()
    } finally {
      await this.#calls.close(descriptor).catch(() => {})
    }
  }

  /** Syncs the directory, or the one above it if it was removed. */
  async #syncNearest(path: string): Promise<void> {
    try {
      await syncDirectory(this.#calls, path)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || path === this.description) throw error
      await this.#syncNearest(dirname(path))
    }
  }
}

const isLink = (error: unknown): boolean => error instanceof SymbolicLink || codeOf(error) === 'ELOOP'

async function* oneChunk(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  if (chunk.length > 0) yield chunk
}
