import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { build, buildEngineThreads } from '../build.ts'
import { startSharedPostgres } from '../test/postgres-server.ts'
import { startSharedServer } from '../test/shared-server.ts'
import { missingTools } from '../test/tools.ts'

// `npm test` runs the quick part. `npm run test:all` runs that and then everything else, `npm run test:all -- --rest` only
// everything else: CONTRIBUTING.md says which part a test belongs to.

const root = new URL('../../..', import.meta.url).pathname

/** Beginnings of paths: what `npm test` runs. None of it needs a network, a browser, a compiler or another program. */
const quick = [
  'packages/client/test/',
  'packages/console/test/',
  'packages/server/test/architecture',
  'packages/server/test/archive/rules',
  'packages/server/test/background/',
  'packages/server/test/core/',
  'packages/server/test/crash.test',
  'packages/server/test/docs.test',
  'packages/server/test/engine-postgres-failure',
  'packages/server/test/engine-sqlite',
  'packages/server/test/http/',
  'packages/server/test/logins/',
  'packages/server/test/metrics/exposition',
  'packages/server/test/model.test',
  'packages/server/test/open-engine',
  'packages/server/test/openapi/codes',
  'packages/server/test/operations/',
  'packages/server/test/push/',
  'packages/server/test/stores/stores-sqlite',
]
/** Beginnings of paths among those that are left to the rest: browsers, builds of packages, heavy load. */
const notQuick: string[] = [
  'packages/client/test/browser',
  'packages/client/test/node.test',
  'packages/client/test/package',
  'packages/client/test/real-server-changes',
  'packages/console/test/between',
  'packages/console/test/buckets',
  'packages/console/test/clock',
  'packages/console/test/curl',
  'packages/console/test/failures',
  'packages/console/test/firefox',
  'packages/console/test/following',
  'packages/console/test/hostile-files',
  'packages/console/test/import.test',
  'packages/console/test/live-restart',
  'packages/console/test/live.test',
  'packages/console/test/pages',
  'packages/console/test/record.test',
  'packages/console/test/restart',
  'packages/console/test/rules',
  'packages/console/test/served',
  'packages/console/test/sign-in',
  'packages/console/test/table.test',
  'packages/console/test/tasks',
  'packages/server/test/engine-sqlite-vacuum',
  'packages/server/test/engine-sqlite-wal',
  'packages/server/test/http/change-streams-end',
  'packages/server/test/http/change-streams-slots',
  'packages/server/test/http/change-streams-slow',
  'packages/server/test/http/change-streams-writers',
  'packages/server/test/http/mistake-hints',
  'packages/server/test/http/deleted-organization',
  'packages/server/test/http/entry-point',
  'packages/server/test/http/file-memory',
  'packages/server/test/http/file-names',
  'packages/server/test/http/file-queries',
  'packages/server/test/http/file-versions',
  'packages/server/test/http/files-browser',
  'packages/server/test/http/files-damage',
  'packages/server/test/http/files-model',
  'packages/server/test/http/following',
  'packages/server/test/http/issuers',
  'packages/server/test/http/many-at-once',
  'packages/server/test/http/mcp-bounds',
  'packages/server/test/http/mcp-hints',
  'packages/server/test/http/mcp-hostile',
  'packages/server/test/http/mcp-transport',
  'packages/server/test/http/metrics',
  'packages/server/test/http/request-log',
  'packages/server/test/http/rotated-secrets',
  'packages/server/test/http/runs-model',
  'packages/server/test/http/slow-readers',
  'packages/server/test/http/small-files',
  'packages/server/test/http/stats',
  'packages/server/test/http/stop',
  'packages/server/test/http/turns',
  'packages/server/test/http/user-matrix',
]

/** Beginnings of paths: their short forms are in the quick part, so the rest runs them again (`isWhole` in harness.ts). */
const inBoth = [
  'packages/server/test/core/json-scan',
  'packages/server/test/core/patch.test',
  'packages/server/test/crash.test',
  'packages/server/test/docs.test',
  'packages/server/test/http/adopted-files',
  'packages/server/test/model.test',
  'packages/server/test/operations/input-agreement',
  'packages/server/test/stores/stores-sqlite',
]

/** Beginnings of paths: these load the machine or fill its disk, so they run after the others, one after another. */
const alone: string[] = ['packages/server/test/hostile/', 'packages/server/test/limits/']

const files = [...new Bun.Glob('{packages,bench,examples}/**/*.test.{ts,tsx}').scanSync(root)]
  .filter((file) => !file.includes('node_modules'))
  .sort()
const beginsWith = (starts: string[]) => (file: string) => starts.some((start) => file.startsWith(start))
const not = (condition: (file: string) => boolean) => (file: string) => !condition(file)
const isListed = beginsWith(quick)
const isLeftOut = beginsWith(notQuick)
const isQuick = (file: string): boolean => isListed(file) && !isLeftOut(file)
const isInBoth = beginsWith(inBoth)
const isAlone = beginsWith(alone)

/** The failures of all parts, each with the lines before it: they stand at the end. */
const failures: string[] = []
const failuresMax = 20
const linesOfFailure = 30
const counts = { pass: 0, fail: 0, skip: 0 }

