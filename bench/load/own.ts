import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runChild, temporaryDirectory } from '../cleanup.ts'
import type { LoadPlan, LoadResult } from './load.ts'

const generator = fileURLToPath(new URL('./generator.ts', import.meta.url))

let plans = 0

/** Runs our own load generator in a separate process. */
export const runOwnLoad = async (plan: LoadPlan): Promise<LoadResult> => {
  const file = join(temporaryDirectory(), `plan-${++plans}.json`)
  writeFileSync(file, JSON.stringify(plan))
  const { stdout } = await runChild([process.execPath, generator, file])
  return JSON.parse(stdout) as LoadResult
}
