import { describe, expect, test } from 'bun:test'
import { freshName, makeTable, ok, refused, useService } from './service.ts'

const service = useService()
const weekMs = 7 * 24 * 60 * 60 * 1000

describe('names', () => {
  for (const name of ['a', '0', '-', '-a', 'a_b-c', 'a_', 'x'.repeat(64), 'query', 'batch', 'restore', 'keys', 'v1']) {
    test(`"${name}" names a database and a table`, async () => {
      ok(await service.api.post(`/v1/${name}/${name}`), 201)
      expect(ok(await service.api.get(`/v1/${name}/${name}`))).toMatchObject({ db: name, table: name })
    })
  }

  for (const name of ['x'.repeat(65), 'A', 'Orders', 'a.b', 'a%20b', '%C3%A9', 'a%00', 'a%2Fb', 'a+b', 'a~', 'a:b']) {
    test(`"${name}" is refused as a database and as a table: invalid_name`, async () => {
      refused(await service.api.raw('POST', `/v1/${name}/orders`), 400, 'invalid_name')
      refused(await service.api.raw('POST', `/v1/app/${name}`), 400, 'invalid_name')
      refused(await service.api.raw('GET', `/v1/${name}`), 400, 'invalid_name')
      refused(await service.api.raw('DELETE', `/v1/app/${name}`), 400, 'invalid_name')
      refused(await service.api.raw('GET', `/v1/app/${name}/key`), 400, 'invalid_name')
    })
  }

  test('a leading _ is reserved in either place', async () => {
    refused(await service.api.post('/v1/_app/orders'), 400, 'reserved_name')
    refused(await service.api.post('/v1/app/_orders'), 400, 'reserved_name')
    refused(await service.api.post('/v1/app/_'), 400, 'reserved_name')
    refused(await service.api.get('/v1/_app'), 400, 'reserved_name')
    refused(await service.api.put('/v1/app/_orders', { hashKey: 'a', data: {} }), 400, 'reserved_name')
    refused(await service.api.get('/v1/app/_orders/a'), 400, 'reserved_name')
  })
})

