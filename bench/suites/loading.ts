import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runChild, temporaryDirectory } from '../cleanup.ts'
import type { LoadingResult, Rounds } from '../results.ts'
import { callCubby, createOrganization, fillTable, serveCubby } from '../subjects/cubby.ts'
import { table, tableIndices } from '../subjects/cubby-dialect.ts'
import { dataText, drawValues, keyText, shapeOf } from '../workload.ts'
import type { Context } from './context.ts'

const main = fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url))
const records = 100_000

const timed = async (rates: Rounds, work: () => Promise<void>): Promise<void> => {
  const startedMs = performance.now()
  await work()
  rates.push((records / (performance.now() - startedMs)) * 1000)
}

/** The same new records by batches of 25, by one load, and by an import into a store that no server has open. */
export const runLoading = async ({ settings, say }: Context): Promise<LoadingResult> => {
  const result: LoadingResult = { records, batches: [], load: [], import: [] }
  const shape = shapeOf(records)
  const lines = Array.from(
    { length: records },
    (_, n) => `{"hashKey":"${keyText(n)}","data":${dataText(drawValues(shape))}}`,
  )
  const declaration = JSON.stringify({ db: 'bench', table: 'imported', indices: tableIndices })
  const file = join(temporaryDirectory(), 'records.ndjson')
  const addressed = lines.map((line) => `{"db":"bench","table":"imported",${line.slice(1)}`)
  writeFileSync(file, [declaration, ...addressed, ''].join('\n'))
  const body = Buffer.from(lines.join('\n'))
  for (let round = 0; round < settings.rounds; round++) {
    // Each has a store of its own: records of other tables would make its trees deeper.
    const open = async (name: string) => {
      const location = ['--data', join(temporaryDirectory(), `loading-${name}-${round}`)]
      return { location, apiKey: await createOrganization(location) }
    }
    const inBatches = await open('batches')
    let server = await serveCubby(inBatches.location)
    await timed(result.batches, () => fillTable(server, inBatches.apiKey, shape))
    await server.stop()
    const { location, apiKey } = await open('load')
    server = await serveCubby(location)
    await callCubby(server, apiKey, 'POST', table, { indices: tableIndices })
    await timed(result.load, async () => {
      const url = `http://127.0.0.1:${server.port}${table}/load`
      const response = await fetch(url, { method: 'POST', headers: { Authorization: `Bearer ${apiKey}` }, body })
      const text = await response.text()
      if (JSON.parse(text).count !== records) throw new Error(`loading: ${text.slice(0, 500)}`)
    })
    await server.stop()
    const importing = [process.execPath, main, 'import', file, '--org', 'bench', ...(await open('import')).location]
    await timed(result.import, async () => {
      await runChild(importing)
    })
    const rates = [result.batches, result.load, result.import].map((list) => Math.round(list.at(-1)!))
    say(`records/s: ${rates[0]} in batches, ${rates[1]} in a load, ${rates[2]} by an import`)
  }
  return result
}
