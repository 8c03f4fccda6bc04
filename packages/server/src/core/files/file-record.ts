import type { RecordKey } from '../records/record-key.ts'
import type { StoredRecord } from '../records/stored-record.ts'
import { encodeIndexValue } from '../tables/index-value.ts'
import type { IndexEntries } from '../tables/indices.ts'

// A file is a record of its bucket: its name is the range key, so that the primary index lists a bucket by name, and the
// index `t` by time.

export type Visibility = 'private' | 'public'

/** The stored form of a file without its name, version and ttl. */
export interface FileContent {
  size: number
  contentType: string
  visibility: Visibility
  /** Hex. */
  sha256: string
  /**
   * Downloads are compared with it: with `sha256` they would take nearly twice as long. Absent if the store keeps the bytes.
   */
  crc32?: number
  /** The id of its bytes. */
  blob: string
  /** JSON text, as it was sent. */
  metadata: string
}

/** The hash key of every file. */
export const fileHashKey = '#'

export const fileKey = (name: string): RecordKey => ({ hashKey: fileHashKey, rangeKey: name })

/** The `data` of the record. `metadata` is last and unchanged. */
export const fileData = ({ size, contentType, visibility, sha256, crc32, blob, metadata }: FileContent): string => {
  const head = JSON.stringify({ size, contentType, visibility, sha256, crc32, blob })
  return `${head.slice(0, -1)},"metadata":${metadata}}`
}

const metadataMember = ',"metadata":'

export const readFileContent = (data: string): FileContent => {
  // A quote inside a JSON string is escaped, so the first such text is the member itself.
  const at = data.indexOf(metadataMember)
  const head = JSON.parse(`${data.slice(0, at)}}`) as Omit<FileContent, 'metadata'>
  return { ...head, metadata: data.slice(at + metadataMember.length, -1) }
}

/** The index slots that every bucket has. */
export const fileSlots = { publicByName: 'i1', publicByTime: 'i2', byBlob: 'i3' } as const

/** The hash of all public files in i1 and i2. Private files are in neither. */
export const publicHash = encodeIndexValue('public')

/** The hash of a file in i3. No encoded value begins with `f`, so it is never that of a record in a table. */
const blobHash = (blobId: string): string => `f${blobId}`

/** The range of a public file in i1: its name. An index value may be a byte longer than a key, because of its tag. */
export const nameRange = (name: string): string => `s${name}`

export const fileEntries = (name: string, content: FileContent, updatedAtMs: number): IndexEntries => {
  const isPublic = content.visibility === 'public'
  return [
    ...(isPublic ? [publicHash, nameRange(name), publicHash, encodeIndexValue(updatedAtMs)] : [null, null, null, null]),
    ...[blobHash(content.blob), '', null, null, null, null],
  ]
}

/** The entries of a stored file. */
export const entriesOfFile = ({
  rangeKey,
  data,
  updatedAtMs,
}: Pick<StoredRecord, 'rangeKey' | 'data' | 'updatedAtMs'>) => fileEntries(rangeKey, readFileContent(data), updatedAtMs)
