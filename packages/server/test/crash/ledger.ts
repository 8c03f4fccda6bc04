// The responses that the writers got, and what the store may contain after a crash because of them: every acknowledged
// write, and each write without a response either as a whole or not at all.

/** The contents that one write left in a record. Every write has a mark of its own. */
export interface Found {
  mark: string
  updatedAt: number
}

/** The records by `hashKey/rangeKey`. */
export type FoundRecords = Map<string, Found>

/** A unit is what one operation writes as one: a record, or several that only ever change in one batch. */
export type Units = Record<string, string[]>

/** Marks by unit; undefined: removed. */
export type Change = Map<string, string | undefined>

const unitState = (records: string[], found: FoundRecords): { mark: string | undefined; torn: boolean } => {
  const marks = new Set(records.map((record) => found.get(record)?.mark))
  return { mark: [...marks][0], torn: marks.size > 1 }
}

/** The units of one writer. It has one request in flight at a time, so at most two states are allowed. */
export class OwnLedger {
  readonly #units: Units
  readonly #marks: Change
  /** Versions from responses, for units of one record. */
  readonly #versions = new Map<string, number>()
  #pending: Change | undefined

  constructor(units: Units) {
    this.#units = units
    this.#marks = new Map(Object.keys(units).map((unit) => [unit, undefined]))
  }

  version(unit: string): number | undefined {
    return this.#versions.get(unit)
  }

  holds(unit: string): boolean {
    return this.#marks.get(unit) !== undefined
  }

  sent(change: Change): void {
    this.#pending = change
  }

  acknowledged(updatedAt?: number): void {
    for (const [unit, mark] of this.#pending!) {
      this.#marks.set(unit, mark)
      this.#versions.delete(unit)
      if (mark !== undefined && updatedAt !== undefined) this.#versions.set(unit, updatedAt)
    }
    this.#pending = undefined
  }

  /** The faults of the store. Its content is then the state to continue from. */
  compare(found: FoundRecords): string[] {
    const faults: string[] = []
    const actual: Change = new Map()
    for (const [unit, records] of Object.entries(this.#units)) {
      const { mark, torn } = unitState(records, found)
      if (torn) faults.push(`${unit} is torn: ${records.map((record) => found.get(record)?.mark ?? 'none').join(', ')}`)
      actual.set(unit, mark)
    }
    const withPending = new Map([...this.#marks, ...(this.#pending ?? [])])
    if (!sameMarks(actual, this.#marks) && !sameMarks(actual, withPending)) {
      const show = (marks: Change) => JSON.stringify([...marks])
      faults.push(`has ${show(actual)}, acknowledged ${show(this.#marks)}, pending ${show(this.#pending ?? new Map())}`)
    }
    for (const [unit, updatedAt] of this.#versions) {
      const [record] = this.#units[unit]!
      const present = found.get(record!)
      if (present?.mark === this.#marks.get(unit) && present?.updatedAt !== updatedAt) {
        faults.push(`${record} has version ${present?.updatedAt}, acknowledged was ${updatedAt}`)
      }
    }
    this.#pending = undefined
    this.#versions.clear()
    for (const [unit, mark] of actual) {
      this.#marks.set(unit, mark)
      const [record, ...others] = this.#units[unit]!
      if (mark !== undefined && others.length === 0) this.#versions.set(unit, found.get(record!)!.updatedAt)
    }
    return faults
  }
}

const sameMarks = (a: Change, b: Change): boolean => [...a].every(([unit, mark]) => b.get(unit) === mark)

interface SharedWrite {
  mark: string
  sent: number
  /** Undefined: there was no response. */
  acknowledged: number | undefined
  updatedAt: number | undefined
}

/**
 * One unit that all writers write at once. Of two writes in flight at the same time, either may be the last one. But a write
 * cannot be the last one if another acknowledged write was sent after its response.
 */
export class SharedLedger {
  readonly #name: string
  readonly #records: string[]
  #writes: SharedWrite[] = []
  #tick = 0

  constructor(name: string, records: string[]) {
    this.#name = name
    this.#records = records
  }

  sent(mark: string): SharedWrite {
    const write = { mark, sent: ++this.#tick, acknowledged: undefined, updatedAt: undefined }
    this.#writes.push(write)
    return write
  }

  acknowledged(write: SharedWrite, updatedAt?: number): void {
    write.acknowledged = ++this.#tick
    write.updatedAt = updatedAt
  }

  compare(found: FoundRecords): string[] {
    const faults: string[] = []
    const { mark, torn } = unitState(this.#records, found)
    if (torn) {
      const marks = this.#records.map((record) => found.get(record)?.mark ?? 'none')
      faults.push(`${this.#name} is torn: ${marks.join(', ')}`)
    }
    const answered = this.#writes.filter((write) => write.acknowledged !== undefined)
    const last = this.#writes.find((write) => write.mark === mark)
    if (last === undefined) {
      if (mark !== undefined || answered.length > 0) faults.push(`${this.#name} has ${mark}, which nobody wrote last`)
    } else if (last.acknowledged !== undefined) {
      const later = answered.find((write) => write.sent > last.acknowledged!)
      if (later !== undefined) faults.push(`${this.#name} has ${mark}, but ${later.mark} was acknowledged after it`)
    }
    faults.push(...this.#compareVersions(answered, last, found))
    this.#writes = []
    if (last !== undefined && mark !== undefined) {
      this.acknowledged(
        this.sent(mark),
        last.updatedAt === undefined ? undefined : found.get(this.#records[0]!)!.updatedAt,
      )
    }
    return faults
  }

  /** If responses had versions, the highest one is the last write. */
  #compareVersions(answered: SharedWrite[], last: SharedWrite | undefined, found: FoundRecords): string[] {
    const versions = answered.flatMap(({ updatedAt }) => (updatedAt === undefined ? [] : [updatedAt]))
    if (versions.length === 0) return []
    const faults: string[] = []
    if (new Set(versions).size < versions.length) faults.push(`${this.#name} was given one version twice`)
    const greatest = Math.max(...versions)
    const present = found.get(this.#records[0]!)?.updatedAt ?? 0
    if (last?.acknowledged === undefined ? present <= greatest : present !== greatest || last.updatedAt !== greatest) {
      faults.push(`${this.#name} has ${last?.mark} at version ${present}; the last acknowledged was ${greatest}`)
    }
    return faults
  }
}
