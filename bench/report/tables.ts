import { type Bar, growthRatio, peerNames, seriesOf, speedRatio } from '../bars.ts'
import { growthFigures, type Measurement, type Results, type SuiteResult } from '../results.ts'
import { median, spread } from '../stats.ts'
import { batchRecords, type Scenario, scenarios, scenarioTitles } from '../workload.ts'
import { formatCount, formatCpu, formatMegabytes, formatMs, formatPercent, formatRate, formatRatio } from './format.ts'

// Tables as rows of text, header first. The terminal and the page show the same tables.

export interface Table {
  title: string
  rows: string[][]
}

const measured = (suite: SuiteResult): Scenario[] =>
  scenarios.filter((scenario) => suite.series.some((one) => one.scenario === scenario))

const medianOf = (rounds: Measurement[], value: (one: Measurement) => number | undefined): number | undefined => {
  const values = rounds.map(value)
  return values.includes(undefined) ? undefined : median(values as number[])
}

const figures = (rounds: Measurement[]): string[] => {
  const rates = rounds.map(({ requestsPerSecond }) => requestsPerSecond)
  return [
    `${formatRate(median(rates))} ± ${formatPercent(spread(rates))}`,
    formatMs(median(rounds.map(({ p50Ms }) => p50Ms))),
    formatMs(median(rounds.map(({ p99Ms }) => p99Ms))),
    String(rounds.reduce((sum, { errors }) => sum + errors, 0)),
    formatCpu(medianOf(rounds, ({ cpuCores }) => cpuCores)),
    formatMegabytes(medianOf(rounds, ({ residentBytes }) => residentBytes)),
  ]
}

const figureNames = ['requests/s', 'p50 ms', 'p99 ms', 'errors', 'CPU', 'memory']

/** Cubby's figures with its ratio to every other subject of the suite. */
const suiteTable = (suite: SuiteResult, title: string, subject: string, against: string[]): Table => ({
  title,
  rows: [
    ['scenario', ...figureNames, ...against.map((name) => `/ ${name}`)],
    ...measured(suite).map((scenario) => [
      scenarioTitles[scenario],
      ...figures(seriesOf(suite, scenario, subject)!.rounds),
      ...against.map((name) => formatRatio(speedRatio(suite, scenario, subject, name))),
    ]),
  ],
})

/** The same figures of all other subjects. */
const othersTable = (suite: SuiteResult, title: string): Table => ({
  title,
  rows: [
    ['subject', 'scenario', ...figureNames],
    ...peerNames(suite).flatMap((name) =>
      measured(suite).flatMap((scenario) => {
        const series = seriesOf(suite, scenario, name)
        return series === undefined ? [] : [[name, scenarioTitles[scenario], ...figures(series.rounds)]]
      }),
    ),
  ],
})

const bytesTable = (suite: SuiteResult, title: string): Table => ({
  title,
  rows: [
    ['subject', 'bytes per record'],
    ...Object.entries(suite.bytesPerRecord).map(([name, bytes]) => [name, formatCount(bytes)]),
  ],
})

export const barTable = (bars: Bar[]): Table => ({
  title: 'The bars',
  rows: [
    ['what', 'bar', 'found', 'outcome'],
    ...bars.map(({ what, wanted, found, outcome }) => [what, wanted, found, outcome]),
  ],
})

export const scenarioTables = ({ scenarios: suite }: Results): Table[] => {
  if (suite === undefined) return []
  const at = `${formatCount(suite.records)} records`
  return [
    suiteTable(suite, `Cubby, ${at}`, 'cubby', peerNames(suite)),
    othersTable(suite, `The floors, ${at}`),
    bytesTable(suite, 'On disk'),
  ]
}

export const peerTables = ({ peers }: Results): Table[] => {
  if (peers === undefined) return []
  const at = `${formatCount(peers.records)} records`
  return [
    suiteTable(peers, `Cubby beside its peers, ${at}: how many times as fast`, 'cubby', peerNames(peers)),
    othersTable(peers, `The peers, ${at}`),
    bytesTable(peers, 'On disk'),
  ]
}

