/** How long a table keeps its changes, and since when it does. */
export interface TableChanges {
  keepHours: number
  since: number
}

export interface KeepChangesRequest {
  /** null: it keeps none. */
  keepHours: number | null
}

export interface ChangesRequest {
  /** The cursor of the previous answer; null is as absent. */
  cursor?: string | null
  /** Where to begin without a cursor: with every record (the default), or with what is committed from now on. */
  from?: 'start' | 'now'
  /** Only the records with this hash key. */
  hash?: string
  limit?: number
  waitSeconds?: number
  select?: 'data' | 'keys'
}

export interface PutChange<Data = Record<string, unknown>> {
  op: 'put'
  hashKey: string
  rangeKey?: string
  /** Absent with `select: 'keys'`. */
  data?: Data
  ttl?: number
  updatedAt: number
}

export interface DeleteChange {
  op: 'delete'
  hashKey: string
  rangeKey?: string
  deletedAt: number
  /** Its ttl has passed. */
  expired?: true
}

export type Change<Data = Record<string, unknown>> = PutChange<Data> | DeleteChange

export interface ChangesResponse<Data = Record<string, unknown>> {
  items: Change<Data>[]
  count: number
  cursor: string
  /** Another page is ready now. */
  more: boolean
}
