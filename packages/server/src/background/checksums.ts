import { checksumRowsMax } from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import type { Maintenance } from '../store/maintenance.ts'
import { type Background, inBackground } from './paced-steps.ts'

interface ChecksumOptions {
  maintenance: Pick<Maintenance, 'addChecksums'>
  log: Log
  /** The wait after a failure. */
  retryMs: number
}

/**
 * Adds checksums to the records that version 0.1 wrote, while the server handles requests. After a stop or a crash it
 * continues at the next start. If there is nothing to do, it ends at once and logs nothing.
 */
export const startChecksums = ({ maintenance, log, retryMs }: ChecksumOptions): Background =>
  inBackground(async (steps) => {
    let rows = 0
    while (!steps.isStopped) {
      try {
        rows += await steps.drain(() => maintenance.addChecksums(checksumRowsMax))
        if (!steps.isStopped && rows > 0) log('info', 'the records of version 0.1 have checksums now', { rows })
        return
      } catch (error) {
        if (steps.isStopped) return
        log('warn', 'adding checksums failed; it is retried later', { cause: String(error) })
        await steps.rest(retryMs)
      }
    }
  })
