import { describe, expect, test } from 'bun:test'
import type { Json } from '../harness.ts'
import { freshName, ok, refused, useService } from './service.ts'

// The tests of what tables, buckets and tasks have in common are in lifecycle.test.ts.

const service = useService()
const bucketId = /^bkt_[0-9A-Za-z]{22}$/

const pathOf = (bucket: string, db = 'app'): string => `/v1/${db}/_buckets/${bucket}`

const makeBucket = async (name = freshName('b'), db = 'app', api = service.api): Promise<{ path: string } & Json> => {
  const path = pathOf(name, db)
  return { path, created: ok(await api.post(path), 201) }
}

describe('paths', () => {
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

  test('ids are random: no two are equal, and none follows from the name', async () => {
    const ids = new Set<string>()
    for (const api of [service.api, service.stranger]) {
      for (const db of ['app', 'other']) ids.add((await makeBucket('same-name', db, api)).created.id)
    }
    expect(ids.size).toBe(4)
  })

  test('created again under the name of a deleted one: another id', async () => {
    const { path, created } = await makeBucket()
    ok(await service.api.delete(path))
    const { id } = ok(await service.api.post(path), 201)
    expect(id).toMatch(bucketId)
    expect(id).not.toBe(created.id)
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
      ['POST', path, { name: 'tom.png' }, `This request creates a bucket; files are written by PUT ${path}/<name>.`],
      [
        'DELETE',
        `${path}?name=tom.png`,
        undefined,
        `This path is the bucket; files are deleted by DELETE ${path}/<name>.`,
      ],
      ['DELETE', path, { name: 'tom.png' }, `This path is the bucket; files are deleted by DELETE ${path}/<name>.`],
      ['PUT', path, 'x', `Buckets are created by POST ${path}; files are written by PUT ${path}/<name>.`],
      ['POST', '/v1/app/_buckets', undefined, 'Buckets are created by POST /v1/app/_buckets/:bucket.'],
      ['PUT', '/v1/app/_buckets', undefined, 'Buckets are created by POST /v1/app/_buckets/:bucket.'],
      ['GET', '/v1/_buckets', undefined, 'Buckets are listed by GET /v1/:db/_buckets.'],
      ['GET', '/v1/app/buckets', undefined, 'Buckets are listed by GET /v1/app/_buckets.'],
      ['GET', '/v1/app/buckets/album', undefined, 'Buckets are listed by GET /v1/app/_buckets.'],
      ['DELETE', `${path}/`, undefined, `files are deleted by DELETE ${path}/<name>.`],
      ['GET', '/buckets', undefined, 'Buckets are listed by GET /v1/:db/_buckets.'],
      ['GET', '/api/buckets/album', undefined, 'Buckets are listed by GET /v1/:db/_buckets.'],
      [
        'GET',
        '/v1/app/buckets',
        undefined,
        'Create it with the indices that it needs, which cannot be changed later: POST /v1/app/buckets. Buckets are listed by',
      ],
      ['POST', `${path}/tom.png`, 'x', `${bytesSent} (curl -T FILE, not -F). This path takes`],
      ['POST', `${path}/cats/tom.png`, 'x', bytesSent],
      ['POST', `${path}/upload`, 'x', bytesSent],
      ['POST', `${path}${'/a'.repeat(17)}`, 'x', bytesSent],
      ['POST', `${path}/list`, {}, `Files are listed by POST ${path}/query.`],
      ['POST', `${path}/cats/tom.png/url`, {}, `are made by POST ${path}/url with name in the body.`],
      ['POST', `${path}/delete`, {}, `Files are deleted by DELETE ${path}/<name>.`],
      ['PUT', `${path}//tom.png`, 'x', `${noEmpty}; a file is at ${path}/<name>.`],
      ['GET', `${path}/cats//tom.png`, undefined, `${noEmpty}; a file is at ${path}/<name>.`],
      ['GET', `${path}/cats/`, undefined, `Files are listed by POST ${path}/query, with "prefix"`.replace('F', 'f')],
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
