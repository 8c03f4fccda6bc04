import { dirname, join } from 'node:path'
import { blobDirectories } from '../../core/files/blob-id.ts'
import { codeOf, type FileCalls, SymbolicLink } from './file-calls.ts'
import type { SharedSync } from './shared-sync.ts'

const directoryMode = 0o700

/** Directories that are known to be durable. Uploads use the newest one or two. */
const preparedMax = 64

/** The most directories that are remembered because they were no links, and how long a read relies on that. */
const checkedMax = 1_024
const checkedMsMax = 1_000

/** A directory is removed only if all its blobs were begun longer ago than this: then no upload is about to write there. */
const keptMs = 24 * 60 * 60 * 1000

/** The directory of a blob was removed after it was made. */
export class NoDirectory extends Error {}

/**
 * Returns the last moment at which a blob of a directory can have begun, by its name. `digits`: the first of the 12 digits
 * of a time.
 */
const lastMs = (digits: string): number => Number.parseInt(digits.padEnd(12, 'f'), 16)

/** The directories of blobs, made when they are needed and removed when they are old and empty. */
export class DirectoryTree {
  readonly #calls: FileCalls
  readonly #root: string
  readonly #names: SharedSync
  readonly #prepared = new Map<string, Promise<void>>()
  readonly #checkedAtMs = new Map<string, number>()

  constructor(calls: FileCalls, root: string, names: SharedSync) {
    this.#calls = calls
    this.#root = root
    this.#names = names
  }

  directoryOf(id: string): string {
    return join(this.#root, ...blobDirectories(id))
  }

  /**
   * Makes the directory of the blob, durably. It is also synced if it is there already: the process that made it may not
   * have synced it yet. `confirm` is called before anything is made.
   */
  prepare(id: string, confirm: () => Promise<void>): Promise<void> {
    const directory = this.directoryOf(id)
    const known = this.#prepared.get(directory)
    if (known !== undefined) return known
    const preparing = this.#prepare(directory, confirm).catch((error: unknown) => {
      this.#prepared.delete(directory)
      throw error
    })
    this.#prepared.set(directory, preparing)
    if (this.#prepared.size > preparedMax) this.#prepared.delete(this.#prepared.keys().next().value!)
    return preparing
  }

  /** Throws SymbolicLink if a directory of the blob is a symbolic link. A missing directory is no error. */
  async refuseLinks(id: string): Promise<void> {
    const directory = this.directoryOf(id)
    await Promise.all([this.#refuseLink(dirname(directory)), this.#refuseLink(directory)])
  }

  /**
   * Does the same for a read. Returns undefined if the directory was checked within the last second: the two calls would be
   * a fifth of the cost of downloading a small file.
   */
  refuseLinksToRead(id: string): Promise<void> | undefined {
    const directory = this.directoryOf(id)
    const atMs = this.#checkedAtMs.get(directory)
    if (atMs !== undefined && performance.now() - atMs < checkedMsMax) return undefined
    return this.refuseLinks(id).then(() => {
      if (this.#checkedAtMs.size >= checkedMax) this.#checkedAtMs.clear()
      this.#checkedAtMs.set(directory, performance.now())
    })
  }

  /** The directory of the blob is not there, although it was prepared. */
  forget(id: string): void {
    this.#prepared.delete(this.directoryOf(id))
  }

  /** Makes the top directory, with those above it, if it is not there. */
  async makeRoot(): Promise<void> {
    await this.#makeWithParents(this.#root)
  }

  /** Removes the directories of the blob if they are old and empty. */
  async prune(id: string, nowMs: number): Promise<void> {
    const [first, second] = blobDirectories(id)
    if (lastMs(first + second) + keptMs > nowMs) return
    this.forget(id)
    if (!(await this.#removeIfEmpty(join(this.#root, first, second)))) return
    if (lastMs(first) + keptMs <= nowMs) await this.#removeIfEmpty(join(this.#root, first))
  }

  async #prepare(directory: string, confirm: () => Promise<void>): Promise<void> {
    await confirm()
    await this.#make(dirname(directory))
    // Without this check, the second directory would be made wherever a link leads.
    await this.#refuseLink(dirname(directory))
    await this.#make(directory)
  }

  async #refuseLink(path: string): Promise<void> {
    const found = await this.#calls.lstat(path).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error
    })
    if (found?.isSymbolicLink()) throw new SymbolicLink(path)
  }

  /** Makes a directory in one that exists, and syncs its name. */
  async #make(path: string): Promise<void> {
    let isNew = false
    const make = async (): Promise<void> => {
      try {
        await this.#calls.makeDirectory(path, directoryMode)
        isNew = true
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
      }
    }
    try {
      await this.#names.change(dirname(path), make)
    } catch (error) {
      // A second sync would succeed even if the name was lost. So the directory is removed, and a retry makes and syncs it
      // again.
      if (isNew) await this.#calls.removeDirectory(path).catch(() => {})
      throw error
    }
  }

  async #makeWithParents(path: string): Promise<void> {
    try {
      await this.#calls.stat(path)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error
      await this.#makeWithParents(dirname(path))
      await this.#make(path)
    }
  }

  /** Returns true if the directory is gone. */
  async #removeIfEmpty(path: string): Promise<boolean> {
    try {
      await this.#calls.removeDirectory(path)
      return true
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return true
      if (['ENOTEMPTY', 'EEXIST', 'EBUSY'].includes(codeOf(error))) return false
      throw error
    }
  }
}
