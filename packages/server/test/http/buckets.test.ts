import { describe, expect, test } from 'bun:test'
import type { Answer, Json } from '../harness.ts'
import { createKey, freshName, makeTable, ok, refused, useService } from './service.ts'

// A bucket follows the rules of tables. These tests repeat them through its own routes: a rule that only tables follow would
// not be noticed otherwise.

const service = useService()
const weekMs = 7 * 24 * 60 * 60 * 1000
const bucketId = /^bkt_[0-9A-Za-z]{22}$/

const pathOf = (bucket: string, db = 'app'): string => `/v1/${db}/_buckets/${bucket}`

const makeBucket = async (name = freshName('b'), db = 'app', api = service.api): Promise<{ path: string } & Json> => {
  const path = pathOf(name, db)
  return { path, created: ok(await api.post(path), 201) }
}

describe('names', () => {
  for (const name of [
    'a',
    '0',
    '-',
    'a_b-c',
    'x'.repeat(64),
    'query',
    'url',
    'restore',
    'find',
    'batch',
    'keys',
    'v1',
  ]) {
    test(`"${name}" names a bucket`, async () => {
      ok(await service.api.post(pathOf(name)), 201)
      expect(ok(await service.api.get(pathOf(name)))).toMatchObject({ db: 'app', bucket: name })
      expect(ok(await service.api.delete(pathOf(name)))).toMatchObject({ bucket: name, status: 'deleted' })
    })
  }

  for (const name of [
    'x'.repeat(65),
    'A',
    'a.b',
    'a%20b',
    '%C3%A9',
    'a%00',
    'a%2Fb',
    'a+b',
    '..',
    '.',
    '%2e%2e',
    '%ff',
  ]) {
    test(`"${name}" is refused: invalid_name`, async () => {
      for (const method of ['POST', 'GET', 'DELETE']) {
        refused(await service.api.raw(method, pathOf(name)), 400, 'invalid_name', 'bucket')
        refused(await service.api.raw(method, pathOf('avatars', name)), 400, 'invalid_name', 'db')
      }
      refused(await service.api.raw('POST', `${pathOf(name)}/restore`), 400, 'invalid_name', 'bucket')
    })
  }

  test('a leading _ is reserved', async () => {
    for (const name of ['_', '_avatars', '_buckets', '_tasks']) {
      for (const method of ['POST', 'GET', 'DELETE']) {
        refused(await service.api.raw(method, pathOf(name)), 400, 'reserved_name', 'bucket')
        refused(await service.api.raw(method, pathOf('avatars', name)), 400, 'reserved_name', 'db')
      }
      refused(await service.api.get(`/v1/${name}/_buckets`), 400, 'reserved_name', 'db')
    }
  })

  test('a table and a bucket may have the same name, and neither is the other', async () => {
    const name = freshName('same')
    const bucket = await makeBucket(name)
    refused(await service.api.get(`/v1/app/${name}`), 404, 'table_not_found')
    const table = await makeTable(service.api, { i1: { hashField: 'a' } }, name)
    await table.put('r', { a: 1 })
    ok(await service.api.delete(bucket.path))
    expect(ok(await service.api.get(table.path))).toEqual(table.created)
    ok(await service.api.post(`${bucket.path}/restore`))
    ok(await service.api.delete(table.path))
    expect(ok(await service.api.get(bucket.path))).toEqual(bucket.created)
    expect(ok(await service.api.post(`${bucket.path}/restore`))).toEqual(bucket.created)
    refused(await service.api.get(table.path), 404, 'table_not_found')
    ok(await service.api.post(`${table.path}/restore`))
    expect((await table.items({ index: 't' })).length).toBe(1)
  })
})

