import { describe, expect, test } from 'bun:test'
import type { ApiResponse, Json } from '../harness.ts'
import { type Kind, kinds, makeResource } from './resource.ts'
import { createKey, freshName, makeTable, ok, refused, useService } from './service.ts'

// Without isolation, one tenant could read or change the data of another, or learn that it exists. So the response to each
// request of another tenant is compared, byte for byte, with that for something that never existed.

const service = useService()

/** An answer with everything that may differ between two requests for different names taken out. */
const faceless = (answer: ApiResponse, ...names: string[]): Json => {
  const headers = Object.fromEntries(answer.headers as unknown as Iterable<[string, string]>)
  for (const name of ['x-request-id', 'date', 'content-length']) delete headers[name]
  let text = answer.text.replaceAll(answer.headers.get('x-request-id')!, 'ID')
  for (const name of names) text = text.replaceAll(name, 'NAME')
  return { status: answer.status, headers, text }
}

/** Requests with the names of a database and of a table, bucket or task. */
const requestsTo = (
  { listPath, below }: Kind,
  db: string,
  name: string,
  restores: Json[],
): [string, string, Json?][] => {
  const path = `${listPath(db)}/${name}`
  return [
    ['GET', listPath(db)],
    ['GET', `${listPath(db)}?deleted=true`],
    ['GET', path],
    ['DELETE', path],
    ...restores.map((body): [string, string, Json] => ['POST', `${path}/restore`, body]),
    ...below.map(([method, rest, body]): [string, string, Json] => [method, path + rest, body]),
  ]
}

describe('another organization answers exactly like one that does not exist', () => {
  for (const kind of kinds) {
    for (const state of ['active', 'soft-deleted'] as const) {
      test(`its ${state} ${kind.word}, and what is in it`, async () => {
        const [db, nowhere, name] = [freshName('theirs'), freshName('nowhere'), freshName()]
        const resource = await makeResource(kind, service.api, name, db)
        await resource.add('one')
        const restores: Json[] = [undefined]
        if (state === 'soft-deleted') restores.push({ deletedAt: (await resource.delete()).deletedAt })
        const imagined = requestsTo(kind, nowhere, name, restores)
        for (const [i, [method, path, body]] of requestsTo(kind, db, name, restores).entries()) {
          const theirs = await service.stranger.request(method, path, body)
          const none = await service.stranger.request(method, imagined[i]![1], body)
          expect({ path, ...faceless(theirs, db) }).toEqual({ path, ...faceless(none, nowhere) })
        }
        // The name is free for others, and what they do with it changes nothing here.
        const same = await makeResource(kind, service.stranger, name, db)
        expect(await same.contents()).toEqual([])
        await same.delete()
        if (state === 'soft-deleted') await resource.restore()
        expect(await resource.read()).toEqual(resource.created)
        expect(await resource.contents()).toEqual(['one'])
      })
    }
  }

  test('the version of its task', async () => {
    const [db, nowhere] = [freshName('theirs'), freshName('nowhere')]
    const task = kinds.find(({ word }) => word === 'task')!
    const { path, created } = await makeResource(task, service.api, 'mail', db)
    const headers = { 'if-match': `"${created.updatedAt}"` }
    for (const state of ['active', 'soft-deleted']) {
      if (state === 'soft-deleted') ok(await service.api.delete(path))
      for (const method of ['PUT', 'DELETE']) {
        const theirs = await service.stranger.request(method, path, undefined, headers)
        const none = await service.stranger.request(method, path.replace(db, nowhere), undefined, headers)
        expect({ state, method, ...faceless(theirs, db) }).toEqual({ state, method, ...faceless(none, nowhere) })
      }
    }
  })

  test('its keys', async () => {
    const { id } = await createKey(service.api)
    for (const send of [
      (key: string) => service.stranger.delete(`/api/keys/${key}`),
      (key: string) => service.stranger.post(`/api/keys/${key}/roll`),
    ]) {
      const [theirs, none] = [await send(id), await send('key_00000000000000000000')]
      refused(theirs, 404, 'key_not_found')
      expect(faceless(theirs, id)).toEqual(faceless(none, 'key_00000000000000000000'))
    }
    const listed = ok(await service.api.get('/api/keys?limit=1000')).keys.find((key: Json) => key.id === id)
    expect(listed.status).toBe('active')
  })

  test('listings show nothing of it', async () => {
    const name = freshName('secretname')
    const table = await makeTable(service.api, undefined, name, name)
    await table.put('a')
    const { id } = await createKey(service.api, { kind: 'secret', name })
    for (const path of ['/v1?limit=1000', `/v1/${name}`, '/api/keys?limit=1000']) {
      const answer = await service.stranger.get(path)
      expect(answer.status).toBe(200)
      expect(answer.text).not.toContain(name)
      expect(answer.text).not.toContain(id)
    }
  })
})

