/**
 * Syncs of directories, shared: while one runs, later changes of that directory wait for the next one, all for the same.
 */
export class SharedSync {
  readonly #sync: (directory: string) => Promise<void>
  readonly #running = new Map<string, { current: Promise<void>; next?: Promise<void> }>()
  #failures = 0

  constructor(sync: (directory: string) => Promise<void>) {
    this.#sync = sync
  }

  /**
   * Runs a change of names in the directory and makes it durable. A failed sync may have dropped every change that was made
   * before it ended, and the next sync would still succeed. So a change that began before that end fails, too.
   */
  async change(directory: string, change: () => Promise<void>): Promise<void> {
    const failures = this.#failures
    await change()
    await this.#join(directory)
    if (this.#failures !== failures) throw new Error(`a sync failed while names were changed in ${directory}`)
  }

  #join(directory: string): Promise<void> {
    const running = this.#running.get(directory)
    if (running === undefined) return this.#start(directory)
    const start = () => this.#start(directory)
    running.next ??= running.current.then(start, start)
    return running.next
  }

  #start(directory: string): Promise<void> {
    const done = () => {
      if (this.#running.get(directory)?.next === undefined) this.#running.delete(directory)
    }
    const current = this.#sync(directory).then(done, (error: unknown) => {
      this.#failures++
      done()
      throw error
    })
    this.#running.set(directory, { current })
    return current
  }
}
