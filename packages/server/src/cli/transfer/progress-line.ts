// The texts of a line of progress, for both threads that draw it, and of the lines after it.

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

/** `0:46`, or `1:30:00`. */
export const elapsedLine = (ms: number): string => {
  const seconds = Math.ceil(ms / 1000)
  const two = (part: number): string => String(part).padStart(2, '0')
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`
}

const barWidth = 24

export const showMegabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`

/**
 * `[######------------------]  25%  250,000 records  16,340/s  0:46 left`. Without a fraction it has no bar and no time left.
 * Bytes are shown as megabytes.
 */
export const progressLine = (
  count: number,
  elapsedMs: number,
  fraction: number | undefined,
  unit = 'record',
): string => {
  const rate = perSecond(count, elapsedMs)
  const counts =
    unit === 'byte'
      ? `${showMegabytes(count)}  ${showMegabytes(rate)}/s`
      : `${showCount(count, unit)}  ${number.format(rate)}/s`
  if (fraction === undefined) return counts
  const part = Math.min(1, fraction)
  const filled = Math.round(part * barWidth)
  const bar = `[${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}]`
  const left = part > 0 ? `  ${elapsedLine((elapsedMs * (1 - part)) / part)} left` : ''
  return `${bar} ${String(Math.floor(part * 100)).padStart(3)}%  ${counts}${left}`
}

export const everyMs = 200
export const clearLine = '\r\x1b[2K'

/** The step that the thread shows while this one is blocked. The thread stops when `current` is no longer `number`. */
export interface ShownStep {
  name: string
  writes: number | undefined
  current: Int32Array
  number: number
  columns: number
}
