import { describe, expect, test } from 'bun:test'
import { makeTable, ok, refused, type TestTable, useService } from './service.ts'

// Request targets are sent byte for byte, because fetch would normalize most of them. Without these rules, a request to remove
// the record ".." of a table, or one with an empty key, would remove a whole table.

const service = useService()

/** Two tables, each with a record, and a check that nothing of them is gone. */
const twoTables = async (): Promise<{ orders: TestTable; users: TestTable; untouched: () => Promise<void> }> => {
  const orders = await service.table()
  const users = await service.table()
  await orders.put('a')
  await orders.put('a', {}, { rangeKey: 'b' })
  await users.put('a')
  return {
    orders,
    users,
    untouched: async () => {
      expect((await orders.items({ index: 't' })).length).toBe(2)
      expect((await users.items({ index: 't' })).length).toBe(1)
    },
  }
}

describe('an empty segment or a trailing slash: 404 route_not_found, never the shorter route', () => {
  const targets = [
    '/v1/app/{orders}/',
    '/v1/app/{orders}//',
    '/v1/app/{orders}/a/',
    '/v1/app/{orders}//a',
    '/v1/app/{orders}/a//',
    '/v1/app/{orders}/a//b',
    '/v1/app/{orders}/a/b/',
    '/v1/app/{orders}/a/b/c',
    '/v1/app//{orders}',
    '/v1//app/{orders}',
    '//v1/app/{orders}',
    '/v1/app/{orders}/?',
    '/v1/app/{orders}/query/',
    '/v1/app/',
    '/v1//',
    '/v1/',
    '//',
    '/api/keys/',
    '/api//keys',
  ]
  for (const target of targets) {
    test(target, async () => {
      const { orders, untouched } = await twoTables()
      for (const method of ['DELETE', 'GET', 'POST', 'PUT']) {
        const body = method === 'POST' || method === 'PUT' ? '{"hashKey":"a","data":{}}' : undefined
        const answer = await service.api.raw(method, target.replace('{orders}', orders.name), { body })
        refused(answer, 404, 'route_not_found')
      }
      await untouched()
    })
  }
})

describe('a segment . or .. in any spelling: 400 invalid_key, in :db and :table invalid_name', () => {
  const spellings = ['.', '..', '%2e', '%2E', '%2e%2e', '%2E%2E', '.%2e', '%2e.', '%2E%2e']
  for (const dots of spellings) {
    test(dots, async () => {
      const { orders, users, untouched } = await twoTables()
      const targets: [string, string][] = [
        [`/v1/app/${orders.name}/${dots}`, 'invalid_key'],
        [`/v1/app/${orders.name}/${dots}/${users.name}`, 'invalid_key'],
        [`/v1/app/${orders.name}/a/${dots}`, 'invalid_key'],
        [`/v1/app/${dots}`, 'invalid_name'],
        [`/v1/app/${dots}/${users.name}`, 'invalid_name'],
        [`/v1/${dots}/${users.name}`, 'invalid_name'],
        [`/v1/${dots}/app/${users.name}`, 'invalid_name'],
      ]
      for (const [target, code] of targets) {
        refused(await service.api.raw('DELETE', target), 400, code)
        refused(await service.api.raw('GET', target), 400, code)
      }
      refused(await service.api.raw('GET', `/v1/${dots}`), 400, 'invalid_name')
      await untouched()
    })

    test(`${dots} never leads out of its place`, async () => {
      const { orders, users, untouched } = await twoTables()
      for (const target of [
        `/v1/app/${orders.name}/a/${dots}/${dots}`,
        `/v1/app/${orders.name}/a/b/${dots}/${dots}`,
        `/${dots}/v1/app/${users.name}`,
        `/api/keys/${dots}/${dots}/v1/app/${users.name}`,
        `/healthz/${dots}/v1/app/${users.name}`,
      ]) {
        const answer = await service.api.raw('DELETE', target)
        expect([400, 404]).toContain(answer.status)
      }
      await untouched()
    })
  }
})

