import { describe, expect, test } from 'bun:test'
import type { ApiResponse, Json } from '../harness.ts'
import { createKey, freshName, justPast, makeTable, ok, refused, type TestTable, useService } from './service.ts'

const service = useService()

const find = (table: TestTable, keys: Json, api = service.api): Promise<ApiResponse> =>
  api.post(`${table.path}/find`, { keys })

const keysOf = (count: number): Json[] => Array.from({ length: count }, (_, i) => ({ hashKey: `k${i}` }))

/** Data of so many bytes. */
const large = (bytes: number): Json => ({ x: 'x'.repeat(bytes - 8) })

describe('what it returns', () => {
  test('the records in the order asked, the keys that are missing, and no others', async () => {
    const table = await service.table()
    const [a, r, b] = [
      await table.put('a', { n: 1 }),
      await table.put('a', { n: 2 }, { rangeKey: 'r', ttl: 4102444800 }),
      await table.put('b', { n: 3 }),
    ]
    const none = [{ hashKey: 'nobody' }, { hashKey: 'b', rangeKey: 'r' }]
    const keys = [{ hashKey: 'b' }, none[0], { hashKey: 'a', rangeKey: 'r' }, none[1], { hashKey: 'a' }]
    const answer = await find(table, keys)
    expect(ok(answer)).toEqual({ items: [b, r, a], missing: none, unread: [] })
    expect(Object.keys(answer.body)).toEqual(['items', 'missing', 'unread'])
    expect(answer.headers.get('etag')).toBeNull()
    expect(ok(await find(table, keys, service.reader))).toEqual(answer.body)
  })

  test('no rangeKey and "#" are the same record; neither is shown', async () => {
    const table = await service.table()
    const record = await table.put('a', { n: 1 })
    const keys = [
      { hashKey: 'a', rangeKey: '#' },
      { hashKey: 'gone', rangeKey: '#' },
    ]
    expect(ok(await find(table, keys))).toEqual({ items: [record], missing: [{ hashKey: 'gone' }], unread: [] })
  })

  test('data exactly as it was sent', async () => {
    const table = await service.table()
    const data = '{ "b" : 1.0,\n "a": 12345678901234567890, "b": -0 }'
    ok(await table.tryPut(`{"hashKey":"a","data":${data}}`))
    expect((await find(table, [{ hashKey: 'a' }])).text).toContain(`"data":${data},"updatedAt":`)
  })

  test('keys with any character, in a body with white space and escapes too', async () => {
    const table = await service.table()
    const odd = ['\0', 'a/b', '\\', '"', '\u007f\u2028', 'é', '\u{1f511}', '\ufffd', 'null', '__proto__']
    for (const hashKey of odd) await table.put(hashKey, { hashKey })
    const keys = odd.flatMap((hashKey) => [{ hashKey }, { hashKey, rangeKey: hashKey }])
    const expected = ok(await find(table, keys))
    expect(expected.items.map((item: Json) => item.data.hashKey)).toEqual(odd)
    expect(expected.missing).toEqual(keys.filter((_, i) => i % 2 === 1))
    const escaped = JSON.stringify({ keys }, null, 2).replaceAll('"hashKey"', '"hash\\u004bey"')
    expect(ok(await service.api.post(`${table.path}/find`, escaped))).toEqual(expected)
    // The body is too large to be built at once.
    const padded = JSON.stringify({ keys }, null, 2) + ' '.repeat(100_000)
    expect(ok(await service.api.post(`${table.path}/find`, padded))).toEqual(expected)
  })

  test('a record past its ttl is missing', async () => {
    const table = await service.table()
    await table.put('past', {}, { ttl: justPast() })
    expect(ok(await find(table, [{ hashKey: 'past' }]))).toEqual({
      items: [],
      missing: [{ hashKey: 'past' }],
      unread: [],
    })
  })

  test('100 keys, each of 1,024 bytes that are sent as escapes', async () => {
    const table = await service.table()
    const keys = Array.from({ length: 80 }, (_, i) => {
      const part = `${'\u0001'.repeat(1_020)}${String(i).padStart(4, '0')}`
      return { hashKey: part, rangeKey: part }
    })
    const body = JSON.stringify({ keys })
    expect(body.length).toBeGreaterThan(900_000)
    expect(ok(await service.api.post(`${table.path}/find`, body))).toEqual({ items: [], missing: keys, unread: [] })
    const plain = keysOf(100).map(({ hashKey }) => ({ hashKey: hashKey.padEnd(1_024, 'x'), rangeKey: 'é'.repeat(512) }))
    expect(ok(await find(table, plain)).missing).toEqual(plain)
  })
})

