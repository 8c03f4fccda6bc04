// These functions convert text to BYTEA and back. Bytes are sent in binary and come back as hex, the one text form that never
// changes.

export const toBytes = (text: string): Buffer => Buffer.from(text)

export const toBytesOrNull = (text: string | null): Buffer | null => (text === null ? null : Buffer.from(text))

export const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Converts `ab` to `\x6162`, the form in which BYTEA comes back. */
export const toHex = (text: string): string => `\\x${Buffer.from(text).toString('hex')}`

export const bytesOfHex = (hex: string): Buffer => Buffer.from(hex.slice(2), 'hex')

/** Writes bytes into the text of a statement in a form that does not depend on the session's settings. */
export const bytesLiteral = (bytes: Uint8Array): string => `decode('${Buffer.from(bytes).toString('hex')}', 'hex')`

const scratch = Buffer.allocUnsafe(4_096)

/** Converts `\x6162` to `ab`. */
export const fromHex = (hex: string): string => {
  // Most records have no range key.
  if (hex === '\\x23') return '#'
  if (hex.length > scratch.length) return bytesOfHex(hex).toString()
  return scratch.toString('utf8', 0, scratch.write(hex.slice(2), 'hex'))
}
