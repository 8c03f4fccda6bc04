export const median = (values: number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** How far the rounds lie apart: half of their span, as a part of the median. */
export const spread = (values: number[]): number => (Math.max(...values) - Math.min(...values)) / 2 / median(values)

/** Round by round, then the median: what slows the machine for a while slows both. */
export const medianRatio = (values: number[], against: number[]): number =>
  median(values.map((value, i) => value / against[i % against.length]!))
