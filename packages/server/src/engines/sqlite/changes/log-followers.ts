import type { LogHead } from './change-log.ts'

/** Tells those who follow a table of the commits that add to its log. */
export class LogFollowers {
  readonly #byTable = new Map<number, Set<(seq: number) => void>>()

  follow(tableId: number, noted: (seq: number) => void): () => void {
    const followers = this.#byTable.get(tableId) ?? new Set()
    this.#byTable.set(tableId, followers.add(noted))
    return () => {
      followers.delete(noted)
      if (followers.size === 0 && this.#byTable.get(tableId) === followers) this.#byTable.delete(tableId)
    }
  }

  note(heads: LogHead[]): void {
    for (const [tableId, seq] of heads) for (const noted of [...(this.#byTable.get(tableId) ?? [])]) noted(seq)
  }
}
