import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { CommandFailed } from '../command.ts'

/** How far an import came: every line up to `line` is settled: imported, skipped or refused. */
export interface ImportProgress {
  line: number
  records: number
  unchanged: number
  /** Lines whose ttl had passed. */
  expired: number
  refused: number
}

interface KeptState extends ImportProgress {
  /** So that a changed file or another target is noticed. */
  file: { bytes: number; modifiedAt: number }
  into: string
}

/**
 * A small file beside the imported one. It lags behind what was written, never ahead: lines between the two are put again,
 * which changes nothing.
 */
export class ImportState {
  readonly path: string
  readonly #file: KeptState['file']
  readonly #into: string
  #broken = false

  constructor(file: string, into: string) {
    this.path = `${resolve(file)}.import-state`
    const { size, mtimeMs } = statSync(file)
    this.#file = { bytes: size, modifiedAt: Math.floor(mtimeMs) }
    this.#into = into
  }

  /** Where an earlier import of this file into this place ended. */
  load(): ImportProgress {
    let kept: KeptState
    try {
      kept = JSON.parse(readFileSync(this.path, 'utf8'))
    } catch {
      throw new CommandFailed(`there is no earlier import to go on with: ${this.path} is missing or not readable`)
    }
    if (kept.into !== this.#into) {
      throw new CommandFailed(
        `the earlier import went into ${kept.into}, not into ${this.#into}; start without --resume`,
      )
    }
    if (kept.file.bytes !== this.#file.bytes || kept.file.modifiedAt !== this.#file.modifiedAt) {
      throw new CommandFailed('the file has changed since the earlier import; start without --resume')
    }
    // Version 0.1 did not count them.
    const { line, records, unchanged, expired = 0, refused } = kept
    return { line, records, unchanged, expired, refused }
  }

  save(progress: ImportProgress): void {
    if (this.#broken) return
    const kept: KeptState = { ...progress, file: this.#file, into: this.#into }
    try {
      writeFileSync(`${this.path}.new`, `${JSON.stringify(kept)}\n`, { mode: 0o600 })
      renameSync(`${this.path}.new`, this.path)
    } catch {
      // A folder that cannot be written must not end the import; whoever is interrupted is told the line instead.
      this.#broken = true
    }
  }

  get kept(): boolean {
    return !this.#broken
  }

  remove(): void {
    rmSync(this.path, { force: true })
  }
}
