import { lineStarts } from './place.ts'

/** A row of a side by side view. A line that only one side has leaves the other undefined. Line numbers are from 1. */
export interface DiffRow {
  left?: string
  right?: string
  same: boolean
  leftLine?: number
  rightLine?: number
}

/** Beyond this the middle of the texts counts as changed. It bounds memory (4 MB) and time (`editsMax` times the lines). */
const editsMax = 1_000

interface Line {
  /** The line without its line break. */
  text: string
  /** The line with its line break, unless that is LF: two texts that differ only there must not look the same. */
  key: string
}

const linesOf = (text: string): Line[] => {
  const starts = lineStarts(text)
  return starts.map((start, i) => {
    const line = text.slice(start, starts[i + 1] ?? text.length)
    if (!/[\r\n]$/.test(line)) return { text: line, key: line }
    const bare = line.replace(/\r?\n$|\r$/, '')
    return { text: bare, key: line === `${bare}\n` ? bare : line }
  })
}

/**
 * Returns, for each element of `a`, the index of its equal in `b`, or -1: the shortest edit script by Myers' greedy
 * algorithm. Undefined if it takes more edits than allowed.
 */
const matchesOf = (a: Int32Array, b: Int32Array): Int32Array | undefined => {
  const most = Math.min(editsMax, a.length + b.length)
  // ends[k + most + 1] is the furthest x on the diagonal k = x - y.
  const ends = new Int32Array(2 * most + 3)
  const origin = most + 1
  const trace: Int32Array[] = []
  for (let edits = 0; edits <= most; edits++) {
    trace.push(ends.slice(origin - edits - 1, origin + edits + 2))
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && ends[origin + k - 1]! < ends[origin + k + 1]!)
      let x = down ? ends[origin + k + 1]! : ends[origin + k - 1]! + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      ends[origin + k] = x
      if (x >= a.length && x - k >= b.length) return backtrack(a.length, b.length, trace)
    }
  }
  return undefined
}

/** `trace[d]` holds the ends after d - 1 edits, for the diagonals from -d - 1 to d + 1. */
const backtrack = (aLength: number, bLength: number, trace: Int32Array[]): Int32Array => {
  const matches = new Int32Array(aLength).fill(-1)
  let x = aLength
  let y = bLength
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const ends = trace[edits]!
    const k = x - y
    const origin = edits + 1
    const down = k === -edits || (k !== edits && ends[origin + k - 1]! < ends[origin + k + 1]!)
    const beforeX = edits === 0 ? 0 : ends[origin + k + (down ? 1 : -1)]!
    const beforeY = edits === 0 ? 0 : beforeX - k - (down ? 1 : -1)
    while (x > beforeX && y > beforeY) matches[--x] = --y
    x = beforeX
    y = beforeY
  }
  return matches
}

const sharedAhead = (a: Int32Array, b: Int32Array): number => {
  let shared = 0
  while (shared < a.length && shared < b.length && a[shared] === b[shared]) shared++
  return shared
}

const sharedBehind = (a: Int32Array, b: Int32Array, from: number): number => {
  let shared = 0
  while (shared < Math.min(a.length, b.length) - from && a[a.length - 1 - shared] === b[b.length - 1 - shared]) shared++
  return shared
}

/** Gives equal texts the same number. */
export const numberTexts = (): ((texts: Iterable<string>) => Int32Array) => {
  const numbers = new Map<string, number>()
  return (texts) =>
    Int32Array.from(texts, (text) => {
      const known = numbers.get(text)
      if (known !== undefined) return known
      numbers.set(text, numbers.size)
      return numbers.size - 1
    })
}

/**
 * Returns, for each element of `a`, the index of its equal in `b`, or -1. The cost is bounded: with `isCut` the lists are
 * so different that only their beginning and end were compared.
 */
export const matchLists = (a: Int32Array, b: Int32Array): { matches: Int32Array; isCut: boolean } => {
  const ahead = sharedAhead(a, b)
  const behind = sharedBehind(a, b, ahead)
  const middle = matchesOf(a.subarray(ahead, a.length - behind), b.subarray(ahead, b.length - behind))
  const matches = Int32Array.from(a, (_, i) => {
    if (i < ahead) return i
    if (i >= a.length - behind) return i - a.length + b.length
    const match = middle?.[i - ahead] ?? -1
    return match === -1 ? -1 : match + ahead
  })
  return { matches, isCut: middle === undefined }
}

/** The lines of both texts side by side. */
export const diffLines = (mine: string, theirs: string): DiffRow[] => {
  const left = linesOf(mine)
  const right = linesOf(theirs)
  const numbered = numberTexts()
  const a = numbered(left.map(({ key }) => key))
  const b = numbered(right.map(({ key }) => key))
  const { matches } = matchLists(a, b)
  const rows: DiffRow[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    // A block of changes: pairs a removed line with an added one, as long as there are both.
    const iFrom = i
    while (i < a.length && matches[i] === -1) i++
    const jEnd = i < a.length ? matches[i]! : b.length
    const changes = Math.max(i - iFrom, jEnd - j)
    for (let n = 0; n < changes; n++) {
      const row: DiffRow = { same: false }
      if (iFrom + n < i) Object.assign(row, { left: left[iFrom + n]!.text, leftLine: iFrom + n + 1 })
      if (j + n < jEnd) Object.assign(row, { right: right[j + n]!.text, rightLine: j + n + 1 })
      rows.push(row)
    }
    j = jEnd
    if (i === a.length) break
    rows.push({ left: left[i]!.text, right: right[j]!.text, same: true, leftLine: i + 1, rightLine: j + 1 })
    i++
    j++
  }
  return rows
}
