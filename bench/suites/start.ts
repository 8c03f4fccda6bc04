import type { StartResult } from '../results.ts'
import { copyFilledStore, serveCubby } from '../subjects/cubby.ts'
import { processTree, residentBytes } from '../subjects/process-usage.ts'
import type { Context } from './context.ts'

/** The time from process start until it serves, and its memory when idle. */
export const runStart = async ({ settings, say }: Context): Promise<StartResult> => {
  const { records, rounds } = settings
  const store = await copyFilledStore(records)
  const result: StartResult = { records, startMs: [], idleResidentBytes: [] }
  try {
    for (let round = 0; round < Math.max(rounds, 3); round++) {
      const server = await serveCubby(store.location)
      result.startMs.push(server.startMs)
      await Bun.sleep(500)
      const idle = residentBytes(processTree(server.pid))
      if (idle !== undefined) result.idleResidentBytes.push(idle)
      await server.stop()
    }
  } finally {
    store.remove()
  }
  say(`${result.startMs.map((ms) => ms.toFixed(0)).join(', ')} ms`)
  return result
}
