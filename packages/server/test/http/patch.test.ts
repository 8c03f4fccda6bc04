import { beforeAll, describe, expect, test } from 'bun:test'
import { bodyBytesMax, dataBytesMax, dataDepthMax } from '../../src/core/limits.ts'
import type { ApiResponse, Json } from '../harness.ts'
import { createKey, freshName, inParallel, justPast, ok, refused, type TestTable, useService } from './service.ts'
import { makeTask } from './task.ts'

// A patch changes a part of a record. What would go wrong without these promises: two clients that count at the same time
// lose a count, a refused patch leaves half of its change, or a number that nobody named comes back rounded.

const service = useService()

type Headers = Record<string, string>

let table: TestTable
beforeAll(async () => {
  table = await service.table({ i1: { hashField: 'status', rangeField: 'n' } })
})

let keys = 0
const freshKey = (): string => `k${++keys}`

const patch = (change: Json, headers: Headers = {}, api = service.api): Promise<ApiResponse> =>
  api.request('PATCH', table.path, change, headers)

const patchText = (body: string, headers: Headers = {}): Promise<ApiResponse> =>
  service.api.raw('PATCH', table.path, { body, headers: Object.entries(headers) })

/** A record whose data is this text. */
const make = async (data: string, more = ''): Promise<{ hashKey: string; updatedAt: number }> => {
  const hashKey = freshKey()
  const { updatedAt } = ok(await service.api.put(table.path, `{"hashKey":"${hashKey}","data":${data}${more}}`))
  return { hashKey, updatedAt }
}

/** The text of `data`, as a read of the record answers it. */
const dataOf = async (hashKey: string): Promise<string> => {
  const { text } = await table.get(hashKey)
  const from = text.indexOf('"data":') + '"data":'.length
  return text.slice(from, Math.max(text.lastIndexOf(',"ttl":'), text.lastIndexOf(',"updatedAt":', text.length)))
}

