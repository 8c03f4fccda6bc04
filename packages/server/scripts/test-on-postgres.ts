import { startPostgres } from '../test/postgres-server.ts'

// The black-box tests once more, on PostgreSQL: a real server from npm, in a temporary directory. Part of `npm test`;
// with arguments, only the test files named.

const named = process.argv.slice(2)
const suites =
  named.length > 0
    ? named
    : [
        'packages/server/test/http',
        'packages/server/test/model.test.ts',
        'packages/server/test/data-tools/modelling.test.ts',
        'packages/server/test/hostile/writers.test.ts',
        'packages/server/test/hostile/pipelining.test.ts',
      ]

const postgres = await startPostgres({ auth: 'password' })
try {
  const run = Bun.spawn([process.execPath, 'test', '--timeout', '60000', ...suites], {
    env: { ...process.env, CUBBY_TEST_STORE: postgres.url() },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  process.exitCode = await run.exited
} finally {
  await postgres.remove()
}
process.exit()
