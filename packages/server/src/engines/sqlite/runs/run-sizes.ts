import type { Run } from '../../../core/tasks/run.ts'

/** Claimed runs whose sizes are remembered. A worker that holds more pays a read for each. */
const sizesMax = 10_000

/**
 * The bytes of runs that were claimed here, until they are finished. Most of them are finished soon and through the same
 * process, and to read the row for its size costs as much as to write it: after each commit the cache of pages is empty.
 */
export class RunSizes {
  readonly #bytes = new Map<string, number>()
  readonly #entriesMax: number

  constructor(entriesMax = sizesMax) {
    this.#entriesMax = entriesMax
  }

  get size(): number {
    return this.#bytes.size
  }

  note({ taskId, id, payload, result }: Pick<Run, 'taskId' | 'id' | 'payload' | 'result'>): void {
    // The next ones are read once more.
    if (this.#bytes.size >= this.#entriesMax) this.#bytes.clear()
    this.#bytes.set(placeOf(taskId, id), Buffer.byteLength(payload) + (result === null ? 0 : Buffer.byteLength(result)))
  }

  /** Undefined if the row has to be read. */
  get(taskId: number, id: string): number | undefined {
    return this.#bytes.get(placeOf(taskId, id))
  }

  forget(taskId: number, id: string): void {
    this.#bytes.delete(placeOf(taskId, id))
  }
}

const placeOf = (taskId: number, id: string): string => `${taskId}/${id}`
