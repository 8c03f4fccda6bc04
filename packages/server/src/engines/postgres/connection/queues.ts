/**
 * Work on the same things takes turns in memory: in the database it would wait for a lock, and hold a connection of the pool
 * that other requests need.
 */
export class Queues {
  readonly #last = new Map<string, Promise<void>>()

  /** Runs `work` when all earlier work on one of the same things has ended. */
  async run<T>(names: string[], work: () => Promise<T>): Promise<T> {
    const earlier = names.map((name) => this.#last.get(name))
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    // All places in the queues are taken at once, so no two calls wait for each other.
    for (const name of names) this.#last.set(name, ended)
    try {
      await Promise.all(earlier)
      return await work()
    } finally {
      for (const name of names) if (this.#last.get(name) === ended) this.#last.delete(name)
      end()
    }
  }
}