describe('the bound of items', () => {
  test('from the first record that does not fit on, every key is unread, whether or not it exists', async () => {
    const table = await service.table()
    const records: Json[] = []
    for (const hashKey of ['a', 'b', 'c']) records.push(await table.put(hashKey, large(409_600)))
    await table.put('small')
    const keys = ['a', 'none', 'b', 'c', 'small', 'nobody'].map((hashKey) => ({ hashKey }))
    const answer = ok(await find(table, [...keys, { hashKey: 'last', rangeKey: '#' }]))
    expect(answer.items).toEqual(records.slice(0, 2))
    expect(answer.missing).toEqual([{ hashKey: 'none' }])
    expect(answer.unread).toEqual([...keys.slice(3), { hashKey: 'last' }])
    const rest = ok(await find(table, answer.unread))
    expect(rest.items.map((item: Json) => item.hashKey)).toEqual(['c', 'small'])
    expect(rest.missing).toEqual([{ hashKey: 'nobody' }, { hashKey: 'last' }])
    expect(rest.unread).toEqual([])
  })

  test('1,048,576 bytes as sent, to the byte', async () => {
    const table = await service.table()
    // As sent, a control character takes six bytes and é takes two.
    for (const hashKey of ['\u0001'.repeat(1_000), 'b']) await table.put(hashKey, { x: 'é'.repeat(200_000) })
    const keys = [{ hashKey: '\u0001'.repeat(1_000) }, { hashKey: 'b' }, { hashKey: 'last' }]
    const itemsOf = (text: string): string => text.slice('{"items":'.length, text.indexOf('],"missing":') + 1)
    const room = 1_048_576 - Buffer.byteLength(itemsOf((await find(table, keys)).text))
    const frame = Buffer.byteLength(JSON.stringify(await table.put('last', { x: '' })))
    await table.put('last', { x: 'x'.repeat(room - 1 - frame) })
    const full = await find(table, keys)
    expect(ok(full).unread).toEqual([])
    expect(Buffer.byteLength(itemsOf(full.text))).toBe(1_048_576)
    await table.put('last', { x: 'x'.repeat(room - frame) })
    expect(ok(await find(table, keys)).unread).toEqual([{ hashKey: 'last' }])
  })

  // Only an answer that is a stream counts in the bound on answers that clients do not read.
  test('a large answer is sent in pieces, as a page is; a small one at once', async () => {
    const table = await service.table()
    await table.put('a', large(100_000))
    const length = ({ headers }: ApiResponse) => headers.get('content-length')
    expect(length(await table.tryQuery({ hash: 'a' }))).toBeNull()
    expect(length(await find(table, [{ hashKey: 'a' }]))).toBeNull()
    expect(length(await find(table, [{ hashKey: 'b' }]))).not.toBeNull()
  })

  test('the largest record is always sent', async () => {
    const table = await service.table()
    const part = '\u0001'.repeat(1_024)
    const record = await table.put(part, large(409_600), { rangeKey: part, ttl: 253402300799 })
    expect(ok(await find(table, [{ hashKey: part, rangeKey: part }]))).toEqual({
      items: [record],
      missing: [],
      unread: [],
    })
  })
})

