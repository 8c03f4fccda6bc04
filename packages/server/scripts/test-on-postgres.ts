import { availableParallelism } from 'node:os'
import { startPostgres } from '../test/postgres-server.ts'

// The black-box tests once more, on PostgreSQL: a real server from npm, in a temporary directory. Part of `npm test`;
// with arguments, only the test files named.

const named = process.argv.slice(2)
/** These share the cores. */
const together = [
  'packages/server/test/http',
  'packages/server/test/model.test.ts',
  'packages/server/test/data-tools/modelling.test.ts',
  'packages/console/test/pages.test.ts',
]
const alone = ['packages/server/test/hostile/writers.test.ts', 'packages/server/test/hostile/pipelining.test.ts']

const postgres = await startPostgres({ auth: 'password' })
const run = async (...args: string[]): Promise<boolean> => {
  const child = Bun.spawn([process.execPath, 'test', '--timeout', '120000', ...args], {
    env: { ...process.env, CUBBY_TEST_STORE: postgres.url() },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return (await child.exited) === 0
}
try {
  const parallel = `--parallel=${Math.min(availableParallelism(), 4)}`
  const passed = named.length > 0 ? [await run(...named)] : [await run(parallel, ...together), await run(...alone)]
  process.exitCode = passed.every(Boolean) ? 0 : 1
} finally {
  await postgres.remove()
}
process.exit()