describe('reserved words in a path', () => {
  test('_buckets has a meaning only after a database, and only as it is written', async () => {
    refused(await service.api.get('/v1/_buckets'), 400, 'reserved_name', 'db')
    refused(await service.api.get('/v1/_buckets/avatars'), 400, 'reserved_name', 'db')
    for (const path of ['/v1/app/%5Fbuckets', '/v1/app/_bucket%73', '/v1/app/%5Fbuckets/avatars'])
      refused(await service.api.raw('GET', path), 400, 'reserved_name', 'table')
    expect(ok(await service.api.get('/v1/app/_buckets'))).toHaveProperty('buckets')
  })

  test('every other name with a leading _ stays reserved', async () => {
    for (const name of ['_task', '_other', '_bucket', '_bucketss', '_']) {
      for (const [method, rest, body] of [
        ['GET', ''],
        ['POST', ''],
        ['DELETE', ''],
        ['PUT', '', { hashKey: 'a', data: {} }],
        ['GET', '/a'],
        ['DELETE', '/a/b'],
        ['POST', '/query', { hash: 'a' }],
        ['POST', '/restore'],
      ] as [string, string, Json?][]) {
        refused(await service.api.request(method, `/v1/app/${name}${rest}`, body), 400, 'reserved_name', 'table')
      }
    }
  })

  test('other methods on the paths of buckets: 405 with Allow', async () => {
    for (const [path, allow, methods] of [
      ['/v1/app/_buckets', 'GET, HEAD, OPTIONS', ['POST', 'PUT', 'PATCH', 'DELETE']],
      [pathOf('avatars'), 'DELETE, GET, HEAD, OPTIONS, POST', ['PUT', 'PATCH']],
    ] as const) {
      for (const method of methods) {
        const answer = await service.api.raw(method, path)
        refused(answer, 405, 'method_not_allowed')
        expect([path, method, answer.headers.get('allow')]).toEqual([path, method, allow])
      }
    }
  })

  test('an empty segment or a trailing slash: 404 route_not_found, and no bucket is gone', async () => {
    const { path, created } = await makeBucket()
    for (const target of [`${path}/`, `${path}//`, path.replace('_buckets/', '_buckets//'), '/v1/app/_buckets/']) {
      for (const method of ['DELETE', 'GET', 'POST', 'PUT'])
        refused(await service.api.raw(method, target), 404, 'route_not_found')
    }
    expect(ok(await service.api.get(path))).toEqual(created)
  })
})

describe('create', () => {
  test('an empty body: 201 { db, bucket, id, status, createdAt }', async () => {
    const name = freshName('b')
    const before = Date.now()
    const bucket = ok(await service.api.post(pathOf(name)), 201)
    expect(bucket).toEqual({
      db: 'app',
      bucket: name,
      id: expect.stringMatching(bucketId),
      status: 'active',
      createdAt: expect.any(Number),
    })
    expect(Object.keys(bucket)).toEqual(['db', 'bucket', 'id', 'status', 'createdAt'])
    expect(bucket.createdAt).toBeGreaterThanOrEqual(before)
    expect(bucket.createdAt).toBeLessThanOrEqual(Date.now())
  })

  test('{} is as an empty body; repeated: 200, the bucket as it is, with its id', async () => {
    const name = freshName('b')
    const bucket = ok(await service.api.post(pathOf(name), {}), 201)
    expect(ok(await service.api.post(pathOf(name)))).toEqual(bucket)
    expect(ok(await service.api.post(pathOf(name), {}))).toEqual(bucket)
  })

  test('ids are random: no two are equal, and none follows from the name', async () => {
    const ids = new Set<string>()
    for (const api of [service.api, service.stranger]) {
      for (const db of ['app', 'other']) ids.add((await makeBucket('same-name', db, api)).created.id)
    }
    expect(ids.size).toBe(4)
  })

  test('of racing creators of one name one makes it, and all see the same id', async () => {
    const path = pathOf(freshName('b'))
    const answers = await Promise.all(Array.from({ length: 12 }, () => service.api.post(path)))
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(11).fill(200), 201])
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
  })

  test('an unknown field, a query parameter, a condition: 400, and no bucket is made', async () => {
    const path = pathOf(freshName('b'))
    refused(await service.api.post(path, { indices: {} }), 400, 'invalid_request', 'indices')
    refused(await service.api.post(path, { visibility: 'public' }), 400, 'invalid_request', 'visibility')
    refused(await service.api.post(path, '[]'), 400, 'invalid_request')
    refused(await service.api.post(path, '{'), 400, 'invalid_json')
    refused(await service.api.post(path, 'x', { 'content-type': 'image/png' }), 415, 'unsupported_media_type')
    refused(await service.api.post(path, ' '.repeat(65_537)), 413, 'body_too_large')
    refused(await service.api.post(`${path}?a=1`), 400, 'invalid_request', 'a')
    refused(await service.api.post(path, undefined, { 'if-match': '*' }), 400, 'invalid_request')
    refused(await service.api.get(path), 404, 'bucket_not_found')
  })

  test('a database is there as soon as a bucket is, and gone with the last of both', async () => {
    const own = service.server.as((await service.server.createOrganization()).secretKey)
    const limited = service.server.as((await createKey(own, { kind: 'public', databases: ['b', 'c'] })).key)
    const databases = async () => [ok(await own.get('/v1')).databases, ok(await limited.get('/v1')).databases]
    await makeBucket('files', 'b', own)
    await makeTable(own, undefined, 'orders', 'a')
    expect(await databases()).toEqual([['a', 'b'], ['b']])
    await makeTable(own, undefined, 'orders', 'b')
    ok(await own.delete(pathOf('files', 'b')))
    expect(await databases()).toEqual([['a', 'b'], ['b']])
    ok(await own.delete('/v1/b/orders'))
    expect(await databases()).toEqual([['a'], []])
    ok(await own.post(`${pathOf('files', 'b')}/restore`))
    expect(await databases()).toEqual([['a', 'b'], ['b']])
    expect(ok(await own.get('/v1?limit=1')).cursor).toBeString()
  })
})

