import { deadUntilMs } from '../../../core/files/file-changes.ts'
import type { Connection } from '../connection.ts'

/** A blob that a row of a bucket refers to. */
export interface BlobReference {
  tableId: number
  blobId: string
}

/** The blobs of those rows that are files. The values of tables never begin with `f`. */
export const blobsOfRows = (db: Connection, ids: number[]): BlobReference[] =>
  db
    .prepare<BlobReference, [string]>(
      `SELECT table_id AS tableId, substr(CAST(i3_hash AS TEXT), 2) AS blobId FROM records
       WHERE id IN (SELECT value FROM json_each(?1)) AND i3_hash >= x'66' AND i3_hash < x'67'`,
    )
    .all(JSON.stringify(ids))

/**
 * After the rows that referred to them are gone. A blob that another row refers to stays: a damaged row may have named
 * the blob of another file. One that is never due stays so.
 */
export const markDead = (db: Connection, blobs: BlobReference[], nowMs: number): void => {
  const mark = db.prepare<unknown, [string, number, number]>(
    `UPDATE blobs SET state = 'dead', due_at = max(coalesce(due_at, 0), ?3) WHERE id = ?1 AND table_id = ?2 AND state = 'live'
     AND NOT EXISTS (SELECT 1 FROM records WHERE table_id = ?2 AND i3_hash = CAST('f' || ?1 AS BLOB))`,
  )
  for (const { tableId, blobId } of blobs) mark.run(blobId, tableId, deadUntilMs(nowMs))
}
