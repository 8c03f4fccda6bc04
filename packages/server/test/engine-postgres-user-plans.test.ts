import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import pg from 'pg'
import type { BoundStatement, Value } from '../src/engines/postgres/connection/driver.ts'
import { bind } from '../src/engines/postgres/connection/driver.ts'
import { tokenFacts, tokenGuardStatement, tokenStateStatement } from '../src/engines/postgres/connection/user-guard.ts'
import { detectDialect, openingOf } from '../src/engines/postgres/dialect.ts'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import { countOfUsers, findOldKeysOfUser } from '../src/engines/postgres/maintenance/idempotency-key-sweep.ts'
import { removeOldRevocations } from '../src/engines/postgres/maintenance/maintenance.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

// Every request with a token that a process has not seen, and every write, asks for its state: 100,000 revoked users must not make
// that slower, nor the sweeps.

setDefaultTimeout(120_000)

const users = 100_000
const use = { orgId: 1, mark: { userHash: 'h10', madeAtEpoch: 1_000_000, issuerEpoch: 27 } }
const rowsMax = 20

/** The statements, each with the indexes that it may look into, and what it looks for. */
const ofToken = { cubby_revoked_user_pkey: /org_id = .*user_hash =/, cubby_issuer_pkey: /org_id =/ }
const cases: { bound: BoundStatement; looks: Record<string, RegExp> }[] = [
  { bound: bind(tokenFacts, 1, 'h10', 27), looks: ofToken },
  { bound: tokenStateStatement(use), looks: ofToken },
  { bound: tokenGuardStatement(use), looks: ofToken },
  {
    bound: bind(removeOldRevocations, users, rowsMax),
    looks: { cubby_revoked_user_by_time: /revoked_at <=/, cubby_revoked_user_pkey: /org_id = .*user_hash =/ },
  },
  {
    bound: bind(countOfUsers, 1, 'h5', rowsMax),
    looks: { cubby_idempotency_key_by_user: /ROW\(org_id, user_hash\) >/ },
  },
  {
    bound: bind(findOldKeysOfUser, 1, 'h7', rowsMax),
    looks: { cubby_idempotency_key_by_user: /org_id = .*user_hash =/ },
  },
]

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  Plans?: PlanNode[]
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

const literal = (value: Value): string => (typeof value === 'number' ? String(value) : `'${value}'`)
const execute = ({ statement, values }: BoundStatement): string =>
  `execute ${statement.name} (${values.map(literal).join(', ')})`

const fill = (client: pg.Client): Promise<unknown> =>
  client.query(`
    insert into cubby_revoked_user select 1 + n % 10, 'h' || n, n, n from generate_series(1, ${users}) n;
    insert into cubby_issuer select n / 20, 'i' || n, '{}', '', n, n, n from generate_series(1, 2000) n;
    insert into cubby_idempotency_key
    select n, 'table', decode(md5(n::text), 'hex'), '', 1, n, '{}', case when n % 2 = 0 then 'h' || n % 100 end
    from generate_series(1, ${users}) n`)

let server: PostgresServer
let client: pg.Client

beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: 'off', autovacuum: 'off' }, auth: 'password' })
  const url = await server.createDatabase()
  await (await openPostgresEngine({ url })).close()
  client = new pg.Client({ connectionString: url })
  await client.connect()
  const facts = { version: '', number: '18', numeric: 180_000, encoding: 'UTF8', fsync: 'on', citus: undefined }
  await client.query(openingOf(detectDialect(facts, 60_000)))
}, 120_000)

afterAll(async () => {
  await client.end()
  await server.remove()
}, 60_000)

const prepareAll = async (): Promise<void> => {
  for (const { statement } of cases.map(({ bound }) => bound)) {
    await client.query(`prepare ${statement.name} as ${statement.text}`)
  }
}

/** What the planner knew when it planned. */
const circumstances: Record<string, () => Promise<unknown>> = {
  'plans of when the store was empty': async () => {
    await prepareAll()
    for (const { bound } of cases) {
      await client.query('begin')
      // A guard fails in an empty store: it has been planned by then.
      await client.query(execute(bound)).catch(() => {})
      await client.query('rollback')
    }
    await fill(client)
  },
  statistics: async () => {
    await client.query('deallocate all')
    await client.query('analyze')
    await prepareAll()
  },
}

for (const [name, prepare] of Object.entries(circumstances)) {
  describe(`with ${name}`, () => {
    beforeAll(() => prepare() as Promise<void>, 120_000)

    test.each(cases.map((one) => [one.bound.statement.name, one] as const))(
      '%s looks for what it needs in an index',
      async (_, { bound, looks }) => {
        await client.query('begin')
        const { rows } = await client.query(`explain (analyze, timing off, format json) ${execute(bound)}`)
        await client.query('rollback')
        const plan = (rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN'][0].Plan
        const walks = nodesOf(plan).filter(
          (node) => /Scan/.test(node['Node Type']) && node['Index Name'] !== 'cubby_store_pkey',
        )
        const ofTables = walks.filter((node) => (node['Relation Name'] ?? 'cubby_store') !== 'cubby_store')
        expect(ofTables.length).toBeGreaterThan(0)
        for (const node of ofTables) {
          expect(Object.keys(looks)).toContain(node['Index Name']!)
          expect(node['Index Cond'] ?? '').toMatch(looks[node['Index Name']!]!)
          expect(node['Actual Rows']! * node['Actual Loops']!).toBeLessThanOrEqual(rowsMax)
        }
      },
    )
  })
}