describe('describe', () => {
  test('GET gives the same object as the creation, to a public key too; HEAD as GET', async () => {
    const { path, created } = await makeBucket()
    expect(ok(await service.api.get(path))).toEqual(created)
    expect(ok(await service.reader.get(path))).toEqual(created)
    expect((await service.api.raw('HEAD', path)).status).toBe(200)
  })

  test('an unknown bucket: 404 bucket_not_found, whose hint shows the call that creates it', async () => {
    const { hint, message } = refused(await service.api.get(pathOf('nowhere')), 404, 'bucket_not_found')
    expect(message).toBe('There is no bucket nowhere in database app.')
    expect(hint).toBe('Create it: POST /v1/app/_buckets/nowhere')
    refused(await service.api.delete(pathOf('nowhere')), 404, 'bucket_not_found')
    refused(await service.api.post(`${pathOf('nowhere')}/restore`), 404, 'bucket_not_found')
  })
})

describe('list', () => {
  test('{ buckets, cursor } by name, page by page, tables left out', async () => {
    const db = freshName('db')
    const created: Json[] = []
    for (const name of ['b', 'a', '-', 'ab', 'z']) created.push((await makeBucket(name, db)).created)
    await makeTable(service.api, undefined, 'aa', db)
    const listing = ok(await service.api.get(`/v1/${db}/_buckets`))
    const byName = created.toSorted((x, y) => (x.bucket < y.bucket ? -1 : 1))
    expect(listing).toEqual({ buckets: byName, cursor: null })
    expect(ok(await service.reader.get(`/v1/${db}/_buckets`))).toEqual(listing)
    expect(ok(await service.api.get(`/v1/${db}`)).tables.map(({ table }: Json) => table)).toEqual(['aa'])
    const first = ok(await service.api.get(`/v1/${db}/_buckets?limit=3`))
    expect(first.buckets).toEqual(byName.slice(0, 3))
    const second = ok(await service.api.get(`/v1/${db}/_buckets?limit=3&cursor=${first.cursor}`))
    expect(second).toEqual({ buckets: byName.slice(3), cursor: null })
  })

  test('deleted=true: those that can be restored, by name, then deletedAt', async () => {
    const db = freshName('db')
    const expected: Json[] = []
    for (const name of ['b', 'a', 'b']) {
      const { path } = await makeBucket(name, db)
      expected.push(ok(await service.api.delete(path)))
    }
    expected.sort((x, y) => (x.bucket === y.bucket ? x.deletedAt - y.deletedAt : x.bucket < y.bucket ? -1 : 1))
    expect(ok(await service.api.get(`/v1/${db}/_buckets?deleted=true`))).toEqual({ buckets: expected, cursor: null })
    expect(ok(await service.api.get(`/v1/${db}/_buckets`))).toEqual({ buckets: [], cursor: null })
    expect(ok(await service.api.get(`/v1/${db}?deleted=true`))).toEqual({ tables: [], cursor: null })
    const { buckets, cursor } = ok(await service.api.get(`/v1/${db}/_buckets?deleted=true&limit=2`))
    expect(buckets).toEqual(expected.slice(0, 2))
    const rest = ok(await service.api.get(`/v1/${db}/_buckets?deleted=true&limit=2&cursor=${cursor}`))
    expect(rest).toEqual({ buckets: expected.slice(2), cursor: null })
  })

  test('a cursor belongs to its listing: not to another database, the deleted ones or tables', async () => {
    const [db, otherDb] = [freshName('db'), freshName('db')]
    for (const name of ['a', 'b']) {
      for (const one of [db, otherDb]) {
        await makeBucket(name, one)
        await makeTable(service.api, undefined, name, one)
      }
    }
    const { cursor } = ok(await service.api.get(`/v1/${db}/_buckets?limit=1`))
    refused(await service.api.get(`/v1/${otherDb}/_buckets?cursor=${cursor}`), 400, 'invalid_cursor')
    refused(await service.api.get(`/v1/${db}/_buckets?deleted=true&cursor=${cursor}`), 400, 'invalid_cursor')
    refused(await service.api.get(`/v1/${db}?cursor=${cursor}`), 400, 'invalid_cursor')
    const ofTables = ok(await service.api.get(`/v1/${db}?limit=1`)).cursor
    refused(await service.api.get(`/v1/${db}/_buckets?cursor=${ofTables}`), 400, 'invalid_cursor')
  })

  test('wrong parameters are named', async () => {
    refused(await service.api.get('/v1/app/_buckets?limit=0'), 400, 'invalid_request', 'limit')
    refused(await service.api.get('/v1/app/_buckets?deleted=yes'), 400, 'invalid_request', 'deleted')
    refused(await service.api.get('/v1/app/_buckets?prefix=a'), 400, 'invalid_request', 'prefix')
  })
})