describe('what it refuses', () => {
  test('1 to 100 keys: none is invalid_request, more is batch_too_large', async () => {
    const table = await service.table()
    const none = refused(await find(table, []), 400, 'invalid_request', 'keys')
    expect(none.message).toBe('keys is empty; it takes 1 to 100 record keys.')
    expect(none.hint).toContain('"hashKey"')
    for (const count of [101, 1_000, 30_000]) {
      const error = refused(await find(table, keysOf(count)), 400, 'batch_too_large', 'keys')
      expect(error.message).toBe(`keys has ${count} keys; a find takes at most 100.`)
      expect(error.hint).toBe('Ask for 100 at a time.')
    }
    expect(ok(await find(table, keysOf(100))).missing).toEqual(keysOf(100))
    expect(ok(await find(table, keysOf(1))).missing).toEqual(keysOf(1))
  })

  test('keys missing, or no array: invalid_request', async () => {
    const table = await service.table()
    const error = refused(await service.api.post(`${table.path}/find`, {}), 400, 'invalid_request', 'keys')
    expect(error.message).toBe('keys is missing; it takes 1 to 100 record keys.')
    for (const keys of [null, {}, 'a', 1, { 0: { hashKey: 'a' } }]) {
      refused(await find(table, keys), 400, 'invalid_request', 'keys')
    }
    for (const body of ['[]', '"a"', 'null']) {
      refused(await service.api.post(`${table.path}/find`, body), 400, 'invalid_request')
    }
  })

  const malformed: [string, Json, string, string][] = [
    ['a string', 'a', 'invalid_request', 'keys[1]'],
    ['null', null, 'invalid_request', 'keys[1]'],
    ['an array', ['a', 'b'], 'invalid_request', 'keys[1]'],
    ['no hashKey', { rangeKey: 'a' }, 'invalid_key', 'keys[1].hashKey'],
    ['a hashKey that is a number', { hashKey: 1 }, 'invalid_key', 'keys[1].hashKey'],
    ['an empty hashKey', { hashKey: '' }, 'invalid_key', 'keys[1].hashKey'],
    ['a hashKey of 1,025 bytes', { hashKey: 'x'.repeat(1_025) }, 'invalid_key', 'keys[1].hashKey'],
    ['a hashKey ".."', { hashKey: '..' }, 'invalid_key', 'keys[1].hashKey'],
    ['a lone surrogate', { hashKey: '\ud800' }, 'invalid_key', 'keys[1].hashKey'],
    ['an empty rangeKey', { hashKey: 'a', rangeKey: '' }, 'invalid_key', 'keys[1].rangeKey'],
    ['a rangeKey of null', { hashKey: 'a', rangeKey: null }, 'invalid_key', 'keys[1].rangeKey'],
    ['a field of a record', { hashKey: 'a', data: {} }, 'invalid_request', 'keys[1].data'],
    ['a typo', { hashkey: 'a' }, 'invalid_request', 'keys[1].hashkey'],
    ['the same record again', { hashKey: 'k0', rangeKey: '#' }, 'batch_duplicate_keys', 'keys[1]'],
  ]
  for (const [what, key, code, field] of malformed) {
    test(`${what}: ${code}, field ${field}; the same for a large body`, async () => {
      const table = await service.table()
      const { requestId: _, ...error } = refused(await find(table, [{ hashKey: 'k0' }, key]), 400, code, field)
      const spaced = JSON.stringify({ keys: [{ hashKey: 'k0' }, key] }, null, 1) + ' '.repeat(70_000)
      expect(refused(await service.api.post(`${table.path}/find`, spaced), 400, code, field)).toMatchObject(error)
    })
  }

  test('an unknown member of the body is named', async () => {
    const table = await service.table()
    const error = refused(
      await service.api.post(`${table.path}/find`, { keys: keysOf(1), limit: 5 }),
      400,
      'invalid_request',
      'limit',
    )
    expect(error.hint).toBe('Known fields: keys.')
  })

  test('a condition: invalid_request', async () => {
    const table = await service.table()
    for (const header of ['if-match', 'if-none-match']) {
      refused(
        await service.api.post(`${table.path}/find`, { keys: keysOf(1) }, { [header]: '*' }),
        400,
        'invalid_request',
      )
    }
  })
})

describe('tables and keys', () => {
  test('a soft-deleted table: 404, the hint shows how to restore it', async () => {
    const table = await service.table()
    const record = await table.put('k0')
    ok(await service.api.delete(table.path))
    const error = refused(await find(table, keysOf(1)), 404, 'table_not_found')
    expect(error.hint).toContain(`POST ${table.path}/restore`)
    ok(await service.api.post(`${table.path}/restore`))
    expect(ok(await find(table, keysOf(1))).items).toEqual([record])
  })

  test('a key limited to databases reads there and nowhere else', async () => {
    const db = freshName('db')
    const [inside, outside] = [await makeTable(service.api, undefined, freshName(), db), await service.table()]
    for (const kind of ['secret', 'public']) {
      const { key } = await createKey(service.api, { kind, databases: [db] })
      expect(ok(await find(inside, keysOf(1), service.server.as(key))).missing).toEqual(keysOf(1))
      refused(await find(outside, keysOf(1), service.server.as(key)), 403, 'key_scope')
    }
  })

  test('GET of the record whose hash key is "find" is not a find', async () => {
    const table = await service.table()
    const record = await table.put('find', { n: 1 })
    expect(ok(await table.get('find'))).toEqual(record)
    expect(ok(await find(table, [{ hashKey: 'find' }])).items).toEqual([record])
  })
})

// A caller that reads an order and its lines would see an order without a line.
test('a find sees all of a batch or nothing of it', async () => {
  const table = await service.table()
  const keys = keysOf(25)
  let reading = true
  const write = async (from: number): Promise<void> => {
    for (let n = from; reading; n += 2) {
      const each = (key: Json) => (n % 3 === 2 ? { op: 'delete', ...key } : { op: 'put', ...key, data: { n } })
      await table.batch(keys.map(each))
    }
  }
  const writers = [write(0), write(1)]
  const seen = new Set<string>()
  try {
    while (seen.size < 40) {
      const { items, missing } = ok(await find(table, keys))
      expect([0, 25]).toContain(items.length)
      expect(items.length + missing.length).toBe(25)
      const states = new Set<string>(items.map((item: Json) => String(item.data.n)))
      expect(states.size).toBe(items.length === 0 ? 0 : 1)
      for (const state of states) seen.add(state)
    }
  } finally {
    reading = false
    await Promise.all(writers)
  }
})
