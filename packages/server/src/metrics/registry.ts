import type { Awaitable } from '../core/awaitable.ts'
import { cellSizeOf, type Family, type Label, sizeOf } from './family.ts'

// The metrics of one process. Values are in plain arrays: to count is to add to a number. Labels have fixed values, and a
// cell is the number of a combination of them (see `labelValuesOf`).

interface Declared {
  name: string
  help: string
  labels?: readonly Label[]
  isOfStore?: boolean
  isSparse?: boolean
}

class Counter {
  constructor(readonly cells: Float64Array) {}

  add(by = 1, cell = 0): void {
    this.cells[cell]! += by
  }

  /** Sets a total that something else counts. It never decreases. */
  set(total: number, cell = 0): void {
    this.cells[cell] = total
  }
}

export class Gauge {
  constructor(readonly cells: Float64Array) {}

  /** Undefined: there is no such value now, and the sample is left out. */
  set(value: number | undefined, cell = 0): void {
    this.cells[cell] = value ?? Number.NaN
  }
}

class Histogram {
  readonly #buckets: readonly number[]
  readonly #cellSize: number

  constructor(
    readonly cells: Float64Array,
    buckets: readonly number[],
  ) {
    this.#buckets = buckets
    this.#cellSize = buckets.length + 2
  }

  observe(value: number, cell = 0): void {
    const start = cell * this.#cellSize
    let bucket = 0
    while (bucket < this.#buckets.length && value > this.#buckets[bucket]!) bucket++
    this.cells[start + bucket]! += 1
    this.cells[start + this.#cellSize - 1]! += value
  }
}

/** All values of a process at one moment, in the order of its families. */
export interface Snapshot {
  /** The layout of the families. A process that was started from other files than the owner may have another. */
  layout: string
  values: number[]
}

/** A source of gauges that does not answer within this time has no values in this scrape. */
const collectMsMax = 1_000

interface Collector {
  collect: () => Awaitable<void>
  gauges: readonly Gauge[]
  running: Promise<void> | undefined
}

export class Registry {
  readonly families: Family[] = []
  readonly #values: Float64Array[] = []
  readonly #collectors: Collector[] = []

  counter(declared: Declared): Counter {
    return new Counter(this.#add(declared, 'counter'))
  }

  gauge(declared: Declared): Gauge {
    return new Gauge(this.#add(declared, 'gauge').fill(Number.NaN))
  }

  histogram(declared: Declared & { buckets: readonly number[] }): Histogram {
    return new Histogram(this.#add(declared, 'histogram', declared.buckets), declared.buckets)
  }

  /** A sample whose labels are the information, such as the version. */
  info(declared: Omit<Declared, 'labels'>, labels: Readonly<Record<string, string>>): void {
    const fixed = Object.entries(labels).map(([name, value]) => ({ name, values: [value] }))
    this.#add({ ...declared, labels: fixed, isOfStore: true }, 'info').fill(1)
  }

  #add(declared: Declared, type: Family['type'], buckets: readonly number[] = []): Float64Array<ArrayBuffer> {
    const { name, help, labels = [], isOfStore = false, isSparse = false } = declared
    if (this.families.some((family) => family.name === name)) throw new Error(`there are two metrics ${name}`)
    const family: Family = { name, help, type, labels, buckets, isOfStore, isSparse }
    const values = new Float64Array(sizeOf(family))
    this.families.push(family)
    this.#values.push(values)
    return values
  }

  /** `collect` is called before each scrape, and sets these gauges. If it fails or takes too long, they have no value. */
  collect(gauges: readonly Gauge[], collect: () => Awaitable<void>): void {
    this.#collectors.push({ collect, gauges, running: undefined })
  }

  get layout(): string {
    return this.families.map((family) => `${family.name}:${cellSizeOf(family)}:${sizeOf(family)}`).join(' ')
  }

  /** Returns the index of the first value of this metric in a snapshot. */
  offsetOf({ cells }: { cells: Float64Array }): number {
    return this.#values
      .slice(0, this.#values.indexOf(cells as Float64Array<ArrayBuffer>))
      .reduce((at, { length }) => at + length, 0)
  }

  async snapshot(): Promise<Snapshot> {
    await Promise.all(this.#collectors.map(runCollector))
    return { layout: this.layout, values: this.#values.flatMap((values) => [...values]) }
  }
}

const runCollector = async (collector: Collector): Promise<void> => {
  // One that still runs since the last scrape is not started a second time; its gauges stay empty until it has ended.
  if (collector.running === undefined) {
    for (const { cells } of collector.gauges) cells.fill(Number.NaN)
    collector.running = (async () => collector.collect())()
      .catch(() => {})
      .finally(() => {
        collector.running = undefined
      })
  }
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, collectMsMax)
  await Promise.race([collector.running, late.promise])
  clearTimeout(timer)
}