describe('soft delete and restore', () => {
  test('200 with status deleted, deletedAt and recoverableUntil 7 days later; 404 with both calls in the hint', async () => {
    const { path, created } = await makeBucket()
    const deleted = ok(await service.api.delete(path))
    expect(deleted).toEqual({
      ...created,
      status: 'deleted',
      deletedAt: expect.any(Number),
      recoverableUntil: deleted.deletedAt + weekMs,
    })
    for (const answer of [await service.api.get(path), await service.api.delete(path)]) {
      const { hint } = refused(answer, 404, 'bucket_not_found')
      expect(hint).toContain(
        `Restore it until ${new Date(deleted.recoverableUntil).toISOString()}: POST ${path}/restore`,
      )
      expect(hint).toContain(`create a new, empty bucket: POST ${path}`)
    }
  })

  test('restored: 200, the same bucket with the same id', async () => {
    const { path, created } = await makeBucket()
    ok(await service.api.delete(path))
    expect(ok(await service.api.post(`${path}/restore`))).toEqual(created)
    expect(ok(await service.api.get(path))).toEqual(created)
    expect(ok(await service.api.post(`${path}/restore`, {}))).toEqual(created)
    expect(ok(await service.api.post(`${path}/restore`, { deletedAt: 1 }))).toEqual(created)
  })

  test('created again under the name: another id; each stays restorable, without deletedAt the newest', async () => {
    const { path, created } = await makeBucket()
    const firstAt = ok(await service.api.delete(path)).deletedAt
    const second = ok(await service.api.post(path), 201)
    expect(second.id).not.toBe(created.id)
    expect(second.id).toMatch(bucketId)
    const secondAt = ok(await service.api.delete(path)).deletedAt
    expect(secondAt).not.toBe(firstAt)
    expect(ok(await service.api.post(`${path}/restore`)).id).toBe(second.id)
    ok(await service.api.delete(path))
    expect(ok(await service.api.post(`${path}/restore`, { deletedAt: firstAt }))).toEqual(created)
  })

  test('the name taken by an active bucket: 409 bucket_exists, the hint giving the deletedAt to pass later', async () => {
    const { path, created } = await makeBucket()
    const { deletedAt } = ok(await service.api.delete(path))
    ok(await service.api.post(path), 201)
    const { hint } = refused(await service.api.post(`${path}/restore`), 409, 'bucket_exists')
    expect(hint).toBe(`Delete it first (DELETE ${path}), then restore with { "deletedAt": ${deletedAt} }.`)
    ok(await service.api.delete(path))
    expect(ok(await service.api.post(`${path}/restore`, { deletedAt }))).toEqual(created)
  })

  test('a deletedAt that names no recoverable bucket: 404; one that is no time: 400', async () => {
    const { path } = await makeBucket()
    ok(await service.api.delete(path))
    const { hint } = refused(await service.api.post(`${path}/restore`, { deletedAt: 1 }), 404, 'bucket_not_found')
    expect(hint).toContain('GET /v1/app/_buckets?deleted=true')
    const wrong = refused(await service.api.post(`${path}/restore`, { deletedAt: 'x' }), 400, 'invalid_request')
    expect(wrong.field).toBe('deletedAt')
    expect(wrong.hint).toContain('GET /v1/app/_buckets?deleted=true')
    refused(await service.api.post(`${path}/restore`, { at: 1 }), 400, 'invalid_request', 'at')
  })

  test('a request to delete with a body or a parameter deletes nothing', async () => {
    const { path, created } = await makeBucket()
    refused(await service.api.request('DELETE', path, { name: 'a.png' }), 400, 'invalid_request')
    refused(await service.api.delete(`${path}?name=a.png`), 400, 'invalid_request', 'name')
    refused(await service.api.delete(path, { 'if-match': '"1"' }), 400, 'invalid_request')
    expect(ok(await service.api.get(path))).toEqual(created)
  })
})

