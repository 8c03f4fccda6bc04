import { afterAll, beforeAll } from 'bun:test'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import { describeEngine } from './engine-conformance.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

let server: PostgresServer
let url = ''

beforeAll(async () => {
  // What a killed machine loses is not looked at here, so nothing waits for the disk.
  server = await startPostgres({ settings: { fsync: 'off' }, auth: 'password' })
  url = await server.createDatabase()
}, 60_000)

afterAll(() => server.remove(), 60_000)

// A short lease, so that the many revocations and deletions of the suite do not wait a second each; the rule is
// the same. Time moves with the cases, so the sweeps go by it.
const open = () => openPostgresEngine({ url, leaseMs: 20, sweepClock: 'caller' })

describeEngine('postgres', {
  open,
  reopen: open,
  openBeside: open,
  // Emptied, not dropped: making the tables anew for every case would take longer than the cases.
  remove: () => server.empty(url),
})