/** Passes the output on as it comes, keeps what failed and adds up what Bun counted. */
const passOn = async (output: ReadableStream<Uint8Array>, target: NodeJS.WriteStream): Promise<void> => {
  const decoder = new TextDecoder()
  const recent: string[] = []
  let rest = ''
  for await (const bytes of output) {
    target.write(bytes)
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const [, number, what] = /^ *(\d+) (pass|fail|skip)$/.exec(line) ?? []
      if (what !== undefined) counts[what as keyof typeof counts] += Number(number)
      recent.push(line.slice(0, 500))
      if (recent.length > linesOfFailure) recent.shift()
      // Bun repeats the names at its end.
      if (!line.startsWith('(fail)') || failures.some((failure) => failure.endsWith(line))) continue
      failures.push(recent.join('\n'))
      recent.length = 0
    }
  }
}

/** Ends a part that hangs: the time limit of a test cannot stop a loop. */
const run = async (command: string[], minutesMax: number, env: Record<string, string> = {}): Promise<void> => {
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: minutesMax * 60_000,
    killSignal: 'SIGKILL',
  })
  const outputs = Promise.all([passOn(child.stdout, process.stdout), passOn(child.stderr, process.stderr)])
  const code = await child.exited
  // A grandchild may hold the pipe for longer than the child lives.
  await Promise.race([outputs, Bun.sleep(5_000)])
  if (code !== 0) failures.push(`${command.slice(0, 4).join(' ')} … ended with ${child.signalCode ?? code}`)
}

/** Runs more files than there are cores: many of them mostly wait, for a disk or for a server. */
const parallel = Math.min(availableParallelism(), 4) * 2
const runTests = (
  paths: string[],
  minutesMax: number,
  env: Record<string, string>,
  { workers = parallel, flags = [] as string[] } = {},
): Promise<void> => {
  const common = ['--only-failures', '--timeout', '120000', '--preload', bundledThreads, `--parallel=${workers}`]
  return run(['test', ...common, ...flags, ...paths], minutesMax, env)
}

const bundledThreads = join(root, 'packages/server/test/bundled-threads.ts')

/** With these times Bun starts the longest files first: one that starts last would leave a core without work. */
const timings = [
  `--timings=${join(root, 'packages/server/scripts/test-times.json')}`,
  ...(process.argv.includes('--write-times') ? ['--update-timings'] : []),
]

const runQuick = async (): Promise<void> => {
  const server = await startSharedServer()
  await runTests(files.filter(isQuick), 20, { ...server.env, CUBBY_TEST_PART: 'quick' }, { flags: timings })
  await server.stop()
}

/** Beginnings of paths: the black-box files that run on PostgreSQL too. */
const onPostgres = [
  'packages/console/test/pages',
  'packages/server/test/data-tools/hostile-names',
  'packages/server/test/data-tools/modelling',
  'packages/server/test/hostile/pipelining',
  'packages/server/test/hostile/writers',
  'packages/server/test/http/',
  'packages/server/test/model.test',
]

const runRest = async (): Promise<void> => {
  const rest = files.filter((file) => !isQuick(file) || isInBoth(file))
  const [server, postgres] = [await startSharedServer(), await startSharedPostgres()]
  const env = { ...server.env, ...postgres.env }
  await run(['packages/server/test/openapi/generators/install.ts'], 5)
  await runTests(rest.filter(not(isAlone)), 40, env)
  await runTests(rest.filter(isAlone), 20, env, { workers: 1 })
  await server.stop()

  // The store of this process's harness is then there too.
  process.env.CUBBY_TEST_STORE = postgres.url
  const serverOnPostgres = await startSharedServer()
  const again = files.filter(beginsWith(onPostgres))
  const envOnPostgres = { ...serverOnPostgres.env, ...postgres.env, CUBBY_TEST_STORE: postgres.url }
  await runTests(again.filter(not(isAlone)), 20, envOnPostgres)
  await runTests(again.filter(isAlone), 10, envOnPostgres, { workers: 1 })
  await serverOnPostgres.stop()
  await postgres.stop()
  if (process.env.CUBBY_TEST_BINARY === 'full') await run(['packages/server/scripts/test-on-binary.ts'], 45)
}

const startedMs = Date.now()
const isAll = process.argv.includes('--all')
const isRestOnly = process.argv.includes('--rest')
// Built as for the npm package, with the console in it. The tests of one file alone run the source.
const program = join(root, 'node_modules/.cache/cubby-tests')
await build(program)
await buildEngineThreads(join(program, 'threads'))
process.env.CUBBY_TEST_MAIN = join(program, 'main.js')
if (!isRestOnly) await runQuick()
if (isAll) await runRest()

const { missing, required } = missingTools()
if (isAll && required.length > 0) {
  failures.push(`CUBBY_TEST_REQUIRE names what is not installed: ${required.join(', ')}`)
}
if (failures.length > 0) {
  const left = failures.length - failuresMax
  const text = failures.slice(0, failuresMax).join('\n\n')
  process.stderr.write(`\nFailed:\n\n${text}\n${left > 0 ? `and ${left} more\n` : ''}`)
}
const quickFiles = files.filter(isQuick).length
const leftOut = isAll
  ? `Left out: ${missing.length === 0 ? 'nothing for want of a program' : `tests that need ${missing.join(', ')}`}.`
  : `Left out: ${files.length - quickFiles} of ${files.length} files (PostgreSQL, browsers, disks, archive, hostile clients, commands, generators, packages, the binary), and long forms.\nAll of them: npm run test:all`
process.stdout.write(`\n${leftOut}\nTime: ${((Date.now() - startedMs) / 1000).toFixed(0)} s\n`)
process.stdout.write(`${counts.pass} passed, ${counts.fail} failed, ${counts.skip} skipped\n`)
process.exit(failures.length > 0 || counts.fail > 0 || counts.pass === 0 ? 1 : 0)
