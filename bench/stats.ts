export const median = (values: number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The spread of the rounds: half of highest minus lowest, divided by the median. */
export const spread = (values: number[]): number => (Math.max(...values) - Math.min(...values)) / 2 / median(values)

/** The median of the ratios of each round: a slow phase of the machine affects both values of a round. */
export const medianRatio = (values: number[], against: number[]): number =>
  median(values.map((value, i) => value / against[i % against.length]!))
