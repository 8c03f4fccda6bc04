import type { MetricsResult, Series } from '../results.ts'
import { copyFilledStore, serveKnows, startCubby } from '../subjects/cubby.ts'
import type { Context } from './context.ts'
import { interleave, withSubjects } from './interleave.ts'

/**
 * This suite measures what counting costs: it runs the same server without and with --metrics. Two processes of the same
 * program differ by up to 5 %, and stay so while they run: each round starts two new ones, in turns the one or the other
 * first.
 */
export const runMetrics = async ({ settings, say, skip }: Context): Promise<MetricsResult | undefined> => {
  if (!(await serveKnows('--metrics'))) {
    skip({ what: 'the cost of metrics', why: 'this version of cubby serve has no --metrics' })
    return undefined
  }
  const { peerRecords: records, load, rounds } = settings
  const stores = [await copyFilledStore(records), await copyFilledStore(records)]
  const wanted = (['get', 'put'] as const).filter((scenario) => settings.only.includes(scenario))
  const noRounds = (subject: string): Series[] => wanted.map((scenario) => ({ scenario, subject, rounds: [] }))
  const result = { records, without: noRounds('without metrics'), with: noRounds('with metrics') }
  try {
    for (let round = 0; round < rounds; round++) {
      const without = await startCubby('without metrics', stores[round % 2]!, load)
      const subject = await startCubby('with metrics', stores[(round + 1) % 2]!, load, {
        args: ['--metrics', '127.0.0.1:0'],
      })
      const subjects = round % 2 === 0 ? [without, subject] : [subject, without]
      await withSubjects(subjects, async () => {
        const found = await interleave(subjects, wanted, { ...settings, rounds: 1, say })
        for (const series of [...result.without, ...result.with]) {
          const same = found.find((one) => one.scenario === series.scenario && one.subject === series.subject)
          series.rounds.push(...same!.rounds)
        }
      })
    }
  } finally {
    for (const store of stores) store.remove()
  }
  return result
}
