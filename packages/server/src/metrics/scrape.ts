import { type Format, renderMetrics } from './exposition.ts'
import { type Family, sizeOf } from './family.ts'
import type { Registry, Snapshot } from './registry.ts'

/** A worker that does not answer within this time has not answered this scrape. Prometheus itself waits for 10 s. */
const responseMsMax = 3_000

/** Another process of this server. */
export interface Member {
  /** Asks for a snapshot. It comes through `Scraper.answer`, at any time or never. */
  ask(): void
}

interface Asked {
  member: Member
  /** Its values when it last answered. */
  last: number[] | undefined
  /** It was asked, and has not answered yet. */
  isAsked: boolean
  onAnswer: ((isCurrent: boolean) => void) | undefined
}

/**
 * The metrics of all processes as one. A process that hangs does not hold up the scrape: its counters are then the last ones
 * that are known. Those of a process that has ended stay in the sums, so that no counter goes back.
 */
export class Scraper {
  readonly #registry: Registry
  readonly #msMax: number
  readonly #members = new Map<Member, Asked>()
  /** The counters of processes that have ended. */
  #ended: Float64Array | undefined
  readonly #processes
  readonly #answered
  #running: Promise<Float64Array> | undefined
  #next: Promise<Float64Array> | undefined

  constructor(registry: Registry, msMax = responseMsMax) {
    this.#registry = registry
    this.#msMax = msMax
    this.#processes = registry.gauge({
      name: 'cubby_processes',
      help: 'Processes of this server: 1, or with --workers the owner and its workers.',
      isOfStore: true,
    })
    this.#answered = registry.gauge({
      name: 'cubby_processes_answered',
      help: 'Processes whose values in this scrape are current. Of the others the last known counters are included.',
      isOfStore: true,
    })
  }

  join(member: Member): void {
    this.#members.set(member, { member, last: undefined, isAsked: false, onAnswer: undefined })
  }

  answer(member: Member, { layout, values }: Snapshot): void {
    const asked = this.#members.get(member)
    if (asked === undefined) return
    asked.isAsked = false
    // Started from other files than this process: its numbers have another order.
    const isKnown = layout === this.#registry.layout
    if (isKnown) asked.last = values
    asked.onAnswer?.(isKnown)
  }

  leave(member: Member): void {
    const asked = this.#members.get(member)
    if (asked === undefined) return
    this.#members.delete(member)
    if (asked.last !== undefined) {
      this.#ended = sumProcesses(this.#registry.families, [
        // The owner's own place stays empty: what is of the store is never that of a worker.
        { values: this.#ended ?? [], isCurrent: false },
        { values: asked.last, isCurrent: false },
      ])
    }
    asked.onAnswer?.(false)
  }

  async scrape(format: Format): Promise<string> {
    return renderMetrics(this.#registry.families, await this.#collect(), format)
  }

  /**
   * One collection at a time: who asks meanwhile shares the next one, so that it has everything that happened before the
   * request, and that many scrapers cost no more than one.
   */
  #collect(): Promise<Float64Array> {
    if (this.#running === undefined) return this.#start()
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    )
    return this.#next
  }

  #start(): Promise<Float64Array> {
    this.#next = undefined
    const running = this.#sum().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }

  async #sum(): Promise<Float64Array> {
    const members = [...this.#members.values()]
    const answers = Promise.all(members.map((asked) => this.#ask(asked)))
    const [current, own] = await Promise.all([answers, this.#registry.snapshot()])
    const all: ProcessValues[] = [{ values: own.values, isCurrent: true }]
    for (const [i, { last, member }] of members.entries()) {
      // One that has ended meanwhile is among the ended ones.
      if (last !== undefined && this.#members.has(member)) all.push({ values: last, isCurrent: current[i]! })
    }
    if (this.#ended !== undefined) all.push({ values: this.#ended, isCurrent: false })
    const answered = current.filter((isCurrent) => isCurrent).length
    this.#setOwn(own.values, 1 + members.length, 1 + answered)
    return sumProcesses(this.#registry.families, all)
  }

  /** These are known only now, after the snapshot. */
  #setOwn(values: number[], processes: number, answered: number): void {
    this.#processes.set(processes)
    this.#answered.set(answered)
    values[this.#registry.offsetOf(this.#processes)] = processes
    values[this.#registry.offsetOf(this.#answered)] = answered
  }

  /**
   * Tells whether it answered in time. One that owes the answer to an earlier scrape is not asked again, and nobody waits for
   * it.
   */
  async #ask(asked: Asked): Promise<boolean> {
    if (asked.isAsked) return false
    const { promise, resolve } = Promise.withResolvers<boolean>()
    asked.onAnswer = resolve
    asked.isAsked = true
    const timer = setTimeout(() => resolve(false), this.#msMax)
    try {
      asked.member.ask()
      return await promise
    } catch {
      return false
    } finally {
      clearTimeout(timer)
      asked.onAnswer = undefined
    }
  }
}

/** The values of a process, and whether they are of this moment. */
interface ProcessValues {
  values: ArrayLike<number>
  /** False: the process did not answer, or has ended, and these are the last values that are known. */
  isCurrent: boolean
}

/** Counters and histograms only grow. What a process counted stays counted when it does not answer or has ended. */
const isCumulative = ({ type }: Family): boolean => type === 'counter' || type === 'histogram'

/** One value from all processes; NaN if none has one. */
const sumAt = (all: readonly ProcessValues[], at: number, onlyCurrent: boolean): number => {
  let sum = Number.NaN
  for (const { values, isCurrent } of all) {
    const value = values[at]
    if (value === undefined || value === null || Number.isNaN(value) || (onlyCurrent && !isCurrent)) continue
    sum = Number.isNaN(sum) ? value : sum + value
  }
  return sum
}

/** The values of all processes as one. The first is the owner's. */
export const sumProcesses = (families: readonly Family[], all: readonly ProcessValues[]): Float64Array => {
  const sums = new Float64Array(families.reduce((size, family) => size + sizeOf(family), 0))
  let at = 0
  for (const family of families) {
    const counted = family.isOfStore ? all.slice(0, 1) : all
    for (const end = at + sizeOf(family); at < end; at++) sums[at] = sumAt(counted, at, !isCumulative(family))
  }
  return sums
}
