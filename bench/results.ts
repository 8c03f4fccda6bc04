import type { Scenario } from './workload.ts'

// What a run found: the raw material of every table and chart, kept as docs/benchmarks/results.json.

export interface Measurement {
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
  maxMs: number
  errors: number
  /** Cores that the subject kept busy; undefined where there is no /proc. */
  cpuCores: number | undefined
  /** Of all its processes, the highest that was seen. */
  residentBytes: number | undefined
  /** Cores that the load tool kept busy. */
  loadCpuCores: number
}

/** One subject in one scenario: a measurement a round, in the order in which they were taken. */
export interface Series {
  scenario: Scenario
  subject: string
  rounds: Measurement[]
}

export interface SuiteResult {
  records: number
  seconds: number
  series: Series[]
  bytesPerRecord: Record<string, number>
}

export interface Skipped {
  what: string
  why: string
}

/** Rounds of one number. */
export type Rounds = number[]

export interface GeneratorResult {
  /** Of the bare HTTP floor, by load tool. */
  tools: { tool: string; requestsPerSecond: Rounds; serverCpuCores: Rounds; toolCpuCores: Rounds }[]
}

export interface ReadersResult {
  records: number
  readers: number
  paceHz: number
  writers: number
  aloneP99Ms: Rounds
  besideWritersP99Ms: Rounds
  /** Of that, what the generator's own timer was late. */
  latenessP99Ms: Rounds
  putsPerSecond: Rounds
}

export interface TailResult {
  records: number
  seconds: number
  rounds: Measurement[]
}

export interface WorkersResult {
  records: number
  cores: number
  one: Series[]
  two: Series[]
}

export interface StartResult {
  records: number
  startMs: Rounds
  idleResidentBytes: Rounds
}

export interface PurgeResult {
  /** In the table that is purged. */
  records: number
  withoutP99Ms: Rounds
  duringP99Ms: Rounds
  /** How many records were gone at the end of each round. */
  purged: Rounds
}

export interface GrowthSize {
  records: number
  bytesPerRecord: number
  /** Which page was the deepest that this size has, up to 10,000. */
  deepPage: number
  startMs: Rounds
  residentBytes: number | undefined
  requestsPerSecond: Record<GrowthFigure, Rounds>
}

export const growthFigures = ['get', 'put', 'page', 'first page', 'deep page'] as const
export type GrowthFigure = (typeof growthFigures)[number]

export interface Results {
  format: 1
  date: string
  command: string
  full: boolean
  settings: Record<string, unknown>
  machine: Record<string, string>
  versions: Record<string, string>
  skipped: Skipped[]
  generator?: GeneratorResult
  scenarios?: SuiteResult
  peers?: SuiteResult
  postgres?: SuiteResult
  tail?: TailResult
  readers?: ReadersResult
  workers?: WorkersResult
  start?: StartResult
  purge?: PurgeResult
  growth?: { sizes: GrowthSize[] }
}