describe('create', () => {
  test('an empty body makes a table without indices: 201 { db, table, indices, status, createdAt }', async () => {
    const name = freshName()
    const before = Date.now()
    const table = ok(await service.api.post(`/v1/app/${name}`), 201)
    expect(table).toEqual({ db: 'app', table: name, indices: {}, status: 'active', createdAt: expect.any(Number) })
    expect(Number.isInteger(table.createdAt)).toBe(true)
    expect(table.createdAt).toBeGreaterThanOrEqual(before)
    expect(table.createdAt).toBeLessThanOrEqual(Date.now())
  })

  test('{} and { "indices": {} } declare none, and are the same declaration', async () => {
    const name = freshName()
    const table = ok(await service.api.post(`/v1/app/${name}`, {}), 201)
    expect(table.indices).toEqual({})
    expect(ok(await service.api.post(`/v1/app/${name}`, { indices: {} }))).toEqual(table)
    expect(ok(await service.api.post(`/v1/app/${name}`))).toEqual(table)
  })

  const five = {
    i1: { hashField: 'status', rangeField: 'createdAt' },
    i2: { hashField: 'status' },
    i3: { hashField: 'créé le', rangeField: 'créé le' },
    i4: { hashField: 'x'.repeat(255), rangeField: '__proto__' },
    i5: { hashField: 'toString' },
  }

  test('up to five slots, with and without a range field, come back as declared', async () => {
    const table = await makeTable(service.api, five)
    expect(table.created.indices).toEqual(five)
    expect(ok(await service.api.get(table.path)).indices).toEqual(five)
  })

  test('a gap between slots is no fault', async () => {
    const table = await makeTable(service.api, { i4: { hashField: 'a' } })
    expect(table.created.indices).toEqual({ i4: { hashField: 'a' } })
  })

  test('repeated with the same declaration: 200, the table as it is', async () => {
    const table = await makeTable(service.api, { i1: { hashField: 'a', rangeField: 'b' }, i2: { hashField: 'c' } })
    await table.put('kept', { a: 1, b: 2 })
    const again = { i2: { hashField: 'c' }, i1: { rangeField: 'b', hashField: 'a' } }
    expect(ok(await service.api.post(table.path, { indices: again }))).toEqual(table.created)
    ok(await table.get('kept'))
  })

  const others = {
    'no indices': undefined,
    'one more': { i1: { hashField: 'a' }, i2: { hashField: 'b' } },
    'another slot': { i2: { hashField: 'a' } },
    'another field': { i1: { hashField: 'b' } },
    'a range field': { i1: { hashField: 'a', rangeField: 'b' } },
  }
  for (const [what, indices] of Object.entries(others)) {
    test(`repeated with another declaration (${what}): 409 table_exists, indices being immutable`, async () => {
      const table = await makeTable(service.api, { i1: { hashField: 'a' } })
      refused(await service.api.post(table.path, indices && { indices }), 409, 'table_exists')
      expect(ok(await service.api.get(table.path))).toEqual(table.created)
    })
  }

  const invalid: [string, unknown, string?][] = [
    ['slot i0', { i0: { hashField: 'a' } }],
    ['slot i6', { i6: { hashField: 'a' } }],
    ['slot I1', { I1: { hashField: 'a' } }],
    ['slot t', { t: { hashField: 'a' } }],
    ['slot __proto__', JSON.parse('{ "__proto__": { "hashField": "a" } }')],
    ['an unknown member', { i1: { hashField: 'a', unique: true } }, 'indices.i1.unique'],
    ['no hashField', { i1: {} }, 'indices.i1.hashField'],
    ['a range field alone', { i1: { rangeField: 'a' } }, 'indices.i1.hashField'],
    ['an empty hashField', { i1: { hashField: '' } }, 'indices.i1.hashField'],
    ['an empty rangeField', { i1: { hashField: 'a', rangeField: '' } }, 'indices.i1.rangeField'],
    ['a hashField of 256 characters', { i1: { hashField: 'x'.repeat(256) } }, 'indices.i1.hashField'],
    [
      'a rangeField of 256 characters',
      { i1: { hashField: 'a', rangeField: 'x'.repeat(256) } },
      'indices.i1.rangeField',
    ],
    ['a number as hashField', { i1: { hashField: 1 } }, 'indices.i1.hashField'],
    ['a string as declaration', { i1: 'a' }],
    ['null as declaration', { i1: null }],
  ]
  for (const [what, indices, field] of invalid) {
    test(`${what}: invalid_index, and no table is made`, async () => {
      const path = `/v1/app/${freshName()}`
      refused(await service.api.post(path, { indices }), 400, 'invalid_index', field)
      refused(await service.api.get(path), 404, 'table_not_found')
    })
  }

  test('of racing creators of one name with different declarations one makes it, the others get 409', async () => {
    const path = `/v1/app/${freshName()}`
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => service.api.post(path, { indices: { i1: { hashField: `f${i}` } } })),
    )
    const made = answers.filter((answer) => answer.status === 201)
    expect(made.length).toBe(1)
    for (const answer of answers) if (answer.status !== 201) refused(answer, 409, 'table_exists')
    expect(ok(await service.api.get(path))).toEqual(made[0]!.body)
  })

  test('a database is there as soon as a table is', async () => {
    const db = freshName('db')
    expect(ok(await service.api.get('/v1?limit=1000')).databases).not.toContain(db)
    await makeTable(service.api, undefined, 'orders', db)
    expect(ok(await service.api.get('/v1?limit=1000')).databases).toContain(db)
  })
})

describe('metadata', () => {
  test('GET gives the same object as the creation', async () => {
    const table = await makeTable(service.api, { i2: { hashField: 'a' } })
    expect(ok(await service.api.get(table.path))).toEqual(table.created)
    expect(ok(await service.reader.get(table.path))).toEqual(table.created)
  })

  test('an unknown table: 404 table_not_found, whose hint shows the call that creates it', async () => {
    const error = refused(await service.api.get('/v1/app/nowhere'), 404, 'table_not_found')
    expect(error.hint).toContain('POST /v1/app/nowhere')
  })
})

