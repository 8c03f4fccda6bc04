import { patchDigitsMax } from '../limits.ts'

// Exact sums of the numbers in JSON texts. A double would round them.

/** `digits` times ten to the power of `exponent`. The last digit is not 0, unless all is 0. */
interface Decimal {
  digits: bigint
  exponent: number
}

/** The powers of ten of the first digit. */
const powerMin = -308
const powerMax = 308

const zero: Decimal = { digits: 0n, exponent: 0 }

/** A larger exponent is out of range whatever the digits are, since a text has far fewer of them. */
const exponentMax = 999_999_999

/** `text` is what follows the `e` of a number. */
const parseExponent = (text: string): number => {
  const negative = text.startsWith('-')
  let first = negative || text.startsWith('+') ? 1 : 0
  while (text.charCodeAt(first) === 0x30) first++
  const size = text.length - first > 9 ? exponentMax : Number(text.slice(first))
  return negative ? -size : size
}

/** Digits with the power of ten of the last one; undefined if they are too many, too large or too small. */
const fromDigits = (negative: boolean, digits: string, lastPower: number): Decimal | undefined => {
  let first = 0
  while (digits.charCodeAt(first) === 0x30) first++
  if (first === digits.length) return zero
  let end = digits.length
  while (digits.charCodeAt(end - 1) === 0x30) end--
  const exponent = lastPower + digits.length - end
  const firstPower = exponent + end - first - 1
  if (end - first > patchDigitsMax || firstPower < powerMin || firstPower > powerMax) return undefined
  const magnitude = BigInt(digits.slice(first, end))
  return { digits: negative ? -magnitude : magnitude, exponent }
}

/** `text` is a number of JSON. Undefined if it has more than 40 significant digits, or is below 1e-308 or not below 1e309. */
export const parseDecimal = (text: string): Decimal | undefined => {
  const negative = text.charCodeAt(0) === 0x2d
  const mark = text.search(/[eE]/)
  const mantissa = text.slice(negative ? 1 : 0, mark < 0 ? text.length : mark)
  const point = mantissa.indexOf('.')
  const digits = point < 0 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1)
  const decimals = point < 0 ? 0 : mantissa.length - point - 1
  return fromDigits(negative, digits, (mark < 0 ? 0 : parseExponent(text.slice(mark + 1))) - decimals)
}

const scaled = ({ digits, exponent }: Decimal, to: number): bigint =>
  exponent === to ? digits : digits * 10n ** BigInt(exponent - to)

/** Undefined if the sum breaks the rules of `parseDecimal`. */
export const addDecimals = (a: Decimal, b: Decimal): Decimal | undefined => {
  const exponent = Math.min(a.exponent, b.exponent)
  const sum = scaled(a, exponent) + scaled(b, exponent)
  return fromDigits(sum < 0n, String(sum < 0n ? -sum : sum), exponent)
}

/** Compares the exact sum, also one that `addDecimals` cannot return: below 0 if `a + b` is less than `bound`. */
export const compareSum = (a: Decimal, b: Decimal, bound: Decimal): number => {
  const exponent = Math.min(a.exponent, b.exponent, bound.exponent)
  const difference = scaled(a, exponent) + scaled(b, exponent) - scaled(bound, exponent)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Writes a number as JavaScript does, but with all its digits. */
export const writeDecimal = ({ digits, exponent }: Decimal): string => {
  if (digits === 0n) return '0'
  const sign = digits < 0n ? '-' : ''
  const text = String(digits < 0n ? -digits : digits)
  /** The number of digits before the point. */
  const whole = text.length + exponent
  if (whole > 21 || whole < -5) {
    const power = whole - 1
    const fraction = text.length === 1 ? '' : `.${text.slice(1)}`
    return `${sign}${text[0]}${fraction}e${power < 0 ? '-' : '+'}${Math.abs(power)}`
  }
  if (exponent >= 0) return sign + text + '0'.repeat(exponent)
  if (whole > 0) return `${sign}${text.slice(0, whole)}.${text.slice(whole)}`
  return `${sign}0.${'0'.repeat(-whole)}${text}`
}
