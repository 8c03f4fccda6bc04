/** A label and all the values that it can have: fixed, so that no name of a tenant, table or key can become one. */
export interface Label {
  readonly name: string
  readonly values: readonly string[]
}

/** One metric with its samples. */
export interface Family {
  /** The name as Prometheus stores it: a counter ends in `_total`, a unit is last. */
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'info'
  readonly labels: readonly Label[]
  /** Upper bounds of a histogram, ascending, without +Inf. */
  readonly buckets: readonly number[]
  /** The value is that of the whole store: with `--workers` it is the owner's, not a sum. */
  readonly isOfStore: boolean
  /** Samples that are 0 are left out: of operations × status codes most never occur. */
  readonly isSparse: boolean
}

/** Returns the number of combinations of label values. */
export const cellsOf = ({ labels }: Pick<Family, 'labels'>): number =>
  labels.reduce((product, { values }) => product * values.length, 1)

/** The numbers of one combination: a value, or of a histogram a count for each bucket, one for +Inf, and the sum. */
export const cellSizeOf = ({ type, buckets }: Pick<Family, 'type' | 'buckets'>): number =>
  type === 'histogram' ? buckets.length + 2 : 1

export const sizeOf = (family: Family): number => cellsOf(family) * cellSizeOf(family)

/** The label values of a combination, in the order of the labels. The last label changes fastest. */
export const labelValuesOf = ({ labels }: Family, cell: number): string[] => {
  const values: string[] = []
  let rest = cell
  for (const label of labels.toReversed()) {
    values.unshift(label.values[rest % label.values.length]!)
    rest = Math.floor(rest / label.values.length)
  }
  return values
}
