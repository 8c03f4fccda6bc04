import { indexStringBytesMax } from '../limits.ts'
import { parseIsoDateTime } from '../text/iso-date-time.ts'

/**
 * An index value, encoded as text whose UTF-8 bytes sort as the values do: booleans, then numbers, then
 * strings. The first character is the type:
 *
 *     b0  b1                 false, true
 *     n + 16 hex digits      a double, with its bits flipped so that they sort
 *     s + the string         itself: UTF-8 order is its order
 *
 * It is text because it is passed between threads, to SQL and into cursors unchanged; engines store its bytes.
 */
export type EncodedValue = string

export type IndexScalar = string | number | boolean

/** The half-open span of bytes that holds every value of one type. */
export const typeSpan = (encoded: EncodedValue): { low: string; high: string } => {
  const tag = encoded.charCodeAt(0)
  return { low: String.fromCharCode(tag), high: String.fromCharCode(tag + 1) }
}

const view = new DataView(new ArrayBuffer(8))
// A table of all 16-bit numbers is not faster, and every thread that starts would take 20 ms to make it.
const hexOfByte = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, '0'))

const hex = (bits: number): string =>
  `${hexOfByte[bits >>> 24]}${hexOfByte[(bits >>> 16) & 0xff]}${hexOfByte[(bits >>> 8) & 0xff]}${hexOfByte[bits & 0xff]}`

const encodeNumber = (value: number): EncodedValue => {
  // Adding 0 turns -0 into 0, which is equal to it.
  view.setFloat64(0, value + 0)
  let high = view.getUint32(0)
  let low = view.getUint32(4)
  if (high >>> 31 === 1) {
    // Negative: a larger magnitude is a smaller value, so every bit is flipped.
    high = ~high >>> 0
    low = ~low >>> 0
  } else {
    high = (high | 0x80000000) >>> 0
  }
  return `n${hex(high)}${hex(low)}`
}

/** A string that is a strict ISO-8601 date-time counts as the number of its epoch milliseconds. */
export const coerceIndexValue = (value: IndexScalar): IndexScalar =>
  typeof value === 'string' ? (parseIsoDateTime(value) ?? value) : value

export const encodeIndexValue = (value: IndexScalar): EncodedValue => {
  const coerced = coerceIndexValue(value)
  if (typeof coerced === 'number') return encodeNumber(coerced)
  if (typeof coerced === 'boolean') return coerced ? 'b1' : 'b0'
  return `s${coerced}`
}

/** Returns why a value cannot be indexed, as the end of a sentence; undefined if it can. */
export const indexValueFault = (value: unknown): string | undefined => {
  switch (typeof value) {
    case 'boolean':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : 'a number that no double can hold'
    case 'string':
      if (!value.isWellFormed()) return 'a string with a lone surrogate'
      if (value.length * 3 > indexStringBytesMax && Buffer.byteLength(value) > indexStringBytesMax) {
        return `a string of ${Buffer.byteLength(value)} bytes, more than the limit of ${indexStringBytesMax}`
      }
      return undefined
    default:
      if (value === null) return 'null'
      return Array.isArray(value) ? 'an array' : value === undefined ? 'missing' : 'an object'
  }
}