describe('soft delete', () => {
  test('200 with status deleted, deletedAt and recoverableUntil 7 days later', async () => {
    const table = await service.table({ i1: { hashField: 'a' } })
    const before = Date.now()
    const deleted = ok(await service.api.delete(table.path))
    expect(deleted).toEqual({
      ...table.created,
      status: 'deleted',
      deletedAt: expect.any(Number),
      recoverableUntil: deleted.deletedAt + weekMs,
    })
    expect(deleted.deletedAt).toBeGreaterThanOrEqual(before)
    expect(deleted.deletedAt).toBeLessThanOrEqual(Date.now())
  })

  test('answers 404 table_not_found to everything but restore, the hint naming restore and its deadline', async () => {
    const table = await service.table({ i1: { hashField: 'a' } })
    await table.put('r', { a: 1 })
    const { recoverableUntil } = ok(await service.api.delete(table.path))
    const answers = [
      await service.api.get(table.path),
      await service.api.delete(table.path),
      await table.tryPut({ hashKey: 'r', data: {} }),
      await table.get('r'),
      await table.delete('r'),
      await table.get('r', 'x'),
      await table.tryQuery({ hash: 'r' }),
      await table.tryQuery({ index: 't' }),
      await table.tryQuery({ index: 'i1', hash: 1 }),
      await table.tryBatch([{ op: 'delete', hashKey: 'r' }]),
    ]
    for (const answer of answers) {
      const { hint } = refused(answer, 404, 'table_not_found')
      expect(hint).toContain(`POST ${table.path}/restore`)
      const deadline = new Date(recoverableUntil).toISOString()
      expect([deadline, String(recoverableUntil)].some((spelled) => hint.includes(spelled))).toBe(true)
    }
  })

  test('an unknown table: 404 table_not_found', async () => {
    refused(await service.api.delete('/v1/app/nowhere'), 404, 'table_not_found')
  })

  test('its name is free at once: creating it again makes an empty table', async () => {
    const table = await service.table({ i1: { hashField: 'a' } })
    await table.put('r', { a: 1 })
    ok(await service.api.delete(table.path))
    ok(await service.api.post(table.path, { indices: { i1: { hashField: 'b' } } }), 201)
    refused(await table.get('r'), 404, 'record_not_found')
    expect(await table.hashes({ index: 't' })).toEqual([])
    expect(await table.hashes({ index: 'i1', hash: 1 })).toEqual([])
  })

  test('it holds from the moment the answer is sent, for writers that are busy with the table too', async () => {
    const table = await service.table()
    let deletedAnswered = false
    const writer = async (name: string) => {
      for (let i = 0; ; i++) {
        const startedAfter = deletedAnswered
        const answer = await table.tryPut({ hashKey: `${name}-${i}`, data: {} })
        if (answer.status !== 200) {
          refused(answer, 404, 'table_not_found')
          return
        }
        expect(startedAfter).toBe(false)
      }
    }
    const writers = Promise.all(Array.from({ length: 8 }, (_, i) => writer(`w${i}`)))
    ok(await table.tryPut({ hashKey: 'first', data: {} }))
    ok(await service.api.delete(table.path))
    deletedAnswered = true
    await writers
  })
})

describe('while a table is deleted and created again during writes', () => {
  // A writer with the old table in its cache must not lose its record, or put it into the new table unnoticed.
  test('every acknowledged write is in exactly one of the tables of that name', async () => {
    const table = await service.table()
    const acknowledged: string[] = []
    let generations = 0
    let done = false
    const written: [string, number, number][] = []
    const writer = async (name: string) => {
      for (let i = 0; !done; i++) {
        const hashKey = `${name}-${i}`
        const before = generations
        const answer = await table.tryPut({ hashKey, data: {} })
        if (answer.status !== 200) {
          refused(answer, 404, 'table_not_found')
          continue
        }
        acknowledged.push(hashKey)
        written.push([hashKey, before, generations])
      }
    }
    const writers = Array.from({ length: 8 }, (_, i) => writer(`w${i}`))
    const deletedAts: number[] = []
    for (let i = 0; i < 8; i++) {
      const enough = acknowledged.length + 20
      while (acknowledged.length < enough) await Bun.sleep(1)
      deletedAts.push(ok(await service.api.delete(table.path)).deletedAt)
      ok(await service.api.post(table.path), 201)
      generations++
    }
    done = true
    await Promise.all(writers)
    deletedAts.push(ok(await service.api.delete(table.path)).deletedAt)
    const found = new Map<string, number>()
    for (const [generation, deletedAt] of deletedAts.entries()) {
      ok(await service.api.post(`${table.path}/restore`, { deletedAt }))
      for (const hashKey of await table.hashes({ index: 't', limit: 1000 })) {
        expect(found.has(hashKey)).toBe(false)
        found.set(hashKey, generation)
      }
      ok(await service.api.delete(table.path))
    }
    expect([...found.keys()].sort()).toEqual(acknowledged.sort())
    for (const [hashKey, earliest, latest] of written) {
      expect(found.get(hashKey)!).toBeGreaterThanOrEqual(earliest)
      // The creation's answer may be on its way while the new table is written to already.
      expect(found.get(hashKey)!).toBeLessThanOrEqual(latest + 1)
    }
  })
})

