// Finds the known name that a caller probably meant.

/** Longer names are not compared: the cost is the product of the lengths. */
const comparedCharactersMax = 80

/** Edits that turn `a` into `b`: a character added, left out, changed, or swapped with its neighbour. */
const editsBetween = (a: string, b: string): number => {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (isSame ? 0 : 1))
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwap) row[j] = Math.min(row[j]!, before[j - 2]! + 1)
    }
    before = last
    last = row
  }
  return last[b.length]!
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '')

/** `orders-2025` is no typo of `orders-2026`. */
const digitsOf = (name: string): string => name.replaceAll(/[^0-9]/g, '')

/** Short names differ by little anyway, so they must be equal but for case, `_` and `-`. */
const editsMax = (name: string): number => (name.length < 4 ? 0 : name.length < 7 ? 1 : 2)

/** The known name that is most like `name`; undefined if none is. */
export const similarName = (name: string, known: readonly string[]): string | undefined => {
  if (name.length > comparedCharactersMax) return undefined
  const meant = plain(name)
  let [best, fewest]: [string | undefined, number] = [undefined, editsMax(meant) + 1]
  for (const candidate of known) {
    if (candidate === name || Math.abs(candidate.length - name.length) > 4) continue
    if (digitsOf(candidate) !== digitsOf(name)) continue
    const edits = editsBetween(meant, plain(candidate))
    if (edits < fewest) [best, fewest] = [candidate, edits]
  }
  return best
}
