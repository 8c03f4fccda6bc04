import type { Scenario } from './workload.ts'

// The results of a run: the data of every table and chart, stored as docs/benchmarks/results.json.

export interface Measurement {
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
  maxMs: number
  errors: number
  /** Busy cores of the subject. Undefined without /proc. */
  cpuCores: number | undefined
  /** The highest memory use of all its processes together. */
  residentBytes: number | undefined
  /** Busy cores of the load tool. */
  loadCpuCores: number
}

/** One subject in one scenario: one measurement per round, in order. */
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
  /** The rates of the bare HTTP floor, by load tool. */
  tools: { tool: string; requestsPerSecond: Rounds; serverCpuCores: Rounds; toolCpuCores: Rounds }[]
}

export interface ReadersResult {
  records: number
  readers: number
  paceHz: number
  writers: number
  aloneP99Ms: Rounds
  besideWritersP99Ms: Rounds
  /** The part of it that is the delay of the generator's own timer. */
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
  /** The records in the table that is purged. */
  records: number
  withoutP99Ms: Rounds
  duringP99Ms: Rounds
  /** The number of records that were gone at the end of each round. */
  purged: Rounds
}

/** Records per second. */
export interface LoadingResult {
  records: number
  batches: Rounds
  load: Rounds
  import: Rounds
}

export interface FilesResult {
  /** The size of the large file. */
  megabytes: number
  /** The rate in MB/s. */
  upload: Rounds
  floorUpload: Rounds
  download: Rounds
  floorDownload: Rounds
  /** Files of 4 KiB. */
  smallPerSecond: Rounds
  /** The same in the store, the default. */
  inStorePerSecond: Rounds
  /** Durable puts of the same server, from as many connections. */
  putsPerSecond: Rounds
  /** The highest memory use of the server during the large copies, without mapped files. */
  anonymousBytes: number | undefined
}

/** Runs that are claimed and finished, and the durable puts of 64 writers at full speed beside them. */
export interface TasksBeside {
  runsPerSecond: Rounds
  putsPerSecond: Rounds
}

export interface TasksResult {
  /** Durable puts, alone. */
  putsPerSecond: Rounds
  /** Each run finished in a request of its own. */
  each: TasksBeside
  /** The runs of a claim finished in one batch. */
  together: TasksBeside
  /** Busy cores of a server with so many tasks and finished runs, and nothing to do. */
  idleCores: number | undefined
  idleTasks: number
  idleRuns: number
}

/** Tools of agents: `tools/call get_records` for one record. */
export interface AgentsResult {
  getsPerSecond: Rounds
  callsPerSecond: Rounds
  /** All calls of the run, and the memory of the server after each round of them. */
  calls: number
  residentBytes: Rounds
}

/** The same server without and with --metrics. */
export interface MetricsResult {
  records: number
  without: Series[]
  with: Series[]
}

export interface GrowthSize {
  records: number
  bytesPerRecord: number
  /** The number of the deep page: the deepest that this size has, at most 10,000. */
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
  loading?: LoadingResult
  files?: FilesResult
  tasks?: TasksResult
  agents?: AgentsResult
  metrics?: MetricsResult
  growth?: { sizes: GrowthSize[] }
}
