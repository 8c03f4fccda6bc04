import { availableParallelism } from 'node:os'

// `npm test`: every test file of the repository. Files that measure times, load the machine or break its disk run one after
// another; the others share the cores. Then the black-box tests once more, on PostgreSQL, and if
// it is asked for on the binary.

const root = new URL('../../..', import.meta.url).pathname

/** Beginnings of paths. */
const alone = [
  'bench/',
  'packages/server/test/archive/',
  'packages/server/test/background/',
  'packages/server/test/crash',
  'packages/server/test/disks/',
  'packages/server/test/engine-postgres-faults',
  'packages/server/test/files/',
  'packages/server/test/hostile/',
  'packages/server/test/http/file-memory',
  'packages/server/test/limits/',
  'packages/server/test/manners/',
  'packages/server/test/operations/run-waits',
  'packages/server/test/space/full',
  'packages/server/test/streams/',
  'packages/server/test/tasks/',
  'packages/server/test/workers',
]

/**
 * Beginnings too, of files among those above that pass beside four busy processes: they run one after another while the others
 * share the cores.
 */
const waiting = [
  'packages/server/test/archive/failures',
  'packages/server/test/archive/gaps',
  'packages/server/test/archive/refusals',
  'packages/server/test/disks/damage.',
  'packages/server/test/disks/flipped-bits',
  'packages/server/test/disks/threads',
  'packages/server/test/disks/vanished',
  'packages/server/test/files/s3-failures',
  'packages/server/test/files/serving-place',
  'packages/server/test/limits/bodies',
  'packages/server/test/streams/downloads',
  'packages/server/test/streams/upload-bodies',
  'packages/server/test/streams/uploads',
]

const files = [...new Bun.Glob('{packages,bench,examples}/**/*.test.{ts,tsx}').scanSync(root)]
  .filter((file) => !file.includes('node_modules'))
  .sort()
const beginsWith = (starts: string[]) => (file: string) => starts.some((start) => file.startsWith(start))
const isWaiting = beginsWith(waiting)
const isListed = beginsWith(alone)
const isAlone = (file: string): boolean => isListed(file) && !isWaiting(file)

/** The failures of all phases, each with the lines before it: they stand at the end, below thousands of lines that passed. */
const failures: string[] = []
const failuresMax = 20
const linesOfFailure = 30

/** Passes the output on as it comes, and keeps what failed. */
const passOn = async (output: ReadableStream<Uint8Array>, target: NodeJS.WriteStream): Promise<void> => {
  const decoder = new TextDecoder()
  const recent: string[] = []
  let rest = ''
  for await (const bytes of output) {
    target.write(bytes)
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('(pass)') || line.startsWith('(skip)')) recent.length = 0
      else recent.push(line.slice(0, 500))
      if (recent.length > linesOfFailure) recent.shift()
      // Bun repeats the names at its end.
      if (!line.startsWith('(fail)') || failures.some((failure) => failure.endsWith(line))) continue
      failures.push(recent.join('\n'))
      recent.length = 0
    }
  }
}

/** A test that never ends is to fail here, not to hang: its own time limit cannot stop a loop. */
const run = async (command: string[], minutesMax: number): Promise<boolean> => {
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: minutesMax * 60_000,
    killSignal: 'SIGKILL',
  })
  const outputs = Promise.all([passOn(child.stdout, process.stdout), passOn(child.stderr, process.stderr)])
  const code = await child.exited
  // A grandchild may hold the pipe for longer than the child lives.
  await Promise.race([outputs, Bun.sleep(5_000)])
  if (code !== 0) failures.push(`${command.slice(0, 4).join(' ')} ended with ${child.signalCode ?? code}`)
  return code === 0
}

const workers = Math.min(availableParallelism(), 4)
const passed = [
  // The server and the tests use the built console.
  await run(['packages/console/build.ts'], 1),
  ...(await Promise.all([
    run(['test', '--timeout', '120000', `--parallel=${workers}`, ...files.filter((file) => !isListed(file))], 40),
    run(['test', '--timeout', '120000', ...files.filter(isWaiting)], 30),
  ])),
  await run(['test', '--timeout', '120000', ...files.filter(isAlone)], 30),
  await run(['packages/server/scripts/test-on-postgres.ts'], 20),
  process.env.CUBBY_TEST_BINARY === 'full' ? await run(['packages/server/scripts/test-on-binary.ts'], 45) : true,
]
if (failures.length > 0) {
  const left = failures.length - failuresMax
  const text = failures.slice(0, failuresMax).join('\n\n')
  process.stderr.write(`\nFailed:\n\n${text}\n${left > 0 ? `and ${left} more\n` : ''}`)
}
process.exitCode = passed.every(Boolean) ? 0 : 1
