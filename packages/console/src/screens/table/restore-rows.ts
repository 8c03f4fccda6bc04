import { isExpired } from '../../../../server/src/core/records/expiry.ts'
import { serverNowMs } from '../../api/clock.ts'
import { ApiError, isUnknown, messageOf } from '../../api/error.ts'
import type { RecordRow } from '../../api/types.ts'
import { keyText } from './rows.ts'

// Puts deleted records back, with the text and the ttl that were stored. No record that exists by now is replaced.

const atOnceMax = 4

interface RestoreResult {
  restored: RecordRow[]
  /** The records that could not be put back, with the reasons, as lines. */
  left: string[]
  /** The records that may be tried again, and those that were not tried. */
  again: RecordRow[]
}

interface Steps {
  /** Puts the record only if there is none with its key. */
  put: (row: RecordRow) => Promise<unknown>
  onProgress: (done: number) => void
  signal: AbortSignal
}

export const restoreRows = async (
  rows: readonly RecordRow[],
  { put, onProgress, signal }: Steps,
): Promise<RestoreResult> => {
  const result: RestoreResult = { restored: [], left: [], again: [] }
  const waiting = [...rows]
  const restore = async (row: RecordRow): Promise<void> => {
    const leave = (why: string): unknown => result.left.push(`${keyText(row)}: ${why}`)
    if (row.ttl !== undefined && isExpired(row.ttl, serverNowMs())) {
      leave('it would have expired by now')
      return
    }
    try {
      await put(row)
      result.restored.push(row)
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) leave('a record with this key was written meanwhile')
      else {
        leave(isUnknown(error) ? 'no answer; it may be restored all the same' : messageOf(error))
        result.again.push(row)
      }
    }
  }
  const work = async (): Promise<void> => {
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      if (signal.aborted) result.again.push(row)
      else await restore(row)
      onProgress(rows.length - waiting.length)
    }
  }
  await Promise.all(Array.from({ length: atOnceMax }, work))
  return result
}
