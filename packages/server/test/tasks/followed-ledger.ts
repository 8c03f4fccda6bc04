import type { Json } from '../harness.ts'

/** A write that was applied to a record. Where no response told its version, the version is between two. */
interface Change {
  op: 'put' | 'delete'
  versionMin: number
  versionMax: number
}

interface Known {
  /** In their order. */
  applied: Change[]
  /** That of the record as it is; undefined if there is none. */
  mark: string | undefined
  /** A write without an outcome, with the mark that it leaves. */
  pending: { change: Change; mark: string | undefined } | undefined
}

/** A request in flight: the marks that it leaves, by record. */
export interface Begun {
  marks: Map<string, string | undefined>
  sentAtMs: number
}

/** How much was known of each record at one moment. */
export type Moment = Map<string, number>

/** A record as it was found, or as a run tells it. */
export const nameOf = (table: string, { hashKey, rangeKey }: { hashKey: string; rangeKey?: string }): string =>
  `${table} ${JSON.stringify(rangeKey === undefined ? [hashKey] : [hashKey, rangeKey])}`

const isOf = ({ op, versionMin, versionMax }: Change, payload: Json): boolean => {
  const version = op === 'put' ? payload.updatedAt : payload.deletedAt
  return payload.op === op && versionMin <= version && version <= versionMax
}

/** The writes that were applied to records, each of which has one writer. */
export class FollowedLedger {
  readonly #records = new Map<string, Known>()
  applied = 0
  unknown = 0

  #of(name: string): Known {
    const known = this.#records.get(name) ?? { applied: [], mark: undefined, pending: undefined }
    this.#records.set(name, known)
    return known
  }

  get names(): string[] {
    return [...this.#records.keys()]
  }

  begin(marks: Begun['marks']): Begun {
    return { marks, sentAtMs: Date.now() }
  }

  /** `version`: what the response says, if it does. */
  end({ marks, sentAtMs }: Begun, outcome: 'applied' | 'refused' | 'unknown', version?: number): void {
    if (outcome === 'refused') return
    if (outcome === 'unknown') this.unknown++
    for (const [name, mark] of marks) {
      const known = this.#of(name)
      // A delete that finds nothing is no write.
      if (mark === undefined && known.mark === undefined) continue
      // A version is above the one before, also within a millisecond.
      const versionMax = Math.max(Date.now(), (known.applied.at(-1)?.versionMax ?? 0) + 1)
      const change: Change = {
        op: mark === undefined ? 'delete' : 'put',
        versionMin: version ?? sentAtMs,
        versionMax: version ?? versionMax,
      }
      if (outcome === 'applied') this.#apply(known, change, mark)
      else known.pending = { change, mark }
    }
  }

  #apply(known: Known, change: Change, mark: string | undefined): void {
    known.applied.push(change)
    known.mark = mark
    this.applied++
  }

  /** Takes the records that are there when nobody writes; returns those that are not what they must be. */
  settle(found: Map<string, { mark: string; updatedAt: number }>): string[] {
    const faults: string[] = []
    for (const [name, known] of this.#records) {
      const record = found.get(name)
      const { pending } = known
      if (pending !== undefined && record?.mark === pending.mark) this.#apply(known, pending.change, pending.mark)
      known.pending = undefined
      const newest = known.applied.at(-1)
      if (record?.mark !== known.mark) faults.push(`${name} is ${record?.mark}, and was written as ${known.mark}`)
      else if (record !== undefined && newest !== undefined) {
        if (!isOf(newest, { op: 'put', updatedAt: record.updatedAt })) faults.push(`${name} has another version`)
        newest.versionMin = newest.versionMax = record.updatedAt
      }
    }
    return faults
  }

  now(): Moment {
    return new Map([...this.#records].map(([name, { applied }]) => [name, applied.length]))
  }

  /** Whether the payload of a run tells a write that was applied: at `since` the newest one, or one after it. */
  isApplied(name: string, payload: Json, since = 1): boolean {
    return this.#of(name).applied.some((change, i) => i >= since - 1 && isOf(change, payload))
  }

  /** Whether the payload tells the newest write. */
  isNewest(name: string, payload: Json): boolean {
    const newest = this.#of(name).applied.at(-1)
    return newest !== undefined && isOf(newest, payload)
  }

  /** False if no write of the record was applied. */
  isWritten(name: string): boolean {
    return this.#of(name).applied.length > 0
  }
}

/** Patches of records that all writers share. */
export class SharedLedger {
  readonly #versions = new Map<string, Set<number>>()
  #newest = new Map<string, number>()
  unknown = 0

  note(name: string, version: number): void {
    const versions = this.#versions.get(name) ?? new Set()
    this.#versions.set(name, versions.add(version))
    this.#newest.set(name, Math.max(version, this.#newest.get(name) ?? 0))
  }

  now(): Moment {
    return new Map(this.#newest)
  }

  has(name: string, version: number): boolean {
    return this.#versions.get(name)?.has(version) === true
  }
}
