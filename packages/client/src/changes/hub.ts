import { CubbyError } from '../index.ts'
import type { Send } from '../transport/transport.ts'
import type { KeyChange } from '../transport/wire-changes.ts'
import { pauseUntil } from '../worker/pause.ts'
import { Feed } from './feed.ts'

/** One of those who follow a table together. */
interface Follower {
  /** Without a change anything may have changed: so it begins, and so it goes on after an interruption that has lost changes. */
  onChange(change?: KeyChange): void
  onEnd(error: unknown): void
}

const expiredPauseMs = 1_000

/** One stream for all watches of a table, or of one hash key of it. */
class Hub {
  readonly followers = new Set<Follower>()
  readonly stop = new AbortController()
  /** What is committed from now on will be told. */
  isOpen = false

  async run(send: Send, path: string, hash: string | undefined): Promise<void> {
    const { signal } = this.stop
    while (!signal.aborted) {
      const fields = { hash, select: 'keys' }
      const feed = new Feed<KeyChange>({ send, path, fields, cursor: null, from: 'now' }, signal)
      try {
        for await (const { item } of feed.steps()) {
          if (!this.isOpen || item !== undefined) this.#tell(this.isOpen ? item : undefined)
        }
      } catch (error) {
        if (!(error instanceof CubbyError && error.code === 'cursor_expired')) throw error
        this.isOpen = false
        await pauseUntil(expiredPauseMs, signal)
      }
    }
  }

  #tell(change: KeyChange | undefined): void {
    this.isOpen = true
    for (const follower of this.followers) follower.onChange(change)
  }
}

/** Those of each client, by path and hash key. */
const hubs = new WeakMap<Send, Map<string, Hub>>()

/** `path` is that of the changes. Returns the function that leaves. */
export const join = (send: Send, path: string, hash: string | undefined, follower: Follower): (() => void) => {
  const own = hubs.get(send) ?? new Map<string, Hub>()
  hubs.set(send, own)
  const name = JSON.stringify([path, hash])
  const hub = own.get(name) ?? new Hub()
  const close = () => {
    hub.stop.abort()
    if (own.get(name) === hub) own.delete(name)
  }
  hub.followers.add(follower)
  if (own.get(name) !== hub) {
    own.set(name, hub)
    hub.run(send, path, hash).catch((error) => {
      close()
      for (const one of hub.followers) one.onEnd(error)
    })
  } else if (hub.isOpen) follower.onChange()
  return () => {
    hub.followers.delete(follower)
    if (hub.followers.size === 0) close()
  }
}
