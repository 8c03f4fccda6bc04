/**
 * Tells the parts of one process about runs that it has changed itself: the dispatcher, and requests that wait. What other
 * processes change is found by looking every `taskPollEveryMs`.
 */
export class RunSignals {
  readonly #listeners = new Set<(taskId: number) => void>()

  /** Called after a commit that added, finished, cancelled or requeued a run of the task, or that resumed it. Never throws. */
  changed(taskId: number): void {
    for (const listener of this.#listeners) listener(taskId)
  }

  /** Returns the function that ends it. The listener must be quick and must not throw. */
  listen(listener: (taskId: number) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}
