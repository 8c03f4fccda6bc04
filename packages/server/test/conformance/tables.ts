import { expect } from 'bun:test'
import { recoveryMs } from '../../src/core/limits.ts'
import type { Indices } from '../../src/core/tables/indices.ts'
import type { Caller } from '../../src/store/api-keys.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Table } from '../../src/store/tables.ts'
import type { Case } from '../engine-conformance.ts'
import { fixtureOf, indexScan, makeFixture, makeTenant, startMs, withoutEpoch } from './fixture.ts'

const allSlots: Indices = {
  i1: { hashField: 'status', rangeField: 'createdAt' },
  i2: { hashField: 'owner' },
  i3: { hashField: 'c' },
  i4: { hashField: 'd', rangeField: 'd' },
  i5: { hashField: 'e' },
}

/** Makes and deletes the table `orders` once for each instant; the deleted tables in that order. */
const deleteSeveral = async (engine: Engine, caller: Caller, instants: number[], name = 'orders'): Promise<Table[]> => {
  const deleted: Table[] = []
  for (const nowMs of instants) {
    await engine.tables.create(caller, 'app', name, {}, nowMs)
    deleted.push((await engine.tables.delete(caller, 'app', name, nowMs))!)
  }
  return deleted
}

export const tableCases = (it: Case): void => {
  it('createTable: the table made, active and empty', async ({ engine }) => {
    const { org, caller } = await makeTenant(engine)
    const { table, created } = await engine.tables.create(caller, 'app', 'orders', allSlots, startMs)
    expect(created).toBe(true)
    expect(table).toMatchObject({
      orgId: org.id,
      db: 'app',
      name: 'orders',
      indices: allSlots,
      createdAtMs: startMs,
      deletedAtMs: null,
    })
    expect(withoutEpoch(await engine.tables.find(org.id, 'app', 'orders'))).toEqual(withoutEpoch(table))
  })

  it('createTable: the active one that was there with created: false, whatever it declares', async ({ engine }) => {
    const { caller, org } = await makeTenant(engine)
    const { table } = await engine.tables.create(caller, 'app', 'orders', allSlots, startMs)
    for (const indices of [allSlots, {}, { i1: { hashField: 'other' } }]) {
      const again = await engine.tables.create(caller, 'app', 'orders', indices, startMs + 1)
      expect({ created: again.created, table: withoutEpoch(again.table) }).toEqual({
        created: false,
        table: withoutEpoch(table),
      })
    }
    expect(await engine.tables.find(org.id, 'app', 'orders')).toMatchObject({ indices: allSlots, createdAtMs: startMs })
  })

  it('createTable: of several that race for one name, one is made and all get it', async ({ engine }) => {
    const { caller } = await makeTenant(engine)
    const made = await Promise.all(
      Array.from({ length: 10 }, () => engine.tables.create(caller, 'app', 'orders', {}, startMs)),
    )
    expect(made.filter(({ created }) => created)).toHaveLength(1)
    expect(new Set(made.map(({ table }) => table.id)).size).toBe(1)
  })

  it('createTable: a field name keeps any character', async ({ engine }) => {
    const { caller, org } = await makeTenant(engine)
    const indices: Indices = {
      i1: { hashField: 'a\0b', rangeField: '__proto__' },
      i3: { hashField: '\u{1f511}é"\\', rangeField: '\ud800' },
    }
    await engine.tables.create(caller, 'app', 'orders', indices, startMs)
    expect((await engine.tables.find(org.id, 'app', 'orders'))?.indices).toEqual(indices)
  })

  it('createTable: one name in two databases is two tables', async ({ engine }) => {
    const tenant = await makeTenant(engine)
    const a = await makeFixture(engine, {}, { tenant, db: 'app' })
    const b = await makeFixture(engine, {}, { tenant, db: 'app2' })
    await a.put('x')
    expect(a.table.id).not.toBe(b.table.id)
    expect(await b.get('x')).toBeUndefined()
  })

  it('findTable: undefined before it is made and after it is deleted, there again once restored', async ({
    engine,
  }) => {
    const { caller, org } = await makeTenant(engine)
    const find = () => engine.tables.find(org.id, 'app', 'orders')
    expect(await find()).toBeUndefined()
    const { table } = await engine.tables.create(caller, 'app', 'orders', {}, startMs)
    expect(await find()).toMatchObject({ id: table.id })
    await engine.tables.delete(caller, 'app', 'orders', startMs)
    expect(await find()).toBeUndefined()
    await engine.tables.restore(caller, 'app', 'orders', undefined, startMs)
    expect(await find()).toMatchObject({ id: table.id, deletedAtMs: null })
  })

  it('deleteTable: the table with deletedAt; undefined if there is no active one', async ({ engine }) => {
    const { caller } = await makeTenant(engine)
    expect(await engine.tables.delete(caller, 'app', 'orders', startMs)).toBeUndefined()
    const { table } = await engine.tables.create(caller, 'app', 'orders', allSlots, startMs)
    const deleted = await engine.tables.delete(caller, 'app', 'orders', startMs + 3)
    expect(withoutEpoch(deleted)).toEqual({ ...withoutEpoch(table)!, deletedAtMs: startMs + 3 })
    expect(await engine.tables.delete(caller, 'app', 'orders', startMs + 4)).toBeUndefined()
  })

  it('deleteTable: its name is free at once, and the new table is empty', async ({ engine }) => {
    const first = await makeFixture(engine, { i1: { hashField: 'status' } })
    await first.put('a', { data: { status: 'open' } })
    await engine.tables.delete(first.tenant.caller, 'app', 'orders', startMs)
    const { table, created } = await engine.tables.create(first.tenant.caller, 'app', 'orders', {}, startMs)
    expect(created).toBe(true)
    expect(table.id).not.toBe(first.table.id)
    expect(table.indices).toEqual({})
    expect(await fixtureOf(engine, first.tenant, table).get('a')).toBeUndefined()
  })

  it('deleteTable: deletedAt is unique among the tables of that name, whatever the clock does', async ({ engine }) => {
    const { caller } = await makeTenant(engine)
    const instants = [startMs, startMs, startMs + 1, startMs, startMs - 1, startMs + 2, startMs + 2]
    const deleted = await deleteSeveral(engine, caller, instants)
    expect(new Set(deleted.map((table) => table.deletedAtMs)).size).toBe(instants.length)
    // Each can be named: deletedAt is how a restore tells them apart.
    for (const table of deleted) {
      const restored = await engine.tables.restore(caller, 'app', 'orders', table.deletedAtMs!, startMs)
      expect(restored).toMatchObject({ outcome: 'restored', table: { id: table.id } })
      await engine.tables.delete(caller, 'app', 'orders', startMs)
    }
  })

  it('deleteTable: of several at once, one deletes', async ({ engine }) => {
    const { caller } = await makeTenant(engine)
    await engine.tables.create(caller, 'app', 'orders', {}, startMs)
    const deleted = await Promise.all(
      Array.from({ length: 6 }, () => engine.tables.delete(caller, 'app', 'orders', startMs)),
    )
    expect(deleted.filter((table) => table !== undefined)).toHaveLength(1)
  })

  it('findDeletedTable: the newest recoverable deleted table of that name', async ({ engine }) => {
    const { caller, org } = await makeTenant(engine)
    const find = (nowMs: number) => engine.tables.findDeleted(org.id, 'app', 'orders', nowMs)
    expect(await find(startMs)).toBeUndefined()
    await engine.tables.create(caller, 'app', 'orders', {}, startMs)
    expect(await find(startMs)).toBeUndefined()
    await engine.tables.delete(caller, 'app', 'orders', startMs)
    const [, newest] = await deleteSeveral(engine, caller, [startMs + 10, startMs + 20])
    await deleteSeveral(engine, caller, [startMs + 30], 'other')
    expect(await find(startMs + 40)).toMatchObject({ id: newest!.id, deletedAtMs: startMs + 20 })
    // An active table of the name does not hide it.
    await engine.tables.create(caller, 'app', 'orders', {}, startMs + 40)
    expect(await find(startMs + 40)).toMatchObject({ id: newest!.id })
  })

  it('findDeletedTable: found in the last millisecond of the seven days, and not in the next', async ({ engine }) => {
    const { caller, org } = await makeTenant(engine)
    await deleteSeveral(engine, caller, [startMs])
    const end = startMs + recoveryMs
    expect(await engine.tables.findDeleted(org.id, 'app', 'orders', end - 1)).toBeDefined()
    expect(await engine.tables.findDeleted(org.id, 'app', 'orders', end)).toBeUndefined()
  })

  it('restoreTable: active again with all its records and indices', async ({ engine }) => {
    const fixture = await makeFixture(engine, { i1: { hashField: 'status', rangeField: 'rank' } })
    for (const rank of [2, 1, 3]) await fixture.put(`r${rank}`, { data: { status: 'open', rank } })
    await engine.tables.delete(fixture.tenant.caller, 'app', 'orders', startMs)
    const restored = await engine.tables.restore(fixture.tenant.caller, 'app', 'orders', undefined, startMs + 1)
    if (restored.outcome !== 'restored') throw new Error(restored.outcome)
    expect(withoutEpoch(restored.table)).toEqual(withoutEpoch(fixture.table)!)
    const again = fixtureOf(engine, fixture.tenant, restored.table)
    expect(await again.names(indexScan('i1', 'open'))).toEqual(['r1', 'r2', 'r3'])
    expect(await again.get('r2')).toMatchObject({ data: '{"status":"open","rank":2}', updatedAtMs: startMs })
  })

  it('restoreTable: the newest recoverable one, or the one deleted at deletedAt', async ({ engine }) => {
    const { caller } = await makeTenant(engine)
    const [first, second, third] = await deleteSeveral(engine, caller, [startMs, startMs + 10, startMs + 20])
    const restore = (deletedAtMs: number | undefined) =>
      engine.tables.restore(caller, 'app', 'orders', deletedAtMs, startMs + 30)
    expect(await restore(undefined)).toMatchObject({ outcome: 'restored', table: { id: third!.id, deletedAtMs: null } })
    await engine.tables.delete(caller, 'app', 'orders', startMs + 30)
    expect(await restore(startMs)).toMatchObject({ outcome: 'restored', table: { id: first!.id } })
    await engine.tables.delete(caller, 'app', 'orders', startMs + 40)
    expect(await restore(startMs + 10)).toMatchObject({ outcome: 'restored', table: { id: second!.id } })
  })

  it('restoreTable: a name that an active table has is taken, and nothing changes', async ({ engine }) => {
    const { caller, org } = await makeTenant(engine)
    await deleteSeveral(engine, caller, [startMs, startMs + 10])
    const { table } = await engine.tables.create(caller, 'app', 'orders', {}, startMs + 20)
    const restore = (deletedAtMs: number | undefined) =>
      engine.tables.restore(caller, 'app', 'orders', deletedAtMs, startMs + 20)
    expect(await restore(undefined)).toEqual({ outcome: 'taken', deletedAtMs: startMs + 10 })
    expect(await restore(startMs)).toEqual({ outcome: 'taken', deletedAtMs: startMs })
    expect(await restore(startMs + 5)).toEqual({ outcome: 'missing' })
    expect(await engine.tables.find(org.id, 'app', 'orders')).toMatchObject({ id: table.id })
    const listing = { orgId: org.id, db: 'app', after: undefined, limit: 100 }
    expect(await engine.tables.listDeleted(listing, startMs + 20)).toHaveLength(2)
  })

  it('restoreTable: already active and nothing deleted of that name is active, whatever deletedAt says', async ({
    engine,
  }) => {
    const { caller } = await makeTenant(engine)
    const { table } = await engine.tables.create(caller, 'app', 'orders', {}, startMs)
    await deleteSeveral(engine, caller, [startMs], 'other')
    for (const deletedAtMs of [undefined, startMs, 5]) {
      const result = await engine.tables.restore(caller, 'app', 'orders', deletedAtMs, startMs)
      expect(result).toMatchObject({ outcome: 'active', table: { id: table.id, deletedAtMs: null } })
    }
  })

  it('restoreTable: one past its seven days no longer counts, swept or not', async ({ engine }) => {
    const { caller } = await makeTenant(engine)
    await deleteSeveral(engine, caller, [startMs])
    const end = startMs + recoveryMs
    const { table } = await engine.tables.create(caller, 'app', 'orders', {}, startMs)
    const restore = (deletedAtMs: number | undefined, nowMs: number) =>
      engine.tables.restore(caller, 'app', 'orders', deletedAtMs, nowMs)
    expect(await restore(undefined, end - 1)).toEqual({ outcome: 'taken', deletedAtMs: startMs })
    expect(await restore(undefined, end)).toMatchObject({ outcome: 'active', table: { id: table.id } })
    expect(await restore(startMs, end)).toMatchObject({ outcome: 'active', table: { id: table.id } })
  })

  it('restoreTable: missing where there is neither an active nor a deleted one', async ({ engine }) => {
    const { caller } = await makeTenant(engine)
    await deleteSeveral(engine, caller, [startMs], 'other')
    for (const deletedAtMs of [undefined, startMs]) {
      expect(await engine.tables.restore(caller, 'app', 'orders', deletedAtMs, startMs)).toEqual({ outcome: 'missing' })
    }
  })

  it('restoreTable: missing for a deletedAt that names no recoverable table', async ({ engine }) => {
    const { caller } = await makeTenant(engine)
    await deleteSeveral(engine, caller, [startMs])
    for (const deletedAtMs of [startMs - 1, startMs + 1]) {
      expect(await engine.tables.restore(caller, 'app', 'orders', deletedAtMs, startMs)).toEqual({ outcome: 'missing' })
    }
  })

  it('restoreTable: works in the last millisecond of the seven days, and not in the next', async ({ engine }) => {
    const { caller } = await makeTenant(engine)
    const end = startMs + recoveryMs
    for (const [name, deletedAtMs] of [
      ['newest', undefined],
      ['named', startMs],
    ] as const) {
      const [table] = await deleteSeveral(engine, caller, [startMs], name)
      expect(await engine.tables.restore(caller, 'app', name, deletedAtMs, end)).toEqual({ outcome: 'missing' })
      const restored = await engine.tables.restore(caller, 'app', name, deletedAtMs, end - 1)
      expect(restored).toMatchObject({ outcome: 'restored', table: { id: table!.id } })
    }
  })

  it('restoreTable: each of several of one name has its own seven days', async ({ engine }) => {
    const { caller, org } = await makeTenant(engine)
    const [, newer] = await deleteSeveral(engine, caller, [startMs, startMs + 1_000])
    const nowMs = startMs + recoveryMs
    const listing = { orgId: org.id, db: 'app', after: undefined, limit: 100 }
    expect((await engine.tables.listDeleted(listing, nowMs)).map((table) => table.id)).toEqual([newer!.id])
    expect(await engine.tables.restore(caller, 'app', 'orders', startMs, nowMs)).toEqual({ outcome: 'missing' })
    expect(await engine.tables.restore(caller, 'app', 'orders', undefined, nowMs)).toMatchObject({
      outcome: 'restored',
      table: { id: newer!.id },
    })
  })

  it('restoreTable: a clock that went back takes nothing away', async ({ engine }) => {
    const { caller } = await makeTenant(engine)
    const [table] = await deleteSeveral(engine, caller, [startMs])
    expect(await engine.tables.restore(caller, 'app', 'orders', undefined, startMs - 60_000)).toMatchObject({
      outcome: 'restored',
      table: { id: table!.id },
    })
  })

  it('listTables: active ones by name in byte order, after `after`, at most `limit`', async ({ engine }) => {
    const { caller, org } = await makeTenant(engine)
    const names = ['a', 'a-b', 'a0', 'a_b', 'aa', 'ab-c', 'ab0', 'ab_c', 'abc', 'b']
    for (const name of names.toReversed()) await engine.tables.create(caller, 'app', name, {}, startMs)
    await deleteSeveral(engine, caller, [startMs], 'a1')
    await engine.tables.create(caller, 'ap', 'a2', {}, startMs)
    const list = async (after: string | undefined, limit: number) => {
      const place = after === undefined ? undefined : { name: after, deletedAtMs: 0 }
      const tables = await engine.tables.list({ orgId: org.id, db: 'app', after: place, limit })
      return tables.map((table) => table.name)
    }
    expect(await list(undefined, 100)).toEqual(names)
    expect(await list(undefined, 3)).toEqual(['a', 'a-b', 'a0'])
    expect(await list('a0', 3)).toEqual(['a_b', 'aa', 'ab-c'])
    expect(await list('a1', 2)).toEqual(['a_b', 'aa'])
    expect(await list('b', 3)).toEqual([])
  })

  it('listTables: the same objects that findTable gives', async ({ engine }) => {
    const { caller, org } = await makeTenant(engine)
    await engine.tables.create(caller, 'app', 'orders', allSlots, startMs)
    const [listed] = await engine.tables.list({ orgId: org.id, db: 'app', after: undefined, limit: 10 })
    expect(withoutEpoch(listed)).toEqual(withoutEpoch(await engine.tables.find(org.id, 'app', 'orders')))
  })

  it('listDeletedTables: the recoverable ones, by name, then deletedAt, in pages', async ({ engine }) => {
    const { caller, org } = await makeTenant(engine)
    await deleteSeveral(engine, caller, [startMs + 2, startMs + 1, startMs + 7], 'b')
    await deleteSeveral(engine, caller, [startMs + 5], 'a_')
    await deleteSeveral(engine, caller, [startMs + 9, startMs + 3], 'a-')
    await engine.tables.create(caller, 'app', 'b', {}, startMs)
    const list = async (after: { name: string; deletedAtMs: number } | undefined, limit: number, nowMs: number) => {
      const tables = await engine.tables.listDeleted({ orgId: org.id, db: 'app', after, limit }, nowMs)
      return tables.map((table) => ({ name: table.name, deletedAtMs: table.deletedAtMs! }))
    }
    const nowMs = startMs + 10
    const all = await list(undefined, 100, nowMs)
    expect(all.map(({ name }) => name)).toEqual(['a-', 'a-', 'a_', 'b', 'b', 'b'])
    for (const name of ['a-', 'b']) {
      const instants = all.filter((table) => table.name === name).map((table) => table.deletedAtMs)
      expect(instants).toEqual([...new Set(instants)].sort((a, b) => a - b))
    }
    const met: unknown[] = []
    for (let after: { name: string; deletedAtMs: number } | undefined; ; ) {
      const page = await list(after, 2, nowMs)
      met.push(...page)
      if (page.length < 2) break
      after = page.at(-1)
    }
    expect(met).toEqual(all)
    // A restored one leaves the list.
    await engine.tables.restore(caller, 'app', 'a_', undefined, nowMs)
    expect((await list(undefined, 100, nowMs)).map(({ name }) => name)).toEqual(['a-', 'a-', 'b', 'b', 'b'])
  })

  it('listDeletedTables: listed in the last millisecond of the seven days, and not in the next', async ({ engine }) => {
    const { caller, org } = await makeTenant(engine)
    await deleteSeveral(engine, caller, [startMs])
    const listing = { orgId: org.id, db: 'app', after: undefined, limit: 100 }
    expect(await engine.tables.listDeleted(listing, startMs + recoveryMs - 1)).toHaveLength(1)
    expect(await engine.tables.listDeleted(listing, startMs + recoveryMs)).toEqual([])
  })

  it('listDatabases: names with an active table, each once, by name, after `after`, at most `limit`', async ({
    engine,
  }) => {
    const { caller, org } = await makeTenant(engine)
    const dbs = ['a', 'a-1', 'a0', 'a_1', 'ab']
    for (const db of dbs.toReversed()) {
      for (const name of ['one', 'two']) await engine.tables.create(caller, db, name, {}, startMs)
    }
    await engine.tables.create(caller, 'a9', 'gone', {}, startMs)
    await engine.tables.delete(caller, 'a9', 'gone', startMs)
    await engine.tables.delete(caller, 'a0', 'one', startMs)
    expect(await engine.tables.listDatabases(org.id, undefined, 100)).toEqual(dbs)
    expect(await engine.tables.listDatabases(org.id, undefined, 2)).toEqual(['a', 'a-1'])
    expect(await engine.tables.listDatabases(org.id, 'a-1', 2)).toEqual(['a0', 'a_1'])
    expect(await engine.tables.listDatabases(org.id, 'a9', 100)).toEqual(['a_1', 'ab'])
    expect(await engine.tables.listDatabases(org.id, 'ab', 100)).toEqual([])
    await engine.tables.delete(caller, 'a0', 'two', startMs)
    expect(await engine.tables.listDatabases(org.id, undefined, 100)).toEqual(['a', 'a-1', 'a_1', 'ab'])
  })
}
