import { loadavg } from 'node:os'
import { requireNoErrors } from './load/load.ts'
import { runOwnLoad } from './load/own.ts'
import type { Part, Shape } from './load/template.ts'
import { median } from './stats.ts'
import { cpuSeconds } from './subjects/process-usage.ts'
import type { ServerProcess } from './subjects/server-process.ts'

/** One round of one of the things that are compared. */
export type Measure = () => Promise<{ rate: number; cpuUs: number }>

/** Runs the work, which returns how many requests it has made, and measures the CPU of the processes for each. */
export const measuring =
  (pids: () => number[], work: () => Promise<number>): Measure =>
  async () => {
    const [before, startedMs] = [cpuSeconds(pids()) ?? 0, performance.now()]
    const requests = await work()
    const seconds = (performance.now() - startedMs) / 1000
    return { rate: requests / seconds, cpuUs: (((cpuSeconds(pids()) ?? 0) - before) / requests) * 1e6 }
  }

export interface Load {
  server: ServerProcess
  parts: Part[]
  shape: Shape
  seconds: number
  connections?: number
  /** Processes that work for the server, such as a database. */
  helpers?: () => number[]
}

/** Connections that each send this request again and again. */
export const measuringLoad = ({ server, parts, shape, seconds, connections = 64, helpers = () => [] }: Load): Measure =>
  measuring(
    () => [server.pid, ...helpers()],
    async () => {
      const plan = { port: server.port, connections, seconds, templates: [{ times: 1, parts }], shape }
      return requireNoErrors(await runOwnLoad(plan), 'alternate').requests
    },
  )

const quartiles = (values: number[]): string => {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))]!.toFixed(2)
  return `${median(values).toFixed(3)} (${at(0.25)} to ${at(0.75)})`
}

/**
 * Measures the variants in turn, in as many rounds; each has every place in a round. Prints the medians, and the ratios to the first
 * variant with their quartiles. A run before the first round is not counted.
 */
export const alternate = async (variants: Record<string, Measure>, rounds: number): Promise<void> => {
  const all = Object.entries(variants).map(([name, measure]) => ({
    name,
    measure,
    rates: [] as number[],
    cpu: [] as number[],
  }))
  const load = loadavg()[0]!
  for (const { measure } of all) await measure()
  for (let round = 0; round < rounds; round++) {
    for (let place = 0; place < all.length; place++) {
      const { measure, rates, cpu } = all[(round + place) % all.length]!
      const { rate, cpuUs } = await measure()
      rates.push(rate)
      cpu.push(cpuUs)
    }
  }
  const [first] = all
  for (const { name, rates, cpu } of all) {
    const ratios = (values: number[], against: number[]) => quartiles(values.map((value, i) => value / against[i]!))
    console.log(
      `${name}: ${median(rates).toFixed(0)}/s, ${median(cpu).toFixed(1)} µs of CPU each` +
        (name === first!.name
          ? ''
          : `; rate ${ratios(rates, first!.rates)}, CPU ${ratios(cpu, first!.cpu)} of ${first!.name}`),
    )
  }
  console.log(`${rounds} rounds, load before ${load.toFixed(1)}`)
}
