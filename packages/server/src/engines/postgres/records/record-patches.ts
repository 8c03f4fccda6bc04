import { dataBytesMax } from '../../../core/limits.ts'
import { holds } from '../../../core/records/condition.ts'
import { nowSeconds } from '../../../core/records/expiry.ts'
import { patchRecord, refuseLargeResults } from '../../../core/records/record-patch.ts'
import { sliceUnits } from '../../../core/slices.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type {
  DeleteOperation,
  OperationResult,
  PutOperation,
  RecordOperation,
  WriteResult,
} from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import type { Read } from '../connection/database.ts'
import type { BoundStatement } from '../connection/driver.ts'
import { Queues } from '../connection/queues.ts'
import { inLockOrder, keyValues } from './lock-order.ts'
import { lockInBatch, readLocked } from './statements.ts'

// A patch reads a record under the lock of its row, so a write that has one is a transaction of two round trips: locks and
// reads, then the writes and the commit.

export const hasPatch = (operations: readonly RecordOperation[]): boolean => operations.some(({ op }) => op === 'patch')

/** The write with a put for each patch and without conditions, which hold as long as the locks are held. */
export interface DecidedWrite {
  operations: (PutOperation | DeleteOperation)[]
  /** Takes the results of `operations`, and returns those of the write. */
  readResults(written: OperationResult[]): OperationResult[]
}

type Refusal = Extract<WriteResult, { applied: false }>

/**
 * Locks all records of a write in the common order, and applies its patches to what they hold, with a pause after large ones.
 * Throws what refuses a patch. `before` ends with the guard: a refusal tells of the record, so a revoked key must not get one.
 */
export const decidePatches = async (
  send: Read,
  before: BoundStatement[],
  table: Table,
  operations: RecordOperation[],
  nowMs: number,
  turns: PatchTurns,
): Promise<DecidedWrite | Refusal> => {
  const order = inLockOrder(operations)
  const bound = order.flatMap((position): BoundStatement[] => {
    const key = keyValues(table, operations[position]!)
    return [
      { statement: lockInBatch, values: key },
      { statement: readLocked, values: [...key, nowSeconds(nowMs), operations[position]!.op === 'patch' ? 't' : 'f'] },
    ]
  })
  const answers = (await send(...before, ...bound)).slice(before.length)
  const rows = new Map(order.map((position, i) => [position, answers[2 * i + 1]!.rows[0]]))
  for (const [i, { condition }] of operations.entries()) {
    const row = rows.get(i)
    const current = row === undefined ? undefined : Number(row[0])
    if (!holds(condition, current)) return { applied: false, failedOperation: i, current }
  }
  const patched: (PutOperation | undefined)[] = []
  let doneUnits = 0
  for (const [i, operation] of operations.entries()) {
    if (operation.op !== 'patch') {
      patched.push(undefined)
      continue
    }
    if (doneUnits >= sliceUnits) {
      await new Promise((resolve) => setImmediate(resolve))
      doneUnits = 0
    }
    const { hashKey, rangeKey } = operation
    const row = rows.get(i)
    const current = row && { data: row[2]!, ttlSeconds: row[1] == null ? null : Number(row[1]) }
    turns.note(table, current?.data.length ?? 0)
    const put = patchRecord(operation, current)
    turns.note(table, put.data.length)
    patched.push({ op: 'put', hashKey, rangeKey, condition: undefined, ...put })
    doneUnits += put.data.length
  }
  refuseLargeResults(patched.filter((put) => put !== undefined))
  return {
    operations: operations.map((operation, i) =>
      operation.op === 'patch' ? patched[i]! : { ...operation, condition: undefined },
    ),
    readResults: (written) =>
      written.map((result, i) => {
        const operation = operations[i]!
        if (operation.op !== 'patch') return result
        const { updatedAtMs } = result as { updatedAtMs: number }
        const { data, ttlSeconds } = patched[i]!
        const shown = { updatedAtMs, ttlSeconds, length: data.length }
        return operation.wantsData ? { ...shown, data } : shown
      }),
  }
}

/** What the patches of an organization that run at once may read, in characters; one always runs. */
const runningUnitsMax = 2 * dataBytesMax
const tablesMax = 10_000

interface Room {
  runningUnits: number
  waiting: { units: number; begin: () => void }[]
}

/**
 * Patches of the same record take turns in memory: waiting for the row's lock, each would hold a connection of the pool that
 * other writes need. Of large records an organization patches only a few at once, because reading, changing and writing them keeps
 * this thread and the database busy. How large they are is not known before: recent patches of the same table tell.
 */
export class PatchTurns {
  readonly #queues = new Queues()
  readonly #rooms = new Map<number, Room>()
  readonly #lengths = new Map<number, number>()

  /** Runs `work` when all earlier calls that patch one of the same records have ended. */
  async run<T>(caller: Caller, table: Table, operations: RecordOperation[], work: () => Promise<T>): Promise<T> {
    const records = operations.flatMap(({ op, hashKey, rangeKey }) =>
      op === 'patch' ? [JSON.stringify([table.id, hashKey, rangeKey])] : [],
    )
    if (records.length === 0) return work()
    const units = records.length * (this.#lengths.get(table.id) ?? dataBytesMax)
    return this.#queues.run(records, () => this.#inRoom(caller.orgId, units, work))
  }

  /** `length` is that of a record that is patched. A large one counts at once, and is forgotten slowly. */
  note(table: Table, length: number): void {
    const noted = Math.max(length, Math.floor((this.#lengths.get(table.id) ?? 0) * 0.9))
    this.#lengths.delete(table.id)
    this.#lengths.set(table.id, noted)
    if (this.#lengths.size > tablesMax) this.#lengths.delete(this.#lengths.keys().next().value!)
  }

  async #inRoom<T>(orgId: number, units: number, work: () => Promise<T>): Promise<T> {
    let room = this.#rooms.get(orgId)
    if (room === undefined) {
      room = { runningUnits: 0, waiting: [] }
      this.#rooms.set(orgId, room)
    }
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    room.waiting.push({ units, begin })
    this.#beginNext(room)
    await begun
    try {
      return await work()
    } finally {
      room.runningUnits -= units
      this.#beginNext(room)
      if (room.runningUnits === 0 && room.waiting.length === 0) this.#rooms.delete(orgId)
    }
  }

  #beginNext(room: Room): void {
    for (let [next] = room.waiting; next !== undefined; [next] = room.waiting) {
      if (room.runningUnits > 0 && room.runningUnits + next.units > runningUnitsMax) return
      room.waiting.shift()
      room.runningUnits += next.units
      next.begin()
    }
  }
}
