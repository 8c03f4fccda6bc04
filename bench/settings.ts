import { availableParallelism, tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import type { LoadTool } from './load/load.ts'
import { findWrk } from './load/wrk.ts'
import type { LoadSettings } from './subjects/subject.ts'
import { type Scenario, scenarios } from './workload.ts'

export const suites = [
  'generator',
  'scenarios',
  'readers',
  'start',
  'tail',
  'peers',
  'postgres',
  'workers',
  'purge',
  'loading',
  'files',
  'tasks',
  'agents',
  'metrics',
  'growth',
] as const
export type Suite = (typeof suites)[number]

export interface Settings {
  full: boolean
  /** Write docs/benchmarks.md, its charts and the raw results. */
  write: boolean
  /** Run nothing: generate the page again from the raw results. */
  render: boolean
  /** A second place for the raw results. */
  json: string | undefined
  suites: Suite[]
  only: Scenario[]
  records: number
  peerRecords: number
  growth: number[]
  rounds: number
  seconds: number
  warmSeconds: number
  tailSeconds: number
  fileMegabytes: number
  taskRuns: number
  load: LoadSettings
  dir: string
}

export class UsageError extends Error {}

export const help = `npm run bench [-- FLAGS]

  --full              1M records, the peers, PostgreSQL, growth; about half an hour
  --write             write docs/benchmarks.md, docs/benchmarks/*.svg and results.json
  --render            run nothing, generate the page again from docs/benchmarks/results.json
  --json FILE         write the raw results to FILE too
  --suites a,b        some of ${suites.join(', ')}
  --only a,b          scenarios: ${scenarios.join(', ')}
  --records N         records in the store (100000; full: 1000000)
  --peer-records N    records where peers are compared (100000)
  --growth a,b        sizes of the growth curves (1000,10000,100000,1000000)
  --rounds N          repeats of each measurement, interleaved (3)
  --seconds N         length of each measurement (1; full: 5); wrk takes whole seconds
  --warm-seconds N    length of the run before the first (1)
  --tail-seconds N    length of each run of puts for their tail (20)
  --file-megabytes N  size of the large file (100)
  --task-runs N       finished runs of the idle server (1000000)
  --connections N     connections of the load (64)
  --load wrk|own      the load tool (wrk if it is installed)
  --threads N         threads of wrk (1 on two cores or fewer, otherwise 2)
  --dir DIR           where stores are created; the speed of durable puts depends on its disk (${tmpdir()})
`

const defaultSuites: Record<'short' | 'full', readonly Suite[]> = {
  short: ['generator', 'scenarios', 'readers', 'start'],
  full: suites,
}

const pick = <T extends string>(text: string | undefined, known: readonly T[], flag: string): T[] | undefined =>
  text?.split(',').map((name) => {
    if (!known.includes(name as T)) throw new UsageError(`--${flag}: "${name}" is none of ${known.join(', ')}`)
    return name as T
  })

export const parseSettings = (argv: string[]): Settings | 'help' => {
  const { values } = parseArgs({
    args: argv,
    options: {
      help: { type: 'boolean' },
      full: { type: 'boolean' },
      write: { type: 'boolean' },
      render: { type: 'boolean' },
      json: { type: 'string' },
      suites: { type: 'string' },
      only: { type: 'string' },
      records: { type: 'string' },
      'peer-records': { type: 'string' },
      growth: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      'warm-seconds': { type: 'string' },
      'tail-seconds': { type: 'string' },
      'file-megabytes': { type: 'string' },
      'task-runs': { type: 'string' },
      connections: { type: 'string' },
      load: { type: 'string' },
      threads: { type: 'string' },
      dir: { type: 'string' },
    },
  })
  if (values.help === true) return 'help'
  const full = values.full === true
  const number = (flag: keyof typeof values, standard: number, least: number, whole = true): number => {
    const text = values[flag]
    const value = text === undefined ? standard : Number(text)
    if (!(value >= least) || (whole && !Number.isInteger(value))) {
      throw new UsageError(`--${flag} is "${text}"; it takes ${whole ? 'an integer' : 'a number'} from ${least}`)
    }
    return value
  }
  const [tool] = pick<LoadTool>(values.load, ['wrk', 'own'], 'load') ?? [findWrk() === undefined ? 'own' : 'wrk']
  if (tool === 'wrk' && findWrk() === undefined) throw new UsageError('--load wrk: wrk is not installed')
  const sizes = (values.growth ?? '1000,10000,100000,1000000').split(',').map(Number)
  if (!sizes.every((size) => Number.isInteger(size) && size >= 1_000)) {
    throw new UsageError('--growth takes integers from 1000, separated by commas')
  }
  return {
    full,
    write: values.write === true,
    render: values.render === true,
    json: values.json,
    suites: pick(values.suites, suites, 'suites') ?? [...defaultSuites[full ? 'full' : 'short']],
    only: pick(values.only, scenarios, 'only') ?? [...scenarios],
    // With fewer records, a group would have no page of 50.
    records: number('records', full ? 1_000_000 : 100_000, 1_000),
    peerRecords: number('peer-records', 100_000, 1_000),
    growth: sizes.toSorted((a, b) => a - b),
    rounds: number('rounds', 3, 1),
    seconds: number('seconds', full ? 5 : 1, 0.1, false),
    warmSeconds: number('warm-seconds', 1, 0.1, false),
    tailSeconds: number('tail-seconds', 20, 0.1, false),
    fileMegabytes: number('file-megabytes', 100, 1),
    taskRuns: number('task-runs', 1_000_000, 1_000),
    load: {
      tool: tool!,
      threads: number('threads', availableParallelism() <= 2 ? 1 : 2, 1),
      connections: number('connections', 64, 1),
    },
    dir: values.dir ?? tmpdir(),
  }
}
