import { describe, expect, test } from 'bun:test'
import type { ApiResponse, Json } from '../harness.ts'
import { type Kind, kinds, makeResource, Resource } from './resource.ts'
import { createKey, freshName, inParallel, ok, refused, useService } from './service.ts'

// Tables, buckets and tasks have the same life: they are created, listed, deleted and restored by the same rules, each kind
// through routes of its own. What only one kind promises is in tables.test.ts, buckets.test.ts and tasks.test.ts.

const service = useService()
const weekMs = 7 * 24 * 60 * 60 * 1000

const make = (kind: Kind, name?: string, db?: string): Promise<Resource> => makeResource(kind, service.api, name, db)

/** A page of the listing, with query parameters. */
const list = async ({ listPath }: Kind, db: string, parameters = ''): Promise<Json> =>
  ok(await service.api.get(`${listPath(db)}?${parameters}`))

/** Every page of the listing. */
const pages = async (kind: Kind, db: string, parameters = ''): Promise<Json[][]> => {
  const found: Json[][] = []
  for (let cursor: string | null = null; ; ) {
    const page: Json = await list(kind, db, `${parameters}${cursor === null ? '' : `&cursor=${cursor}`}`)
    found.push(page[kind.plural])
    if (page.cursor === null) return found
    cursor = page.cursor
  }
}

describe('names', () => {
  for (const name of [
    ...['a', '0', '-', '-a', 'a_b-c', 'a_', 'x'.repeat(64), 'keys', 'v1', 'query', 'find', 'batch', 'restore', 'url'],
    ...['run', 'runs', 'claim', 'secret'],
  ]) {
    test(`"${name}" names a database, a table, a bucket and a task`, async () => {
      for (const kind of kinds) {
        const one = await make(kind, name, name)
        expect(one.created).toMatchObject({ db: name, [kind.word]: name })
        expect(await one.read()).toEqual(one.created)
        expect(await one.delete()).toMatchObject({ db: name, [kind.word]: name, status: 'deleted' })
        expect(await one.restore()).toEqual(one.created)
      }
    })
  }

  /** Every request with the name in its path, and the field that the error names. */
  const requestsWith = ({ word, listPath, method, below }: Kind, name: string): [string, string, string][] => {
    const requests = [[method, ''], ['GET', ''], ['DELETE', ''], ['POST', '/restore'], ...below] as [string, string][]
    return [
      ...requests.map(([verb, rest]): [string, string, string] => [verb, `${listPath('app')}/${name}${rest}`, word]),
      ...requests.map(([verb, rest]): [string, string, string] => [verb, `${listPath(name)}/orders${rest}`, 'db']),
      ['GET', listPath(name), 'db'],
    ]
  }

  for (const name of [
    ...['x'.repeat(65), 'A', 'Orders', 'a.b', 'a%20b', '%C3%A9', 'a%00', 'a%2Fb', 'a+b', 'a~', 'a:b'],
    ...['..', '.', '%2e%2e', '%ff'],
  ]) {
    test(`"${name}" is refused everywhere: invalid_name`, async () => {
      for (const [method, path, field] of kinds.flatMap((kind) => requestsWith(kind, name))) {
        refused(await service.api.raw(method, path), 400, 'invalid_name', field)
      }
    })
  }

  test('a leading _ is reserved', async () => {
    for (const kind of kinds) {
      for (const name of ['_', '_orders', '_bucket', '_bucketss', '_task', '_buckets', '_tasks']) {
        for (const [method, path, field] of requestsWith(kind, name)) {
          // These begin the paths of buckets and tasks.
          if (field === 'table' && (name === '_buckets' || name === '_tasks')) continue
          refused(await service.api.raw(method, path), 400, 'reserved_name', field)
        }
      }
    }
  })

  test('_buckets and _tasks have a meaning only after a database, and only as they are written', async () => {
    for (const [word, escaped, last] of [
      ['_buckets', '%5Fbuckets', '_bucket%73'],
      ['_tasks', '%5Ftasks', '_task%73'],
    ] as const) {
      refused(await service.api.get(`/v1/${word}`), 400, 'reserved_name', 'db')
      refused(await service.api.get(`/v1/${word}/orders`), 400, 'reserved_name', 'db')
      for (const path of [`/v1/app/${escaped}`, `/v1/app/${last}`, `/v1/app/${escaped}/orders`])
        refused(await service.api.raw('GET', path), 400, 'reserved_name', 'table')
      ok(await service.api.get(`/v1/app/${word}`))
    }
  })

  test('a table, a bucket and a task may have one name, and none is the other', async () => {
    const name = freshName('same')
    const made: Resource[] = []
    for (const kind of kinds) {
      refused(await service.api.get(new Resource(kind, service.api, name).path), 404, `${kind.word}_not_found`)
      made.push(await make(kind, name))
      await made.at(-1)!.add('one')
    }
    for (const one of made) {
      await one.delete()
      refused(await service.api.get(one.path), 404, `${one.kind.word}_not_found`)
      for (const other of made.filter((each) => each !== one)) {
        expect(await other.read()).toEqual(other.created)
        expect(await other.restore()).toEqual(other.created)
      }
      expect(await one.restore()).toEqual(one.created)
      for (const each of made) expect(await each.contents()).toEqual(['one'])
    }
  })
})