describe('another organization', () => {
  const faceless = ({ status, text, headers }: Answer, name: string): Json => ({
    status,
    text: text.replaceAll(headers.get('x-request-id')!, 'ID').replaceAll(name, 'NAME'),
  })

  for (const state of ['active', 'soft-deleted'] as const) {
    test(`its ${state} bucket answers exactly like one that does not exist`, async () => {
      const db = freshName('theirs')
      const { path, created } = await makeBucket('avatars', db)
      if (state === 'soft-deleted') ok(await service.api.delete(path))
      for (const [method, rest] of [
        ['GET', '/avatars'],
        ['DELETE', '/avatars'],
        ['POST', '/avatars/restore'],
        ['GET', ''],
        ['GET', '?deleted=true'],
      ] as const) {
        const theirs = await service.stranger.request(method, `/v1/${db}/_buckets${rest}`)
        const none = await service.stranger.request(method, `/v1/nowhere/_buckets${rest}`)
        expect(faceless(theirs, db)).toEqual(faceless(none, 'nowhere'))
      }
      if (state === 'soft-deleted') ok(await service.api.post(`${path}/restore`))
      expect(ok(await service.api.get(path))).toEqual(created)
    })
  }

  test('may use the same names: its bucket has an id of its own', async () => {
    const { path, created } = await makeBucket()
    const theirs = ok(await service.stranger.post(path), 201)
    expect(theirs.id).not.toBe(created.id)
    ok(await service.stranger.delete(path))
    expect(ok(await service.api.get(path))).toEqual(created)
  })
})

