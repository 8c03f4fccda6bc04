import type { Beginning, CommitTime } from './commit-times.ts'
import { type Salts, sameSalts } from './wal-format.ts'

/** The times of commits that are not archived yet, in the order of the commits. */
export class TimeQueue {
  #times: CommitTime[] = []
  #lastSeq = 0
  /** The time of the last slot before one that is missing. */
  #unsureFromMs: number | undefined

  /** `isOther`: their numbers need not continue what was added before. They may be of another start of the server. */
  add(times: CommitTime[], isOther = false): void {
    if (isOther && times.length > 0) this.#lastSeq = times[0]!.seq - 1
    for (const time of times) {
      if (time.seq !== this.#lastSeq + 1) this.#unsureFromMs ??= this.#times.at(-1)?.beganMs ?? 0
      this.#lastSeq = time.seq
      this.#times.push(time)
    }
  }

  /** What follows is of this start of the server. */
  startOver(): void {
    this.#lastSeq = 0
  }

  /** The highest frame of this generation up to which the writer has committed, and so synced. */
  framesOf(salts: Salts): number {
    for (let i = this.#times.length - 1; i >= 0; i--) {
      if (sameSalts(this.#times[i]!, salts)) return this.#times[i]!.frames
    }
    return 0
  }

  /** When the commit that ends with this frame began. Ask in the order of the commits. */
  take(salts: Salts, frame: number): Beginning | undefined {
    const at = this.#times.findIndex((time) => sameSalts(time, salts) && time.frames >= frame)
    if (at === -1) return undefined
    // The found one stays: a group that was committed in several transactions has one time.
    if (at > 0) this.#times.splice(0, at)
    return this.#times[0]!
  }

  /** Since when a slot is missing, if one is. It is told once. */
  takeUnsure(): number | undefined {
    const fromMs = this.#unsureFromMs
    this.#unsureFromMs = undefined
    return fromMs
  }

  /** What is left belongs to commits that nobody archives. */
  clear(): void {
    this.#times = []
    this.#unsureFromMs = undefined
  }
}