for (const kind of kinds) {
  const { word, plural, listPath, method } = kind
  const missing = `${word}_not_found`

  describe(`a ${word}`, () => {
    test('created: 201, with an empty body or {}; again: 200, and it is the same', async () => {
      // Each declaration of a task raises its version.
      const withoutVersion = ({ updatedAt: _, ...shown }: Json): Json => shown
      for (const body of [undefined, {}]) {
        const { path } = new Resource(kind, service.api)
        const created = ok(await service.api.request(method, path, body), 201)
        for (const again of [undefined, {}])
          expect(withoutVersion(ok(await service.api.request(method, path, again)))).toEqual(withoutVersion(created))
      }
    })

    test('GET gives the same object as the creation; HEAD is as GET', async () => {
      const { path, created } = await make(kind)
      expect(ok(await service.api.get(path))).toEqual(created)
      expect((await service.api.raw('HEAD', path)).status).toBe(200)
      if (kind.isReadByPublicKeys) expect(ok(await service.reader.get(path))).toEqual(created)
    })

    test('an unknown one: 404, and the hint shows the call that creates it', async () => {
      const db = freshName('db')
      const unknown = new Resource(kind, service.api, 'nowhere', db)
      for (const [verb, rest, body] of [
        ['GET', ''],
        ['DELETE', ''],
        ['POST', '/restore'],
        ...kind.below,
      ] as Kind['below']) {
        const { message, hint } = refused(await service.api.request(verb, unknown.path + rest, body), 404, missing)
        expect([verb, rest, message]).toEqual([verb, rest, `There is no ${word} nowhere in database ${db}.`])
        expect(hint).toBe(`${kind.create}: ${method} ${unknown.path}`)
      }
      refused(await unknown.tryRestore({ deletedAt: 1 }), 404, missing)
    })

    test('a database is there as soon as it is, and gone with the last of all kinds', async () => {
      const own = service.server.as((await service.server.createOrganization()).secretKey)
      const limited = service.server.as((await createKey(own, { kind: 'public', databases: ['b', 'c'] })).key)
      const databases = async () => [ok(await own.get('/v1')).databases, ok(await limited.get('/v1')).databases]
      const other = kinds[(kinds.indexOf(kind) + 1) % kinds.length]!
      const one = await makeResource(kind, own, 'one', 'b')
      await makeResource(other, own, 'other', 'a')
      expect(await databases()).toEqual([['a', 'b'], ['b']])
      const beside = await makeResource(other, own, 'other', 'b')
      await one.delete()
      expect(await databases()).toEqual([['a', 'b'], ['b']])
      await beside.delete()
      expect(await databases()).toEqual([['a'], []])
      await one.restore()
      expect(await databases()).toEqual([['a', 'b'], ['b']])
      expect(ok(await own.get('/v1?limit=1'))).toEqual({ databases: ['a'], cursor: expect.any(String) })
    })
  })

  describe(`the ${plural} of a database`, () => {
    test(`{ ${plural}, cursor } by name, each as GET shows it, without the other kinds`, async () => {
      const db = freshName('db')
      const created: Json[] = []
      for (const name of ['b', 'a', '-', '0', 'a-b', 'a_b', 'ab', 'z'])
        created.push((await make(kind, name, db)).created)
      for (const other of kinds) if (other !== kind) await make(other, 'aa', db)
      const listing = await list(kind, db)
      expect(listing).toEqual({
        [plural]: created.toSorted((x, y) => (x[word] < y[word] ? -1 : 1)),
        cursor: null,
      })
      if (kind.isReadByPublicKeys) expect(ok(await service.reader.get(listPath(db)))).toEqual(listing)
    })

    test('a database without any lists none', async () => {
      expect(await list(kind, freshName('db'))).toEqual({ [plural]: [], cursor: null })
    })

    test('limit and cursor walk it page by page', async () => {
      const db = freshName('db')
      for (const name of ['a', 'b', 'c', 'd', 'e']) await make(kind, name, db)
      const found = await pages(kind, db, 'limit=2')
      expect(found.map((page) => page.map((one) => one[word]))).toEqual([['a', 'b'], ['c', 'd'], ['e']])
      expect((await pages(kind, db, 'limit=5')).length).toBe(1)
    })

    test('100 by default; over 1,000 is taken as 1,000', async () => {
      const db = freshName('db')
      const names = Array.from({ length: 1003 }, (_, i) => `t${String(i).padStart(4, '0')}`)
      await inParallel(names, 32, async (name) => ok(await service.api.request(method, `${listPath(db)}/${name}`), 201))
      const first = await list(kind, db)
      expect(first[plural].length).toBe(100)
      expect(first.cursor).toBeString()
      const found = await pages(kind, db, 'limit=5000')
      expect(found.map((page) => page.length)).toEqual([1000, 3])
      expect(found.flat().map((one) => one[word])).toEqual(names)
    })

    test('a deleted one leaves the list and is in deleted=true until it is restored', async () => {
      const db = freshName('db')
      const [gone, kept] = [await make(kind, 'gone', db), await make(kind, 'kept', db)]
      const deleted = await gone.delete()
      expect(await list(kind, db)).toEqual({ [plural]: [kept.created], cursor: null })
      expect(await list(kind, db, 'deleted=true')).toEqual({ [plural]: [deleted], cursor: null })
      for (const other of kinds)
        if (other !== kind) expect(await list(other, db, 'deleted=true')).toEqual({ [other.plural]: [], cursor: null })
      await gone.restore()
      expect(await list(kind, db)).toEqual({ [plural]: [gone.created, kept.created], cursor: null })
      expect(await list(kind, db, 'deleted=true')).toEqual({ [plural]: [], cursor: null })
    })

    test('deleted=true goes by name, then deletedAt, with limit and cursor', async () => {
      const db = freshName('db')
      const expected: Json[] = []
      for (const name of ['b', 'a', 'b', 'a', 'b']) expected.push(await (await make(kind, name, db)).delete())
      expected.sort((x, y) => (x[word] === y[word] ? x.deletedAt - y.deletedAt : x[word] < y[word] ? -1 : 1))
      const found = await pages(kind, db, 'deleted=true&limit=2')
      expect(found).toEqual([expected.slice(0, 2), expected.slice(2, 4), expected.slice(4)])
    })

    test('a cursor belongs to its listing', async () => {
      const [db, otherDb] = [freshName('db'), freshName('db')]
      for (const each of kinds) {
        for (const name of ['a', 'b', 'c', 'd']) {
          const one = await make(each, name, db)
          if (name > 'b') await one.delete()
        }
      }
      const listings = kinds.flatMap((each) => [each.listPath(db), `${each.listPath(db)}?deleted=true`])
      for (const own of [listPath(db), `${listPath(db)}?deleted=true`]) {
        const and = (path: string, parameter: string) => `${path}${path.includes('?') ? '&' : '?'}${parameter}`
        const { cursor } = ok(await service.api.get(and(own, 'limit=1')))
        expect(ok(await service.api.get(and(own, `cursor=${cursor}`)))[plural].length).toBe(1)
        for (const path of [...listings, own.replace(db, otherDb), '/v1', '/api/keys'])
          if (path !== own) refused(await service.api.get(and(path, `cursor=${cursor}`)), 400, 'invalid_cursor')
      }
    })

    test('a wrong parameter is named', async () => {
      const tried = async (parameters: string, code: string, field?: string): Promise<void> => {
        for (const more of ['', '&deleted=true'])
          refused(await service.api.get(`${listPath('app')}?${parameters}${more}`), 400, code, field)
      }
      for (const limit of ['0', '-1', '1.5', 'ten', '']) await tried(`limit=${limit}`, 'invalid_request', 'limit')
      for (const cursor of ['x', '%00', 'bm90IG91cnM', 'A'.repeat(3000)])
        await tried(`cursor=${cursor}`, 'invalid_cursor')
      for (const unknown of ['limti', 'prefix', 'status']) await tried(`${unknown}=3`, 'invalid_request', unknown)
      refused(await service.api.get(`${listPath('app')}?deleted=yes`), 400, 'invalid_request', 'deleted')
    })
  })

  describe(`a deleted ${word}`, () => {
    test('200 with status deleted, deletedAt and recoverableUntil 7 days later', async () => {
      const one = await make(kind)
      const before = Date.now()
      const deleted = await one.delete()
      expect(Object.keys(deleted)).toEqual([...Object.keys(one.created), 'deletedAt', 'recoverableUntil'])
      expect(deleted).toEqual({
        ...one.created,
        status: 'deleted',
        deletedAt: expect.any(Number),
        recoverableUntil: deleted.deletedAt + weekMs,
      })
      expect(deleted.deletedAt).toBeGreaterThanOrEqual(before)
      expect(deleted.deletedAt).toBeLessThanOrEqual(Date.now())
    })

    test('answers 404 to everything but restore, the hint naming restore, its deadline and the creation', async () => {
      const one = await make(kind)
      await one.add('one')
      const until = new Date((await one.delete()).recoverableUntil).toISOString()
      for (const [verb, rest, body] of [['GET', ''], ['DELETE', ''], ...kind.below] as Kind['below']) {
        const { message, hint } = refused(await service.api.request(verb, one.path + rest, body), 404, missing)
        expect(message).toEndWith('was deleted.')
        expect([verb, rest, hint]).toEqual([
          verb,
          rest,
          `Restore it until ${until}: POST ${one.path}/restore; or ${kind.createAnew}: ${method} ${one.path}`,
        ])
      }
    })

    test('a request to delete it with more than its path deletes nothing', async () => {
      const { path, created } = await make(kind)
      refused(await service.api.request('DELETE', path, { name: 'one' }), 400, 'invalid_request')
      refused(await service.api.delete(`${path}?name=one`), 400, 'invalid_request', 'name')
      // Only tasks have a version to name.
      if (word !== 'task') refused(await service.api.delete(path, { 'if-match': '"1"' }), 400, 'invalid_request')
      expect(ok(await service.api.get(path))).toEqual(created)
    })

    test('leaves its name free at once: what is created anew is empty', async () => {
      const one = await make(kind)
      await one.add('one')
      await one.delete()
      await one.create()
      expect(await one.contents()).toEqual([])
    })
  })

  describe(`restoring a ${word}`, () => {
    test('200, active again as it was, with all that is in it', async () => {
      const one = await make(kind)
      await one.add('one')
      for (const body of [undefined, {}]) {
        await one.delete()
        expect(await one.restore(body)).toEqual(one.created)
        expect(await one.read()).toEqual(one.created)
        expect(await one.contents()).toEqual(['one'])
      }
    })

    test('already active, and nothing deleted of that name: 200, unchanged, whatever deletedAt says', async () => {
      const one = await make(kind)
      await one.add('one')
      const unchanged = async (deletedAt: number): Promise<void> => {
        for (const body of [undefined, {}, { deletedAt }]) expect(await one.restore(body)).toEqual(one.created)
        expect(await one.contents()).toEqual(['one'])
      }
      await unchanged(1)
      const { deletedAt } = await one.delete()
      await one.restore({ deletedAt })
      await unchanged(deletedAt)
    })

    /** Three of one name, all deleted: each as it was, and the time of its deletion. */
    const threeDeleted = async (one: Resource): Promise<{ created: Json; deletedAt: number }[]> => {
      const deleted = []
      for (const name of ['first', 'second', 'third']) {
        const created = name === 'first' ? one.created : await one.create()
        await one.add(name)
        deleted.push({ created, deletedAt: (await one.delete()).deletedAt })
      }
      return deleted
    }

    test('each of several of one name by its deletedAt; without it the newest', async () => {
      const one = await make(kind)
      const [first, second, third] = (await threeDeleted(one)) as [Json, Json, Json]
      expect(new Set([first.deletedAt, second.deletedAt, third.deletedAt]).size).toBe(3)
      for (const [body, name, { created }] of [
        [undefined, 'third', third],
        [{ deletedAt: first.deletedAt }, 'first', first],
        [{ deletedAt: second.deletedAt }, 'second', second],
      ] as const) {
        expect(await one.restore(body)).toEqual(created)
        expect(await one.contents()).toEqual([name])
        await one.delete()
      }
    })

    test('the name is taken: 409, the hint giving the deletedAt to pass later', async () => {
      const one = await make(kind)
      const [first, , third] = (await threeDeleted(one)).map(({ deletedAt }) => deletedAt)
      await one.create()
      await one.add('in-the-way')
      for (const [body, deletedAt] of [
        [undefined, third],
        [{ deletedAt: first }, first],
      ] as const) {
        const { hint } = refused(await one.tryRestore(body), 409, `${word}_exists`)
        expect(hint).toBe(`Delete it first (DELETE ${one.path}), then restore with { "deletedAt": ${deletedAt} }.`)
      }
      expect(await one.contents()).toEqual(['in-the-way'])
      await one.delete()
      expect(await one.restore({ deletedAt: first })).toEqual(one.created)
      expect(await one.contents()).toEqual(['first'])
    })

    test('a deletedAt that names none: 404, and the hint shows where they are listed', async () => {
      const one = await make(kind)
      const { deletedAt } = await one.delete()
      const refuses = async (answer: ApiResponse): Promise<void> => {
        const { hint } = refused(answer, 404, missing, 'deletedAt')
        expect(hint).toBe(`See GET ${listPath('app')}?deleted=true, or leave deletedAt out for the newest.`)
      }
      for (const none of [deletedAt + 1, 1, 0]) await refuses(await one.tryRestore({ deletedAt: none }))
      await one.create()
      await refuses(await one.tryRestore({ deletedAt: 1 }))
      await one.delete()
      expect(await one.restore({ deletedAt })).toEqual(one.created)
    })

    test('a deletedAt that is no time, another member, a parameter or a condition: 400', async () => {
      const one = await make(kind)
      await one.delete()
      for (const wrong of ['"1"', '"x"', '1.5', 'true', '[]', 'null']) {
        const { hint } = refused(await one.tryRestore(`{"deletedAt":${wrong}}`), 400, 'invalid_request', 'deletedAt')
        expect(hint).toBe(
          `Leave it out for the ${word} deleted last, or take it from GET ${listPath('app')}?deleted=true.`,
        )
      }
      refused(await one.tryRestore({ at: 1 }), 400, 'invalid_request', 'at')
      refused(await service.api.post(`${one.path}/restore?deletedAt=1`), 400, 'invalid_request', 'deletedAt')
      refused(await service.api.post(`${one.path}/restore`, undefined, { 'if-match': '*' }), 400, 'invalid_request')
      refused(await service.api.get(one.path), 404, missing)
    })
  })
}
