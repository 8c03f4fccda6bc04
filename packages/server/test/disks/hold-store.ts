import { openSqliteEngine } from '../../src/engines/sqlite/engine.ts'

// A guest, as `cubby verify` is on a large store: has the store open until its standard input ends.

const engine = await openSqliteEngine({ dataDir: process.argv[2]!, role: 'guest' })
await engine.organizations.list()
process.stdout.write('open\n')
for await (const _ of Bun.stdin.stream());
await engine.organizations.list()
await engine.close()
process.exit(0)
