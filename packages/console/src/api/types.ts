import type { ActiveTask, DeletedTask, FileItem, OwnKey, Run, TableMetadata } from '@cubbydb/client'

export type {
  ActiveTable,
  BucketMetadata,
  CreateKeyResponse,
  CreateTokenResponse,
  DeletedTable,
  IndexDeclaration,
  Indices,
  Issuer,
  KeyMetadata,
  ListBucketsResponse,
  ListDatabasesResponse,
  ListIssuersResponse,
  ListKeysResponse,
  ListTablesResponse,
  RollKeyResponse,
  RunStatus,
  Slot,
} from '@cubbydb/client'
export type { OwnKey, TableMetadata }

// The console keeps the text of every member that is a user's JSON.

export interface RecordRow {
  hashKey: string
  rangeKey?: string
  /** The exact text. */
  data: string
  ttl?: number
  updatedAt: number
}

export interface Page<Item> {
  items: Item[]
  count: number
  cursor: string | null
  /** The reason why the page may be empty. */
  hint?: string
}

export type FileRow = Omit<FileItem, 'metadata'> & { metadata: string }
export type RunRow = Omit<Run, 'payload' | 'result' | 'progress' | 'key' | 'user'> & {
  /** A public key reads none of them. */
  payload?: string
  key?: string | null
  user?: string | null
  /** The text `null` if there is none. */
  result: string
  progress: string
}
export type TaskRow = ActiveTask | DeletedTask
