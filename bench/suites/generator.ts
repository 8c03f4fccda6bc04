import { requireNoErrors } from '../load/load.ts'
import { findWrk } from '../load/wrk.ts'
import type { GeneratorResult } from '../results.ts'
import { copyFilledStore, startCubby } from '../subjects/cubby.ts'
import { startHttpFloor } from '../subjects/http-floor.ts'
import { watchUsage } from '../subjects/process-usage.ts'
import { runLoad } from '../subjects/subject.ts'
import type { Context } from './context.ts'
import { withSubjects } from './interleave.ts'

/**
 * This suite shows whether the load tools can saturate a server. The server is the HTTP floor, which is the fastest one
 * here.
 */
export const runGeneratorCheck = async ({ settings, say }: Context): Promise<GeneratorResult> => {
  const { load, seconds, warmSeconds, rounds } = settings
  const store = await copyFilledStore(1_000)
  const cubby = await startCubby('cubby', store, load)
  const floor = await startHttpFloor(cubby, load)
  return withSubjects([cubby, floor], async () => {
    const names = findWrk() === undefined ? (['own'] as const) : (['wrk', 'own'] as const)
    const tools: GeneratorResult['tools'] = names.map((tool) => ({
      ...{ tool, requestsPerSecond: [], serverCpuCores: [], toolCpuCores: [] },
    }))
    const plan = {
      port: floor.server.port,
      templates: floor.dialect.templates('get', floor.shape),
      shape: floor.shape,
      connections: load.connections,
    }
    await runLoad({ ...plan, seconds: warmSeconds }, { ...load, tool: 'own' })
    for (let round = 0; round < rounds; round++) {
      for (const [i, tool] of names.entries()) {
        const usage = watchUsage(() => [floor.server.pid])
        const result = requireNoErrors(await runLoad({ ...plan, seconds }, { ...load, tool }), `${tool} on the floor`)
        const { cpuCores } = usage.stop()
        tools[i]!.requestsPerSecond.push(result.requests / result.seconds)
        tools[i]!.toolCpuCores.push(result.cpuSeconds / result.seconds)
        if (cpuCores !== undefined) tools[i]!.serverCpuCores.push(cpuCores)
      }
    }
    say(tools.map(({ tool, requestsPerSecond }) => `${tool} ${Math.round(requestsPerSecond.at(-1)!)}/s`).join(', '))
    return { tools }
  }).finally(store.remove)
}
