import { printNote } from '../print.ts'

const number = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

export const showCount = (count: number, noun = 'record'): string =>
  `${number.format(count)} ${noun}${count === 1 ? '' : 's'}`

/** The end of a line about a store: what is in it beside Cubby's own. */
export const showForeign = (foreign: string[] = []): string =>
  foreign.length === 0 ? '' : `; not made by Cubby: ${foreign.join(', ')}`

/** `1,000,000 records in 61.2 s, 16,340 records/s` */
export const showRate = (records: number, elapsedMs: number): string =>
  `${showCount(records)} in ${(elapsedMs / 1000).toFixed(1)} s, ${number.format(perSecond(records, elapsedMs))} records/s`

const perSecond = (records: number, elapsedMs: number): number => (records * 1000) / Math.max(1, elapsedMs)

const showDuration = (ms: number): string => {
  const seconds = Math.ceil(ms / 1000)
  const two = (part: number): string => String(part).padStart(2, '0')
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`
}

const barWidth = 24

/** `[######------------------]  25%  250,000 records  16,340/s  0:46 left`. Without a fraction: no bar and no time left. */
export const progressLine = (records: number, elapsedMs: number, fraction: number | undefined): string => {
  const counts = `${showCount(records)}  ${number.format(perSecond(records, elapsedMs))}/s`
  if (fraction === undefined) return counts
  const part = Math.min(1, fraction)
  const filled = Math.round(part * barWidth)
  const bar = `[${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}]`
  const left = part > 0 ? `  ${showDuration((elapsedMs * (1 - part)) / part)} left` : ''
  return `${bar} ${String(Math.floor(part * 100)).padStart(3)}%  ${counts}${left}`
}

const everyMs = 200

/** A line on standard error that is redrawn, on a terminal only. */
export class Progress {
  readonly #onTerminal = process.stderr.isTTY === true
  #startedAtMs = performance.now()
  #baseFraction = 0
  #drawnAtMs = -everyMs
  #drawn = false

  get elapsedMs(): number {
    return performance.now() - this.#startedAtMs
  }

  /** Restarts the clock: the time so far was spent on finding the line to start from. */
  begin(fraction = 0): void {
    this.#startedAtMs = performance.now()
    this.#baseFraction = fraction
  }

  show(records: number, fraction: () => number | undefined): void {
    const nowMs = performance.now()
    if (!this.#onTerminal || nowMs - this.#drawnAtMs < everyMs) return
    this.#drawnAtMs = nowMs
    this.#drawn = true
    const whole = fraction()
    const part = whole === undefined ? undefined : (whole - this.#baseFraction) / Math.max(1e-9, 1 - this.#baseFraction)
    const line = progressLine(records, this.elapsedMs, part)
    process.stderr.write(`\r\x1b[2K${line.slice(0, Math.max(20, (process.stderr.columns ?? 80) - 1))}`)
  }

  /** Prints a line that stays, above the one that is redrawn. */
  say(line: string): void {
    this.clear()
    printNote(line)
  }

  clear(): void {
    if (this.#drawn) process.stderr.write('\r\x1b[2K')
    this.#drawn = false
  }
}
