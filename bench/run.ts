import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanUp, cleanUpAtExit, isInterrupted, placeStoresIn } from './cleanup.ts'
import { describeMachine, describeVersions, doubts } from './machine.ts'
import { writePage } from './report/page.ts'
import { renderTerminal } from './report/terminal.ts'
import type { Results } from './results.ts'
import { help, parseSettings, type Settings, type Suite, UsageError } from './settings.ts'
import { runAgents } from './suites/agents.ts'
import type { Context } from './suites/context.ts'
import { runFiles } from './suites/files.ts'
import { runGeneratorCheck } from './suites/generator.ts'
import { runGrowth } from './suites/growth.ts'
import { runLoading } from './suites/loading.ts'
import { runMetrics } from './suites/metrics.ts'
import { runPeers } from './suites/peers.ts'
import { runPostgres } from './suites/postgres.ts'
import { runPurge } from './suites/purge.ts'
import { runReaders } from './suites/readers.ts'
import { runScenarios } from './suites/scenarios.ts'
import { runStart } from './suites/start.ts'
import { runTail } from './suites/tail.ts'
import { runTasks } from './suites/tasks.ts'
import { runWorkers } from './suites/workers.ts'

const docs = fileURLToPath(new URL('../docs', import.meta.url))
const rawFile = resolve(docs, 'benchmarks/results.json')

const runSuite: { [S in Suite]: (context: Context) => Promise<Results[S]> } = {
  generator: runGeneratorCheck,
  scenarios: runScenarios,
  readers: runReaders,
  start: runStart,
  tail: runTail,
  peers: runPeers,
  postgres: runPostgres,
  workers: runWorkers,
  purge: runPurge,
  loading: runLoading,
  files: runFiles,
  tasks: runTasks,
  agents: runAgents,
  metrics: runMetrics,
  growth: runGrowth,
}

const startedMs = performance.now()

const say = (line: string): void => {
  const seconds = Math.round((performance.now() - startedMs) / 1000)
  process.stderr.write(`${String(seconds).padStart(5)} s  ${line}\n`)
}

/** The command to type again, without the flags for its output. */
const commandOf = (argv: string[]): string => {
  const kept = argv.filter((word, i) => word !== '--write' && word !== '--json' && argv[i - 1] !== '--json')
  return `npm run bench${kept.length === 0 ? '' : ` -- ${kept.join(' ')}`}`
}

const measure = async (settings: Settings, argv: string[]): Promise<Results> => {
  placeStoresIn(settings.dir)
  const machine = describeMachine()
  for (const doubt of doubts(machine)) say(`note: ${doubt}`)
  const { dir: _, json: __, write: ___, render: ____, full, ...kept } = settings
  const results: Results = {
    format: 1,
    date: new Date().toISOString(),
    command: commandOf(argv),
    full,
    settings: kept,
    machine,
    versions: {},
    skipped: [],
  }
  for (const suite of settings.suites) {
    say(`── ${suite}`)
    const context: Context = {
      settings,
      say,
      skip(skipped) {
        say(`skipped: ${skipped.what}: ${skipped.why}`)
        results.skipped.push(skipped)
      },
    }
    Object.assign(results, { [suite]: await runSuite[suite](context) })
  }
  // Last, because the run may have installed the peers.
  results.versions = describeVersions()
  return results
}

const main = async (): Promise<number> => {
  const argv = process.argv.slice(2)
  const settings = parseSettings(argv)
  if (settings === 'help') {
    process.stdout.write(help)
    return 0
  }
  cleanUpAtExit()
  const results = settings.render
    ? (JSON.parse(readFileSync(rawFile, 'utf8')) as Results)
    : await measure(settings, argv).finally(cleanUp)
  if (settings.json !== undefined) {
    mkdirSync(dirname(resolve(settings.json)), { recursive: true })
    writeFileSync(settings.json, `${JSON.stringify(results, null, 2)}\n`)
  }
  process.stdout.write(`\n${renderTerminal(results)}`)
  if (settings.write || settings.render) {
    const files = writePage(results, docs)
    process.stdout.write(`\nwritten: ${files.join(', ')}\n`)
  }
  return 0
}

try {
  process.exit(await main())
} catch (error) {
  // After a signal, a failure is only a consequence of it.
  if (isInterrupted()) await new Promise(() => {})
  const isUsage = error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS')
  process.stderr.write(`bench: ${isUsage ? (error as Error).message : ((error as Error).stack ?? error)}\n`)
  process.exit(isUsage ? 2 : 1)
}