describe('a patch of a record', () => {
  test('answers the record with its ETag, and what it does not name stays byte for byte', async () => {
    const { hashKey, updatedAt } = await make('{ "a" : 1.50,"big":12345678901234567890, "s":"\\u0061","n":1 }')
    const answer = await patch({ hashKey, merge: { s: 'b' }, increment: { '/n': 2 } })
    const data = '{ "a" : 1.50,"big":12345678901234567890, "s":"b","n":3 }'
    const version = ok(answer).updatedAt
    expect(answer.text).toBe(`{"hashKey":"${hashKey}","data":${data},"updatedAt":${version}}\n`)
    expect(answer.headers.get('etag')).toBe(`"${version}"`)
    expect(version).toBeGreaterThan(updatedAt)
    expect((await table.get(hashKey)).text).toBe(answer.text)
  })

  test('with return=minimal answers without data, with the ETag', async () => {
    const hashKey = freshKey()
    const answer = await patch({ hashKey, rangeKey: 'r', increment: { '/n': 1 } }, { prefer: 'return=minimal' })
    const { updatedAt } = ok(answer)
    expect(answer.body).toEqual({ hashKey, rangeKey: 'r', updatedAt })
    expect(answer.headers.get('etag')).toBe(`"${updatedAt}"`)
    expect(ok(await table.get(hashKey, 'r')).data).toEqual({ n: 1 })
  })

  test('creates a record that does not exist, and moves the record in its indices', async () => {
    const [hashKey, status] = [freshKey(), freshKey()]
    expect(ok(await patch({ hashKey, merge: { status }, append: { '/list': [1] } })).data).toEqual({
      status,
      list: [1],
    })
    expect(await table.hashes({ index: 'i1', hash: status })).toEqual([])
    ok(await patch({ hashKey, increment: { '/n': 5 } }))
    expect(await table.hashes({ index: 'i1', hash: status, range: { gte: 5 } })).toEqual([hashKey])
    ok(await patch({ hashKey, merge: { status: null } }))
    expect(await table.hashes({ index: 'i1', hash: status })).toEqual([])
  })

  test('applies merge, then increment, then append', async () => {
    const { hashKey } = await make('{"n":"x","list":{}}')
    const change = { merge: { n: 1, list: [] }, append: { '/list': [1], '/more/0': [2] }, increment: { '/n': 0.2 } }
    expect(ok(await patch({ hashKey, ...change })).data).toEqual({ n: 1.2, list: [1], more: { 0: [2] } })
  })

  test('adds exactly, whatever a double holds', async () => {
    const { hashKey } = await make('{"a":0.1,"b":12345678901234567890,"c":1e21,"d":1.5e-7,"e":0}')
    ok(await patchText(`{"hashKey":"${hashKey}","increment":{"/a":0.2,"/b":1,"/c":1,"/d":0,"/e":-0.0}}`))
    expect(await dataOf(hashKey)).toBe(
      '{"a":0.3,"b":12345678901234567891,"c":1.000000000000000000001e+21,"d":1.5e-7,"e":0}',
    )
  })

  test('merges as RFC 7396 says', async () => {
    const { hashKey } = await make('{"a":{"b":1,"c":[1,2]},"d":1,"e":2}')
    const merge = { a: { c: [null], x: { y: null, z: 1 } }, d: null, e: { f: null } }
    expect(ok(await patch({ hashKey, merge })).data).toEqual({ a: { b: 1, c: [null], x: { z: 1 } }, e: {} })
  })

  test('ttl: a value sets it, null removes it, absent leaves it', async () => {
    const { hashKey } = await make('{}')
    expect(ok(await patch({ hashKey, ttl: 4_000_000_000 })).ttl).toBe(4_000_000_000)
    expect(ok(await patch({ hashKey, merge: { a: 1 } })).ttl).toBe(4_000_000_000)
    const minimal = await patch({ hashKey, merge: { a: 2 } }, { prefer: 'return=minimal' })
    expect(ok(minimal).ttl).toBe(4_000_000_000)
    expect(ok(await patch({ hashKey, ttl: null })).ttl).toBeUndefined()
    refused(await patch({ hashKey, ttl: 4_000_000_000_000 }), 400, 'invalid_ttl', 'ttl')
  })

  test('nothing of an expired record is kept, its ttl neither', async () => {
    const { hashKey } = await make('{"old":1,"n":5}', `,"ttl":${justPast()}`)
    refused(await patch({ hashKey, merge: {} }, { 'if-match': '*' }), 412, 'precondition_failed')
    const created = ok(await patch({ hashKey, increment: { '/n': 1 } }, { 'if-none-match': '*' }))
    expect(created).toEqual({ hashKey, data: { n: 1 }, updatedAt: expect.any(Number) })
    expect(ok(await table.get(hashKey))).toEqual(created)
  })

  test('a ttl that has just passed: the patch succeeds, and the record is gone', async () => {
    const { hashKey } = await make('{"n":5}')
    ok(await patch({ hashKey, ttl: justPast() }))
    refused(await table.get(hashKey), 404, 'record_not_found')
  })
})

describe('conditions of a patch', () => {
  test('If-Match with a version, If-Match: *, If-None-Match: *', async () => {
    const { hashKey, updatedAt } = await make('{"n":1}')
    const change = { hashKey, increment: { '/n': 1 } }
    refused(await patch(change, { 'if-match': `"${updatedAt - 1}"` }), 412, 'precondition_failed')
    refused(await patch(change, { 'if-none-match': '*' }), 412, 'precondition_failed')
    const next = ok(await patch(change, { 'if-match': `"${updatedAt}"` })).updatedAt
    refused(await patch(change, { 'if-match': `"${updatedAt}"` }), 412, 'precondition_failed')
    expect(ok(await patch(change, { 'if-match': '*' })).updatedAt).toBeGreaterThan(next)
    expect(await dataOf(hashKey)).toBe('{"n":3}')
    refused(await patch({ ...change, hashKey: freshKey() }, { 'if-match': '*' }), 412, 'precondition_failed')
  })

  test('are checked before the change', async () => {
    const { hashKey } = await make('{"s":"x"}')
    const wrong = { hashKey, increment: { '/s': 1 } }
    refused(await patch(wrong, { 'if-match': '"1"' }), 412, 'precondition_failed')
    refused(await patch(wrong, { 'if-match': '*' }), 409, 'not_a_number', 'increment["/s"]')
  })

  test('malformed ones are refused', async () => {
    const change = { hashKey: freshKey(), merge: {} }
    refused(await patch(change, { 'if-match': '1' }), 400, 'invalid_request', 'If-Match')
    refused(await patch(change, { 'if-none-match': '"1"' }), 400, 'invalid_request', 'If-None-Match')
    refused(await patch(change, { 'if-match': '*', 'if-none-match': '*' }), 400, 'invalid_request', 'If-None-Match')
    refused(await table.get(change.hashKey), 404, 'record_not_found')
  })

  test('min and max bound the sum', async () => {
    const { hashKey, updatedAt } = await make('{"stock":2}')
    const take = (by: number) => patch({ hashKey, increment: { '/stock': { by, min: 0, max: 3 } } })
    const error = refused(await take(-3), 412, 'precondition_failed', 'increment["/stock"]')
    expect(error.hint).toContain('The number is 2.')
    refused(await take(2), 412, 'precondition_failed', 'increment["/stock"]')
    expect(ok(await table.get(hashKey)).updatedAt).toBe(updatedAt)
    expect(ok(await take(-2)).data).toEqual({ stock: 0 })
    expect(ok(await take(3)).data).toEqual({ stock: 3 })
  })
})

