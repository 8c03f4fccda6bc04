import { dataBytesMax } from '../../../core/limits.ts'
import type { OperationResult, RecordOperation } from '../../../store/records.ts'

const tablesMax = 10_000

/** The writer reads, changes and checks the whole record for a patch: this takes the time of a put of so much more data. */
const patchFactor = 2

/**
 * The bytes that operations count for in the queue of writes. A request does not tell how large the result of its patch is,
 * so it counts as much as recent patches of the same table, and before the first one as much as a record may have.
 */
export class WriteBytes {
  readonly #patched = new Map<number, number>()

  of(tableId: number, operations: RecordOperation[]): number {
    let bytes = 0
    for (const operation of operations) {
      if (operation.op === 'put') bytes += operation.data.length
      else if (operation.op === 'patch') bytes += patchFactor * (this.#patched.get(tableId) ?? dataBytesMax)
    }
    return bytes
  }

  /** A large result counts at once, and is forgotten slowly. */
  note(tableId: number, results: OperationResult[]): void {
    for (const result of results) {
      if (!('length' in result)) continue
      const earlier = this.#patched.get(tableId) ?? 0
      this.#patched.delete(tableId)
      this.#patched.set(tableId, Math.max(result.length, Math.floor(earlier * 0.9)))
      if (this.#patched.size > tablesMax) this.#patched.delete(this.#patched.keys().next().value!)
    }
  }
}
