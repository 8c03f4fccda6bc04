import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment, temporaryDirectory, trackChild } from '../cleanup.ts'
import type { BareRun } from '../floor/sqlite.ts'
import type { LoadResult } from '../load/load.ts'
import { directoryBytes } from './cubby.ts'
import { watchUsage } from './process-usage.ts'
import { type Subject, toMeasurement } from './subject.ts'

const program = fileURLToPath(new URL('../floor/sqlite.ts', import.meta.url))

let stores = 0

const lineReader = (stream: ReadableStream<Uint8Array>) => {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let text = ''
  return async (): Promise<string> => {
    while (!text.includes('\n')) {
      const { value, done } = await reader.read()
      if (done) throw new Error(`the bare bun:sqlite process ended: ${text}`)
      text += decoder.decode(value, { stream: true })
    }
    const [line, ...rest] = text.split('\n')
    text = rest.join('\n')
    return line!
  }
}

/** Bare bun:sqlite with as many records, in a separate process that makes its own load. */
export const startBareSqlite = async (records: number, writers: number): Promise<Subject> => {
  const dir = join(temporaryDirectory(), `bare-${++stores}`)
  const child = trackChild(
    Bun.spawn([process.execPath, program, dir, String(records)], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
      env: cleanEnvironment(),
    }),
  )
  await lineReader(child.stderr)()
  const nextLine = lineReader(child.stdout)
  return {
    name: 'bare bun:sqlite',
    bytesPerRecord: directoryBytes(dir) / records,
    async measure(scenario, seconds) {
      const usage = watchUsage(() => [child.pid])
      child.stdin.write(`${JSON.stringify({ scenario, seconds, writers } satisfies BareRun)}\n`)
      await child.stdin.flush()
      const result = JSON.parse(await nextLine()) as LoadResult
      const { residentBytes } = usage.stop()
      const cpuCores = result.cpuSeconds / result.seconds
      return { ...toMeasurement(result), loadCpuCores: 0, cpuCores, residentBytes }
    },
    async close() {
      child.stdin.end()
      await child.exited
    },
  }
}
