import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Json, runCubby, storeArguments } from '../harness.ts'
import { between, dayMs, graceMs, minuteMs, readClock, secondMs, setNow } from './clock.ts'
import { kinds, makeResource, type Resource } from './resource.ts'
import { createKey, freshName, inParallel, makeTable, ok, refused, type TestTable, useService } from './service.ts'

const service = useService({ clock: true })

let clock: TestTable
beforeAll(async () => {
  clock = await service.table()
})
beforeEach(() => service.server.setClock(0))

const restore = (table: TestTable) => service.api.post(`${table.path}/restore`)

const listsDeleted = async (table: TestTable): Promise<boolean> => {
  const { tables } = ok(await service.api.get(`/v1/${table.db}?deleted=true&limit=1000`))
  return tables.some((entry: Json) => entry.table === table.name)
}

for (const kind of kinds) {
  const missing = `${kind.word}_not_found`
  const make = () => makeResource(kind, service.api)
  const isListed = async ({ created }: Resource): Promise<boolean> => {
    const listing = ok(await service.api.get(`${kind.listPath('app')}?deleted=true&limit=1000`))
    return listing[kind.plural].some((entry: Json) => entry[kind.word] === created[kind.word])
  }

  describe(`the 7 days of a deleted ${kind.word}`, () => {
    test('restorable for 7 days', async () => {
      const one = await make()
      await one.add('one')
      const { recoverableUntil } = await one.delete()
      setNow(service.server, recoverableUntil - minuteMs)
      expect(await isListed(one)).toBe(true)
      refused(await service.api.get(one.path), 404, missing)
      expect(await one.restore()).toEqual(one.created)
      expect(await one.contents()).toEqual(['one'])
    })

    test('not restorable after 7 days: 404, and the hint no longer offers it', async () => {
      const one = await make()
      const { deletedAt, recoverableUntil } = await one.delete()
      setNow(service.server, recoverableUntil)
      refused(await one.tryRestore(), 404, missing)
      refused(await one.tryRestore({ deletedAt }), 404, missing)
      expect(await isListed(one)).toBe(false)
      expect(refused(await service.api.get(one.path), 404, missing).hint).not.toContain('/restore')
      await one.create()
    })

    test('several of one name have 7 days each', async () => {
      const one = await make()
      await one.add('first')
      const first = await one.delete()
      service.server.setClock(2 * dayMs)
      await one.create()
      await one.add('second')
      const second = await one.delete()
      expect(second.deletedAt - first.deletedAt).toBeGreaterThanOrEqual(2 * dayMs - secondMs)
      setNow(service.server, first.recoverableUntil)
      refused(await one.tryRestore({ deletedAt: first.deletedAt }), 404, missing)
      setNow(service.server, second.recoverableUntil - minuteMs)
      await one.restore()
      expect(await one.contents()).toEqual(['second'])
    })

    test('each has a deletedAt of its own, also while the clock steps back', async () => {
      const one = await make()
      const deletedAts: number[] = []
      for (const [i, offset] of [dayMs, 0, dayMs, 0].entries()) {
        service.server.setClock(offset)
        if (i > 0) await one.create()
        await one.add(`number-${i}`)
        deletedAts.push((await one.delete()).deletedAt)
      }
      expect(new Set(deletedAts).size).toBe(4)
      for (const [i, deletedAt] of deletedAts.entries()) {
        await one.restore({ deletedAt })
        expect(await one.contents()).toEqual([`number-${i}`])
        await one.delete()
      }
    })
  })
}

describe('the instant at which the 7 days end', () => {
  test('is exact: at 7 days less a millisecond the table is listed, at 7 days it is not', async () => {
    const table = await service.table()
    const { recoverableUntil } = ok(await service.api.delete(table.path))
    setNow(service.server, recoverableUntil - 150)
    for (let found = true; found; ) {
      const poll = await between(clock, () => listsDeleted(table))
      found = poll.found
      if (found) expect(poll.before).toBeLessThan(recoverableUntil)
      else expect(poll.after).toBeGreaterThanOrEqual(recoverableUntil)
    }
  })

  test('is exact for restore too', async () => {
    const tables: TestTable[] = []
    for (let i = 0; i < 24; i++) tables.push(await service.table())
    const deadlines: number[] = []
    for (const table of tables) deadlines.push(ok(await service.api.delete(table.path)).recoverableUntil)
    // The order is from the last deleted to the first, while the clock passes their deadlines.
    setNow(service.server, deadlines[tables.length / 2]!)
    for (let i = tables.length - 1; i >= 0; i--) {
      const { before, found, after } = await between(clock, () => restore(tables[i]!))
      if (found.status === 200) {
        expect(before).toBeLessThan(deadlines[i]!)
      } else {
        refused(found, 404, 'table_not_found')
        expect(after).toBeGreaterThanOrEqual(deadlines[i]!)
      }
    }
  })
})

