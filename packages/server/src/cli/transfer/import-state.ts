import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { OperatorError } from '../../core/operator-error.ts'

/** The progress of an import. Every line up to `line` is done: imported, skipped or rejected. */
export interface ImportProgress {
  line: number
  records: number
  unchanged: number
  /** Lines whose ttl had passed. */
  expired: number
  refused: number
}

interface KeptState extends ImportProgress {
  /** The file and its target: a changed file or another target is noticed. */
  file: { bytes: number; modifiedAt: number }
  into: string
}

/**
 * A small file beside the imported one. It may lag behind what was written, but is never ahead: lines between the two are
 * put again, which changes nothing.
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

  /** Returns how far an earlier import of this file into this target came. */
  load(): ImportProgress {
    const kept = this.#read()
    if (kept === undefined) {
      throw new OperatorError(`there is no earlier import to continue: ${this.path} is missing or not readable`)
    }
    if (kept.into !== this.#into) {
      throw new OperatorError(
        `the earlier import went into ${kept.into}, not into ${this.#into}; start without --resume`,
      )
    }
    if (kept.file.bytes !== this.#file.bytes || kept.file.modifiedAt !== this.#file.modifiedAt) {
      throw new OperatorError('the file has changed since the earlier import; start without --resume')
    }
    // Version 0.1 did not count them.
    const { line, records, unchanged, expired = 0, refused } = kept
    return { line, records, unchanged, expired, refused }
  }

  #read(): KeptState | undefined {
    try {
      const kept: unknown = JSON.parse(readFileSync(this.path, 'utf8'))
      return isKeptState(kept) ? kept : undefined
    } catch {
      return undefined
    }
  }

  save(progress: ImportProgress): void {
    if (this.#broken) return
    const kept: KeptState = { ...progress, file: this.#file, into: this.#into }
    // Others may write into the directory too: a name that they can guess could be a link to another file by now.
    const temporary = `${this.path}.${randomBytes(8).toString('hex')}.new`
    try {
      writeFileSync(temporary, `${JSON.stringify(kept)}\n`, { mode: 0o600, flag: 'wx' })
      renameSync(temporary, this.path)
    } catch {
      // A directory that cannot be written must not end the import. If it is interrupted, it prints the line instead.
      this.#broken = true
      tryRemove(temporary)
    }
  }

  get kept(): boolean {
    return !this.#broken
  }

  remove(): void {
    rmSync(this.path, { force: true })
  }
}

const tryRemove = (file: string): void => {
  try {
    rmSync(file, { force: true })
  } catch {
    // The directory cannot be written.
  }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

/** Somebody else may have written it. */
const isKeptState = (value: unknown): value is KeptState => {
  const { line, records, unchanged, expired = 0, refused, file, into } = (value ?? {}) as Partial<KeptState>
  return (
    [line, records, unchanged, expired, refused, file?.bytes, file?.modifiedAt].every(isCount) &&
    typeof into === 'string'
  )
}
