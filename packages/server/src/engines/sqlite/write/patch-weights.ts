import { dataBytesMax } from '../../../core/limits.ts'
import type { OperationResult, RecordOperation } from '../../../store/records.ts'
import { longestPatched } from '../records/longest-patched.ts'
import type { Command, Outcome } from './command.ts'

const tablesMax = 10_000

/** The writer reads, changes and checks the whole record for a patch: this takes the time of a put of so much more data. */
const patchFactor = 5

interface Part {
  tableId: number
  records: RecordOperation[]
}

const partsOf = (command: Command): Part[] => {
  if (command.kind === 'write') return [{ tableId: command.fence.tableId!, records: command.operations }]
  return command.kind === 'batch' ? command.parts : []
}

const countOfPatches = ({ records }: Part): number => {
  let count = 0
  for (const { op } of records) if (op === 'patch') count++
  return count
}

/**
 * Says how much of a commit the patches of a command take. A request does not tell how large the result of its patch is, so a
 * patch counts as much as recent ones of the same table, and before the first one as much as a record may have.
 */
export class PatchWeights {
  readonly #lengths = new Map<number, number>()

  of(command: Command): number {
    let weight = 0
    for (const part of partsOf(command)) {
      const count = countOfPatches(part)
      if (count > 0) weight += count * patchFactor * (this.#lengths.get(part.tableId) ?? dataBytesMax)
    }
    return weight
  }

  /** A large result counts at once, and is forgotten slowly. */
  note(command: Command, outcome: Outcome): void {
    if (!('value' in outcome) || (command.kind !== 'write' && command.kind !== 'batch')) return
    const { results = [], patched } = outcome.value as { results?: OperationResult[]; patched?: number[] }
    const longest = patched ?? [longestPatched(results)]
    for (const [i, { tableId }] of partsOf(command).entries()) this.#note(tableId, longest[i] ?? 0)
  }

  #note(tableId: number, length: number): void {
    if (length === 0) return
    const kept = Math.max(length, Math.floor((this.#lengths.get(tableId) ?? 0) * 0.9))
    this.#lengths.delete(tableId)
    this.#lengths.set(tableId, kept)
    if (this.#lengths.size > tablesMax) this.#lengths.delete(this.#lengths.keys().next().value!)
  }
}
