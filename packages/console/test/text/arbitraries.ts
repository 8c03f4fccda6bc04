import fc from 'fast-check'
import { jsonText } from '../../../server/test/core/json-text.ts'

export { jsonText, type Placed, space } from '../../../server/test/core/json-text.ts'

/** Pieces that faults are made of, and pieces that only look like one. */
const pieces = [
  ...'{}[],:"\\/\'`#-+.0123456789eEtrufalsn \t\n\r\0\u000b\u001f\u007f\u00a0\u2028\u202e\ufeffé€;=',
  '\u{1f600}',
  '\ud800',
  '\udc00',
  'true',
  'null',
  'NaN',
  '//',
  '/*',
  '\\u00',
  '\\ud83d',
  '\r\n',
  '"a":',
  '00',
  '1.',
]

export const piece = fc.constantFrom(...pieces)

/** JSON with up to three faults in it, some of which leave it JSON. */
export const almostJson = fc
  .tuple(
    jsonText,
    fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 2 }), fc.oneof(fc.constant(''), piece)), { maxLength: 3 }),
  )
  .map(([{ text }, edits]) => {
    let edited = text
    for (const [where, removed, added] of edits) {
      const at = where % (edited.length + 1)
      edited = edited.slice(0, at) + added + edited.slice(at + removed)
    }
    return edited
  })

export const anyText = fc.oneof(
  almostJson,
  fc.array(piece, { maxLength: 30 }).map((each) => each.join('')),
)

/** The shortest of some runs: the first ones also compile, and the machine may be busy. */
export const bestMs = (run: () => unknown, runs = 3): number => {
  const times = Array.from({ length: runs }, () => {
    const start = performance.now()
    run()
    return performance.now() - start
  })
  return Math.min(...times)
}

/**
 * The cost of a byte of the whole text divided by that of a byte of an eighth of it: about one, or eight where cost grows with
 * the square of the length, and a page freezes.
 */
export const costGrowth = (work: (share: number) => () => unknown): number => {
  const [eighth, whole] = [work(1 / 8), work(1)]
  const eightTimes = () => {
    for (let i = 0; i < 8; i++) eighth()
  }
  let growth = Number.POSITIVE_INFINITY
  // A busy machine can slow all rounds of one side. What grows with the square does so every time.
  for (let tries = 0; tries < 5 && growth >= costGrowthMax; tries++) {
    growth = Math.min(growth, bestMs(whole, 7) / bestMs(eightTimes, 7))
  }
  return growth
}

/** Far from both. */
export const costGrowthMax = 4

/** JSON of at most `bytes` bytes and hardly less, as records look. */
export const largeRecord = (bytes: number): string => {
  let items = '{"items":['
  for (let i = 0; items.length < bytes - 120; i++) {
    items += `{"id":${i},"name":"item ${i}","price":${i}.50,"tags":["a","b\\n"],"note":"${'x'.repeat(20)}","ok":true}, `
  }
  return `${items}null]}`
}
