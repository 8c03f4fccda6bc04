import type { SuiteResult } from '../results.ts'
import { copyFilledStore, startCubby } from '../subjects/cubby.ts'
import { startDynalite } from '../subjects/dynalite.ts'
import { startFastify } from '../subjects/fastify.ts'
import { absentPeers, installPeers } from '../subjects/peers.ts'
import type { Context } from './context.ts'
import { bytesPerRecord, interleave, withSubjects } from './interleave.ts'

/** Cubby compared with alternatives, with as many records and the same durability. */
export const runPeers = async ({ settings, say, skip }: Context): Promise<SuiteResult | undefined> => {
  for (const peer of absentPeers) skip(peer)
  const fault = await installPeers(say)
  if (fault !== undefined) {
    skip({ what: 'peers', why: fault })
    return undefined
  }
  const { peerRecords: records, seconds, load, only } = settings
  say(`filling the peers with ${records} records`)
  const store = await copyFilledStore(records)
  const cubby = await startCubby('cubby', store, load)
  const subjects = [cubby, await startFastify(store.shape, load), await startDynalite(store.shape, load)]
  return withSubjects(subjects, async () => {
    const series = await interleave(subjects, only, { ...settings, say })
    return { records, seconds, series, bytesPerRecord: bytesPerRecord(subjects) }
  }).finally(store.remove)
}
