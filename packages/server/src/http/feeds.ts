import { CubbyError } from '../core/errors.ts'
import { repeatLater } from '../core/hint.ts'
import { followersMax } from '../core/limits.ts'
import { StrictShares } from '../core/shares.ts'
import type { ChangesWait } from '../operations/changes/read-changes.ts'
import type { ApiKey } from '../store/api-keys.ts'
import type { Changes } from '../store/changes.ts'
import type { Table } from '../store/tables.ts'

type Follower = Pick<ApiKey, 'orgId' | 'seq'>

const tooMany = (): CubbyError =>
  new CubbyError('unavailable', 'Too many streams and requests wait for changes.', { hint: repeatLater })

/** The streams of changes and the requests that wait for changes, of this process. */
export class Feeds {
  readonly #changes: Pick<Changes, 'follow'>
  readonly #shares = new StrictShares(followersMax)
  /** Ends all waits. */
  readonly #stops = new Set<() => void>()
  #isStopping = false

  constructor(changes: Pick<Changes, 'follow'>) {
    this.#changes = changes
  }

  /** The number of streams and waits. */
  get count(): number {
    return followersMax - this.#shares.free
  }

  /** Takes a place among the followers; the function that is returned gives it back. Throws `unavailable` if there is none. */
  enter({ orgId, seq }: Follower): () => void {
    if (this.#isStopping || this.#shares.room(orgId, seq) === 0) throw tooMany()
    this.#shares.take(orgId, seq, 1)
    return () => this.#shares.give(orgId, seq, 1)
  }

  /** The wait of one request. */
  begin(follower: Follower, table: Table): ChangesWait {
    const leave = this.enter(follower)
    let headSeq = 0
    let wake: (() => void) | undefined
    const unfollow = this.#changes.follow(table, (seq) => {
      headSeq = Math.max(headSeq, seq)
      wake?.()
    })
    return {
      until: (after, ms, signal) =>
        new Promise((resolve) => {
          if (headSeq > after) return resolve('maybe')
          if (ms <= 0 || this.#isStopping || signal?.aborted === true) return resolve('over')
          const end = (why: 'maybe' | 'over'): void => {
            clearTimeout(timer)
            signal?.removeEventListener('abort', onOver)
            this.#stops.delete(onOver)
            wake = undefined
            resolve(why)
          }
          const onOver = (): void => end('over')
          const timer = setTimeout(onOver, ms)
          signal?.addEventListener('abort', onOver)
          this.#stops.add(onOver)
          wake = () => {
            if (headSeq > after) end('maybe')
          }
        }),
      end: () => {
        unfollow()
        leave()
      },
    }
  }

  stop(): void {
    this.#isStopping = true
    for (const stop of [...this.#stops]) stop()
  }
}
