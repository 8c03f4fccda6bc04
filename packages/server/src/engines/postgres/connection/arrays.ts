// Arrays in the protocol's binary format, so that one statement takes any number of rows. As text, every quote and
// backslash of the data would have to be escaped, and bytes would take twice the room.

const oids = { bytea: 17, bigint: 20, text: 25 }
const headerBytes = 20

const start = (oid: number, count: number, contentBytes: number): Buffer => {
  const array = Buffer.allocUnsafe(headerBytes + 4 * count + contentBytes)
  array.writeInt32BE(1, 0) // dimensions
  array.writeInt32BE(1, 4) // may contain nulls
  array.writeInt32BE(oid, 8)
  array.writeInt32BE(count, 12)
  array.writeInt32BE(1, 16) // lower bound
  return array
}

const ofText = (oid: number, values: (string | null)[]): Buffer => {
  const sizes = values.map((value) => (value === null ? -1 : Buffer.byteLength(value)))
  let at = headerBytes
  const array = start(
    oid,
    values.length,
    sizes.reduce((sum, size) => sum + Math.max(size, 0), 0),
  )
  for (const [i, value] of values.entries()) {
    at = array.writeInt32BE(sizes[i]!, at)
    if (value !== null) at += array.write(value, at)
  }
  return array
}

/** Encodes each text as UTF-8 in a BYTEA[]. */
export const bytesArray = (values: (string | null)[]): Buffer => ofText(oids.bytea, values)

export const textArray = (values: (string | null)[]): Buffer => ofText(oids.text, values)

export const bigintArray = (values: (number | null)[]): Buffer => {
  const array = start(oids.bigint, values.length, 8 * values.filter((value) => value !== null).length)
  let at = headerBytes
  for (const value of values) {
    at = array.writeInt32BE(value === null ? -1 : 8, at)
    if (value !== null) at = array.writeBigInt64BE(BigInt(value), at)
  }
  return array
}
