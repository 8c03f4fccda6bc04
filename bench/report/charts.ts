import { growthRatio, peerNames, seriesOf } from '../bars.ts'
import { growthFigures, type Results, type SuiteResult } from '../results.ts'
import { median } from '../stats.ts'
import { scenarios, scenarioTitles } from '../workload.ts'
import { formatCount, formatMs, formatRate } from './format.ts'
import { barChart, lineChart } from './svg.ts'

export interface Chart {
  /** The name of the file in docs/benchmarks/. */
  file: string
  alt: string
  svg: string
}

const suiteChart = (suite: SuiteResult, file: string, title: string): Chart => {
  const names = ['cubby', ...peerNames(suite)]
  const groups = scenarios.flatMap((scenario) => {
    const bars = names.flatMap((name, color) => {
      const rounds = seriesOf(suite, scenario, name)?.rounds
      if (rounds === undefined) return []
      const value = median(rounds.map(({ requestsPerSecond }) => requestsPerSecond))
      // It has no HTTP, so its latency cannot be compared with the others.
      const p99 = name === 'bare bun:sqlite' ? '' : `, p99 ${formatMs(median(rounds.map(({ p99Ms }) => p99Ms)))} ms`
      return [{ label: name, value, text: `${formatRate(value)}/s${p99}`, color }]
    })
    return bars.length === 0 ? [] : [{ label: scenarioTitles[scenario], bars }]
  })
  return { file, alt: title, svg: barChart(title, groups) }
}

export const scenarioChart = ({ scenarios: suite }: Results): Chart[] =>
  suite === undefined
    ? []
    : [
        suiteChart(
          suite,
          'scenarios.svg',
          `Cubby and its floors, ${formatCount(suite.records)} records, requests a second`,
        ),
      ]

export const peerChart = ({ peers }: Results): Chart[] =>
  peers === undefined
    ? []
    : [suiteChart(peers, 'peers.svg', `Cubby and its peers, ${formatCount(peers.records)} records, requests a second`)]

export const postgresChart = ({ postgres }: Results): Chart[] =>
  postgres === undefined
    ? []
    : [
        suiteChart(
          postgres,
          'postgres.svg',
          `Cubby on its two engines, ${formatCount(postgres.records)} records, requests a second`,
        ),
      ]

export const growthCharts = ({ growth }: Results): Chart[] => {
  if (growth === undefined) return []
  const { sizes } = growth
  const steps = sizes.map(({ records }) => `${formatCount(records)} records`)
  const speed = 'Speed as the table grows, against the smallest'
  const footprint = 'Memory under load as the table grows, MB'
  const charts: Chart[] = [
    {
      file: 'growth.svg',
      alt: speed,
      svg: lineChart(
        speed,
        steps,
        growthFigures.map((figure) => ({
          name: figure,
          values: sizes.map((size) => growthRatio(sizes, figure, size)),
        })),
        (value) => value.toFixed(1),
      ),
    },
  ]
  if (sizes.every(({ residentBytes }) => residentBytes !== undefined)) {
    const values = sizes.map(({ residentBytes }) => residentBytes! / 1e6)
    charts.push({
      file: 'memory.svg',
      alt: footprint,
      svg: lineChart(footprint, steps, [{ name: 'resident, all processes', values }], formatCount),
    })
  }
  return charts
}