describe('the same names in two organizations', () => {
  test('are two tables with their own records, indices and fates', async () => {
    const name = freshName()
    const mine = await makeTable(service.api, { i1: { hashField: 'f' } }, name)
    const yours = await makeTable(service.stranger, { i1: { hashField: 'g' } }, name)
    await mine.put('a', { f: 1, owner: 'me' })
    await yours.put('a', { g: 1, owner: 'you' })
    await yours.put('b', { g: 1, owner: 'you' })
    expect(ok(await mine.get('a')).data.owner).toBe('me')
    expect(await mine.hashes({ index: 't' })).toEqual(['a'])
    expect(await mine.hashes({ index: 'i1', hash: 1 })).toEqual(['a'])
    expect((await yours.hashes({ index: 'i1', hash: 1 })).length).toBe(2)
    ok(await service.stranger.delete(yours.path))
    ok(await mine.get('a'))
    refused(await yours.get('a'), 404, 'table_not_found')
    ok(await service.api.delete(mine.path))
    ok(await service.stranger.post(`${yours.path}/restore`))
    expect(ok(await yours.get('a')).data.owner).toBe('you')
    refused(await mine.get('a'), 404, 'table_not_found')
  })

  test("the deletedAt of another's table restores nothing", async () => {
    const name = freshName()
    const mine = await makeTable(service.api, undefined, name)
    await makeTable(service.stranger, undefined, name)
    const { deletedAt } = ok(await service.api.delete(mine.path))
    ok(await service.stranger.delete(mine.path))
    const yours = ok(await service.stranger.get('/v1/app?deleted=true&limit=1000')).tables
    const own = yours.find((table: Json) => table.table === name)
    if (own.deletedAt !== deletedAt) {
      refused(await service.stranger.post(`${mine.path}/restore`, { deletedAt }), 404, 'table_not_found')
    }
    ok(await service.stranger.post(`${mine.path}/restore`))
  })

  test("a cursor of one is no cursor of the other's", async () => {
    const name = freshName()
    const mine = await makeTable(service.api, undefined, name)
    const yours = await makeTable(service.stranger, undefined, name)
    for (const table of [mine, yours]) {
      await table.fill([{ hashKey: 'a' }, { hashKey: 'b' }, { hashKey: 'c' }])
    }
    const { cursor } = await mine.query({ index: 't', limit: 1 })
    refused(await yours.tryQuery({ index: 't', limit: 1, cursor }), 400, 'invalid_cursor')
  })

  test("a condition on another's version does not hold", async () => {
    const name = freshName()
    const mine = await makeTable(service.api, undefined, name)
    const yours = await makeTable(service.stranger, undefined, name)
    const { updatedAt } = await mine.put('a')
    const answer = await yours.tryPut({ hashKey: 'a', data: {} }, { 'if-match': `"${updatedAt}"` })
    refused(answer, 412, 'precondition_failed')
  })
})

describe('many tenants at once', () => {
  test('never read or write a record of another, under load', async () => {
    const orgs = []
    for (let i = 0; i < 4; i++) orgs.push(await service.server.createOrganization())
    const name = freshName()
    await Promise.all(
      orgs.map(async (org) => {
        const api = service.server.as(org.secretKey)
        const table = await makeTable(api, { i1: { hashField: 'same' } }, name)
        await Promise.all(
          Array.from({ length: 40 }, async (_, i) => {
            await table.put(`k${i % 10}`, { owner: org.name, same: 'x' })
            expect(ok(await table.get(`k${i % 10}`)).data.owner).toBe(org.name)
            const page = await table.query({ index: i % 2 === 0 ? 't' : 'i1', ...(i % 2 === 0 ? {} : { hash: 'x' }) })
            for (const item of page.items) expect(item.data.owner).toBe(org.name)
          }),
        )
        expect((await table.items({ index: 't' })).length).toBe(10)
      }),
    )
  })
})
