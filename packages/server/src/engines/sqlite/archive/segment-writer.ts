import { closeSync, fdatasyncSync, ftruncateSync, openSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncPath } from '../../../files/sync.ts'
import { pathsOfRun, writeAll } from './archive-files.ts'
import { type Block, encodeBlock } from './block.ts'

/** A segment that is being written. After an error it takes nothing more: a second sync would prove nothing. */
export class SegmentWriter {
  readonly #file: number
  readonly #open: string
  readonly #sealed: string
  bytes = 0

  constructor(
    runDir: string,
    readonly number: number,
  ) {
    const paths = pathsOfRun(runDir)
    this.#open = paths.openSegment(number)
    this.#sealed = paths.segment(number)
    this.#file = openSync(this.#open, 'wx', 0o600)
    try {
      syncPath(runDir)
    } catch (error) {
      closeSync(this.#file)
      throw error
    }
  }

  /** Durable when it returns. Returns the chain of the block. */
  append(block: Pick<Block, 'meta' | 'frames'>): string {
    const { parts, chain } = encodeBlock(block)
    const bytes = writeAll(this.#file, parts)
    fdatasyncSync(this.#file)
    this.bytes += bytes
    return chain
  }

  seal(): void {
    closeSync(this.#file)
    renameSync(this.#open, this.#sealed)
    syncPath(dirname(this.#sealed))
  }

  /** After an error. What was synced before stays in the file under its open name, without a part of a block after it. */
  giveUp(): void {
    try {
      ftruncateSync(this.#file, this.bytes)
    } catch {
      // A reader stops at the first block that is not whole.
    }
    try {
      closeSync(this.#file)
    } catch {
      // The descriptor is gone either way.
    }
  }
}