describe('the sweep of deleted tables', () => {
  /** Lets the sweep run at `instantMs`, then looks from the present. */
  const sweepUntil = async (instantMs: number, isDone: () => Promise<boolean>) => {
    // Ever longer, should the machine be so busy that none comes by.
    for (let pauseMs = 250; pauseMs < 10_000; pauseMs *= 1.3) {
      setNow(service.server, instantMs)
      await Bun.sleep(pauseMs)
      service.server.setClock(0)
      if (await isDone()) return
    }
    throw new Error('the sweep did not come by')
  }
  const records = (count: number) => Array.from({ length: count }, (_, i) => ({ hashKey: `k${i}`, data: { n: i % 7 } }))
  const fill = async (table: TestTable, count: number) => {
    const all = records(count)
    const batches = Array.from({ length: Math.ceil(count / 25) }, (_, i) => all.slice(i * 25, i * 25 + 25))
    await inParallel(batches, 8, (batch) => table.fill(batch))
  }

  test('removes nothing until 5 minutes past the deadline, then for good', async () => {
    const db = freshName('db')
    const canary = await makeTable(service.api, undefined, 'canary', db)
    const table = await makeTable(service.api, { i1: { hashField: 'n' } }, 'table', db)
    for (const each of [canary, table]) await fill(each, 60)
    // Deleted a minute before the table: once it is gone, the sweep has passed the table by.
    service.server.setClock(-minuteMs)
    ok(await service.api.delete(canary.path))
    service.server.setClock(0)
    const { recoverableUntil } = ok(await service.api.delete(table.path))
    await sweepUntil(recoverableUntil + graceMs - 30 * secondMs, async () => !(await listsDeleted(canary)))
    refused(await restore(canary), 404, 'table_not_found')
    expect(await listsDeleted(table)).toBe(true)
    ok(await restore(table))
    expect((await table.items({ index: 't' })).length).toBe(60)
    const again = ok(await service.api.delete(table.path))
    await sweepUntil(again.recoverableUntil + graceMs + secondMs, async () => !(await listsDeleted(table)))
    refused(await restore(table), 404, 'table_not_found')
    expect(await service.server.cubby('verify')).toMatchObject({ exitCode: 0 })
  })

  test('touches neither the active table of the same name nor its neighbours', async () => {
    const db = freshName('db')
    const table = await makeTable(service.api, undefined, 'table', db)
    const neighbour = await makeTable(service.api, undefined, 'neighbour', db)
    const stranger = await makeTable(service.stranger, undefined, 'table', db)
    for (const each of [table, neighbour, stranger]) await fill(each, 30)
    const { recoverableUntil } = ok(await service.api.delete(table.path))
    ok(await service.api.post(table.path), 201)
    await fill(table, 10)
    await sweepUntil(recoverableUntil + graceMs + secondMs, async () => !(await listsDeleted(table)))
    expect((await table.items({ index: 't' })).length).toBe(10)
    expect((await neighbour.items({ index: 't' })).length).toBe(30)
    expect((await stranger.items({ index: 't' })).length).toBe(30)
  })

  test('a clock that steps back in the middle of it finds the table whole or gone', async () => {
    const tables: TestTable[] = []
    for (let i = 0; i < 3; i++) {
      const table = await service.table()
      await fill(table, 1500)
      tables.push(table)
    }
    let deadline = 0
    for (const table of tables) deadline = ok(await service.api.delete(table.path)).recoverableUntil
    for (const [i, table] of tables.entries()) {
      setNow(service.server, deadline + graceMs + secondMs)
      await Bun.sleep(60 + i * 40)
      service.server.setClock(0)
      const answer = await restore(table)
      if (answer.status === 200) {
        expect((await table.items({ index: 't', limit: 1000 })).length).toBe(1500)
      } else {
        refused(answer, 404, 'table_not_found')
      }
    }
    expect(await service.server.cubby('verify')).toMatchObject({ exitCode: 0 })
  })
})

