import type { Visibility } from '../../core/files/file-record.ts'
import type { BlobStore } from '../../store/blob-store.ts'
import type { Condition } from '../../store/records.ts'
import type { Table } from '../../store/tables.ts'
import type { FileAddress } from './file-access.ts'

/** Everything about an upload but its bytes. */
export interface PutFileInput extends FileAddress {
  /** The id of the bucket in a signed URL: the bucket must be this one, not a later one with its name. */
  bucketId?: string
  contentType: string
  visibility: Visibility
  /** JSON text. */
  metadata: string
  ttlSeconds: number | null
  condition: Condition | undefined
  /** The digest that the caller declares, in hex. */
  sha256: string | undefined
  /** The number of bytes that the caller declares. */
  bytes: number | undefined
  bytesMax: number
}

/** The source of the bytes of an upload. One of the two is called, once. */
export interface UploadBytes {
  /** Yields the bytes as they arrive. A chunk is valid until the next one is requested. */
  chunks(): AsyncIterable<Uint8Array>
  /** Reads the whole body: its declared length is small. The bytes belong to the caller. */
  whole(bytes: number): Promise<Uint8Array>
}

/** An upload that may begin. */
export interface AcceptedUpload {
  blobStore: BlobStore
  bucket: Table
}
