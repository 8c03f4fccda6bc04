import { batchOperationsMax } from '../../../../server/src/core/limits.ts'
import type { RecordRow } from '../../api/types.ts'

// Deletes the shown rows, 25 in a batch, each only in the version that the reader saw.

export interface DeleteResult {
  deleted: RecordRow[]
  /** Records that changed since they were shown, and were left alone. */
  changed: RecordRow[]
}

interface Steps {
  /** Sends one batch. False: refused, because at least one record is not in its version. */
  send: (body: string) => Promise<boolean>
  onProgress: (result: DeleteResult) => void
  signal: AbortSignal
}

const deleteBody = (rows: readonly RecordRow[]): string =>
  JSON.stringify({
    operations: rows.map(({ hashKey, rangeKey, updatedAt }) => ({
      op: 'delete',
      hashKey,
      rangeKey,
      ifUpdatedAt: updatedAt,
    })),
  })

/**
 * A batch with one conflict is refused whole: then its halves are tried, down to the records that changed. `result` is
 * filled as it goes on, so that it is right also when a request fails.
 */
const deleteBatch = async (rows: readonly RecordRow[], result: DeleteResult, steps: Steps): Promise<void> => {
  if (rows.length === 0 || steps.signal.aborted) return
  if (await steps.send(deleteBody(rows))) result.deleted.push(...rows)
  else if (rows.length === 1) result.changed.push(...rows)
  else {
    const half = Math.ceil(rows.length / 2)
    await deleteBatch(rows.slice(0, half), result, steps)
    await deleteBatch(rows.slice(half), result, steps)
    return
  }
  steps.onProgress(result)
}

export const deleteRows = async (rows: readonly RecordRow[], result: DeleteResult, steps: Steps): Promise<void> => {
  for (let at = 0; at < rows.length; at += batchOperationsMax) {
    await deleteBatch(rows.slice(at, at + batchOperationsMax), result, steps)
  }
}