describe('a clock that steps back and forth', () => {
  test('updatedAt strictly increases with every write while the record exists', async () => {
    const table = await service.table()
    let last = 0
    for (const offset of [0, dayMs, -dayMs, 0, -365 * dayMs, 30 * dayMs, 29 * dayMs, 0]) {
      service.server.setClock(offset)
      for (let i = 0; i < 3; i++) {
        const { updatedAt } = await table.put('a')
        expect(updatedAt).toBeGreaterThan(last)
        last = updatedAt
        await table.batch([{ op: 'put', hashKey: 'a', data: {} }])
        const next = ok(await table.get('a')).updatedAt
        expect(next).toBeGreaterThan(last)
        last = next
      }
    }
  })

  test('versions ahead of the clock still guard conditional writes', async () => {
    const table = await service.table()
    service.server.setClock(dayMs)
    const ahead = await table.put('a')
    service.server.setClock(0)
    const next = ok(await table.tryPut({ hashKey: 'a', data: {} }, { 'if-match': `"${ahead.updatedAt}"` }))
    expect(next.updatedAt).toBeGreaterThan(ahead.updatedAt)
    const stale = await table.tryPut({ hashKey: 'a', data: {} }, { 'if-match': `"${ahead.updatedAt}"` })
    refused(stale, 412, 'precondition_failed')
  })

  test('a record that is deleted and created again starts with a new version', async () => {
    const table = await service.table()
    service.server.setClock(dayMs)
    const ahead = await table.put('a')
    service.server.setClock(0)
    ok(await table.delete('a'))
    expect((await table.put('a')).updatedAt).toBeLessThan(ahead.updatedAt)
  })

  test('t goes by updatedAt, then creation, also when versions run ahead of the clock', async () => {
    const table = await service.table()
    service.server.setClock(dayMs)
    await table.put('ahead')
    service.server.setClock(0)
    await table.put('present')
    service.server.setClock(-dayMs)
    await table.put('past')
    await table.put('ahead', { again: true })
    expect(await table.hashes({ index: 't' })).toEqual(['ahead', 'present', 'past'])
    expect(await table.hashes({ index: 't', ascending: true })).toEqual(['past', 'present', 'ahead'])
  })

  test("a key's expiry follows the clock", async () => {
    const { key } = await createKey(service.api, { kind: 'public', expiresAt: Date.now() + dayMs })
    const holder = service.server.as(key)
    ok(await holder.get('/v1'))
    service.server.setClock(dayMs)
    refused(await holder.get('/v1'), 401, 'expired_api_key')
    service.server.setClock(dayMs - minuteMs)
    ok(await holder.get('/v1'))
  })

  test('expiry is exact: from the instant now >= expiresAt', async () => {
    const { key, expiresAt } = await createKey(service.api, { kind: 'public', expiresAt: Date.now() + dayMs })
    setNow(service.server, expiresAt - 150)
    for (let valid = true; valid; ) {
      const poll = await between(clock, () => service.server.as(key).get('/v1'))
      valid = poll.found.status === 200
      if (valid) expect(poll.before).toBeLessThan(expiresAt)
      else expect(poll.after).toBeGreaterThanOrEqual(expiresAt)
    }
  })
})

describe('lastUsedAt', () => {
  test('is the time of use, also of a use just before a stop', async () => {
    const { id, key } = await createKey(service.api, { kind: 'public' })
    const listed = async () => ok(await service.api.get('/api/keys?limit=1000')).keys.find((k: Json) => k.id === id)
    expect((await listed()).lastUsedAt).toBeNull()
    setNow(service.server, Date.UTC(2031, 0, 1))
    ok(await service.server.as(key).get('/v1'))
    await service.server.restart()
    const { lastUsedAt } = await listed()
    expect(Math.abs(lastUsedAt - Date.UTC(2031, 0, 1))).toBeLessThanOrEqual(minuteMs)
  })
})

describe('the clock that tests set', () => {
  test('is refused outside tests: exit 1 and a line that says so', async () => {
    const args = ['serve', ...storeArguments(service.server.dataDir), '--port', '0']
    for (const env of [{ NODE_ENV: undefined }, { NODE_ENV: 'production' }]) {
      const result = await runCubby(args, { env: { CUBBY_TEST_CLOCK: '/dev/null', ...env } })
      expect(result.exitCode).toBe(1)
      expect(result.stderr).toContain('CUBBY_TEST_CLOCK')
    }
  })

  test('is what the server goes by', async () => {
    setNow(service.server, Date.UTC(2031, 0, 1))
    const now = await readClock(clock)
    expect(new Date(now).toISOString()).toStartWith('2031-01-01T00:00')
  })
})