describe('almost right: the hint names the request that is meant', () => {
  const hintOf = async (method: string, path: string, body?: Json, headers?: Record<string, string>): Promise<string> =>
    (await service.api.request(method, path, body, headers)).body.error.hint

  test('on the paths of buckets', async () => {
    const { path } = await makeBucket('album')
    const bytesSent = `Files are written by PUT ${path}/<name> with the bytes as the body`
    const noEmpty = 'A name does not begin or end with "/", and has no "//"'
    for (const [method, target, body, meant] of [
      ['GET', `${path}?limit=10`, undefined, `Files are listed by POST ${path}/query.`],
      ['GET', `${path}?prefix=cats/`, undefined, `Files are listed by POST ${path}/query.`],
      ['GET', `${path}?name=tom.png`, undefined, `A file is read by GET ${path}/<name>.`],
      ['POST', path, { name: 'tom.png' }, `This request creates a bucket; files are written by PUT ${path}/<name>.`],
      [
        'DELETE',
        `${path}?name=tom.png`,
        undefined,
        `This path is the bucket; files are deleted by DELETE ${path}/<name>.`,
      ],
      ['DELETE', path, { name: 'tom.png' }, `This path is the bucket; files are deleted by DELETE ${path}/<name>.`],
      ['PUT', path, 'x', `Buckets are created by POST ${path}; files are written by PUT ${path}/<name>.`],
      ['PATCH', path, {}, `A bucket has nothing to change; a file is changed by PATCH ${path}/<name>.`],
      ['POST', '/v1/app/_buckets', undefined, 'Buckets are created by POST /v1/app/_buckets/:bucket.'],
      ['PUT', '/v1/app/_buckets', undefined, 'Buckets are created by POST /v1/app/_buckets/:bucket.'],
      ['DELETE', '/v1/app/_buckets', undefined, 'Buckets are deleted by DELETE /v1/app/_buckets/:bucket.'],
      ['GET', '/v1/_buckets', undefined, 'Buckets are listed by GET /v1/:db/_buckets.'],
      ['GET', '/v1/app/buckets', undefined, 'Buckets are listed by GET /v1/app/_buckets.'],
      ['GET', '/v1/app/buckets/album', undefined, 'Buckets are listed by GET /v1/app/_buckets.'],
      ['DELETE', `${path}/`, undefined, `files are deleted by DELETE ${path}/<name>.`],
      ['GET', '/app/_buckets/album', undefined, 'Buckets and files are below /v1: /v1/app/_buckets/album.'],
      ['GET', '/buckets', undefined, 'Buckets are listed by GET /v1/:db/_buckets.'],
      ['GET', '/api/buckets/album', undefined, 'Buckets are listed by GET /v1/:db/_buckets.'],
      ['GET', '/v1/app/buckets', undefined, 'Create it: POST /v1/app/buckets. Buckets are listed by'],
      ['POST', `${path}/tom.png`, 'x', `${bytesSent} (curl -T FILE, not -F). This path takes`],
      ['POST', `${path}/cats/tom.png`, 'x', bytesSent],
      ['POST', `${path}/upload`, 'x', bytesSent],
      ['POST', `${path}${'/a'.repeat(17)}`, 'x', bytesSent],
      ['POST', `${path}/list`, {}, `Files are listed by POST ${path}/query.`],
      ['POST', `${path}/cats/tom.png/url`, {}, `are made by POST ${path}/url with name in the body.`],
      ['POST', `${path}/delete`, {}, `Files are deleted by DELETE ${path}/<name>.`],
      ['PUT', `${path}/`, 'x', `The name of the file is missing; files are written by PUT ${path}/<name>.`],
      ['PUT', `${path}//tom.png`, 'x', `${noEmpty}; a file is at ${path}/<name>.`],
      ['GET', `${path}/cats//tom.png`, undefined, `${noEmpty}; a file is at ${path}/<name>.`],
      ['GET', `${path}/cats/`, undefined, `Files are listed by POST ${path}/query, with "prefix"`.replace('F', 'f')],
      ['PUT', '/v1/app/album/tom.png', 'x', 'files are written by PUT /v1/app/_buckets/album/<name>.'],
      ['PUT', '/v1/app/buckets/tom.png', 'x', 'files are written by PUT /v1/app/_buckets/:bucket/<name>.'],
    ] as const) {
      const hint = await hintOf(method, target, body)
      expect([method, target, hint]).toEqual([method, target, expect.stringContaining(meant)])
    }
    ok(await service.api.get(path))
  })

  test('bytes sent to the bucket itself', async () => {
    const path = pathOf('album')
    const meant = `This request creates a bucket; files are written by PUT ${path}/<name>.`
    expect(await hintOf('POST', path, 'x', { 'content-type': 'image/png' })).toBe(meant)
    expect(await hintOf('POST', path, ' '.repeat(70_000))).toBe(meant)
  })
})
