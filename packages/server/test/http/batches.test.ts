import { describe, expect, test } from 'bun:test'
import type { Json } from '../harness.ts'
import { justPast, ok, refused, useService } from './service.ts'

const service = useService()

describe('operations', () => {
  test('puts and deletes mixed: 200 { count } of the operations applied', async () => {
    const table = await service.table({ i1: { hashField: 'n' } })
    await table.put('old')
    const answer = await table.tryBatch([
      { op: 'put', hashKey: 'a', data: { n: 1 } },
      { op: 'put', hashKey: 'a', rangeKey: 'r', data: { n: 1 }, ttl: 4102444800 },
      { op: 'delete', hashKey: 'old' },
    ])
    expect(ok(answer)).toEqual({ count: 3 })
    expect(ok(await table.get('a')).data).toEqual({ n: 1 })
    expect(ok(await table.get('a', 'r'))).toMatchObject({ rangeKey: 'r', ttl: 4102444800 })
    refused(await table.get('old'), 404, 'record_not_found')
    expect((await table.items({ index: 'i1', hash: 1 })).length).toBe(2)
  })

  test('a delete of an absent record counts as applied', async () => {
    const table = await service.table()
    await table.batch([
      { op: 'delete', hashKey: 'nobody' },
      { op: 'delete', hashKey: 'nobody', rangeKey: 'r' },
    ])
  })

  test('1 to 25: none is invalid_request, more is batch_too_large', async () => {
    const table = await service.table()
    const operations = (n: number) => Array.from({ length: n }, (_, i) => ({ op: 'put', hashKey: `k${i}`, data: {} }))
    refused(await table.tryBatch([]), 400, 'invalid_request', 'operations')
    refused(await table.tryBatch(operations(26)), 400, 'batch_too_large')
    refused(await table.tryBatch(operations(1000)), 400, 'batch_too_large')
    expect(await table.hashes({ index: 't' })).toEqual([])
    await table.batch(operations(1))
    await table.batch(operations(25))
    expect((await table.hashes({ index: 't' })).length).toBe(25)
  })

  test('operations missing, or no array: invalid_request', async () => {
    const table = await service.table()
    refused(await service.api.post(`${table.path}/batch`, {}), 400, 'invalid_request', 'operations')
    for (const operations of [null, {}, 'put', 1]) {
      refused(await table.tryBatch(operations), 400, 'invalid_request', 'operations')
    }
  })

  const malformed: [string, Json, string, string][] = [
    ['no object', 'put', 'invalid_request', 'operations[1]'],
    ['null', null, 'invalid_request', 'operations[1]'],
    ['no op', { hashKey: 'a', data: {} }, 'invalid_request', 'operations[1].op'],
    ['an unknown op', { op: 'update', hashKey: 'a', data: {} }, 'invalid_request', 'operations[1].op'],
    ['an op in capitals', { op: 'PUT', hashKey: 'a', data: {} }, 'invalid_request', 'operations[1].op'],
    ['a put without data', { op: 'put', hashKey: 'a' }, 'invalid_request', 'operations[1].data'],
    ['data that is no object', { op: 'put', hashKey: 'a', data: [] }, 'invalid_request', 'operations[1].data'],
    ['a delete with data', { op: 'delete', hashKey: 'a', data: {} }, 'invalid_request', 'operations[1].data'],
    ['a delete with ttl', { op: 'delete', hashKey: 'a', ttl: 4102444800 }, 'invalid_request', 'operations[1].ttl'],
    ['no hashKey', { op: 'delete' }, 'invalid_key', 'operations[1].hashKey'],
    ['an empty rangeKey', { op: 'delete', hashKey: 'a', rangeKey: '' }, 'invalid_key', 'operations[1].rangeKey'],
    ['a ttl that is none', { op: 'put', hashKey: 'a', data: {}, ttl: 1.5 }, 'invalid_ttl', 'operations[1].ttl'],
    ['an unknown field', { op: 'delete', hashKey: 'a', if: 1 }, 'invalid_request', 'operations[1].if'],
    ['an index value', { op: 'put', hashKey: 'a', data: { n: null } }, 'invalid_index_value', 'operations[1].data.n'],
  ]
  for (const [what, operation, code, field] of malformed) {
    test(`${what}: ${code}, the field names the operation, and none is persisted`, async () => {
      const table = await service.table({ i1: { hashField: 'n' } })
      const kept = await table.put('kept')
      const before = { op: 'put', hashKey: 'before', data: { n: 1 } }
      const after = { op: 'delete', hashKey: 'kept' }
      refused(await table.tryBatch([before, operation, after]), 400, code, field)
      expect(await table.items({ index: 't' })).toEqual([kept])
    })
  }

  test('a record that is too large: 413 record_too_large, none is persisted', async () => {
    const table = await service.table()
    const answer = await table.tryBatch([
      { op: 'put', hashKey: 'a', data: {} },
      { op: 'put', hashKey: 'b', data: { a: 'x'.repeat(409_600) } },
    ])
    const error = refused(answer, 413, 'record_too_large')
    expect(error.field).toStartWith('operations[1]')
    refused(await table.get('a'), 404, 'record_not_found')
  })

  test('the depth limit holds for each data', async () => {
    const table = await service.table()
    const deep = `${'{"a":'.repeat(64)}1${'}'.repeat(64)}`
    const tooDeep = `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`
    const batch = (data: string) =>
      service.api.post(`${table.path}/batch`, `{"operations":[{"op":"put","hashKey":"a","data":${data}}]}`)
    const error = refused(await batch(tooDeep), 400, 'invalid_request')
    expect(error.field).toStartWith('operations[0].data')
    ok(await batch(deep))
  })

  test('batches know ttl: it is gone at once when it has passed, and a put without it removes it', async () => {
    const table = await service.table()
    await table.batch([{ op: 'put', hashKey: 'gone', data: {}, ttl: justPast() }])
    refused(await table.get('gone'), 404, 'record_not_found')
    await table.put('a', {}, { ttl: 4102444800 })
    await table.batch([{ op: 'put', hashKey: 'a', data: {} }])
    expect('ttl' in ok(await table.get('a'))).toBe(false)
  })

  test('updatedAt strictly increases through batches too', async () => {
    const table = await service.table()
    let { updatedAt } = await table.put('a')
    for (let i = 0; i < 10; i++) {
      await table.batch([{ op: 'put', hashKey: 'a', data: { i } }])
      const next = ok(await table.get('a')).updatedAt
      expect(next).toBeGreaterThan(updatedAt)
      updatedAt = next
    }
  })
})

