import type { RecordKey } from './record-key.ts'

export interface StoredRecord extends RecordKey {
  data: string
  ttlSeconds: number | null
  updatedAtMs: number
}
