import type { EncodedValue, IndexScalar } from '../../src/core/tables/index-value.ts'

// The service never decodes an index value: it reads values from the record. Tests decode them to see that nothing is lost.

const view = new DataView(new ArrayBuffer(8))

const decodeNumber = (digits: string): number => {
  let high = Number.parseInt(digits.slice(0, 8), 16)
  let low = Number.parseInt(digits.slice(8), 16)
  if (high >>> 31 === 1) {
    high = (high & 0x7fffffff) >>> 0
  } else {
    high = ~high >>> 0
    low = ~low >>> 0
  }
  view.setUint32(0, high)
  view.setUint32(4, low)
  return view.getFloat64(0)
}

export const decodeIndexValue = (encoded: EncodedValue): IndexScalar => {
  switch (encoded[0]) {
    case 'b':
      return encoded === 'b1'
    case 'n':
      return decodeNumber(encoded.slice(1))
    default:
      return encoded.slice(1)
  }
}