describe('a percent-escape that is malformed or does not decode to UTF-8: 400', () => {
  const escapes = [
    '%',
    '%2',
    '%zz',
    'a%',
    'a%4',
    '%%',
    '%u0041',
    '%ff',
    '%c3',
    '%c3%28',
    '%ed%a0%80',
    '%c0%af',
    '%c0%ae%c0%ae',
    '%f4%90%80%80',
    '%e2%82',
  ]
  for (const spelled of escapes) {
    test(spelled, async () => {
      const { orders, untouched } = await twoTables()
      refused(await service.api.raw('DELETE', `/v1/app/${orders.name}/${spelled}`), 400, 'invalid_key')
      refused(await service.api.raw('GET', `/v1/app/${orders.name}/a/${spelled}`), 400, 'invalid_key')
      refused(await service.api.raw('DELETE', `/v1/app/${spelled}`), 400, 'invalid_name')
      refused(await service.api.raw('GET', `/v1/${spelled}/${orders.name}`), 400, 'invalid_name')
      await untouched()
    })
  }
})

test('both apply to the id of an API key too: invalid_key', async () => {
  for (const id of ['.', '..', '%2e%2E', '%', '%zz', '%ff', '%c0%ae']) {
    refused(await service.api.raw('DELETE', `/api/keys/${id}`), 400, 'invalid_key')
  }
})

describe('ordinary characters', () => {
  test('a raw \\ is an ordinary character of its segment', async () => {
    const { orders, users, untouched } = await twoTables()
    for (const key of ['a\\b', '\\', '..\\', `..\\${users.name}`, '\\..\\..']) {
      const record = await orders.put(key, { key })
      expect(ok(await service.api.raw('GET', `${orders.path}/${key}`))).toEqual(record)
      expect(ok(await service.api.raw('GET', orders.at(key)))).toEqual(record)
      expect(ok(await service.api.raw('DELETE', `${orders.path}/${key}`))).toEqual({ deleted: true })
    }
    refused(await service.api.raw('DELETE', `/v1/app\\${orders.name}`), 405, 'method_not_allowed')
    refused(await service.api.raw('GET', `/v1/app\\${orders.name}`), 400, 'invalid_name')
    refused(await service.api.raw('DELETE', `/v1/app/${orders.name}\\a`), 400, 'invalid_name')
    await untouched()
  })

  test('raw bytes that are UTF-8 are the key that they spell', async () => {
    const table = await service.table()
    const record = await table.put('é😀')
    const target = Buffer.from(`${table.path}/é😀`)
    expect(ok(await service.api.raw('GET', target))).toEqual(record)
  })

  test('raw bytes that are not UTF-8 are read as U+FFFD', async () => {
    const table = await service.table()
    const record = await table.put('a\ufffdb')
    const target = Buffer.concat([Buffer.from(`${table.path}/a`), Buffer.from([0xff]), Buffer.from('b')])
    expect(ok(await service.api.raw('GET', target))).toEqual(record)
    expect(ok(await service.api.raw('DELETE', target))).toEqual({ deleted: true })
  })

  test('a key is percent-encoded once', async () => {
    const table = await service.table()
    const slash = await table.put('a/b')
    const escaped = await table.put('a%2Fb')
    expect(ok(await service.api.raw('GET', `${table.path}/a%2Fb`))).toEqual(slash)
    expect(ok(await service.api.raw('GET', `${table.path}/a%2fb`))).toEqual(slash)
    expect(ok(await service.api.raw('GET', `${table.path}/a%252Fb`))).toEqual(escaped)
  })

  test('an escaped slash does not separate segments, whatever is before it', async () => {
    const { orders, users, untouched } = await twoTables()
    for (const key of ['..%2f', '%2e%2e%2F', '..%5c', '..;%2f', '..;']) {
      expect(ok(await service.api.raw('DELETE', `${orders.path}/${key}${users.name}`))).toEqual({ deleted: false })
    }
    expect(ok(await service.api.raw('DELETE', `${orders.path}/..;/${users.name}`))).toEqual({ deleted: false })
    refused(await service.api.raw('DELETE', `${orders.path}%2f..%2f${users.name}`), 400, 'invalid_name')
    await untouched()
  })

  test('+ is a plus; an escaped letter is the letter', async () => {
    const table = await service.table()
    const plus = await table.put('a+b')
    const space = await table.put('a b')
    expect(ok(await service.api.raw('GET', `${table.path}/a+b`))).toEqual(plus)
    expect(ok(await service.api.raw('GET', `${table.path}/%61%20b`))).toEqual(space)
  })

  test('escaped ? and # belong to the key, a raw ? begins the query', async () => {
    const table = await service.table()
    const record = await table.put('a?b#c')
    await table.put('a')
    expect(ok(await service.api.raw('GET', `${table.path}/a%3Fb%23c`))).toEqual(record)
    const error = refused(await service.api.raw('GET', `${table.path}/a?b`), 400, 'invalid_request')
    expect(`${error.field} ${error.message}`).toContain('b')
    expect(ok(await service.api.raw('GET', `${table.path}/a?`)).hashKey).toBe('a')
  })
})

