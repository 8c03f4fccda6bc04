import { formatCount } from './report/format.ts'
import type { GrowthFigure, GrowthSize, Results, Rounds, Series, SuiteResult, TasksBeside } from './results.ts'
import { median, medianRatio } from './stats.ts'
import { batchRecords, type Scenario, scenarios, scenarioTitles } from './workload.ts'

// The bars (targets) that Cubby set itself, as ratios within one run, and the result of a run.

export interface Bar {
  what: string
  wanted: string
  found: string
  outcome: 'reached' | 'not reached' | 'not measured' | 'reported'
}

const million = 1_000_000
const memoryBytesMax = 400e6

export const seriesOf = (suite: SuiteResult, scenario: Scenario, subject: string): Series | undefined =>
  suite.series.find((one) => one.scenario === scenario && one.subject === subject)

const rates = (series: Series): number[] => series.rounds.map(({ requestsPerSecond }) => requestsPerSecond)

/** Returns how many times as fast the first subject is in one scenario. Undefined if one of them was not measured. */
export const speedRatio = (
  suite: SuiteResult | undefined,
  scenario: Scenario,
  subject: string,
  against: string,
): number | undefined => {
  const one = suite && seriesOf(suite, scenario, subject)
  const other = suite && seriesOf(suite, scenario, against)
  return one && other && medianRatio(rates(one), rates(other))
}

const atLeast = (what: string, wanted: number, found: number | undefined, unit = ''): Bar => ({
  what,
  wanted: `at least ${wanted}${unit}`,
  found: found === undefined ? '' : `${found.toFixed(2)}${unit}`,
  outcome: found === undefined ? 'not measured' : found >= wanted ? 'reached' : 'not reached',
})

const atMost = (what: string, wanted: number, found: number | undefined, unit = '', records = million): Bar => ({
  what,
  wanted: `at most ${wanted}${unit}`,
  found:
    found === undefined
      ? ''
      : `${found.toFixed(2)}${unit}${records < million ? ` (at ${formatCount(records)} records)` : ''}`,
  outcome: found === undefined || records < million ? 'not measured' : found <= wanted ? 'reached' : 'not reached',
})

const putTail = (results: Results): Bar => {
  const { tail, scenarios: suite } = results
  const rounds = tail?.rounds ?? (suite && seriesOf(suite, 'put', 'cubby')?.rounds)
  const found = rounds && median(rounds.map(({ p50Ms, p99Ms }) => p99Ms / p50Ms))
  return atMost('p99 / p50 of durable put, 64 connections, 1M records', 6, found, '', (tail ?? suite)?.records)
}

const batchGain = ({ scenarios: suite }: Results): number | undefined => {
  const batches = speedRatio(suite, 'batch', 'cubby', 'cubby') && seriesOf(suite!, 'batch', 'cubby')
  const puts = suite && seriesOf(suite, 'put', 'cubby')
  return batches && puts && medianRatio(rates(batches), rates(puts)) * batchRecords
}

/** The speed at the largest size, divided by that at the smallest. */
export const growthRatio = (sizes: GrowthSize[], figure: GrowthFigure, size: GrowthSize): number =>
  medianRatio(size.requestsPerSecond[figure], sizes[0]!.requestsPerSecond[figure])

const growthBars = ({ growth }: Results): Bar[] => {
  const largest = growth?.sizes.at(-1)
  const figures: GrowthFigure[] = ['get', 'page', 'deep page']
  const isMeant = growth?.sizes[0]?.records === 1_000 && largest?.records === million
  const slowest =
    growth && largest && isMeant
      ? Math.min(...figures.map((figure) => growthRatio(growth.sizes, figure, largest)))
      : undefined
  const deep =
    largest?.deepPage === 10_000
      ? medianRatio(largest.requestsPerSecond['deep page'], largest.requestsPerSecond['first page'])
      : undefined
  return [
    atLeast('get, page and cursor at 1M against 1k records, the slowest', 0.8, slowest),
    atLeast('page 10,000 against page 1', 0.9, deep),
  ]
}

/** The highest memory use of Cubby's processes under load. */
const memoryBar = (results: Results): Bar => {
  const { growth, tail, scenarios: suite } = results
  const seen = [
    ...(growth?.sizes ?? []).map(({ records, residentBytes }) => ({ records, residentBytes })),
    ...(tail?.rounds ?? []).map(({ residentBytes }) => ({ records: tail!.records, residentBytes })),
    ...(suite?.series ?? [])
      .filter(({ subject }) => subject === 'cubby')
      .flatMap(({ rounds }) => rounds)
      .map(({ residentBytes }) => ({ records: suite!.records, residentBytes })),
  ]
  const records = Math.max(0, ...seen.map((one) => one.records))
  const bytes = seen.filter((one) => one.records === records).map((one) => one.residentBytes)
  const most = bytes.some((value) => value === undefined) ? undefined : Math.max(...(bytes as number[]))
  const found = bytes.length === 0 || most === undefined ? undefined : most / 1e6
  return atMost('memory with 1M records under load', memoryBytesMax / 1e6, found, ' MB', records)
}

export const peerNames = (suite: SuiteResult): string[] =>
  [...new Set(suite.series.map(({ subject }) => subject))].filter((name) => name !== 'cubby')

const wantedAgainstPeer = (scenario: Scenario): number => (scenario === 'put' ? 1.2 : 1.5)

