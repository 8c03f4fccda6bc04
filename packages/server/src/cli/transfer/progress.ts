import { printable } from '../../core/text/printable.ts'
import { sumFileBytes } from '../../operations/transfer/copy-files.ts'
import type { StepNotes } from '../../store/maintenance.ts'
import type { Dump } from '../../store/transfer.ts'
import { printNote } from '../print.ts'
import { clearLine, everyMs, progressLine, type ShownStep } from './progress-line.ts'

/** A line on standard error that is redrawn, on a terminal only. `unit`: what is counted, in the singular. */
export class Progress implements StepNotes {
  readonly isShown = process.stderr.isTTY === true
  readonly #current = new Int32Array(new SharedArrayBuffer(4))
  #unit: string
  #name = ''
  #startedAtMs = performance.now()
  #baseFraction = 0
  #drawnAtMs = -everyMs
  #drawn = false
  #thread: Worker | undefined

  constructor(unit = 'record') {
    this.#unit = unit
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAtMs
  }

  /** Restarts the clock: the time so far was spent on finding the line to start from. */
  begin(fraction = 0): void {
    this.#startedAtMs = performance.now()
    this.#baseFraction = fraction
  }

  /** Begins a step with a name of its own. Until its first count another thread shows the time: this one may be blocked. */
  readonly step = (name: string, writes?: number, unit = 'record'): void => {
    this.#name = `${printable(name)}  `
    this.#unit = unit
    this.#drawnAtMs = -everyMs
    this.begin()
    if (!this.isShown) return
    this.#drawn = true
    this.#thread ??= new Worker(new URL('./progress-thread.ts', import.meta.url).href)
    this.#thread.unref()
    const step: ShownStep = {
      ...{ name: printable(name), writes, current: this.#current, number: this.#nextStep() },
      columns: columnsMax(),
    }
    this.#thread.postMessage(step)
  }

  readonly rows = (count: number, fraction?: number): void => this.show(count, () => fraction)

  show(count: number, fraction: () => number | undefined): void {
    const nowMs = performance.now()
    if (!this.isShown || nowMs - this.#drawnAtMs < everyMs) return
    this.#drawnAtMs = nowMs
    this.#drawn = true
    this.#nextStep()
    const whole = fraction()
    const part = whole === undefined ? undefined : (whole - this.#baseFraction) / Math.max(1e-9, 1 - this.#baseFraction)
    const line = this.#name + progressLine(count, this.elapsedMs, part, this.#unit)
    process.stderr.write(`${clearLine}${line.slice(0, columnsMax())}`)
  }

  /** Prints a line that stays, above the one that is redrawn. */
  say(line: string): void {
    this.clear()
    printNote(line)
  }

  clear(): void {
    this.#nextStep()
    if (this.#drawn) process.stderr.write(clearLine)
    this.#drawn = false
  }

  /** Ends the drawing of the other thread. */
  #nextStep(): number {
    return Atomics.add(this.#current, 0, 1) + 1
  }
}

const columnsMax = (): number => Math.max(20, (process.stderr.columns ?? 80) - 1)

/** Clears the line when the work ends, whatever happens. */
export const withProgress = async <T>(work: (progress: Progress) => Promise<T>): Promise<T> => {
  const progress = new Progress()
  try {
    return await work(progress)
  } finally {
    progress.clear()
  }
}

/** Begins a step over the bytes of all files. They are added up first, for a terminal only. */
export const fileProgress = async (progress: Progress, dump: Dump, name: string): Promise<(bytes: number) => void> => {
  if (!progress.isShown) return () => {}
  const all = await sumFileBytes(dump)
  progress.step(name, undefined, 'byte')
  return (bytes) => progress.show(bytes, () => bytes / Math.max(1, all))
}
