import { expect, test } from 'bun:test'
import { failureOf, fakeCubby, json, refused } from './fake-fetch.ts'

const record = (hashKey: string) => ({ hashKey, data: {}, updatedAt: 1 })
const page = (names: string, cursor: string | null) =>
  json({ items: [...names].map(record), count: names.length, cursor })

const threePages = () => fakeCubby([page('ab', 'c1'), page('', 'c2'), page('c', null)])

test('query: awaited, it is one page', async () => {
  const { table, requests } = fakeCubby([page('ab', 'c1')])
  const { items, count, cursor } = await table.query({ hash: 'a', limit: 2 })
  expect(items.map(({ hashKey }) => hashKey)).toEqual(['a', 'b'])
  expect({ count, cursor }).toEqual({ count: 2, cursor: 'c1' })
  expect(requests.map(({ body }) => body)).toEqual([{ hash: 'a', limit: 2 } as never])
})

test('query: iterated, it meets the records of all pages, empty ones between them too', async () => {
  const { table, requests } = threePages()
  const met: string[] = []
  for await (const { hashKey } of table.query({ index: 't', limit: 2, ascending: true })) met.push(hashKey)
  expect(met).toEqual(['a', 'b', 'c'])
  const form = { index: 't', limit: 2, ascending: true }
  expect(requests.map(({ body }) => body)).toEqual([
    form,
    { ...form, cursor: 'c1' },
    { ...form, cursor: 'c2' },
  ] as never)
})

test('query: pages() has the pages themselves', async () => {
  const { table } = threePages()
  const counts: number[] = []
  for await (const { count } of table.query({ hash: 'a' }).pages()) counts.push(count)
  expect(counts).toEqual([2, 0, 1])
})

test('query: nothing is sent before it is awaited or iterated', async () => {
  const { table, requests } = fakeCubby([])
  table.query({ hash: 'a' })
  await Promise.resolve()
  expect(requests).toEqual([])
})

test('query: a page is requested only when it is needed', async () => {
  const { table, requests } = fakeCubby([page('ab', 'c1')])
  for await (const { hashKey } of table.query({ hash: 'a' })) if (hashKey === 'b') break
  expect(requests).toHaveLength(1)
})

test('query: iteration starts from the given cursor', async () => {
  const { table, requests } = fakeCubby([page('a', 'c9'), page('b', null)])
  for await (const _ of table.query({ hash: 'a', cursor: 'c8' }));
  expect(requests.map(({ body }) => body)).toMatchObject([{ cursor: 'c8' }, { cursor: 'c9' }])
})

test('query: a failure on a later page ends the iteration with that error', async () => {
  const { table } = fakeCubby([page('ab', 'c1'), refused(400, 'invalid_cursor')])
  const met: string[] = []
  const iteration = (async () => {
    for await (const { hashKey } of table.query({ hash: 'a' })) met.push(hashKey)
  })()
  expect(await failureOf(iteration)).toMatchObject({ code: 'invalid_cursor' })
  expect(met).toEqual(['a', 'b'])
})

test('query: a signal ends the iteration between pages', async () => {
  const { table, requests } = threePages()
  const controller = new AbortController()
  const reason = new Error('enough')
  const iteration = (async () => {
    for await (const _ of table.query({ hash: 'a' }, { signal: controller.signal })) controller.abort(reason)
  })()
  expect(await failureOf(iteration)).toBe(reason as never)
  expect(requests).toHaveLength(1)
})

test('lists of tables, databases and keys are pages and iterable too', async () => {
  const { cubby, requests } = fakeCubby(({ path }) => {
    const last = path.includes('cursor=c1')
    const id = last ? 'b' : 'a'
    return json({ tables: [{ table: id }], databases: [id], keys: [{ id }], cursor: last ? null : 'c1' })
  })
  const tables: string[] = []
  for await (const { table } of cubby.db('app').tables.list({ limit: 1 })) tables.push(table)
  const databases: string[] = []
  for await (const name of cubby.databases()) databases.push(name)
  const keys: string[] = []
  for await (const { id } of cubby.keys.list()) keys.push(id)
  expect([tables, databases, keys]).toEqual([
    ['a', 'b'],
    ['a', 'b'],
    ['a', 'b'],
  ])
  expect(requests[1]!.path).toBe('/v1/app?limit=1&cursor=c1')
  expect((await cubby.keys.list()).cursor).toBe('c1')
})
