import { CubbyError, type ErrorCode } from '../../core/errors.ts'
import { forEachAtOnce } from '../../operations/transfer/copy-files.ts'
import { type Remote, requestOf } from '../target/remote.ts'
import { Progress } from './progress.ts'
import { countRuns, type RunListing, runTexts } from './run-list.ts'

/** Codes with which one run cannot be changed, but others can. */
export const oneRunCodes: readonly ErrorCode[] = ['run_not_found', 'run_finished', 'run_exists']

interface ChangedRuns {
  changed: number
  /** Runs that had another status when their request arrived. */
  skipped: number
}

async function* idsOf(remote: Remote, listing: RunListing): AsyncIterable<string> {
  for await (const runs of runTexts(remote, listing)) for (const run of runs) yield JSON.parse(run).id
}

/**
 * Retries or cancels all runs of the listing, several at once. Pages go from the run that changed last to older ones, so a run
 * that gets the same status again is not met twice. `counts` is kept up to date, also if this throws.
 */
export const changeEachRun = async (
  remote: Remote,
  call: { id: 'retryRun' | 'cancelRun'; repeatable: boolean },
  listing: RunListing,
  counts: ChangedRuns,
): Promise<void> => {
  const progress = new Progress('run')
  const { db, task } = listing
  try {
    const total = await countRuns(remote, listing)
    progress.begin()
    await forEachAtOnce(idsOf(remote, listing), async (run) => {
      try {
        await remote.request({ ...requestOf(call.id, { db, task, run }), repeatable: call.repeatable })
        counts.changed++
      } catch (error) {
        if (!(error instanceof CubbyError && oneRunCodes.includes(error.code))) throw error
        counts.skipped++
      }
      const done = counts.changed + counts.skipped
      progress.show(done, () => done / total)
    })
  } finally {
    progress.clear()
  }
}