export const postgresTables = ({ postgres }: Results): Table[] => {
  if (postgres === undefined) return []
  const at = `${formatCount(postgres.records)} records`
  return [
    suiteTable(postgres, `Cubby over PostgreSQL, ${at}`, 'cubby over PostgreSQL', ['cubby']),
    bytesTable(postgres, 'On disk'),
  ]
}

const rounds = (values: number[], format: (value: number) => string): string =>
  `${format(median(values))} (${format(Math.min(...values))} to ${format(Math.max(...values))})`

export const furtherTable = (results: Results): Table => {
  const { scenarios: suite, tail, readers, workers, start, purge, loading, files, tasks, agents, metrics } = results
  const rows: string[][] = []
  const ms = (value: number) => `${formatMs(value)} ms`
  const batches = suite && seriesOf(suite, 'batch', 'cubby')
  if (batches !== undefined) {
    const perSecond = batches.rounds.map(({ requestsPerSecond }) => requestsPerSecond * batchRecords)
    rows.push(['records/s in batches of 25', rounds(perSecond, formatRate)])
  }
  if (tail !== undefined) {
    const at = `${formatCount(tail.records)} records, runs of ${tail.seconds} s`
    rows.push([
      `durable put, p50; ${at}`,
      rounds(
        tail.rounds.map(({ p50Ms }) => p50Ms),
        ms,
      ),
    ])
    rows.push([
      `durable put, p99; ${at}`,
      rounds(
        tail.rounds.map(({ p99Ms }) => p99Ms),
        ms,
      ),
    ])
    rows.push([
      `durable put, worst; ${at}`,
      rounds(
        tail.rounds.map(({ maxMs }) => maxMs),
        ms,
      ),
    ])
  }
  if (readers !== undefined) {
    const who = `p99 of ${readers.readers} readers at ${readers.paceHz} gets/s each`
    rows.push([`${who}, alone`, rounds(readers.aloneP99Ms, ms)])
    rows.push([`${who}, beside ${readers.writers} writers`, rounds(readers.besideWritersP99Ms, ms)])
    rows.push(['of which the generator sent late', rounds(readers.latenessP99Ms, ms)])
    rows.push(['puts/s of those writers', rounds(readers.putsPerSecond, formatRate)])
  }
  if (start !== undefined) {
    rows.push([
      `start until ready, ${formatCount(start.records)} records`,
      rounds(start.startMs, (value) => `${value.toFixed(0)} ms`),
    ])
    if (start.idleResidentBytes.length > 0)
      rows.push(['memory when idle', rounds(start.idleResidentBytes, formatMegabytes)])
  }
  for (const [i, one] of (metrics?.without ?? []).entries()) {
    const ratios = one.rounds.map(
      (round, j) => metrics!.with[i]!.rounds[j]!.requestsPerSecond / round.requestsPerSecond,
    )
    rows.push([`with --metrics against without, ${scenarioTitles[one.scenario]}`, rounds(ratios, formatRatio)])
  }
  for (const [i, one] of (workers?.one ?? []).entries()) {
    const ratios = one.rounds.map((round, j) => workers!.two[i]!.rounds[j]!.requestsPerSecond / round.requestsPerSecond)
    rows.push([`two workers against one, ${scenarioTitles[one.scenario]}`, rounds(ratios, formatRatio)])
  }
  if (purge !== undefined) {
    rows.push(['durable put, p99, without a purge', rounds(purge.withoutP99Ms, ms)])
    rows.push([
      `durable put, p99, while ${formatCount(purge.records)} deleted records are purged`,
      rounds(purge.duringP99Ms, ms),
    ])
    rows.push(['of which were purged in each run', rounds(purge.purged, formatCount)])
  }
  if (loading !== undefined) {
    const rate = (value: number): string => `${formatRate(value)} records/s`
    const what = `${formatCount(loading.records)} new records with two indices`
    rows.push([`${what}, in batches of 25`, rounds(loading.batches, rate)])
    rows.push([`${what}, in one load`, rounds(loading.load, rate)])
    rows.push([`${what}, by \`cubby import\` without a server`, rounds(loading.import, rate)])
  }
  if (files !== undefined) {
    const rate = (mbps: number): string => `${mbps.toFixed(0)} MB/s`
    rows.push([`upload of ${files.megabytes} MiB`, rounds(files.upload, rate)])
    rows.push(['the same to the bare server', rounds(files.floorUpload, rate)])
    rows.push([`download of ${files.megabytes} MiB`, rounds(files.download, rate)])
    rows.push(['the same from the bare server', rounds(files.floorDownload, rate)])
    rows.push(['files of 4 KiB per second, in the directory', rounds(files.smallPerSecond, formatRate)])
    rows.push(['the same in the store, the default', rounds(files.inStorePerSecond, formatRate)])
    rows.push(['durable puts per second, as many connections', rounds(files.putsPerSecond, formatRate)])
    rows.push(['memory during the large copies', formatMegabytes(files.anonymousBytes)])
  }
  if (tasks !== undefined) {
    const { each, together } = tasks
    rows.push(['durable puts per second, alone', rounds(tasks.putsPerSecond, formatRate)])
    rows.push(['runs claimed and finished per second, beside 64 writers', rounds(each.runsPerSecond, formatRate)])
    rows.push(['durable puts per second, beside them', rounds(each.putsPerSecond, formatRate)])
    rows.push(['the same runs, those of a claim finished in a batch', rounds(together.runsPerSecond, formatRate)])
    rows.push(['durable puts per second, beside them', rounds(together.putsPerSecond, formatRate)])
  }
  if (agents !== undefined) {
    rows.push(['get by key per second', rounds(agents.getsPerSecond, formatRate)])
    rows.push([`tools/call get_records per second`, rounds(agents.callsPerSecond, formatRate)])
    rows.push([
      `memory after the rounds of ${formatCount(agents.calls)} calls`,
      rounds(agents.residentBytes, formatMegabytes),
    ])
  }
  return { title: 'Further figures', rows: [['what', 'median (lowest to highest)'], ...rows] }
}

