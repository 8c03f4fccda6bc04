import type { RecordKey } from './record-key.ts'

/** A record without its data. */
export interface RecordHead extends RecordKey {
  ttlSeconds: number | null
  updatedAtMs: number
}

export interface StoredRecord extends RecordHead {
  data: string
}
