import { createHash } from 'node:crypto'
import { describeValue } from './describe-value.ts'
import { CubbyError } from './errors.ts'
import { cursorCharactersMax } from './limits.ts'
import type { Position, Scan } from './records/scan.ts'

// A cursor is base64url of JSON: [version, whose it is, …where it ended]. It is opaque to clients, but not
// secret: it names nothing but the caller's own last row, and no table is ever found through it.

const version = 1

const refuse = (reason: string): never => {
  throw new CubbyError('invalid_cursor', `cursor ${reason}`, {
    field: 'cursor',
    hint: 'Pass the cursor of the previous answer with the same request otherwise, or leave it out to start over.',
  })
}

const encode = (parts: unknown[]): string => Buffer.from(JSON.stringify([version, ...parts])).toString('base64url')

const decode = (cursor: unknown): unknown[] => {
  if (typeof cursor !== 'string') return refuse(`is ${describeValue(cursor)}; it takes a string or null.`)
  if (cursor.length > cursorCharactersMax || !/^[A-Za-z0-9_-]+$/.test(cursor)) return refuse('cannot be read.')
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(parts) && parts[0] === version) return parts.slice(1)
  } catch {
    // Not JSON: not one of ours.
  }
  return refuse('cannot be read.')
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
 * `scan` is the query's own, not yet resumed: every page of a query has the same fingerprint. Whoever knows it already
 * passes it as `whose`.
 */
export const encodeScanCursor = (
  tableId: number,
  scan: Scan,
  position: Position,
  whose = scanFingerprint(tableId, scan),
): string => encode([whose, position.range, position.id])

export const decodeScanCursor = (
  cursor: unknown,
  tableId: number,
  scan: Scan,
  whose = scanFingerprint(tableId, scan),
): Position => {
  const [itsOwn, range, id] = decode(cursor)
  if (itsOwn !== whose) {
    return refuse('belongs to another query: table, hash, index, range and direction must be those it came with.')
  }
  const rangeFits = scan.index === 't' ? Number.isSafeInteger(range) : typeof range === 'string' && range.isWellFormed()
  if (!rangeFits || !Number.isSafeInteger(id) || (id as number) < 0) return refuse('cannot be read.')
  return { range: range as string | number, id: id as number }
}

const isName = (value: unknown): boolean => typeof value === 'string' && /^[a-z0-9_-]{1,64}$/.test(value)

/** Cursors of listings: `listing` says whose, as `tables:app`, and the rest is the last entry's place. */
export const encodeListCursor = (listing: string, place: (string | number)[]): string => encode([listing, ...place])

export const decodeListCursor = (
  cursor: unknown,
  listing: string,
  types: ('string' | 'number')[],
): (string | number)[] => {
  const [whose, ...place] = decode(cursor)
  if (whose !== listing) return refuse('belongs to another listing.')
  const fits =
    place.length === types.length &&
    place.every((part, i) => (types[i] === 'number' ? Number.isSafeInteger(part) : isName(part)))
  return fits ? (place as (string | number)[]) : refuse('cannot be read.')
}
