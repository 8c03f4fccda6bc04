import type { TailResult } from '../results.ts'
import { copyFilledStore, startCubby } from '../subjects/cubby.ts'
import type { Context } from './context.ts'
import { withSubjects } from './interleave.ts'

/** Long runs of durable puts: each run is long enough to include checkpoints. */
export const runTail = async ({ settings, say }: Context): Promise<TailResult> => {
  const { records, tailSeconds: seconds, rounds, warmSeconds, load } = settings
  const store = await copyFilledStore(records)
  const cubby = await startCubby('cubby', store, load)
  return withSubjects([cubby], async () => {
    await cubby.measure('put', warmSeconds)
    const result: TailResult = { records, seconds, rounds: [] }
    for (let round = 0; round < rounds; round++) {
      const measured = await cubby.measure('put', seconds)
      result.rounds.push(measured)
      say(
        `p50 ${measured.p50Ms.toFixed(2)} ms, p99 ${measured.p99Ms.toFixed(2)} ms, worst ${measured.maxMs.toFixed(0)} ms`,
      )
    }
    return result
  }).finally(store.remove)
}
