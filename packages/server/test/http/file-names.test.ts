import { beforeAll, describe, expect, test } from 'bun:test'
import { makeBucket, TestBucket } from './bucket.ts'
import { freshName, makeTable, ok, refused, type TestTable, useService } from './service.ts'

// The name of a file is the rest of a path, sent byte for byte here. Without these rules, a request to remove the file ".."
// would remove a bucket or a table.

const service = useService()
let bucket: TestBucket
let table: TestTable
beforeAll(async () => {
  bucket = await makeBucket(service.api)
  table = await makeTable(service.api)
  await table.put('a')
  await bucket.put('a')
  await bucket.put('a/b')
})

/** Nothing that was there before the tests is gone. */
const expectUntouched = async (): Promise<void> => {
  expect(await bucket.names()).toContainValues(['a', 'a/b'])
  ok(await service.api.get(bucket.path))
  ok(await table.get('a'))
}

const send = (method: string, target: string | Uint8Array) =>
  service.api.raw(method, target, method === 'PUT' || method === 'PATCH' ? { body: '{"ttl":null}' } : {})

const methods = ['DELETE', 'GET', 'PUT', 'PATCH', 'HEAD']

describe('a name', () => {
  const names = [
    'a',
    'query',
    'url',
    'restore',
    'query/url',
    'a/query',
    '#',
    '*',
    ':name',
    'a b+c&d=e?f#g%h',
    '...',
    '.hidden',
    'a..b/..c/d..',
    'é/日本/😀',
    '_buckets',
    '\\',
    '..\\x',
    '~',
    '"quoted"',
    '\ufeff',
    '%2e%2e',
    'x'.repeat(1_024),
    'é'.repeat(512),
    Array(16).fill('s').join('/'),
    Array(16).fill('s'.repeat(60)).join('/'),
  ]
  for (const name of names) {
    test(`${JSON.stringify(name.slice(0, 40))}, ${name.split('/').length} segments, is put, read, changed, listed and removed`, async () => {
      const own = await makeBucket(service.api)
      expect((await own.put(name, `bytes of ${name}`)).name).toBe(name)
      expect(ok(await own.record(name)).name).toBe(name)
      expect(await own.read(name)).toBe(`bytes of ${name}`)
      expect(ok(await own.change(name, { visibility: 'public' })).url).toBe(
        `${service.server.url}/files/${own.created.id}/${name.split('/').map(encodeURIComponent).join('/')}`,
      )
      expect(await own.names()).toEqual([name])
      expect(ok(await own.delete(name))).toEqual({ deleted: true })
      expect(await own.names()).toEqual([])
    })
  }

  test('%2F is the same as /', async () => {
    await bucket.put('dir/of/file', 'bytes')
    for (const path of ['dir%2Fof%2Ffile', 'dir%2fof/file', 'dir/of%2Ffile']) {
      expect(ok(await service.api.raw('GET', `${bucket.path}/${path}?record=true`)).name).toBe('dir/of/file')
    }
    expect(ok(await service.api.raw('DELETE', `${bucket.path}/dir%2Fof%2Ffile`))).toEqual({ deleted: true })
  })

  test('in raw bytes that are not UTF-8 is read as U+FFFD, an escape of such bytes is refused', async () => {
    const target = Buffer.concat([Buffer.from(`${bucket.path}/raw-`), Buffer.of(0xff)])
    expect(ok(await service.api.raw('PUT', target, { body: 'x' })).name).toBe('raw-\ufffd')
    expect(ok(await service.api.raw('DELETE', `${bucket.path}/raw-%EF%BF%BD`))).toEqual({ deleted: true })
  })
})

describe('400 invalid_key, and nothing is touched:', () => {
  const paths = [
    '.',
    '..',
    '%2e',
    '%2E%2e',
    '.%2E',
    'a/.',
    'a/..',
    'a/../..',
    '../a',
    './a',
    'a/./b',
    'a/../b',
    'a%2F..',
    'a%2f%2e%2e',
    '..%2F..',
    '%2F',
    'a%2F',
    '%2Fa',
    'a%2F%2Fb',
    'a%00',
    'a%0A',
    '%1F',
    '%7F',
    '%C2%80',
    '%C2%9F',
    '%',
    'a%2',
    'a%zz',
    '%ff',
    'a/%C3',
    '%ED%A0%80',
    'x'.repeat(1_025),
    '%C3%A9'.repeat(513),
    Array(17).fill('s').join('/'),
    Array(40).fill('s').join('/'),
    Array(17).fill('s').join('%2F'),
    `${Array(20).fill('s').join('/')}${'/..'.repeat(20)}x`,
  ]
  for (const path of paths) {
    test(path.slice(0, 60), async () => {
      for (const method of methods) {
        const answer = await send(method, `${bucket.path}/${path}`)
        if (method === 'HEAD') expect(answer.status).toBe(400)
        else refused(answer, 400, 'invalid_key', 'name')
      }
      await expectUntouched()
    })
  }
})