describe('records whose hash key is the name of an action', () => {
  for (const key of ['query', 'find', 'batch', 'restore']) {
    test(`GET, HEAD and DELETE of "${key}", with and without a range key`, async () => {
      const table = await service.table()
      const plain = await table.put(key, { n: 1 })
      const ranged = await table.put(key, { n: 2 }, { rangeKey: key })
      expect(ok(await table.get(key))).toEqual(plain)
      expect(ok(await table.get(key, key))).toEqual(ranged)
      expect((await service.api.raw('HEAD', table.at(key))).status).toBe(200)
      expect(ok(await table.delete(key, key))).toEqual({ deleted: true })
      expect(ok(await table.delete(key))).toEqual({ deleted: true })
      expect(await table.hashes({ index: 't' })).toEqual([])
      ok(await service.api.get(table.path))
    })
  }

  test('POST to a record that is no action: 405', async () => {
    const table = await service.table()
    for (const target of [`${table.path}/Query`, `${table.path}/other`, `${table.path}/query/x`]) {
      const answer = await service.api.raw('POST', target, { body: '{}' })
      refused(answer, 405, 'method_not_allowed')
      expect(answer.headers.get('allow')).toContain('DELETE')
    }
  })
})

describe('other roots', () => {
  test('a database named api and a table named keys are ordinary', async () => {
    const table = await makeTable(service.api, undefined, 'keys', 'api')
    ok(await table.tryPut({ hashKey: 'a', data: {} }))
    expect(ok(await service.api.get('/v1/api/keys')).table).toBe('keys')
  })

  for (const target of [
    '//',
    '/v2/app/orders',
    '/V1/app/orders',
    '/v1%2Fapp',
    '/api',
    '/api/keys/a/b',
    '/api/collections',
    '/api/collections/users',
    '/api/collections/users/items',
    '/api/collections/users/items/',
    '/api/collections/users/items/1/',
    '/api/collections/users/items/1/2',
    '/api/collections//items/1',
    '/api/collections/users//items/1',
    '/api/collections/users/items//1',
    '/api/collections/users/ITEMS/1',
    '/api/collections/users/records/1',
    '/api/tasks',
    '/v1/app/orders/a/b/c',
    '/healthz/x',
    '/favicon.ico',
  ]) {
    test(`${target}: 404 route_not_found, with a key and without`, async () => {
      refused(await service.api.raw('GET', target), 404, 'route_not_found')
      refused(await service.server.raw('GET', target), 404, 'route_not_found')
    })
  }
})
