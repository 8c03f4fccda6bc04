/** A number that was counted, or that is an estimate because there was no time to count. */
export interface Figure {
  value: number
  isExact: boolean
}

/** The figures that `cubby stats` shows for a table, a database or an organization. */
export interface Figures {
  /** Records of a table, files of a bucket, runs of a task. */
  records: Figure
  bytes: Figure
  /** The records written in the last 24 hours, and in the last seven days. */
  lastDay: Figure
  lastWeek: Figure
  /** The changes that can be read in its log. */
  changes: Figure
}

export const dayMs = 24 * 60 * 60 * 1000
export const weekMs = 7 * dayMs

/** The result of a count, and how far it came. */
export interface Counted {
  count: number
  isComplete: boolean
  /** The time of the oldest row that was counted, if it is not complete. */
  reachedMs: number | undefined
}

export const nothingCounted: Counted = { count: 0, isComplete: true, reachedMs: undefined }

/** The sum is exact if all of it is. */
export const addFigures = (a: Figures, b: Figures): Figures => {
  const add = (name: keyof Figures): Figure => ({
    value: a[name].value + b[name].value,
    isExact: a[name].isExact && b[name].isExact,
  })
  return {
    ...{ records: add('records'), bytes: add('bytes'), changes: add('changes') },
    ...{ lastDay: add('lastDay'), lastWeek: add('lastWeek') },
  }
}

const zero: Figure = { value: 0, isExact: true }
export const noFigures: Figures = { records: zero, bytes: zero, lastDay: zero, lastWeek: zero, changes: zero }

/**
 * Returns how many rows were written since `sinceMs`, by counts that go back in time one after another. If the last one came to
 * a time after `sinceMs`, the rest is assumed to be as dense.
 */
export const countSince = (counts: readonly Counted[], sinceMs: number, nowMs: number): Figure => {
  const value = counts.reduce((sum, { count }) => sum + count, 0)
  const { isComplete, reachedMs = nowMs } = counts.at(-1) ?? nothingCounted
  if (isComplete) return { value, isExact: true }
  const density = value / Math.max(1, nowMs - reachedMs)
  return { value: Math.max(value, Math.round(density * (nowMs - sinceMs))), isExact: false }
}