describe('404 route_not_found, never the bucket:', () => {
  const paths = [
    '/',
    '//',
    '/a/',
    '//a',
    '/a//b',
    '/a/b/',
    '/a//',
    '/?',
    '/a/?record=true',
    `/${Array(16).fill('s').join('/')}/`,
    `/${Array(17).fill('s').join('/')}/`,
    `/${Array(20).fill('s').join('/')}//x`,
  ]
  for (const path of paths) {
    test(path.slice(0, 60), async () => {
      for (const method of methods) {
        const answer = await send(method, bucket.path + path)
        if (method === 'HEAD') expect(answer.status).toBe(404)
        else refused(answer, 404, 'route_not_found')
      }
      await expectUntouched()
    })
  }

  test('without a key the answer is the same', async () => {
    refused(await service.server.raw('DELETE', `${bucket.path}/`), 404, 'route_not_found')
    refused(
      await service.server.raw('DELETE', `${bucket.path}/${Array(17).fill('s').join('/')}`),
      401,
      'missing_api_key',
    )
  })
})

test('dots that would leave the bucket never reach another bucket, a table or the list', async () => {
  const other = await makeBucket(service.api)
  await other.put('a')
  const targets = [
    `${bucket.path}/../${other.path.split('/').at(-1)}`,
    `${bucket.path}/%2e%2e/${other.path.split('/').at(-1)}`,
    `${bucket.path}/../../${table.name}`,
    `${bucket.path}/..%2F..%2F${table.name}`,
    `${bucket.path}/a/../../../${table.name}/a`,
  ]
  for (const target of targets) refused(await service.api.raw('DELETE', target), 400, 'invalid_key', 'name')
  // A raw backslash is a character of its segment, so these name files that do not exist.
  for (const target of [`${bucket.path}\\..\\${table.name}`, `${bucket.path}/\\..\\..\\${table.name}`]) {
    const answer = await service.api.raw('DELETE', target)
    expect([200, 400]).toContain(answer.status)
    if (answer.status === 200) expect(answer.body).toEqual({ deleted: false })
  }
  ok(await service.api.get(other.path))
  expect(await other.names()).toEqual(['a'])
  await expectUntouched()
})

test('a name with too many segments and dots at its end is refused, as one or the other', async () => {
  // Bun has resolved the dots where it no longer says which segments there were.
  for (const method of methods) {
    const { status } = await send(method, `${bucket.path}/${Array(17).fill('s').join('/')}/..`)
    expect([400, 404]).toContain(status)
  }
  await expectUntouched()
})

test('an escaped _buckets is a table with a reserved name', async () => {
  for (const segment of ['%5Fbuckets', '_bucket%73']) {
    for (const method of ['GET', 'DELETE']) {
      const path = bucket.at('a').replace('_buckets', segment)
      refused(await service.api.raw(method, path), 400, 'reserved_name', 'table')
    }
  }
})

describe('other methods', () => {
  test('of a file are 405 with Allow', async () => {
    for (const path of ['a', 'a/b', Array(16).fill('s').join('/'), Array(17).fill('s').join('/')]) {
      const answer = await service.api.raw('POST', `${bucket.path}/${path}`)
      refused(answer, 405, 'method_not_allowed')
      expect(answer.headers.get('allow')).toBe('DELETE, GET, HEAD, OPTIONS, PATCH, PUT')
    }
  })

  test('of verbs: POST has its own meaning, the others name files', async () => {
    const own = new TestBucket(service.api, freshName('verbs'))
    ok(await service.api.post(own.path), 201)
    for (const verb of ['query', 'restore', 'url']) {
      expect((await own.put(verb, 'bytes')).name).toBe(verb)
      expect(await own.read(verb)).toBe('bytes')
      expect(ok(await own.change(verb, { metadata: { verb } })).metadata).toEqual({ verb })
      expect(ok(await own.delete(verb))).toEqual({ deleted: true })
    }
    expect(ok(await service.api.post(`${own.path}/query`)).items).toEqual([])
    expect(ok(await service.api.post(`${own.path}/restore`)).status).toBe('active')
  })

  test('OPTIONS answers 204 for every name', async () => {
    for (const path of ['a', 'a/b/c', Array(30).fill('s').join('/'), 'a/']) {
      const answer = await service.server.raw('OPTIONS', `${bucket.path}/${path}`)
      expect(answer.status).toBe(204)
      expect(answer.headers.get('access-control-allow-methods')).toContain('PATCH')
    }
  })
})
