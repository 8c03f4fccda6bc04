import { availableParallelism } from 'node:os'

// `npm test`: every test file of the repository. Files that measure times, load the machine or break its disk run one after
// another; the others share the cores. Then the black-box tests once more, on PostgreSQL.

const root = new URL('../../..', import.meta.url).pathname

/** Beginnings of paths. */
const alone = [
  'bench/',
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
  'packages/server/test/streams/',
  'packages/server/test/tasks/',
  'packages/server/test/workers',
]

const files = [...new Bun.Glob('{packages,bench,examples}/**/*.test.ts').scanSync(root)]
  .filter((file) => !file.includes('node_modules'))
  .sort()
const isAlone = (file: string): boolean => alone.some((start) => file.startsWith(start))

/** A test that never ends is to fail here, not to hang: its own time limit cannot stop a loop. */
const run = async (command: string[], minutesMax: number): Promise<boolean> => {
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: minutesMax * 60_000,
    killSignal: 'SIGKILL',
  })
  return (await child.exited) === 0
}

const workers = Math.min(availableParallelism(), 4)
const passed = [
  await run(['test', '--timeout', '60000', `--parallel=${workers}`, ...files.filter((file) => !isAlone(file))], 35),
  await run(['test', '--timeout', '60000', ...files.filter(isAlone)], 30),
  await run(['packages/server/scripts/test-on-postgres.ts'], 20),
]
process.exit(passed.every(Boolean) ? 0 : 1)