export const growthTables = ({ growth }: Results): Table[] => {
  if (growth === undefined) return []
  const { sizes } = growth
  return [
    {
      title: 'Speed as the table grows, requests/s and against the smallest',
      rows: [
        ['records', ...growthFigures],
        ...sizes.map((size) => [
          formatCount(size.records),
          ...growthFigures.map((figure) => {
            const rate = `${formatRate(median(size.requestsPerSecond[figure]))} (${growthRatio(sizes, figure, size).toFixed(2)})`
            return figure === 'deep page' ? `${rate}, page ${formatCount(size.deepPage)}` : rate
          }),
        ]),
      ],
    },
    {
      title: 'Start, memory and disk as the table grows',
      rows: [
        ['records', 'start ms', 'memory under load', 'bytes per record'],
        ...sizes.map((size) => [
          formatCount(size.records),
          rounds(size.startMs, (ms) => ms.toFixed(0)),
          formatMegabytes(size.residentBytes),
          formatCount(size.bytesPerRecord),
        ]),
      ],
    },
  ]
}

export const generatorTable = ({ generator }: Results): Table[] =>
  generator === undefined
    ? []
    : [
        {
          title: 'Can the load tool saturate a server? GETs of the bare floor',
          rows: [
            ['tool', 'requests/s', 'CPU of the server', 'CPU of the tool'],
            ...generator.tools.map(({ tool, requestsPerSecond, serverCpuCores, toolCpuCores }) => [
              tool === 'own' ? "the repository's own" : tool,
              rounds(requestsPerSecond, formatRate),
              serverCpuCores.length === 0 ? '-' : formatCpu(median(serverCpuCores)),
              formatCpu(median(toolCpuCores)),
            ]),
          ],
        },
      ]

/** Returns how much repeats of the same measurement differ, over all measurements. */
export const noise = ({
  scenarios: suite,
  peers,
  postgres,
}: Results): { median: number; worst: number; where: string } => {
  const all = [suite, peers, postgres]
    .flatMap((one) => one?.series ?? [])
    .map(({ scenario, subject, rounds: repeats }) => ({
      where: `${subject}, ${scenarioTitles[scenario]}`,
      spread: spread(repeats.map(({ requestsPerSecond }) => requestsPerSecond)),
    }))
    .toSorted((a, b) => a.spread - b.spread)
  const worst = all.at(-1)
  return {
    median: all.length === 0 ? 0 : median(all.map((one) => one.spread)),
    worst: worst?.spread ?? 0,
    where: worst?.where ?? '',
  }
}