describe('what is refused changes nothing', () => {
  const pointers = (count: number): Json => Object.fromEntries(Array.from({ length: count }, (_, i) => [`/p${i}`, 1]))
  const long = 'x'.repeat(dataBytesMax - 200)
  const cases: Record<string, [change: string | Json, status: number, code: string, field?: string]> = {
    'nothing to change': [{}, 400, 'invalid_request', 'merge'],
    'an unknown field': [{ merge: {}, incr: {} }, 400, 'invalid_request', 'incr'],
    'data, as in a put': [{ data: { n: 2 } }, 400, 'invalid_request', 'data'],
    'merge that is null': [{ merge: null }, 400, 'invalid_request', 'merge'],
    'merge that is a list': [{ merge: [] }, 400, 'invalid_request', 'merge'],
    'increment that is empty': [{ increment: {} }, 400, 'invalid_request', 'increment'],
    'append that is empty': [{ append: {} }, 400, 'invalid_request', 'append'],
    'a pointer without /': [{ increment: { n: 1 } }, 400, 'invalid_request', 'increment["n"]'],
    'the pointer to all of data': [{ increment: { '': 1 } }, 400, 'invalid_request', 'increment[""]'],
    'a pointer with a lone ~': [{ increment: { '/a~2': 1 } }, 400, 'invalid_request', 'increment["/a~2"]'],
    'a text to add': [{ increment: { '/n': '1' } }, 400, 'invalid_request', 'increment["/n"]'],
    'a number without by': [{ increment: { '/n': { min: 1 } } }, 400, 'invalid_request', 'increment["/n"]'],
    'an unknown bound': [{ increment: { '/n': { by: 1, least: 1 } } }, 400, 'invalid_request', 'increment["/n"]'],
    'a value to append': [{ append: { '/list': 1 } }, 400, 'invalid_request', 'append["/list"]'],
    'one pointer below another': [
      { increment: { '/n': 1 }, append: { '/n/x': [1] } },
      400,
      'invalid_request',
      'append["/n/x"]',
    ],
    '26 pointers': [
      { increment: pointers(20), append: { '/a': [], '/b': [], '/c': [], '/d': [], '/e': [], '/f': [] } },
      400,
      'invalid_request',
      'append',
    ],
    'a member of merge twice': ['"merge":{"a":[{"b":1,"\\u0062":2}]}', 400, 'invalid_request', 'merge.a[0].b'],
    'a later member of merge twice': ['"merge":{"x":1,"y":{},"z":1,"y":2}', 400, 'invalid_request', 'merge.y'],
    'merge twice': ['"merge":{},"merge":{}', 400, 'invalid_request', 'merge'],
    'an operand of 41 digits': [`"increment":{"/n":1${'1'.repeat(40)}}`, 400, 'invalid_request', 'increment["/n"]'],
    'an operand of 1e309': ['"increment":{"/n":1e309}', 400, 'invalid_request', 'increment["/n"]'],
    'a sum of 1e309': ['"increment":{"/large":9e308}', 409, 'not_a_number', 'increment["/large"]'],
    'a text there': [{ merge: { n: 7 }, increment: { '/s': 1 } }, 409, 'not_a_number', 'increment["/s"]'],
    'a text on the way': [{ merge: { n: 7 }, increment: { '/s/x': 1 } }, 409, 'not_a_number', 'increment["/s/x"]'],
    'an element that does not exist': [
      { merge: { n: 7 }, append: { '/list/1': [1] } },
      409,
      'not_an_array',
      'append["/list/1"]',
    ],
    'the element after the last': [{ increment: { '/list/-': 1 } }, 409, 'not_a_number', 'increment["/list/-"]'],
    'a number to append to': [{ merge: { s: 'y' }, append: { '/n': [1] } }, 409, 'not_an_array', 'append["/n"]'],
    'an index value that is a list': [
      { increment: { '/n': 1 }, merge: { status: [] } },
      400,
      'invalid_index_value',
      'data.status',
    ],
    'a result that is too large': [
      { increment: { '/n': 1 }, merge: { long, more: 'y'.repeat(200) } },
      413,
      'record_too_large',
      'data',
    ],
    'a hash key that is missing': ['"hashKey":1,"merge":{}', 400, 'invalid_request'],
  }
  for (const [what, [change, status, code, field]] of Object.entries(cases)) {
    test(`${what}: ${status} ${code}`, async () => {
      const data = '{"n":1,"s":"x","list":[1],"large":9e308}'
      const { hashKey, updatedAt } = await make(data)
      const members = typeof change === 'string' ? change : JSON.stringify(change).slice(1, -1)
      const body = `{"hashKey":"${hashKey}"${members === '' ? '' : `,${members}`}}`
      const { message, hint } = refused(await patchText(body), status, code, field)
      expect(message.length).toBeGreaterThan(10)
      if (code !== 'not_a_number') expect(hint ?? message).not.toBe('')
      expect((await table.get(hashKey)).text).toBe(`{"hashKey":"${hashKey}","data":${data},"updatedAt":${updatedAt}}\n`)
    })
  }

  test('a result that is too deep', async () => {
    const deepest = '/a'.repeat(dataDepthMax)
    refused(await patch({ hashKey: 'deep', append: { [deepest]: [1] } }), 400, 'invalid_request', 'data')
    refused(await table.get('deep'), 404, 'record_not_found')
  })

  test('a body of more than 1 MiB; one of just 1 MiB is read', async () => {
    const hashKey = freshKey()
    const body = (bytes: number): string => {
      const start = `{"hashKey":"${hashKey}","increment":{"/n":1}`
      return `${start}${' '.repeat(bytes - start.length - 1)}}`
    }
    refused(await patchText(body(bodyBytesMax + 1)), 413, 'body_too_large')
    refused(await table.get(hashKey), 404, 'record_not_found')
    expect(ok(await patchText(body(bodyBytesMax))).data).toEqual({ n: 1 })
  })

  test('the order of checks: type, body, parameters, then the table', async () => {
    const none = `/v1/app/${freshName('none')}`
    const send = (path: string, body: string, headers: Headers = {}) =>
      service.api.raw('PATCH', path, { body, headers: Object.entries(headers) })
    refused(await send(none, '{', { 'content-type': 'text/plain' }), 415, 'unsupported_media_type')
    refused(await send(none, '{}', { 'content-type': 'application/merge-patch+json' }), 415, 'unsupported_media_type')
    refused(await send(`${none}?x=1`, '{'), 400, 'invalid_json')
    refused(await send(`${none}?x=1`, '{"hashKey":"a","merge":{}}'), 400, 'invalid_request', 'x')
    refused(await send(none, '{"hashKey":"a","merge":{}}'), 404, 'table_not_found')
  })

  test('with the key in the path: 405, and the hint names the request that works', async () => {
    for (const path of [table.at('a'), table.at('a', 'r')]) {
      const { hint } = refused(await service.api.raw('PATCH', path, { body: '{}' }), 405, 'method_not_allowed')
      expect(hint).toContain(`PATCH ${table.path} with hashKey in the body`)
    }
  })

  test('a public key, a key of another database, another organization', async () => {
    const change = { hashKey: freshKey(), merge: {} }
    refused(await patch(change, {}, service.reader), 403, 'read_only_key')
    const limited = await createKey(service.api, { kind: 'secret', databases: ['elsewhere'] })
    refused(await patch(change, {}, service.server.as(limited.key)), 403, 'key_scope')
    refused(await patch(change, {}, service.stranger), 404, 'table_not_found')
    const allowed = await createKey(service.api, { kind: 'secret', databases: ['app'] })
    ok(await patch(change, {}, service.server.as(allowed.key)))
  })
})

