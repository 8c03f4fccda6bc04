import { dataBytesMax } from '../../../core/limits.ts'
import type { RecordOperation } from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import { Queues } from '../connection/queues.ts'

/** What the patches of an organization that run at once may read, in characters; one always runs. */
const runningUnitsMax = 2 * dataBytesMax
const tablesMax = 10_000

interface Room {
  runningUnits: number
  waiting: { units: number; begin: () => void }[]
}

interface Part {
  table: Table
  records: RecordOperation[]
}

/**
 * Patches of the same record take turns in memory: waiting for the row's lock, each would hold a connection of the pool that
 * other writes need. Of large records an organization patches only a few at once, because reading, changing and writing them
 * keeps this thread and the database busy. How large they are is not known before: recent patches of the same table tell.
 */
export class PatchTurns {
  /** Nobody else waits in them: the records of a table belong to one organization. */
  readonly #queues = new Queues()
  readonly #rooms = new Map<number, Room>()
  readonly #lengths = new Map<number, number>()

  /** Runs `work` when all earlier calls that patch one of the same records have ended, and there is room for it. */
  async run<T>(orgId: number, parts: Part[], work: () => Promise<T>): Promise<T> {
    const names = parts.flatMap(({ table, records }) =>
      records.flatMap(({ op, hashKey, rangeKey }) =>
        op === 'patch' ? [JSON.stringify([table.id, hashKey, rangeKey])] : [],
      ),
    )
    if (names.length === 0) return work()
    return this.#queues.run(names, () => this.runInRoom(orgId, parts, work))
  }

  /** The same without turns, for patches that do not wait for rows. */
  async runInRoom<T>(orgId: number, parts: Part[], work: () => Promise<T>): Promise<T> {
    let units = 0
    for (const { table, records } of parts) {
      const patches = records.reduce((count, { op }) => (op === 'patch' ? count + 1 : count), 0)
      if (patches > 0) units += patches * (this.#lengths.get(table.id) ?? dataBytesMax)
    }
    return units === 0 ? work() : this.#inRoom(orgId, units, work)
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
