import { dataBytesMax } from '../../../core/limits.ts'
import type { OperationResult, RecordOperation } from '../../../store/records.ts'
import type { Command, Outcome } from './command.ts'

const tablesMax = 10_000

/** The writer reads, changes and checks the whole record for a patch: this takes the time of a put of so much more data. */
const patchFactor = 5

const patchesOf = (command: Command): RecordOperation[] => {
  if (command.kind !== 'write' && command.kind !== 'batch') return []
  const operations = command.kind === 'write' ? command.operations : command.records
  return operations.filter(({ op }) => op === 'patch')
}

/**
 * Says how much of a commit the patches of a command take. A request does not tell how large the result of its patch is, so a
 * patch counts as much as recent ones of the same table, and before the first one as much as a record may have.
 */
export class PatchWeights {
  readonly #lengths = new Map<number, number>()

  of(command: Command): number {
    const patches = patchesOf(command)
    if (patches.length === 0) return 0
    return patches.length * patchFactor * (this.#lengths.get(tableOf(command)) ?? dataBytesMax)
  }

  /** A large result counts at once, and is forgotten slowly. */
  note(command: Command, outcome: Outcome): void {
    if (!('value' in outcome) || patchesOf(command).length === 0) return
    const { results = [] } = outcome.value as { results?: OperationResult[] }
    const tableId = tableOf(command)
    for (const result of results) {
      if (!('length' in result)) continue
      const length = Math.max(result.length, Math.floor((this.#lengths.get(tableId) ?? 0) * 0.9))
      this.#lengths.delete(tableId)
      this.#lengths.set(tableId, length)
    }
    if (this.#lengths.size > tablesMax) this.#lengths.delete(this.#lengths.keys().next().value!)
  }
}

const tableOf = (command: Command): number => ('fence' in command ? (command.fence.tableId ?? 0) : 0)
