import { entriesOfFile } from '../files/file-record.ts'
import type { StoredRecord } from '../records/stored-record.ts'
import { type IndexEntries, type Indices, readIndexEntries } from './indices.ts'

/** The rule that says which index entries a row has: the declaration of its table, or the rule for files. */
export interface EntriesRule {
  /** A task has no records. */
  kind: 'table' | 'bucket' | 'task'
  indices: Indices
}

/** The index entries of a stored row, computed from what the checksum covers. Throws if its data cannot be indexed. */
export const entriesOf = (
  { kind, indices }: EntriesRule,
  record: Pick<StoredRecord, 'rangeKey' | 'data' | 'updatedAtMs'>,
): IndexEntries => (kind === 'bucket' ? entriesOfFile(record) : readIndexEntries(indices, record))
