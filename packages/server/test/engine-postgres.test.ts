import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import { makeFixture } from './conformance/fixture.ts'
import { describeEngine } from './engine-conformance.ts'
import { type SharedPostgres, sharedPostgres } from './postgres-server.ts'

let server: SharedPostgres
let url = ''

beforeAll(async () => {
  // These tests kill no machine, so nothing waits for the disk.
  server = await sharedPostgres()
  url = await server.createDatabase()
}, 120_000)

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

test('verify finds records of tables that do not exist, whatever ids they have', async () => {
  const engine = await open()
  try {
    const first = await makeFixture(engine, {}, { name: 'first' })
    const middle = await makeFixture(engine, {}, { tenant: first.tenant, name: 'middle' })
    const last = await makeFixture(engine, {}, { tenant: first.tenant, name: 'last' })
    for (const fixture of [first, middle, last]) await fixture.put('sound')
    const between = middle.table.id
    await server.query(`delete from cubby_table_8 where id = ${between}`, url)
    const strays = [-5, between, last.table.id + 1, last.table.id + 1_000]
    for (const id of strays) {
      await server.query(
        `insert into cubby_record_8 (id, table_id, hash_key, range_key, updated_at, data) values (1, ${id}, 'stray', '', 1, '{}')`,
        url,
      )
    }
    const findings = await Array.fromAsync(engine.maintenance.check())
    expect(findings.filter((finding) => finding.includes('"stray"'))).toEqual(
      strays.map((id) => `record 1 (table ${id}, "stray"): its table does not exist`),
    )
    expect(findings.filter((finding) => finding.includes('"sound"'))).toEqual([
      expect.stringContaining(`(table ${between}, "sound"): its table does not exist`),
    ])
    expect(findings).toHaveLength(5)
  } finally {
    await engine.close()
    await server.empty(url)
  }
})

test('verify finds revoked users and issuers that cannot be right', async () => {
  const engine = await open()
  try {
    const { tenant } = await makeFixture(engine)
    const { id } = tenant.org
    await server.query(
      `insert into cubby_revoked_user values (${id}, 'a', 1, 1), (${id}, 'b', 2, 1), (${id + 9}, 'c', 1, 1);
       insert into cubby_issuer values (${id}, 'bad', '{', 'a', 1, 1, 1), (${id}, 'late', '{}', 'b', 1, 1, 3),
         (${id + 8}, 'x', '{}', 'c', 1, 1, 1);
       update cubby_store set swept_user_epoch = 4`,
      url,
    )
    expect(await Array.fromAsync(engine.maintenance.check())).toEqual([
      `a user of organization ${id} was revoked at an epoch that the store has not reached: 2`,
      `issuer late of organization ${id} was changed at an epoch that the store has not reached: 3`,
      'revocations were swept at an epoch that the store has not reached: 4',
      `revoked users of organization ${id + 9} belong to nothing`,
      `issuers of organization ${id + 8} belong to nothing`,
      `issuer bad of organization ${id}: its declaration is not JSON`,
    ])
  } finally {
    await engine.close()
    await server.empty(url)
  }
})