const peerBars = ({ peers }: Results): Bar[] => {
  const what = 'every scenario against'
  const wanted = 'at least 1.5 times as fast (puts 1.2)'
  if (peers === undefined) return [{ what: `${what} each peer`, wanted, found: '', outcome: 'not measured' }]
  return peerNames(peers).map((peer) => {
    const found = scenarios.flatMap((scenario) => {
      const ratio = speedRatio(peers, scenario, 'cubby', peer)
      return ratio === undefined ? [] : [{ scenario, ratio, reached: ratio >= wantedAgainstPeer(scenario) }]
    })
    const missed = found.filter(({ reached }) => !reached)
    const slowest = found.toSorted((a, b) => a.ratio - b.ratio)[0]
    const shown = missed.length > 0 ? missed : slowest === undefined ? [] : [slowest]
    return {
      what: `${what} ${peer}`,
      wanted,
      found: shown.map(({ scenario, ratio }) => `${ratio.toFixed(2)} (${scenarioTitles[scenario]})`).join(', '),
      outcome: found.length === 0 ? 'not measured' : missed.length === 0 ? 'reached' : 'not reached',
    }
  })
}

const fileBars = ({ files }: Results): Bar[] => {
  const ratio = (of: Rounds | undefined, against: Rounds | undefined): number | undefined =>
    of && against && medianRatio(of, against)
  const large = `${files?.megabytes ?? 100} MiB / bare Bun.serve with fsync and SHA-256`
  return [
    atLeast(`upload of ${large}`, 0.7, ratio(files?.upload, files?.floorUpload)),
    atLeast(`download of ${large}`, 0.7, ratio(files?.download, files?.floorDownload)),
    atLeast('small files (4 KiB) / durable puts', 0.5, ratio(files?.inStorePerSecond, files?.putsPerSecond)),
  ]
}

const besideBars = (what: string, beside: TasksBeside | undefined, alone: Rounds | undefined): Bar[] => [
  atLeast(`${what}, beside 64 writers`, 1_000, beside && median(beside.runsPerSecond), '/s'),
  atLeast('durable puts beside them / alone', 0.85, beside && alone && medianRatio(beside.putsPerSecond, alone)),
]

const taskBars = ({ tasks }: Results): Bar[] => {
  const idle = tasks?.idleCores === undefined ? undefined : tasks.idleCores * 100
  const with1M = tasks?.idleRuns ?? million
  return [
    ...besideBars('claim + finish of runs', tasks?.each, tasks?.putsPerSecond),
    ...besideBars('the same, finished in batches of 10', tasks?.together, tasks?.putsPerSecond),
    atMost('an idle server with 1,000 tasks and 1M finished runs', 1, idle, ' % of a core', with1M),
  ]
}

const agentsBar = ({ agents }: Results): Bar =>
  atLeast(
    'tools/call get_records / get by key',
    0.6,
    agents && medianRatio(agents.callsPerSecond, agents.getsPerSecond),
  )

/** Each round begins where the last one ended; the first one also warms up. */
const agentsMemoryBar = ({ agents }: Results): Bar => {
  const bytes = agents?.residentBytes ?? []
  const growth = bytes.length < 2 ? undefined : Math.max(...bytes.slice(1)) / bytes[0]!
  return atMost('memory after the last tool calls / after the first round', 1.2, growth)
}

const loadingBars = ({ loading }: Results): Bar[] => [
  atLeast('a load / batches of 25, records', 1.6, loading && medianRatio(loading.load, loading.batches)),
  atLeast('a load / cubby import without a server', 0.85, loading && medianRatio(loading.load, loading.import)),
]

const metricsBar = ({ metrics }: Results): Bar => {
  const ratios = metrics?.without.map((one, i) => medianRatio(rates(metrics.with[i]!), rates(one)))
  const slowest = ratios === undefined || ratios.length === 0 ? undefined : Math.min(...ratios)
  return atLeast('get and durable put with --metrics / without, the slower', 0.98, slowest)
}

const workersBar = ({ workers }: Results): Bar => {
  const what = 'two workers against one, the best scenario'
  const wanted = 'reported; on four cores or more 1.6 times'
  if (workers === undefined || workers.one.length === 0) return { what, wanted, found: '', outcome: 'not measured' }
  const best = Math.max(...workers.one.map((one, i) => medianRatio(rates(workers.two[i]!), rates(one))))
  const found = `${best.toFixed(2)} on ${workers.cores} cores`
  if (workers.cores < 4) return { what, wanted, found, outcome: 'reported' }
  return { what, wanted, found, outcome: best >= 1.6 ? 'reached' : 'not reached' }
}

export const findBars = (results: Results): Bar[] => {
  const { scenarios: suite, readers } = results
  const beside = readers && median(readers.besideWritersP99Ms)
  return [
    atLeast('get by key / floor GET', 0.75, speedRatio(suite, 'get', 'cubby', 'http floor')),
    atLeast('durable put / bare bun:sqlite group commit', 0.7, speedRatio(suite, 'put', 'cubby', 'bare bun:sqlite')),
    putTail(results),
    atMost('p99 of 8 paced readers while 64 writers saturate', 5, beside, ' ms'),
    atLeast('page of 50 by index / bare bun:sqlite', 0.6, speedRatio(suite, 'page', 'cubby', 'bare bun:sqlite')),
    atLeast('batch of 25: records/s against single puts', 3, batchGain(results), ' times'),
    ...growthBars(results),
    memoryBar(results),
    ...peerBars(results),
    workersBar(results),
    ...fileBars(results),
    ...taskBars(results),
    ...loadingBars(results),
    agentsBar(results),
    agentsMemoryBar(results),
    metricsBar(results),
  ]
}
