import { availableParallelism } from 'node:os'
import type { WorkersResult } from '../results.ts'
import { copyFilledStore, serveKnows, startCubby } from '../subjects/cubby.ts'
import type { Context } from './context.ts'
import { interleave, withSubjects } from './interleave.ts'

/** Two serving processes compared with one. */
export const runWorkers = async ({ settings, say, skip }: Context): Promise<WorkersResult | undefined> => {
  if (!(await serveKnows('--workers'))) {
    skip({ what: 'two workers', why: 'this version of cubby serve has no --workers' })
    return undefined
  }
  const { peerRecords: records, load } = settings
  const stores = [await copyFilledStore(records), await copyFilledStore(records)]
  const subjects = [
    await startCubby('one worker', stores[0]!, load, { args: ['--workers', '1'] }),
    await startCubby('two workers', stores[1]!, load, { args: ['--workers', '2'] }),
  ]
  return withSubjects(subjects, async () => {
    const wanted = (['get', 'put', 'mixed'] as const).filter((scenario) => settings.only.includes(scenario))
    const series = await interleave(subjects, wanted, { ...settings, say })
    return {
      ...{ records, cores: availableParallelism() },
      one: series.filter(({ subject }) => subject === 'one worker'),
      two: series.filter(({ subject }) => subject === 'two workers'),
    }
  }).finally(() => {
    for (const store of stores) store.remove()
  })
}
