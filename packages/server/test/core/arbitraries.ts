import fc from 'fast-check'

/** Characters on both sides of every place where UTF-16 order and UTF-8 order part, and where lengths change. */
const edgeCharacters = [
  '\0',
  '\x01',
  '#',
  '.',
  '/',
  'a',
  'b',
  '"',
  '\\',
  '\x7f',
  '\x80',
  '\u07ff',
  '\u0800',
  '\ud7ff',
  '\ue000',
  '\ufffd',
  '\uffff',
  '\u{10000}',
  '\u{1f600}',
  '\u{10ffff}',
]

/** Short, from few characters: equal strings and strings that begin with another are common. */
export const edgeString = fc.string({ unit: fc.constantFrom(...edgeCharacters), maxLength: 4 })

const surrogates = { first: 0xd800, last: 0xdfff }
// The unit "binary" of fast-check is the same characters, but makes a table of all of them in every file that imports this.
const character = fc
  .oneof(fc.integer({ min: 0, max: surrogates.first - 1 }), fc.integer({ min: surrogates.last + 1, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code))

/** Well-formed Unicode, any of it. */
export const unicodeString = fc.oneof(edgeString, fc.string({ unit: character, maxLength: 20 }))

const edgeNumbers = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  Number.MIN_VALUE,
  -Number.MIN_VALUE,
  2.225073858507201e-308, // the largest subnormal
  -2.225073858507201e-308,
  2.2250738585072014e-308, // the smallest normal
  -2.2250738585072014e-308,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  Number.MAX_SAFE_INTEGER,
  -Number.MAX_SAFE_INTEGER,
  2 ** 53,
  2 ** 53 + 2,
  -(2 ** 53) - 2,
  2 ** 63,
  -(2 ** 63),
  1767225600000,
  1767225599999.5,
]

/** Every finite double: by bits, by integers of everyday size and by the edges. */
export const finiteNumber = fc.oneof(
  fc.constantFrom(...edgeNumbers),
  fc.integer({ min: -3, max: 3 }),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)

export const indexScalar = fc.oneof(fc.boolean(), finiteNumber, unicodeString)
