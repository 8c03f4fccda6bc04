import { type Family, sizeOf } from './family.ts'

/** The values of a process, and whether they are of this moment. */
export interface ProcessValues {
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
