import { startSharedPostgres } from '../test/postgres-server.ts'

// Black-box test files on PostgreSQL, those that are named: a real server from npm, in a temporary directory.
// `npm run test:all` runs all of them so.

const postgres = await startSharedPostgres()
const child = Bun.spawn([process.execPath, 'test', '--timeout', '120000', ...process.argv.slice(2)], {
  env: { ...process.env, ...postgres.env, CUBBY_TEST_STORE: postgres.url },
  stdio: ['ignore', 'inherit', 'inherit'],
})
const code = await child.exited
await postgres.stop()
process.exit(code)