describe('the same record twice: batch_duplicate_keys', () => {
  test('keys whose texts joined would be the same are different records', async () => {
    const table = await service.table()
    const keys = [
      { hashKey: 'a/b', rangeKey: 'c' },
      { hashKey: 'a', rangeKey: 'b/c' },
      { hashKey: 'a","b', rangeKey: 'c' },
      { hashKey: 'a', rangeKey: 'b","c' },
      { hashKey: 'a#b', rangeKey: 'c' },
      { hashKey: 'a', rangeKey: 'b#c' },
    ]
    await table.batch(keys.map((key) => ({ op: 'put', ...key, data: {} })))
    const { items } = ok(await service.api.post(`${table.path}/find`, { keys }))
    expect(items.map(({ hashKey, rangeKey }: Json) => ({ hashKey, rangeKey }))).toEqual(keys)
  })

  const twice: [string, Json[]][] = [
    [
      'two puts',
      [
        { op: 'put', hashKey: 'a', data: {} },
        { op: 'put', hashKey: 'a', data: {} },
      ],
    ],
    [
      'a put and a delete',
      [
        { op: 'put', hashKey: 'a', data: {} },
        { op: 'delete', hashKey: 'a' },
      ],
    ],
    [
      'with a range key',
      [
        { op: 'delete', hashKey: 'a', rangeKey: 'r' },
        { op: 'delete', hashKey: 'a', rangeKey: 'r' },
      ],
    ],
    [
      'no rangeKey and "#" are the same slot',
      [
        { op: 'put', hashKey: 'a', data: {} },
        { op: 'put', hashKey: 'a', rangeKey: '#', data: {} },
      ],
    ],
  ]
  for (const [what, operations] of twice) {
    test(what, async () => {
      const table = await service.table()
      const answer = await table.tryBatch([{ op: 'put', hashKey: 'first', data: {} }, ...operations])
      const error = refused(answer, 400, 'batch_duplicate_keys')
      expect(error.field).toStartWith('operations[2]')
      expect(await table.hashes({ index: 't' })).toEqual([])
    })
  }

  test('keys that only run together alike are different', async () => {
    const table = await service.table()
    await table.batch([
      { op: 'put', hashKey: 'a', rangeKey: 'bc', data: {} },
      { op: 'put', hashKey: 'ab', rangeKey: 'c', data: {} },
      { op: 'put', hashKey: 'a#', data: {} },
      { op: 'put', hashKey: 'a', rangeKey: '##', data: {} },
      { op: 'put', hashKey: 'a\0b', data: {} },
      { op: 'put', hashKey: 'a', rangeKey: 'b\0', data: {} },
      { op: 'put', hashKey: 'é', data: {} },
      { op: 'put', hashKey: 'e\u0301', data: {} },
    ])
    expect((await table.hashes({ index: 't' })).length).toBe(8)
  })
})

