import { recoveryMs } from '../../src/core/limits.ts'
import type { IndexScalar } from '../../src/core/tables/index-value.ts'
import type { Indices, Slot } from '../../src/core/tables/indices.ts'
import { compareIndexed, compareText, matchesIndexed, matchesText, type NaiveRange } from './naive-order.ts'

// The contract as a few lists in memory. Slow, and plain enough to be believed.

export interface NaiveRecord {
  hashKey: string
  /** `#` for none. */
  rangeKey: string
  /** The JSON text of data as it was sent. */
  text: string
  data: Record<string, unknown>
  ttl: number | undefined
  updatedAt: number
  /** Creation order within the table. */
  made: number
}

export interface NaiveQuery {
  index?: 't' | Slot
  hash?: IndexScalar
  range?: NaiveRange
  ascending?: boolean
}

export const keyOf = (key: { hashKey: string; rangeKey: string }): string => JSON.stringify([key.hashKey, key.rangeKey])

export class NaiveTable {
  readonly indices: Indices
  readonly createdAt: number
  deletedAt: number | undefined
  readonly records = new Map<string, NaiveRecord>()
  #made = 0

  constructor(indices: Indices, createdAt: number) {
    this.indices = indices
    this.createdAt = createdAt
  }

  live(key: string, nowMs: number): NaiveRecord | undefined {
    const record = this.records.get(key)
    return record === undefined || isGone(record, nowMs) ? undefined : record
  }

  put(record: Omit<NaiveRecord, 'made'>, nowMs: number): void {
    const key = keyOf(record)
    const made = this.live(key, nowMs)?.made ?? ++this.#made
    this.records.set(key, { ...record, made })
  }

  remove(key: string): void {
    this.records.delete(key)
  }

  /** The record's value in that order; undefined if it has no place there. */
  #rangeOf(record: NaiveRecord, query: NaiveQuery): IndexScalar | undefined {
    if (query.index === undefined) return record.hashKey === query.hash ? record.rangeKey : undefined
    if (query.index === 't') return record.updatedAt
    const { hashField, rangeField } = this.indices[query.index]!
    if (!Object.hasOwn(record.data, hashField)) return undefined
    if (rangeField !== undefined && !Object.hasOwn(record.data, rangeField)) return undefined
    if (compareIndexed(record.data[hashField] as IndexScalar, query.hash!) !== 0) return undefined
    return rangeField === undefined ? '' : (record.data[rangeField] as IndexScalar)
  }

  /** The place of a record in the order of a query, to be compared with another time; undefined: it has none. */
  position(key: string, query: NaiveQuery, nowMs: number): string | undefined {
    const record = this.live(key, nowMs)
    if (record === undefined) return undefined
    const range = this.#rangeOf(record, query)
    return range === undefined ? undefined : JSON.stringify([range, record.made])
  }

  query(query: NaiveQuery, nowMs: number): NaiveRecord[] {
    const byText = query.index === undefined
    const found: { record: NaiveRecord; range: IndexScalar }[] = []
    for (const record of this.records.values()) {
      const range = this.#rangeOf(record, query)
      if (range === undefined || isGone(record, nowMs)) continue
      const matches = byText ? matchesText(range as string, query.range) : matchesIndexed(range, query.range)
      if (matches) found.push({ record, range })
    }
    found.sort((a, b) => {
      const order = byText ? compareText(a.range as string, b.range as string) : compareIndexed(a.range, b.range)
      return order === 0 ? a.record.made - b.record.made : order
    })
    const records = found.map(({ record }) => record)
    return (query.ascending ?? query.index !== 't') ? records : records.reverse()
  }
}

const isGone = (record: NaiveRecord, nowMs: number): boolean => record.ttl !== undefined && nowMs >= record.ttl * 1000

/** The tables of one database. */
export class NaiveDatabase {
  readonly active = new Map<string, NaiveTable>()
  readonly deleted: { name: string; table: NaiveTable }[] = []

  /** The tables are in order of name, then deletedAt. */
  recoverable(nowMs: number, name?: string): { name: string; table: NaiveTable }[] {
    return this.deleted
      .filter((entry) => name === undefined || entry.name === name)
      .filter(({ table }) => nowMs < table.deletedAt! + recoveryMs)
      .sort((a, b) => compareText(a.name, b.name) || a.table.deletedAt! - b.table.deletedAt!)
  }

  /** Every instant at which something ends of itself. */
  *deadlines(): Iterable<number> {
    const tables = [...this.active.values(), ...this.deleted.map(({ table }) => table)]
    for (const table of tables) {
      if (table.deletedAt !== undefined) yield table.deletedAt + recoveryMs
      for (const { ttl } of table.records.values()) if (ttl !== undefined) yield ttl * 1000
    }
  }
}
