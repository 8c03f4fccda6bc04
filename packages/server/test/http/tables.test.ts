import { describe, expect, test } from 'bun:test'
import { freshName, makeTable, ok, refused, useService } from './service.ts'

// The tests of what tables, buckets and tasks have in common are in lifecycle.test.ts.

const service = useService()

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
})

describe('soft delete', () => {
  test('its name is free at once: a new table has other indices, and no entries of the old one', async () => {
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
})
