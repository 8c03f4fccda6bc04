import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import pg from 'pg'
import type { Statement } from '../src/engines/postgres/connection/driver.ts'
import { detectDialect, openingOf } from '../src/engines/postgres/dialect.ts'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import { nextRuns } from '../src/engines/postgres/maintenance/check-runs.ts'
import { countRuns, scanRuns } from '../src/engines/postgres/runs/run-pages.ts'
import * as sql from '../src/engines/postgres/runs/statements.ts'
import * as tasks from '../src/engines/postgres/tasks/statements.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

// A claim reads the runs that it hands out, whatever else there is: 100,000 finished runs and as many for tomorrow must not
// make it slower. The same holds for everything that is done every half second.

setDefaultTimeout(120_000)

type Value = string | number | Buffer | null

const rowsInTask = 50_000
const nowMs = 1_000_000
const dueRows = 20
const key = Buffer.from('k1')
const newKey = Buffer.from('new')
/** The same and others as an array. */
const keys = `{${[key, newKey, Buffer.from('k7')].map((one) => `"\\\\x${one.toString('hex')}"`).join(',')}}`

/** The statements, each with the indexes that it may look into, and what it looks for. */
const cases: { statement: Statement; values: Value[]; looks: Record<string, RegExp> }[] = [
  { statement: sql.getRun, values: [1, 'f7'], looks: { cubby_run_8_pkey: /task_id = .*id =/ } },
  { statement: sql.lockRun, values: [1, 'f7'], looks: { cubby_run_8_pkey: /task_id = .*id =/ } },
  { statement: sql.removeRun, values: [1, 'f7'], looks: { cubby_run_8_pkey: /task_id = .*id =/ } },
  { statement: sql.mergeRun, values: [1, 'f7', '{}', 1, 1], looks: { cubby_run_8_pkey: /task_id = .*id =/ } },
  {
    statement: sql.changeRun,
    values: [1, 'f7', 'failed', 1, 1, 'f', null, null, null, 1, 1, null, null, null],
    looks: { cubby_run_8_pkey: /task_id = .*id =/ },
  },
  { statement: sql.addRun, values: [1, 'new', '{}', null, 0, nowMs, 'ada'], looks: {} },
  { statement: sql.lockRunningOfKey, values: [1, key], looks: { cubby_run_by_running_key: /task_id = .*key =/ } },
  { statement: sql.lockQueuedOfKey, values: [1, key], looks: { cubby_run_by_queued_key: /task_id = .*key =/ } },
  { statement: sql.releaseKey, values: [1, key], looks: { cubby_run_by_queued_key: /task_id = .*key =/ } },
  {
    statement: sql.holdKey,
    values: [1, key],
    looks: { cubby_run_by_queued_key: /task_id = .*key =/, cubby_run_by_running_key: /task_id = .*key =/ },
  },
  // The runs of followers: keys that run, that wait, and that are new.
  { statement: sql.followRows(2), values: [1, nowMs, 'w1', key, '{}', 'w2', newKey, '{}'], looks: {} },
  {
    statement: sql.holdKeys,
    values: [1, keys],
    looks: {
      cubby_run_by_running_key: /task_id = .*key = /,
      cubby_run_by_queued_key: /task_id = .*key = /,
      cubby_run_8_pkey: /task_id = .*id = /,
    },
  },
  {
    statement: sql.lockNamedAndRunning,
    values: [1, '{}', keys],
    looks: { cubby_run_by_running_key: /task_id = .*key = /, cubby_run_8_pkey: /task_id = .*id = / },
  },
  {
    statement: sql.lockQueuedOfSameKey,
    values: [1, 'q1'],
    looks: { cubby_run_by_queued_key: /task_id = .*key =/, cubby_run_8_pkey: /task_id = .*id =/ },
  },
  {
    statement: sql.lockRunningOfSameKey,
    values: [1, 'q1'],
    looks: { cubby_run_by_running_key: /task_id = .*key =/, cubby_run_8_pkey: /task_id = .*id =/ },
  },
  {
    statement: sql.takeDue,
    values: [1, dueRows, 1_048_576, nowMs],
    looks: { cubby_run_due: /task_id = .*held = .*run_at <=/ },
  },
  { statement: sql.anyDue, values: [1, nowMs], looks: { cubby_run_due: /task_id = .*held = .*run_at <=/ } },
  { statement: sql.oldestRun, values: [1], looks: { cubby_run_due: /task_id = .*held =/ } },
  {
    statement: sql.countByStatus,
    values: [1, nowMs, dueRows],
    looks: { cubby_run_by_status: /task_id = .*status =/ },
  },
  { statement: sql.countRunning, values: [1, dueRows], looks: { cubby_run_by_status: /task_id = .*status =/ } },
  { statement: sql.findExpired, values: [nowMs, dueRows], looks: { cubby_run_by_lease: /lease_until <=/ } },
  {
    statement: sql.findExpiredOf,
    values: [nowMs, dueRows, 1],
    looks: { cubby_run_by_org: /org_id >= .*ROW\(.* <=/ },
  },
  // One seek for each organization, however many leases it has.
  { statement: sql.leasedOrganizations, values: [nowMs, 100, -1], looks: { cubby_run_by_org: /org_id >/ } },
  { statement: sql.nextLeased, values: [nowMs, -1], looks: { cubby_run_by_org: /org_id >/ } },
  { statement: sql.findAhead, values: [nowMs, dueRows, 3_600_000], looks: { cubby_run_by_lease: /lease_until >/ } },
  {
    statement: sql.duePushesInOne,
    values: [2 * dueRows, '{}', '{}', '{}', 100, nowMs, '{}'],
    // One look for each task, of so many of each organization.
    looks: {
      ...{ cubby_run_due: /task_id = .*held =/, cubby_task_pushing_by_org: /org_id >|org_id <= .*ROW\(|^$/ },
      cubby_table_8_pkey: /id =/,
      cubby_organization_8_pkey: /id =/,
    },
  },
  {
    statement: sql.pushStops,
    values: [2 * dueRows, '{}', '{1}', '{1010}'],
    looks: { cubby_task_pushing_by_org: /org_id >|org_id <= .*ROW\(|^$/ },
  },
  {
    statement: sql.sweepInOne,
    values: [nowMs, dueRows, 0, 0],
    looks: {
      cubby_run_by_status: /task_id = .*status = .*updated_at <=/,
      cubby_run_8_pkey: /task_id = .*id =/,
    },
  },
  {
    statement: sql.findFromAhead,
    values: [nowMs, dueRows, 3_600_000, Buffer.from('schedule')],
    looks: { cubby_run_by_status: /task_id = .*status = .*updated_at >/ },
  },
  { statement: sql.anyRun, values: [1], looks: { cubby_run_8_pkey: /task_id =/, cubby_run_by_time: /task_id =/ } },
  {
    statement: nextRuns,
    values: [1, 'f7', dueRows],
    looks: { cubby_run_8_pkey: /task_id = .*id >/, cubby_run_by_running_key: /task_id = .*key =/ },
  },
  { statement: tasks.taskState, values: [1, null, nowMs], looks: anyRegistry() },
  { statement: tasks.lockLimit, values: [1], looks: anyRegistry() },
  {
    statement: tasks.dueSchedules,
    values: [nowMs, dueRows, '{7}'],
    looks: { cubby_task_by_next_run: /next_run_at <=/ },
  },
  {
    statement: tasks.dueSchedulesOf,
    values: [nowMs, dueRows, 1, '{7}'],
    looks: { cubby_task_by_org: /org_id >= .*ROW\(.* <=/ },
  },
  { statement: tasks.scheduledOrganizations, values: [nowMs, 100, -1], looks: { cubby_task_by_org: /org_id >/ } },
  { statement: tasks.servedAhead, values: [nowMs, dueRows, 1], looks: { cubby_task_by_served: /served_at >/ } },
]

function anyRegistry(): Record<string, RegExp> {
  return {
    ...{ cubby_task_8_pkey: /table_id =/, cubby_table_8_pkey: /id =/ },
    ...{ cubby_api_key_8_pkey: /seq =/, cubby_organization_8_pkey: /id =/ },
  }
}

for (const withStatus of [false, true]) {
  for (const descending of [false, true]) {
    const values: Value[] = [1, dueRows, 10, 1_000_000, 0, ...(withStatus ? ['succeeded'] : [])]
    const looks: Record<string, RegExp> = withStatus
      ? { cubby_run_by_status: /task_id = .*status = .*ROW\(/ }
      : { cubby_run_by_time: /task_id = .*ROW\(/ }
    cases.push({ statement: scanRuns(withStatus, descending), values: [...values, 1_048_576], looks })
    cases.push({ statement: countRuns(withStatus, descending), values: [...values, 0], looks })
  }
}

interface PlanNode {
  'Node Type': string
  'Index Name'?: string
  'Relation Name'?: string
  'Index Cond'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]
/** Those that read a table. The registry has one store, and the sweep walks over the tasks, of which there are few. */
const isWalk = ({ 'Node Type': type, 'Relation Name': table }: PlanNode): boolean =>
  / Scan$/.test(type) && !/^(Subquery|CTE|Function|Values|WorkTable|Result)/.test(type) && table !== 'cubby_store'

const literal = (value: Value): string =>
  value === null ? 'null' : Buffer.isBuffer(value) ? `'\\x${value.toString('hex')}'` : `'${value}'`
const execute = ({ name }: Statement, values: Value[]): string => `execute ${name} (${values.map(literal).join(', ')})`

const inTransaction = async <T>(client: pg.Client, work: () => Promise<T>): Promise<T> => {
  await client.query('begin')
  try {
    return await work()
  } finally {
    await client.query('rollback')
  }
}

const planOf = (client: pg.Client, statement: Statement, values: Value[]): Promise<PlanNode[]> =>
  inTransaction(client, async () => {
    const { rows } = await client.query(
      `explain (analyze, timing off, summary off, format json) ${execute(statement, values)}`,
    )
    return nodesOf((rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN'][0].Plan)
  })

/** One organization has this many schedules and leases that are due, beside the others with one each. */
const backlog = 5_000

/**
 * Two tasks, each with as many finished runs as future ones, some that are due, some that run. And an organization that has
 * many schedules and leases due, with ten others that have few.
 */
const fill = (client: pg.Client): Promise<unknown> =>
  client.query(`
    insert into cubby_table_8 (id, org_id, db, kind, name, indices, created_at)
    select t, 1, 'app', 'task', 'task-' || t, '{}', 1 from generate_series(1, 2) t;
    insert into cubby_task_8 (table_id, declaration, updated_at, paused, pushes, keep_seconds, next_run_at, served_at, secrets)
    select t, '{}', 1, false, true, 0, 1, 1, '[]' from generate_series(1, 2) t;
    insert into cubby_task_8 (table_id, declaration, updated_at, paused, pushes, keep_seconds, next_run_at, secrets, org_id)
    select 1000 + n, '{}', 1, false, true, 0, n, '[]', greatest(1, n - ${backlog} + 10) from generate_series(1, ${backlog}) n;
    insert into cubby_run_8 (seq, task_id, id, status, run_at, attempt, held, created_at, updated_at, finished_at, payload)
    select n, t, 'f' || n, 'succeeded', n, 1, false, n, n, n, '{}' from generate_series(1, 2) t, generate_series(1, ${rowsInTask}) n;
    insert into cubby_run_8 (seq, task_id, id, status, key, run_at, attempt, held, created_at, updated_at, payload)
    select ${rowsInTask} + n, t, 'q' || n, 'queued', convert_to('k' || n, 'UTF8'), ${nowMs} - 100 + n, 0, false, n, n, '{}'
    from generate_series(1, 2) t, generate_series(1, ${rowsInTask}) n;
    insert into cubby_run_8 (seq, task_id, id, status, key, run_at, attempt, held, lease, lease_until, created_at, updated_at, payload, org_id)
    select 3 * ${rowsInTask} + n, t, 'r' || n, 'running', convert_to('k' || n, 'UTF8'), n, 1, false, 'l', ${nowMs} - ${backlog} + n, n, n, '{}',
      greatest(1, n - ${backlog} + 10)
    from generate_series(1, 2) t, generate_series(1, ${backlog}) n;
    insert into cubby_api_key_8 (id, org_id, kind, hash, last_four, created_at)
    select 'key_' || n, 1, 'secret', 'hash-' || n, '0000', 1 from generate_series(1, 5000) n`)

const facts = { version: '', number: '18', numeric: 180_000, encoding: 'UTF8', fsync: 'on', citus: undefined }
const settings = openingOf(detectDialect(facts, 60_000))

let server: PostgresServer
let url = ''

beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: 'off', autovacuum: 'off' }, auth: 'password' })
  url = await server.createDatabase()
  await (await openPostgresEngine({ url })).close()
}, 120_000)
afterAll(() => server.remove(), 60_000)

/** The knowledge of the planner when it planned. */
const circumstances: Record<string, (client: pg.Client) => Promise<void>> = {
  // First, while it is so: connections are made when the store is empty, and live as long as the process.
  'plans of when the store was empty': async (client) => {
    for (const { statement, values } of cases) {
      await client.query(`prepare ${statement.name} as ${statement.text}`)
      await inTransaction(client, () => client.query(execute(statement, values)))
    }
    await fill(client)
  },
  statistics: async (client) => {
    await client.query('analyze')
    for (const { statement } of cases) await client.query(`prepare ${statement.name} as ${statement.text}`)
  },
}

for (const [name, prepare] of Object.entries(circumstances)) {
  describe(`with ${name}`, () => {
    let client: pg.Client

    beforeAll(async () => {
      client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query(settings)
      await prepare(client)
    }, 120_000)
    afterAll(() => client.end())

    test.each(cases.map((one) => [one.statement.name, one] as const))(
      '%s looks for what it needs in an index',
      async (_, { statement, values, looks }) => {
        const nodes = await planOf(client, statement, values)
        const walks = nodes.filter(isWalk)
        // Two walk over all tasks.
        const isOfAll = statement === sql.sweepInOne || statement === sql.findFromAhead
        const ofRuns = walks.filter((node) => !isOfAll || node['Relation Name'] !== 'cubby_task_8')
        expect(ofRuns.length > 0).toBe(Object.keys(looks).length > 0)
        for (const node of ofRuns) {
          expect(Object.keys(looks)).toContain(node['Index Name']!)
          expect(node['Index Cond'] ?? '').toMatch(looks[node['Index Name']!]!)
          expect(node['Actual Rows']! * node['Actual Loops']!).toBeLessThanOrEqual(6 * dueRows)
          // A condition on the one row that was looked for.
          expect(node['Rows Removed by Filter'] ?? 0).toBeLessThanOrEqual(1)
        }
      },
    )
  })
}
