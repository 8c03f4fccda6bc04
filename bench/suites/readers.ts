import { requireNoErrors } from '../load/load.ts'
import type { ReadersResult } from '../results.ts'
import { copyFilledStore, startCubby } from '../subjects/cubby.ts'
import { runLoad } from '../subjects/subject.ts'
import type { Context } from './context.ts'
import { withSubjects } from './interleave.ts'

const readers = 8
const paceHz = 50

/** Gets on a fixed schedule, alone and together with writers that saturate the store: does a sync ever delay a read? */
export const runReaders = async ({ settings, say }: Context): Promise<ReadersResult> => {
  const { records, load, rounds } = settings
  // At 400 reads a second, a shorter run would have only a few reads above the 99th percentile.
  const seconds = settings.full ? Math.max(10, settings.seconds) : Math.min(3, settings.seconds * 3)
  const store = await copyFilledStore(records)
  const cubby = await startCubby('cubby', store, load)
  return withSubjects([cubby], async () => {
    const { port } = cubby.server
    const { shape } = store
    const read = async () => {
      const templates = cubby.dialect.templates('get', shape)
      const result = await runLoad({ port, templates, shape, connections: readers, seconds, paceHz }, load)
      return requireNoErrors(result, 'paced readers')
    }
    const write = async () => {
      const templates = cubby.dialect.templates('put', shape)
      const plan = { port, templates, shape, connections: load.connections, seconds: Math.ceil(seconds + 2) }
      return requireNoErrors(await runLoad(plan, load), 'writers beside readers')
    }
    const result: ReadersResult = {
      ...{ records, readers, paceHz, writers: load.connections },
      ...{ aloneP99Ms: [], besideWritersP99Ms: [], latenessP99Ms: [], putsPerSecond: [] },
    }
    for (let round = 0; round < rounds; round++) {
      result.aloneP99Ms.push((await read()).p99Us / 1000)
      const writing = write()
      // The writers are at full speed before the readers start.
      const reading = Bun.sleep(1_000).then(read)
      const [wrote, beside] = await Promise.all([writing, reading])
      result.besideWritersP99Ms.push(beside.p99Us / 1000)
      result.latenessP99Ms.push(beside.latenessP99Us! / 1000)
      result.putsPerSecond.push(wrote.requests / wrote.seconds)
    }
    say(
      `p99 ${result.besideWritersP99Ms.at(-1)!.toFixed(2)} ms beside ${Math.round(result.putsPerSecond.at(-1)!)} puts/s`,
    )
    return result
  }).finally(store.remove)
}
