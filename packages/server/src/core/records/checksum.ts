import type { StoredRecord } from './stored-record.ts'

// An engine without checksums of its own stores the checksum of a row behind its data, in the same column: a column more
// would be one more to read for every row of a page, and could not be added to a large store at once.

/** A step of FNV-1a, of 32 bits at once. One to one in both arguments: a change of a single word is never lost. */
const fold = (hash: number, word: number): number => Math.imul(hash ^ word, 0x01000193)

const foldInteger = (hash: number, value: number): number => fold(fold(hash, value | 0), (value / 0x100000000) | 0)

const basis = 0x811c9dc5

/** Keys up to this length are hashed here: a call of the native function costs more. */
const shortCharactersMax = 32

const hashOf = (text: string): number => {
  if (text.length > shortCharactersMax) return Bun.hash.crc32(text)
  let hash = fold(basis, text.length)
  for (let i = 0; i < text.length; i++) hash = fold(hash, text.charCodeAt(i))
  return hash
}

/**
 * Covers whose record it is, its version, its ttl and its data, in 32 bits: the crc32 of `data`, combined with a hash of the
 * other fields. Each field has a place of its own, so they cannot run into each other. A single changed bit in any of
 * them changes it. Stored in every row: never change it without a migration.
 */
export const recordChecksum = (
  tableId: number,
  { hashKey, rangeKey, data, ttlSeconds, updatedAtMs }: StoredRecord,
): number => {
  let hash = foldInteger(basis, tableId)
  hash = fold(hash, hashOf(hashKey))
  hash = fold(hash, hashOf(rangeKey))
  hash = foldInteger(hash, updatedAtMs)
  // No ttl has these two words.
  hash = ttlSeconds === null ? fold(fold(hash, 0), -1) : foldInteger(hash, ttlSeconds)
  return Bun.hash.crc32(data) ^ hash
}

const suffixCharacters = 6

/** Each of 64 characters from `0` on; the last of the first four only, none of which one changed bit turns into `}`. */
const suffixOf = (checksum: number): string =>
  String.fromCharCode(
    48 + (checksum & 63),
    48 + ((checksum >>> 6) & 63),
    48 + ((checksum >>> 12) & 63),
    48 + ((checksum >>> 18) & 63),
    48 + ((checksum >>> 24) & 63),
    48 + (checksum >>> 30),
  )

const endOfObject = 125

/** The data as it is stored: with the checksum of the record behind it. */
export const storedData = (tableId: number, record: StoredRecord): string =>
  record.data + suffixOf(recordChecksum(tableId, record))

/** `unchecked`: stored without a checksum, by version 0.1. */
type RowState = 'intact' | 'unchecked' | 'damaged'

/**
 * Takes the checksum off the data of a row that was read, and compares it. A changed bit can make anything of a row, so
 * not even its types are believed; `data` of a damaged row is not to be used.
 */
export const takeChecksum = (tableId: number, record: StoredRecord): RowState => {
  const { data: stored, ttlSeconds, updatedAtMs } = record
  if (
    typeof stored !== 'string' ||
    !Number.isSafeInteger(updatedAtMs) ||
    (ttlSeconds !== null && !Number.isSafeInteger(ttlSeconds))
  ) {
    return 'damaged'
  }
  const end = stored.length - suffixCharacters
  // JSON of an object ends so; no checksum does.
  if (stored.charCodeAt(stored.length - 1) === endOfObject) return 'unchecked'
  if (end < 2) return 'damaged'
  record.data = stored.slice(0, end)
  const checksum = recordChecksum(tableId, record)
  for (let i = 0; i < suffixCharacters; i++) {
    const expected = i < 5 ? (checksum >>> (6 * i)) & 63 : checksum >>> 30
    if (stored.charCodeAt(end + i) !== 48 + expected) return 'damaged'
  }
  return 'intact'
}