describe('patches in a batch', () => {
  test('are applied with puts, deletes and runs, all or none', async () => {
    const task = await makeTask(service.api)
    const [a, b, c] = [freshKey(), freshKey(), freshKey()]
    await table.put(c, { n: 1 })
    const operations = (by: number): Json[] => [
      { op: 'put', hashKey: a, data: { n: 1 } },
      { op: 'run', task: task.name, id: `run-${by}` },
      { op: 'patch', hashKey: b, rangeKey: 'r', increment: { '/n': { by, min: 0 } }, append: { '/list': [by] } },
      { op: 'delete', hashKey: c },
    ]
    refused(await table.tryBatch(operations(-1)), 412, 'precondition_failed', 'operations[2].increment["/n"]')
    refused(await table.get(a), 404, 'record_not_found')
    ok(await table.get(c))
    refused(await task.get('run--1'), 404, 'run_not_found')
    expect(ok(await table.tryBatch(operations(2)))).toMatchObject({ count: 4, runs: ['run-2'] })
    expect(ok(await table.get(b, 'r')).data).toEqual({ n: 2, list: [2] })
    refused(await table.get(c), 404, 'record_not_found')
  })

  test('errors name the operation', async () => {
    const { hashKey, updatedAt } = await make('{"s":"x"}')
    const cases: [Json, number, string, string][] = [
      [{ increment: { '/s': 1 } }, 409, 'not_a_number', 'operations[1].increment["/s"]'],
      [{ append: { '/s': [1] } }, 409, 'not_an_array', 'operations[1].append["/s"]'],
      [{ increment: { n: 1 } }, 400, 'invalid_request', 'operations[1].increment["n"]'],
      [{ merge: { status: [] } }, 400, 'invalid_index_value', 'operations[1].data.status'],
      [{ merge: { long: 'x'.repeat(dataBytesMax) } }, 413, 'record_too_large', 'operations[1].data'],
      [{ merge: {}, ifUpdatedAt: updatedAt - 1 }, 412, 'precondition_failed', 'operations[1].ifUpdatedAt'],
      [{ merge: {}, ifUpdatedAt: null }, 412, 'precondition_failed', 'operations[1].ifUpdatedAt'],
      [{ merge: {}, ttl: -1 }, 400, 'invalid_ttl', 'operations[1].ttl'],
      [{}, 400, 'invalid_request', 'operations[1].merge'],
      [{ merge: {}, zzz: 1 }, 400, 'invalid_request', 'operations[1].zzz'],
    ]
    const other = freshKey()
    for (const [change, status, code, field] of cases) {
      const operations = [
        { op: 'put', hashKey: other, data: {} },
        { op: 'patch', hashKey, ...change },
      ]
      refused(await table.tryBatch(operations), status, code, field)
    }
    refused(await table.get(other), 404, 'record_not_found')
    expect(ok(await table.get(hashKey)).updatedAt).toBe(updatedAt)
    const twice = [
      { op: 'patch', hashKey, merge: {} },
      { op: 'delete', hashKey },
    ]
    refused(await table.tryBatch(twice), 400, 'batch_duplicate_keys', 'operations[1]')
  })

  test('only the version that is named is changed', async () => {
    const { hashKey, updatedAt } = await make('{"n":1}')
    await table.batch([{ op: 'patch', hashKey, increment: { '/n': 1 }, ifUpdatedAt: updatedAt }])
    await table.batch([{ op: 'patch', hashKey: freshKey(), increment: { '/n': 1 }, ifUpdatedAt: null }])
    expect(await dataOf(hashKey)).toBe('{"n":2}')
  })
})