describe('restore', () => {
  test('200, the table active again with all its records, versions and indices', async () => {
    const table = await service.table({ i1: { hashField: 'a' } })
    const one = await table.put('one', { a: 1 })
    const two = await table.put('two', { a: 1 }, { rangeKey: 'x', ttl: 4102444800 })
    ok(await service.api.delete(table.path))
    expect(ok(await service.api.post(`${table.path}/restore`))).toEqual(table.created)
    expect(ok(await service.api.get(table.path))).toEqual(table.created)
    expect(ok(await table.get('one'))).toEqual(one)
    expect(await table.items({ index: 'i1', hash: 1 })).toEqual([one, two])
    expect(await table.items({ index: 't' })).toEqual([two, one])
  })

  test('{} is as an empty body', async () => {
    const table = await service.table()
    ok(await service.api.delete(table.path))
    expect(ok(await service.api.post(`${table.path}/restore`, {}))).toEqual(table.created)
  })

  test('every soft-deleted table of one name stays restorable; without deletedAt the newest', async () => {
    const table = await service.table()
    const deletedAts: number[] = []
    for (const which of ['first', 'second', 'third']) {
      if (which !== 'first') ok(await service.api.post(table.path), 201)
      await table.put(which)
      deletedAts.push(ok(await service.api.delete(table.path)).deletedAt)
    }
    expect(new Set(deletedAts).size).toBe(3)
    ok(await service.api.post(`${table.path}/restore`))
    expect(await table.hashes({ index: 't' })).toEqual(['third'])
    ok(await service.api.delete(table.path))
    ok(await service.api.post(`${table.path}/restore`, { deletedAt: deletedAts[0] }))
    expect(await table.hashes({ index: 't' })).toEqual(['first'])
    ok(await service.api.delete(table.path))
    ok(await service.api.post(`${table.path}/restore`, { deletedAt: deletedAts[1] }))
    expect(await table.hashes({ index: 't' })).toEqual(['second'])
  })

  test('several deletions in a hurry have a deletedAt each', async () => {
    const table = await service.table()
    const seen = new Set([ok(await service.api.delete(table.path)).deletedAt])
    for (let i = 0; i < 10; i++) {
      ok(await service.api.post(table.path), 201)
      seen.add(ok(await service.api.delete(table.path)).deletedAt)
    }
    expect(seen.size).toBe(11)
  })

  test('the name taken by an active table: 409, the hint giving the deletedAt to pass later', async () => {
    const table = await service.table()
    await table.put('old')
    const { deletedAt } = ok(await service.api.delete(table.path))
    ok(await service.api.post(table.path), 201)
    await table.put('new')
    const taken = refused(await service.api.post(`${table.path}/restore`), 409, 'table_exists')
    expect(taken.hint).toContain(String(deletedAt))
    const named = refused(await service.api.post(`${table.path}/restore`, { deletedAt }), 409, 'table_exists')
    expect(named.hint).toContain(String(deletedAt))
    expect(await table.hashes({ index: 't' })).toEqual(['new'])
    ok(await service.api.delete(table.path))
    ok(await service.api.post(`${table.path}/restore`, { deletedAt }))
    expect(await table.hashes({ index: 't' })).toEqual(['old'])
  })

  test('a deletedAt that names no recoverable table: 404 table_not_found', async () => {
    const table = await service.table()
    const { deletedAt } = ok(await service.api.delete(table.path))
    refused(await service.api.post(`${table.path}/restore`, { deletedAt: deletedAt + 1 }), 404, 'table_not_found')
    refused(await service.api.post(`${table.path}/restore`, { deletedAt: 0 }), 404, 'table_not_found')
    ok(await service.api.post(`${table.path}/restore`, { deletedAt }))
  })

  test('already active and nothing deleted of that name: 200, unchanged, whatever deletedAt says', async () => {
    const table = await service.table({ i1: { hashField: 'a' } })
    await table.put('kept')
    expect(ok(await service.api.post(`${table.path}/restore`))).toEqual(table.created)
    expect(ok(await service.api.post(`${table.path}/restore`, { deletedAt: 1 }))).toEqual(table.created)
    ok(await table.get('kept'))
  })

  test('a second restore of the same table: 200, unchanged', async () => {
    const table = await service.table()
    const { deletedAt } = ok(await service.api.delete(table.path))
    ok(await service.api.post(`${table.path}/restore`, { deletedAt }))
    expect(ok(await service.api.post(`${table.path}/restore`, { deletedAt }))).toEqual(table.created)
  })

  test('neither active nor deleted: 404 table_not_found', async () => {
    refused(await service.api.post('/v1/app/nowhere/restore'), 404, 'table_not_found')
    refused(await service.api.post('/v1/app/nowhere/restore', { deletedAt: 1 }), 404, 'table_not_found')
  })

  for (const deletedAt of ['"1"', '1.5', 'true', '[]']) {
    test(`deletedAt: ${deletedAt} is refused`, async () => {
      const table = await service.table()
      ok(await service.api.delete(table.path))
      const answer = await service.api.post(`${table.path}/restore`, `{"deletedAt":${deletedAt}}`)
      refused(answer, 400, 'invalid_request', 'deletedAt')
    })
  }
})
