import { findBars } from '../bars.ts'
import type { Results } from '../results.ts'
import { formatPercent } from './format.ts'
import {
  barTable,
  furtherTable,
  generatorTable,
  growthTables,
  noise,
  peerTables,
  postgresTables,
  scenarioTables,
  type Table,
} from './tables.ts'

const renderTable = ({ title, rows }: Table): string => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
  return `${title}\n${lines.map((line) => `  ${line}`).join('\n')}\n`
}

/** The whole report as text. */
export const renderTerminal = (results: Results): string => {
  const further = furtherTable(results)
  const tables = [
    ...scenarioTables(results),
    ...peerTables(results),
    ...postgresTables(results),
    ...(further.rows.length > 1 ? [further] : []),
    ...growthTables(results),
    ...generatorTable(results),
    barTable(findBars(results)),
  ]
  const { median, worst, where } = noise(results)
  const skipped = results.skipped.map(({ what, why }) => `  ${what}: ${why}`)
  return [
    ...tables.map(renderTable),
    ...(skipped.length > 0 ? [`Not measured\n${skipped.join('\n')}\n`] : []),
    where === ''
      ? ''
      : `Noise: repeats differ by ± ${formatPercent(median)} at the median, ± ${formatPercent(worst)} at worst (${where}).\n`,
  ].join('\n')
}
