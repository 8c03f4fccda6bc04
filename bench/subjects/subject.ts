import { type LoadPlan, type LoadResult, type LoadTool, requireNoErrors } from '../load/load.ts'
import { runOwnLoad } from '../load/own.ts'
import { type Part, type RequestTemplate, renderRequest, type Shape } from '../load/template.ts'
import { runWrk } from '../load/wrk.ts'
import type { Measurement } from '../results.ts'
import type { Scenario } from '../workload.ts'
import { processTree, type Usage, watchUsage } from './process-usage.ts'
import type { ServerProcess } from './server-process.ts'

/** A system that is measured. */
export interface Subject {
  readonly name: string
  /** Bytes on disk per record, right after the store was filled. */
  readonly bytesPerRecord?: number
  measure(scenario: Scenario, seconds: number): Promise<Measurement>
  close(): Promise<void>
}

export interface LoadSettings {
  tool: LoadTool
  /** The threads of wrk. */
  threads: number
  connections: number
}

/** A dialect says how to make requests for one server. */
export interface Dialect {
  templates(scenario: Scenario, shape: Shape): RequestTemplate[]
  /** Checks that a response is the expected one. Returns the problem if it is not. */
  fault(scenario: Scenario, status: number, body: string): string | undefined
}

export const runLoad = (plan: LoadPlan, { tool, threads }: LoadSettings): Promise<LoadResult> =>
  tool === 'wrk' && plan.paceHz === undefined && plan.requests === undefined ? runWrk(plan, threads) : runOwnLoad(plan)

export const toMeasurement = (result: LoadResult): Omit<Measurement, 'cpuCores' | 'residentBytes'> => ({
  requestsPerSecond: result.requests / result.seconds,
  p50Ms: result.p50Us / 1000,
  p99Ms: result.p99Us / 1000,
  maxMs: result.maxUs / 1000,
  errors: 0,
  loadCpuCores: result.cpuSeconds / result.seconds,
})

/** Sends the request of a template once. */
export const askOnce = async (port: number, parts: Part[], shape: Shape): Promise<Response> => {
  const [head, body] = renderRequest(parts, shape).split('\r\n\r\n') as [string, string]
  const [first, ...lines] = head.split('\r\n')
  const [method, path] = first!.split(' ') as [string, string]
  const headers = Object.fromEntries(lines.map((line) => line.split(/: (.*)/).slice(0, 2)))
  delete headers.Host
  delete headers['Content-Length']
  return fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body: body === '' ? undefined : body })
}

/** A server with an HTTP API. */
export class HttpSubject implements Subject {
  readonly #looked = new Set<Scenario>()

  constructor(
    readonly name: string,
    readonly server: ServerProcess,
    readonly dialect: Dialect,
    readonly shape: Shape,
    private readonly load: LoadSettings,
    readonly bytesPerRecord?: number,
    /** Other processes that work for it. Their CPU counts too. */
    private readonly helpers?: () => number[],
  ) {}

  async measure(scenario: Scenario, seconds: number): Promise<Measurement> {
    const templates = this.dialect.templates(scenario, this.shape)
    await this.#poll(scenario, templates)
    return this.run(templates, seconds, scenario)
  }

  async run(templates: RequestTemplate[], seconds: number, what: string): Promise<Measurement> {
    const { port } = this.server
    const plan = { port, templates, shape: this.shape, connections: this.load.connections, seconds }
    const usage = watchUsage(() => processTree(this.server.pid), this.helpers)
    let used: Usage | undefined
    const result = await runLoad(plan, this.load).finally(() => {
      used = usage.stop()
    })
    return { ...toMeasurement(requireNoErrors(result, `${this.name}, ${what}`)), ...used! }
  }

  /** Only right responses count: one of each kind is checked before the load starts. */
  async #poll(scenario: Scenario, templates: RequestTemplate[]): Promise<void> {
    if (this.#looked.has(scenario)) return
    this.#looked.add(scenario)
    for (const { parts } of templates) {
      const response = await askOnce(this.server.port, parts, this.shape)
      const body = await response.text()
      const fault = this.dialect.fault(scenario, response.status, body)
      if (fault !== undefined) {
        throw new Error(`${this.name}, ${scenario}: ${fault}; it answered ${response.status} ${body.slice(0, 400)}`)
      }
    }
  }

  close(): Promise<void> {
    return this.server.stop()
  }
}
