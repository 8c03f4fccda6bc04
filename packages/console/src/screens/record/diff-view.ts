import { type DiffRow, diffLines } from '../../text/diff.ts'
import { formatJson } from '../../text/format.ts'
import { tokensOf } from '../../text/tokens.ts'

// Two JSON texts side by side, both formatted: the changed lines with a few equal ones around them, each cut where it is too
// long. It is only looked at; what is saved is always the whole text.

const contextLines = 3
const rowsMax = 1_000
const lineCharactersMax = 400
const charactersBefore = 60

export interface ShownRow extends DiffRow {
  /** The number of equal rows that are left out here. */
  equal?: number
  /** The part of each line that differs from the other line. */
  leftMark?: [from: number, to: number]
  rightMark?: [from: number, to: number]
}

/** The tokens from the first one that differs to the last. */
const withMarks = (row: DiffRow): ShownRow => {
  const { left, right } = row
  if (row.same || left === undefined || right === undefined) return row
  const [a, b] = [tokensOf(left), tokensOf(right)]
  const isEqual = (i: number, j: number): boolean =>
    left.slice(a[i]!.start, a[i]!.end) === right.slice(b[j]!.start, b[j]!.end)
  const most = Math.min(a.length, b.length)
  let ahead = 0
  while (ahead < most && isEqual(ahead, ahead)) ahead++
  let behind = 0
  while (behind < most - ahead && isEqual(a.length - 1 - behind, b.length - 1 - behind)) behind++
  const markOf = (tokens: typeof a): [number, number] | undefined =>
    tokens.length > ahead + behind ? [tokens[ahead]!.start, tokens.at(-1 - behind)!.end] : undefined
  return { ...row, leftMark: markOf(a), rightMark: markOf(b) }
}

const withoutComma = (line: string | undefined): string | undefined => line?.replace(/,$/, '')

/** The comma that a line gets because another member follows is no difference. */
const sameMember = (row: DiffRow): DiffRow =>
  row.left !== undefined && withoutComma(row.left) === withoutComma(row.right) ? { ...row, same: true } : row

/** Around the first difference, so that it is seen in a record that is one long line. */
const cutRow = (row: DiffRow): DiffRow => {
  const { left = '', right = '' } = row
  const long = Math.max(left.length, right.length)
  if (long <= lineCharactersMax) return row
  let differs = 0
  if (!row.same && row.left !== undefined && row.right !== undefined) {
    while (differs < long && left[differs] === right[differs]) differs++
  }
  const from = Math.max(0, differs - charactersBefore)
  const cut = (line: string): string =>
    `${from > 0 ? '… ' : ''}${line.slice(from, from + lineCharactersMax)}${line.length > from + lineCharactersMax ? ' …' : ''}`
  return {
    ...row,
    ...(row.left !== undefined && { left: cut(left) }),
    ...(row.right !== undefined && { right: cut(right) }),
  }
}

/** `hidden`: how many rows are not shown because there are too many. */
export const shownDiff = (mine: string, stored: string): { rows: ShownRow[]; changes: number; hidden: number } => {
  const all = diffLines(formatJson(mine), formatJson(stored)).map(sameMember)
  const isNear = new Uint8Array(all.length)
  let changes = 0
  all.forEach(({ same }, i) => {
    if (same) return
    changes++
    isNear.fill(1, Math.max(0, i - contextLines), i + contextLines + 1)
  })
  const rows: ShownRow[] = []
  let i = 0
  for (; i < all.length && rows.length < rowsMax; i++) {
    if (isNear[i]) rows.push(withMarks(cutRow(all[i]!)))
    else {
      const from = i
      while (i + 1 < all.length && !isNear[i + 1]) i++
      rows.push({ same: true, equal: i - from + 1 })
    }
  }
  return { rows, changes, hidden: all.length - i }
}
