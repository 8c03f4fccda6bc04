import { CubbyError } from '../core/errors.ts'
import { repeatLater } from '../core/hint.ts'
import { waitsOfUserMax } from '../core/limits.ts'
import type { TokenUser } from '../store/api-keys.ts'

/** Limits the waits and streams of each user in this process: one person cannot take the places of all others. */
export class UserWaits {
  readonly #counts = new Map<number, number>()

  /** Returns what ends the wait. Throws `unavailable` if the user has too many. */
  enter({ shareSeq }: TokenUser): () => void {
    const count = this.#counts.get(shareSeq) ?? 0
    if (count >= waitsOfUserMax) {
      throw new CubbyError('unavailable', `This user has ${count} waits and streams already.`, { hint: repeatLater })
    }
    this.#counts.set(shareSeq, count + 1)
    return () => {
      const left = this.#counts.get(shareSeq)! - 1
      if (left > 0) this.#counts.set(shareSeq, left)
      else this.#counts.delete(shareSeq)
    }
  }
}