describe('patches that race', () => {
  test('none is lost, and none is refused because of another', async () => {
    const hashKey = freshKey()
    const added = Array.from({ length: 200 }, (_, i) => i)
    const versions = new Set<number>()
    await inParallel(added, 32, async (i) => {
      const change = { hashKey, increment: { '/n': 1 }, append: { '/list': [i] }, merge: { [`m${i}`]: i } }
      versions.add(ok(await patch(change)).updatedAt)
    })
    const { n, list, ...merged } = ok(await table.get(hashKey)).data
    expect(n).toBe(200)
    expect(list.sort((a: number, b: number) => a - b)).toEqual(added)
    expect(Object.values(merged)).toHaveLength(200)
    expect(versions.size).toBe(200)
  })

  test('a stock never falls below 0: as many succeed as there are', async () => {
    const { hashKey } = await make('{"stock":10}')
    const statuses: number[] = []
    await inParallel(Array.from({ length: 40 }), 16, async () => {
      statuses.push((await patch({ hashKey, increment: { '/stock': { by: -1, min: 0 } } })).status)
    })
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    expect(statuses.filter((status) => status === 412)).toHaveLength(30)
    expect(await dataOf(hashKey)).toBe('{"stock":0}')
  })
})

describe('a patch of an item', () => {
  const pathOf = (id: string, query = ''): string => `/api/collections/app.${table.name}/items/${id}${query}`
  const patchItem = (id: string, body: string, query = '', headers: Headers = {}): Promise<ApiResponse> =>
    service.api.raw('PATCH', pathOf(id, query), { body, headers: Object.entries(headers) })

  test('merges the document, and answers the whole one with its ETag', async () => {
    const { hashKey } = await make('{ "a" : 1.50, "gone":1, "increment":{"/n":1} }')
    const answer = await patchItem(hashKey, ' { "gone": null, "ttl" : 5 } ')
    ok(answer)
    expect(answer.text).toBe('{ "a" : 1.50, "increment":{"/n":1},"ttl" : 5 }')
    const { updatedAt } = ok(await table.get(hashKey))
    expect(answer.headers.get('etag')).toBe(`"${updatedAt}"`)
  })

  test('creates an item, takes a range key, and minimal is 204 without a body', async () => {
    const id = freshKey()
    const answer = await patchItem(id, '{"a":1}', '?rangeKey=r', { prefer: 'return=minimal' })
    expect([answer.status, answer.text]).toEqual([204, ''])
    const record = ok(await table.get(id, 'r'))
    expect(record.data).toEqual({ a: 1 })
    expect(answer.headers.get('etag')).toBe(`"${record.updatedAt}"`)
  })

  test('takes application/merge-patch+json too, which no other route does', async () => {
    const id = freshKey()
    for (const type of ['application/merge-patch+json', 'Application/Merge-Patch+JSON; charset=utf-8']) {
      ok(await patchItem(id, '{"a":1}', '', { 'content-type': type }))
    }
    const type = 'application/merge-patch+json'
    for (const other of ['application/merge-patch+jsonx', 'application/json-patch+json', 'text/plain']) {
      refused(await patchItem(id, '{}', '', { 'content-type': other }), 415, 'unsupported_media_type')
    }
    const put = await service.api.raw('PUT', pathOf(id), { body: '{}', headers: [['content-type', type]] })
    refused(put, 415, 'unsupported_media_type')
    expect(await dataOf(id)).toBe('{"a":1}')
  })

  test('without ?ttl= the present one stays', async () => {
    const id = freshKey()
    ok(await patchItem(id, '{"a":1}', '?ttl=4000000000'))
    ok(await patchItem(id, '{"a":2}'))
    expect(ok(await table.get(id)).ttl).toBe(4_000_000_000)
    ok(await patchItem(id, '{"a":2}', '?ttl=4000000001'))
    expect(ok(await table.get(id)).ttl).toBe(4_000_000_001)
    refused(await patchItem(id, '{}', '?ttl=x'), 400, 'invalid_ttl', 'ttl')
  })

  test('conditions and refusals are those of a put', async () => {
    const { hashKey, updatedAt } = await make('{"a":1}')
    refused(await patchItem(hashKey, '{}', '', { 'if-none-match': '*' }), 412, 'precondition_failed')
    refused(await patchItem(hashKey, '{}', '', { 'if-match': '"1"' }), 412, 'precondition_failed')
    refused(await patchItem(hashKey, '[]'), 400, 'invalid_request')
    refused(await patchItem(hashKey, '{"a":1,"a":2}'), 400, 'invalid_request')
    refused(await patchItem(hashKey, '{"status":[]}'), 400, 'invalid_index_value', 'data.status')
    refused(await patchItem(hashKey, '{}', '?zzz=1'), 400, 'invalid_request', 'zzz')
    refused(await service.reader.raw('PATCH', pathOf(hashKey), { body: '{}' }), 403, 'read_only_key')
    expect(ok(await table.get(hashKey)).updatedAt).toBe(updatedAt)
    ok(await patchItem(hashKey, '{"a":2}', '', { 'if-match': `"${updatedAt}"` }))
  })
})
