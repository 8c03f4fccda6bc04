// The order of index values from the contract, written again without byte encodings: booleans (false, true), then
// numbers, then strings. UTF-8 order is the order of code points.

type Scalar = string | number | boolean

export const compareStrings = (a: string, b: string): number => {
  const left = Array.from(a, (character) => character.codePointAt(0)!)
  const right = Array.from(b, (character) => character.codePointAt(0)!)
  for (let i = 0; i < left.length && i < right.length; i++) {
    if (left[i] !== right[i]) return left[i]! < right[i]! ? -1 : 1
  }
  return Math.sign(left.length - right.length)
}

const typeRank = { boolean: 0, number: 1, string: 2 }
const rank = (value: Scalar): number => typeRank[typeof value as keyof typeof typeRank]

export const compareScalars = (a: Scalar, b: Scalar): number => {
  if (rank(a) !== rank(b)) return rank(a) < rank(b) ? -1 : 1
  if (typeof a === 'string') return compareStrings(a, b as string)
  return a < b ? -1 : a > b ? 1 : 0
}