describe('no reader ever sees a part of a batch', () => {
  test('every page shows one generation, whole', async () => {
    const table = await service.table({ i1: { hashField: 'all' } })
    const keys = Array.from({ length: 25 }, (_, i) => `r${i}`)
    const write = (generation: number) =>
      table.batch(
        keys.map((rangeKey) => ({ op: 'put', hashKey: 'h', rangeKey, data: { all: 1, [`g${generation}`]: 1 } })),
      )
    await write(0)
    let writing = true
    const writer = async () => {
      for (let generation = 1; generation <= 60; generation++) await write(generation)
      writing = false
    }
    let pages = 0
    const reader = async (query: Json) => {
      while (writing) {
        const { items } = await table.query(query)
        expect(items.length).toBe(25)
        expect(new Set(items.map((item) => Object.keys(item.data)[1])).size).toBe(1)
        pages++
      }
    }
    await Promise.all([
      writer(),
      ...[{ hash: 'h' }, { index: 't' }, { index: 'i1', hash: 1 }].flatMap((query) => [reader(query), reader(query)]),
    ])
    expect(pages).toBeGreaterThan(10)
  })

  test('puts and deletes of a batch appear together', async () => {
    const table = await service.table()
    await table.put('h', {}, { rangeKey: 'left' })
    let moving = true
    const mover = async () => {
      for (let i = 0; i < 80; i++) {
        const [from, to] = i % 2 === 0 ? ['left', 'right'] : ['right', 'left']
        await table.batch([
          { op: 'delete', hashKey: 'h', rangeKey: from },
          { op: 'put', hashKey: 'h', rangeKey: to, data: {} },
        ])
      }
      moving = false
    }
    const watcher = async (query: Json) => {
      while (moving) expect((await table.query(query)).count).toBe(1)
    }
    await Promise.all([mover(), watcher({ hash: 'h' }), watcher({ index: 't' }), watcher({ hash: 'h' })])
  })

  test('overlapping batches at once are applied one after the other', async () => {
    const table = await service.table()
    const keys = Array.from({ length: 20 }, (_, i) => `k${i}`)
    await Promise.all(
      Array.from({ length: 20 }, (_, writer) => {
        const turned = [...keys.slice(writer), ...keys.slice(0, writer)]
        return table.batch(turned.map((hashKey) => ({ op: 'put', hashKey, data: { writer } })))
      }),
    )
    const items = await table.items({ index: 't' })
    expect(items.length).toBe(20)
    expect(new Set(items.map((item) => item.data.writer)).size).toBe(1)
  })
})
