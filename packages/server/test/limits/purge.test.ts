import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { recoveryMs, sweepGraceMs } from '../../src/core/limits.ts'
import { eventually, type Server, startServer, storeIsEmbedded } from '../harness.ts'
import { inParallel, makeTable, ok, refused, type TestTable } from '../http/service.ts'

// A table of a million records cannot be removed in one piece: everybody's writes would wait for it.

setDefaultTimeout(120_000)

const records = 3_000

describe.skipIf(!storeIsEmbedded())('a table past its 7 days', () => {
  let server: Server
  let doomed: TestTable
  let kept: TestTable
  let recent: TestTable
  let db: Database
  beforeAll(async () => {
    server = await startServer({ clock: true })
    const api = server.as((await server.createOrganization()).secretKey)
    const indices = { i1: { hashField: 'parity', rangeField: 'n' } }
    doomed = await makeTable(api, indices)
    kept = await makeTable(api, indices)
    recent = await makeTable(api, indices)
    const rows = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ hashKey: `h${n % 7}`, rangeKey: `r${n}`, data: { parity: n % 2, n } }))
    for (const [table, count] of [
      [doomed, records],
      [kept, 500],
      [recent, 500],
    ] as const) {
      const all = rows(count)
      const batches = Array.from({ length: count / 25 }, (_, i) => all.slice(i * 25, (i + 1) * 25))
      await inParallel(batches, 8, (batch) => table.fill(batch))
    }
    ok(await api.delete(doomed.path))
    db = new Database(join(server.dataDir, 'cubby.db'), { readonly: true })
  })
  afterAll(async () => {
    db?.close()
    await server?.stop()
  })

  const rowsOf = (table: TestTable): number =>
    db
      .query<{ n: number }, [string]>(
        'SELECT count(*) AS n FROM records WHERE table_id = (SELECT id FROM tables WHERE name = ?)',
      )
      .get(table.name)!.n

  test('keeps all of its records until 5 minutes past its deadline', async () => {
    server.setClock(recoveryMs + sweepGraceMs - 60_000)
    // If a new expired record is removed, a sweep has run. If two are, it has finished all of its work.
    const ttl = Math.floor((Date.now() + recoveryMs - 60_000) / 1000)
    for (const witness of ['first', 'second']) {
      await kept.put(witness, { parity: 2, n: 0 }, { ttl })
      await eventually('the sweep has come by', () => (rowsOf(kept) === 500 ? true : undefined))
    }
    expect(rowsOf(doomed)).toBe(records)
  })

  test('is then removed in steps, while puts to other tables go on and nothing else is touched', async () => {
    // Deleted seven days later, by the server's clock: still recoverable when the other is gone.
    ok(await recent.api.delete(recent.path))
    const seen = new Set<number>()
    let puts = 0
    let gone = false
    const writing = Promise.all(
      Array.from({ length: 4 }, async (_, writer) => {
        while (!gone) {
          await kept.put(`during ${writer}`, { parity: 3, n: puts++ })
          seen.add(rowsOf(doomed))
        }
      }),
    )
    server.setClock(recoveryMs + sweepGraceMs + 60_000)
    await eventually('the table is gone', () => {
      gone = db.query('SELECT 1 FROM tables WHERE name = ?').get(doomed.name) === null
      return gone ? true : undefined
    })
    await writing
    // Seen half-way, between two puts, more than once.
    const between = [...seen].filter((count) => count > 0 && count < records)
    expect(between.length).toBeGreaterThanOrEqual(3)
    expect(db.query<{ n: number }, []>('SELECT count(*) AS n FROM records').get()!.n).toBe(500 + 4 + 500)

    expect((await kept.items({ index: 'i1', hash: 0 })).map(({ data }) => data.n)).toEqual(
      Array.from({ length: 250 }, (_, i) => i * 2),
    )
    ok(await recent.api.post(`${recent.path}/restore`))
    expect((await recent.items({ index: 'i1', hash: 1 })).length).toBe(250)
    refused(await doomed.api.post(`${doomed.path}/restore`), 404, 'table_not_found')
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0 })
  })
})
