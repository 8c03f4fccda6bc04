// The JSON of the changes of a table.

import type { MinimalRecordResponse, RecordKey, RecordResponse } from './wire.ts'

/** `PUT /v1/:db/:table/changes`. */
export interface KeepChangesRequest {
  /** 1 to 168. Null: the table keeps its changes no longer, and every cursor ends. */
  keepHours: number | null
}

/** `POST /v1/:db/:table/changes`. A stream takes neither `limit` nor `waitSeconds`. */
export interface ChangesRequest {
  /** The cursor of the answer before. Null is as absent. */
  cursor?: string | null
  /** Without a cursor. `start`, the default: every record first. `now`: only what is committed after this request. */
  from?: 'start' | 'now'
  /** Only the records of this hash key. */
  hash?: string
  /** 1 to 1,000; 100 when absent. */
  limit?: number
  /** 0 to 20: so long an empty page is held back until something comes for it. */
  waitSeconds?: number
  /** With `keys` a put has no `data`. */
  select?: 'data' | 'keys'
}

/** A record as it is since a write. */
export interface PutChange<Data = Record<string, unknown>> extends RecordResponse<Data> {
  op: 'put'
}

/** The same with `select: "keys"`. */
export interface PutKeyChange extends MinimalRecordResponse {
  op: 'put'
}

/** A record that is gone. */
export interface DeleteChange extends RecordKey {
  op: 'delete'
  /** When it was deleted; of an expired record its `ttl`, in milliseconds. */
  deletedAt: number
  /** Its `ttl` has passed. */
  expired?: true
}

export type Change<Data = Record<string, unknown>> = PutChange<Data> | DeleteChange

export type KeyChange = PutKeyChange | DeleteChange

/** A page may be short, even empty, and still have `more`. */
export interface ChangesResponse<Item = Change> {
  items: Item[]
  count: number
  /** The place after this page. */
  cursor: string
  /** Whether another page is ready now. */
  more: boolean
}
