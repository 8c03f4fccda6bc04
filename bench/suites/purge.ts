import { Database } from 'bun:sqlite'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from '../cleanup.ts'
import type { PurgeResult } from '../results.ts'
import { callCubby, copyFilledStore, type FilledStore, fillTable, serveCubby } from '../subjects/cubby.ts'
import { CubbyDialect, table } from '../subjects/cubby-dialect.ts'
import { HttpSubject } from '../subjects/subject.ts'
import { shapeOf } from '../workload.ts'
import type { Context } from './context.ts'

const otherTable = '/v1/bench/other'
/** Longer than the 7 days plus the time that sweeps wait after a deadline. */
const aheadMs = (7 * 24 * 60 + 6) * 60 * 1000

const recordsLeft = (store: FilledStore): number => {
  const db = new Database(join(store.location[1]!, 'cubby.db'), { readonly: true })
  try {
    const count = db.prepare<{ n: number }, []>(
      `SELECT count(*) AS n FROM records WHERE table_id IN (SELECT id FROM tables WHERE name = 'items')`,
    )
    return count.get()!.n
  } finally {
    db.close()
  }
}

/** Puts into one table while a sweep removes another, which is large and was deleted long ago. */
export const runPurge = async ({ settings, say }: Context): Promise<PurgeResult> => {
  const { records, rounds, seconds, warmSeconds, load } = settings
  const result: PurgeResult = { records, withoutP99Ms: [], duringP99Ms: [], purged: [] }
  const clock = join(temporaryDirectory(), 'clock')
  for (let round = 0; round < rounds; round++) {
    const store = await copyFilledStore(records)
    const shape = shapeOf(10_000)
    writeFileSync(clock, '0')
    const server = await serveCubby(store.location, { env: { NODE_ENV: 'test', CUBBY_TEST_CLOCK: clock } })
    await fillTable(server, store.apiKey, shape, otherTable)
    const cubby = new HttpSubject('cubby', server, new CubbyDialect(store.apiKey, () => otherTable), shape, load)
    await cubby.measure('put', warmSeconds)
    result.withoutP99Ms.push((await cubby.measure('put', seconds)).p99Ms)
    await callCubby(server, store.apiKey, 'DELETE', table)
    writeFileSync(clock, String(aheadMs))
    // Sweeps look for work every 200 ms.
    await Bun.sleep(600)
    result.duringP99Ms.push((await cubby.measure('put', seconds)).p99Ms)
    await cubby.close()
    const left = recordsLeft(store)
    store.remove()
    if (left === records) throw new Error('purge: no record was removed meanwhile')
    if (left === 0) say('the purge was over before the puts were: give more records or fewer seconds')
    result.purged.push(records - left)
  }
  say(`p99 ${result.withoutP99Ms.at(-1)!.toFixed(2)} ms without, ${result.duringP99Ms.at(-1)!.toFixed(2)} ms during`)
  return result
}
