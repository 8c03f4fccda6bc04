import type { Json } from '../harness.ts'

interface CopiedRecord {
  version: number
  /** Epoch seconds. */
  ttl: number | undefined
  /** JSON text; undefined if the reader wants keys only. */
  data: string | undefined
}

/** The name by which a record is known in a copy. */
export const recordName = ({ hashKey, rangeKey }: { hashKey: string; rangeKey?: string }): string =>
  rangeKey === undefined || rangeKey === '#' ? hashKey : `${hashKey}/${rangeKey}`

/** What a reader makes of the changes that it gets: a copy of the table, as the documentation describes it. */
export class TableCopy {
  readonly records = new Map<string, CopiedRecord>()
  /** What a reader must never see. */
  readonly faults: string[] = []

  /** Applies a change as it comes over HTTP. */
  apply(item: Json, nowMs: number): void {
    const name = recordName(item as { hashKey: string })
    if (item.op === 'delete') {
      this.records.delete(name)
      return
    }
    const { updatedAt: version, ttl, data } = item
    const present = this.live(name, nowMs)
    if (present !== undefined && version < present.version) {
      this.faults.push(`${name} went back from ${present.version} to ${version}`)
    }
    this.records.set(name, { version, ttl, data: data === undefined ? undefined : JSON.stringify(data) })
  }

  /** The record, unless it has expired. */
  live(name: string, nowMs: number): CopiedRecord | undefined {
    const record = this.records.get(name)
    return record === undefined || (record.ttl !== undefined && record.ttl * 1000 <= nowMs) ? undefined : record
  }

  /** The live records as lines that can be compared. */
  lines(nowMs: number): string[] {
    return [...this.records.keys()]
      .flatMap((name) => {
        const record = this.live(name, nowMs)
        return record === undefined ? [] : [lineOf(name, record.version, record.data)]
      })
      .toSorted()
  }
}

export const lineOf = (name: string, version: number, data: string | undefined): string =>
  `${name}@${version}${data === undefined ? '' : ` ${data}`}`
