import type { SuiteResult } from '../results.ts'
import { startBareSqlite } from '../subjects/bare-sqlite.ts'
import { copyFilledStore, startCubby } from '../subjects/cubby.ts'
import { startHttpFloor } from '../subjects/http-floor.ts'
import type { Context } from './context.ts'
import { bytesPerRecord, interleave, withSubjects } from './interleave.ts'

/** Cubby compared with its two floors. */
export const runScenarios = async ({ settings, say }: Context): Promise<SuiteResult> => {
  const { records, seconds, load, only } = settings
  say(`filling stores with ${records} records`)
  const store = await copyFilledStore(records)
  const cubby = await startCubby('cubby', store, load)
  const subjects = [cubby, await startHttpFloor(cubby, load), await startBareSqlite(records, load.connections)]
  return withSubjects(subjects, async () => {
    const series = await interleave(subjects, only, { ...settings, say })
    return { records, seconds, series, bytesPerRecord: bytesPerRecord(subjects) }
  }).finally(store.remove)
}
