import { trackCloser } from '../cleanup.ts'
import type { SuiteResult } from '../results.ts'
import {
  copyFilledStore,
  createOrganization,
  type FilledStore,
  fillTable,
  serveCubby,
  startCubby,
} from '../subjects/cubby.ts'
import { ownChildren, processTree } from '../subjects/process-usage.ts'
import { shapeOf } from '../workload.ts'
import type { Context } from './context.ts'
import { bytesPerRecord, interleave, withSubjects } from './interleave.ts'

/** The PostgreSQL server that the tests use too. Undefined if its package is not installed. */
export const openPostgres = async () => {
  try {
    const { startPostgres } = await import('../../packages/server/test/postgres-server.ts')
    return await startPostgres()
  } catch (error) {
    return String((error as Error).message).split('\n')[0]!
  }
}

/** Cubby over PostgreSQL on the same machine, compared with Cubby on its embedded engine. */
export const runPostgres = async ({ settings, say, skip }: Context): Promise<SuiteResult | undefined> => {
  const postgres = await openPostgres()
  if (typeof postgres === 'string') {
    skip({ what: 'PostgreSQL', why: postgres })
    return undefined
  }
  const close = trackCloser(() => postgres.remove())
  try {
    const { peerRecords: records, seconds, load, only } = settings
    say(`filling PostgreSQL with ${records} records`)
    const url = await postgres.createDatabase()
    const location = ['--store', url]
    const shape = shapeOf(records)
    const apiKey = await createOrganization(location)
    const server = await serveCubby(location)
    await fillTable(server, apiKey, shape)
    await server.stop()
    await postgres.query('vacuum analyze', url)
    const [size] = await postgres.query(`select pg_total_relation_size('cubby_record_8') as bytes`, url)
    const overPostgres: FilledStore = {
      ...{ location, apiKey, shape, remove: () => {} },
      bytesPerRecord: Number(size!.bytes) / records,
    }
    const store = await copyFilledStore(records)
    const subjects = [
      await startCubby('cubby', store, load),
      await startCubby('cubby over PostgreSQL', overPostgres, load, {}, () =>
        ownChildren('postgres').flatMap(processTree),
      ),
    ]
    return await withSubjects(subjects, async () => {
      const series = await interleave(subjects, only, { ...settings, say })
      return { records, seconds, series, bytesPerRecord: bytesPerRecord(subjects) }
    }).finally(store.remove)
  } finally {
    await close()
  }
}
