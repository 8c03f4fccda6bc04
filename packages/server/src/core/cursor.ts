import { createHash } from 'node:crypto'
import { CursorSeal } from './cursor-seal.ts'
import { describeValue } from './describe-value.ts'
import { CubbyError } from './errors.ts'
import { cursorCharactersMax } from './limits.ts'
import type { Position, Scan } from './records/scan.ts'

// A cursor is base64url of a version byte and sealed JSON: [fingerprint of the query or name of the listing, …position of
// the last entry]. The seal hides the ids in it: they are counted store-wide, so one organization could measure how much
// the others write. A cursor is never used to find a table.

const sealedVersion = 2
const versionByte = Buffer.of(sealedVersion)

/** Cursors of version 0.1 are base64url of plain JSON, an array. */
const plainVersion = 1
const plainFirstByte = '['.charCodeAt(0)

/** The longest number in a cursor, as JSON. */
const numberCharactersMax = String(Number.MIN_SAFE_INTEGER).length

export const refuseCursor = (reason: string): never => {
  throw new CubbyError('invalid_cursor', `cursor ${reason}`, {
    field: 'cursor',
    hint: 'Send the cursor of the previous answer with an otherwise identical request, or leave it out for the first page.',
  })
}

export const encodeParts = (seal: CursorSeal, parts: (string | number)[]): string => {
  const text = JSON.stringify(parts)
  // All numbers are padded to the same length: the length of a cursor must not show how large an id is.
  let spaces = 0
  for (const part of parts) if (typeof part === 'number') spaces += numberCharactersMax - String(part).length
  // A multiple of three bytes: then base64 has no unused bits, which somebody could change unnoticed.
  const bytes = 1 + CursorSeal.overheadBytes + Buffer.byteLength(text) + spaces
  spaces += (3 - (bytes % 3)) % 3
  const sealed = seal.seal(Buffer.from(text + ' '.repeat(spaces)))
  return Buffer.concat([versionByte, sealed]).toString('base64url')
}

export const decodeParts = (seal: CursorSeal, cursor: unknown): unknown[] => {
  if (typeof cursor !== 'string') return refuseCursor(`is ${describeValue(cursor)}; it takes a string or null.`)
  if (cursor.length > cursorCharactersMax || !/^[A-Za-z0-9_-]+$/.test(cursor)) return refuseCursor('cannot be read.')
  const bytes = Buffer.from(cursor, 'base64url')
  const parts = bytes[0] === sealedVersion ? readSealed(seal, cursor, bytes) : readPlain(seal, bytes)
  return parts ?? refuseCursor('cannot be read.')
}

const readSealed = (seal: CursorSeal, cursor: string, bytes: Buffer): unknown[] | undefined => {
  if (cursor.length % 4 !== 0) return undefined
  const text = seal.open(bytes.subarray(1))
  return text === undefined ? undefined : (JSON.parse(text.toString()) as unknown[])
}

const readPlain = (seal: CursorSeal, bytes: Buffer): unknown[] | undefined => {
  // A client that writes its own plain cursors can find ids by trying. A store that never sent plain cursors rejects them.
  if (!seal.acceptsPlain || bytes[0] !== plainFirstByte) return undefined
  try {
    const parts: unknown = JSON.parse(bytes.toString())
    if (Array.isArray(parts) && parts[0] === plainVersion) return parts.slice(1)
  } catch {
    // A cursor that is not JSON is none of ours.
  }
  return undefined
}

/** Table, index, hash, bounds and direction in 16 characters. The same on every process and after a restart. */
export const scanFingerprint = (tableId: number, scan: Scan): string => {
  const bound = (value: Uint8Array | number) => (typeof value === 'number' ? value : Buffer.from(value).toString('hex'))
  const hash = scan.index === 't' ? '' : scan.hash
  return createHash('sha256')
    .update(JSON.stringify([tableId, scan.index, hash, bound(scan.low), bound(scan.high), scan.descending]))
    .digest('base64url')
    .slice(0, 16)
}

/**
 * `scan` is the query's own, not yet resumed: every page of a query has the same fingerprint. A caller that knows it
 * already passes it.
 */
export const encodeScanCursor = (
  seal: CursorSeal,
  tableId: number,
  scan: Scan,
  position: Position,
  fingerprint = scanFingerprint(tableId, scan),
): string => encodeParts(seal, [fingerprint, position.range, position.id])

export const decodeScanCursor = (
  seal: CursorSeal,
  cursor: unknown,
  tableId: number,
  scan: Scan,
  fingerprint = scanFingerprint(tableId, scan),
  parts = 'table, hash, index, range and direction',
): Position => {
  const [found, range, id] = decodeParts(seal, cursor)
  if (found !== fingerprint) return refuseCursor(`belongs to another query: ${parts} must be those it came with.`)
  const rangeFits = scan.index === 't' ? Number.isSafeInteger(range) : typeof range === 'string' && range.isWellFormed()
  if (!rangeFits || !Number.isSafeInteger(id) || (id as number) < 0) return refuseCursor('cannot be read.')
  return { range: range as string | number, id: id as number }
}

const isName = (value: unknown): boolean => typeof value === 'string' && /^[a-z0-9_-]{1,64}$/.test(value)

/** Cursors of listings. `listing` is the name of one, such as `tables:app`; `place` is where its last entry is. */
export const encodeListCursor = (seal: CursorSeal, listing: string, position: (string | number)[]): string =>
  encodeParts(seal, [listing, ...position])

export const decodeListCursor = (
  seal: CursorSeal,
  cursor: unknown,
  listing: string,
  types: ('string' | 'number')[],
): (string | number)[] => {
  const [found, ...position] = decodeParts(seal, cursor)
  if (found !== listing) return refuseCursor('belongs to another listing.')
  const fits =
    position.length === types.length &&
    position.every((part, i) => (types[i] === 'number' ? Number.isSafeInteger(part) : isName(part)))
  return fits ? (position as (string | number)[]) : refuseCursor('cannot be read.')
}
