import type { TableCopy } from './table-copy.ts'

/** The state of a record that a write leaves. */
export interface Expected {
  /** Undefined: there is no record. */
  mark: string | undefined
  /** Undefined: the response did not tell. */
  version?: number | undefined
  /** Epoch seconds; null: the response did not tell. */
  ttl?: number | null | undefined
}

interface Known {
  /** One state, and one more for each later write whose outcome is unknown. */
  states: Expected[]
  isPending: boolean
  /** Counts what happened to the record. */
  changes: number
}

/** Records of which the outcome of every write was known at one moment. */
export type Settled = Map<string, number>

/** Until then a record may have expired by the clock of one process and not by that of another. */
const soonMs = 60 * 60_000

/** What the responses to the writes of a history say about the records: each has one writer, with one request in flight. */
export class HistoryLedger {
  readonly #records = new Map<string, Known>()
  /** How often each writer has added one to a shared record: what was sent, and what was acknowledged. */
  readonly sent: number[] = []
  readonly acknowledged: number[] = []
  writes = 0
  unknown = 0

  #of(name: string): Known {
    const known = this.#records.get(name) ?? { states: [{ mark: undefined }], isPending: false, changes: 0 }
    this.#records.set(name, known)
    return known
  }

  begin(names: Iterable<string>): void {
    for (const name of names) {
      const known = this.#of(name)
      known.isPending = true
      known.changes++
    }
  }

  end(changes: Map<string, Expected>, outcome: 'applied' | 'refused' | 'unknown'): void {
    this.writes++
    if (outcome === 'unknown') this.unknown++
    for (const [name, state] of changes) {
      const known = this.#of(name)
      known.isPending = false
      known.changes++
      if (outcome === 'applied') known.states = [state]
      else if (outcome === 'unknown') known.states.push({ ...state, version: undefined, ttl: null })
    }
  }

  settled(): Settled {
    return new Map(
      [...this.#records].flatMap(([name, { states, isPending, changes }]) =>
        isPending || states.length > 1 ? [] : [[name, changes]],
      ),
    )
  }

  /** The faults of a copy that must have everything that was settled then, but for what was written since. */
  compare(settled: Settled, copy: TableCopy, nowMs: number, hash?: string): string[] {
    return [...settled].flatMap(([name, changes]) => {
      const known = this.#of(name)
      if (known.changes !== changes || (hash !== undefined && !name.startsWith(`${hash}/`))) return []
      return isOneOf(known.states, copy, name, nowMs) ? [] : [faultOf(known.states, copy, name)]
    })
  }

  /** The faults of a copy at the end. */
  compareAll(copy: TableCopy, nowMs: number): string[] {
    return [...this.#records].flatMap(([name, { states }]) =>
      isOneOf(states, copy, name, nowMs) ? [] : [faultOf(states, copy, name)],
    )
  }
}

const markIn = (data: string | undefined): string | undefined =>
  data === undefined ? undefined : (JSON.parse(data) as { mark: string }).mark

const isOneOf = (states: Expected[], copy: TableCopy, name: string, nowMs: number): boolean => {
  const found = copy.live(name, nowMs)
  return states.some(({ mark, version, ttl }) => {
    if (found === undefined) return mark === undefined || ttl === null || (ttl ?? 1e12) * 1000 <= nowMs + soonMs
    if (mark === undefined || (version !== undefined && found.version !== version)) return false
    return found.data === undefined || markIn(found.data) === mark
  })
}

const faultOf = (states: Expected[], copy: TableCopy, name: string): string =>
  `${name} is ${JSON.stringify(copy.records.get(name))}, and was answered as ${JSON.stringify(states)}`
