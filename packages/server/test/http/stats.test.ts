import { expect, test } from 'bun:test'
import type { Json } from '../harness.ts'
import { makeBucket } from './bucket.ts'
import { ok, useService } from './service.ts'
import { makeTask } from './task.ts'

// `cubby stats` beside the running server, on whatever engine it has.

const service = useService({ clock: true })
const day = 24 * 60 * 60 * 1000

const bytesOf = (...texts: string[]): number => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)

test('records, bytes, and what was written in the last day and week, by table, database and organization', async () => {
  const { server, api, stranger, org, otherOrg } = service
  ok(await api.post('/v1/shop/orders'), 201)
  ok(await api.post('/v1/shop/empty', { changes: {} }), 201)
  ok(await api.post('/v1/other/things'), 201)
  ok(await stranger.post('/v1/shop/orders'), 201)
  const put = async (by: typeof api, path: string, hashKey: string, more: Json = {}): Promise<void> => {
    ok(await by.put(path, `{"hashKey":${JSON.stringify(hashKey)},"data":{"text":"é"},"rangeKey":"r"}`, more))
  }
  server.setClock(0)
  await put(api, '/v1/shop/orders', 'oldest')
  server.setClock(8 * day)
  await put(api, '/v1/shop/orders', 'older')
  server.setClock(10 * day)
  await put(api, '/v1/shop/orders', 'new')
  await put(api, '/v1/other/things', 'thing')
  await put(stranger, '/v1/shop/orders', 'strange')
  await put(api, '/v1/shop/empty', 'written')
  await put(api, '/v1/shop/empty', 'written')
  ok(await api.delete('/v1/shop/empty/written/r'))
  const bucket = await makeBucket(api, 'pictures', 'shop')
  await bucket.put('a/b.png', new Uint8Array(1_234), { query: { metadata: '{"size":9}' } })
  const task = await makeTask(api, {}, 'mail', 'shop')
  await task.run({ payload: { to: 'é' } })
  await task.finish(await task.claimNew({ payload: { n: 2 } }), { result: { ok: 1 } })
  ok(await api.post('/v1/shop/dropped'), 201)
  await put(api, '/v1/shop/dropped', 'x')
  ok(await api.delete('/v1/shop/dropped'))
  server.setClock(10 * day + 1_000)

  const record = bytesOf('r', '{"text":"é"}')
  const exact = (records: number, bytes: number, lastDay = records, lastWeek = records): Json => ({
    ...{ records, bytes, lastDay, lastWeek, changes: 0, estimated: [] },
  })
  const shop = [
    { name: 'empty', kind: 'table', ...exact(0, 0), changes: 3 },
    { name: 'orders', kind: 'table', ...exact(3, bytesOf('oldest', 'older', 'new') + 3 * record, 1, 2) },
    { name: 'dropped', kind: 'table', deletedAt: expect.any(Number), ...exact(1, 1 + record) },
    { name: 'pictures', kind: 'bucket', ...exact(1, 1_234) },
    { name: 'mail', kind: 'task', ...exact(2, bytesOf('{"to":"é"}', '{"n":2}', '{"ok":1}')) },
  ]
  const found = await server.cubbyJson('stats')
  const own = found.organizations.find(({ organization }: Json) => organization === org.name)
  expect(own.databases.map(({ db }: Json) => db)).toEqual(['other', 'shop'])
  expect(own.databases[1].tables).toEqual(shop)
  const bytes = shop.reduce((sum, table) => sum + table.bytes, 0)
  expect(own.databases[1]).toMatchObject({ ...exact(7, bytes, 5, 6), changes: 3 })
  expect(own).toMatchObject({ ...exact(8, bytes + 5 + record, 6, 7), changes: 3 })
  const other = found.organizations.find(({ organization }: Json) => organization === otherOrg.name)
  expect(other).toMatchObject(exact(1, 7 + record))
  expect(found.total).toMatchObject({ ...exact(9, own.bytes + other.bytes, 7, 8), changes: 3 })

  const narrowed = await server.cubbyJson('stats', '--org', org.name, '--db', 'other')
  expect(narrowed.organizations.map(({ organization }: Json) => organization)).toEqual([org.name])
  expect(narrowed.organizations[0].databases.map(({ db }: Json) => db)).toEqual(['other'])
  expect(narrowed.total).toEqual(exact(1, 5 + record))

  const { exitCode, stdout, stderr } = await server.cubby('stats', '--org', org.name)
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/ {2,}/))
  expect(rows[0]).toEqual([
    'ORGANIZATION',
    'DATABASE',
    'NAME',
    'KIND',
    'RECORDS',
    'BYTES',
    'LAST DAY',
    'LAST WEEK',
    'CHANGES',
  ])
  expect(rows).toContainEqual([org.name, 'shop', 'orders', 'table', '3', String(shop[1]!.bytes), '1', '2', '0'])
  expect(rows).toContainEqual([org.name, 'shop', 'dropped', 'table, deleted', '1', String(1 + record), '1', '1', '0'])
  expect(rows.at(-1)).toEqual(['*', '*', '*', '8', String(bytes + 5 + record), '6', '7', '3'])
})

test('a deleted organization is marked: it takes space until it is purged', async () => {
  const { server } = service
  const [org, active] = [await server.createOrganization(), await server.createOrganization()]
  for (const { secretKey } of [org, active]) ok(await server.as(secretKey).post('/v1/app/orders'), 201)
  const { deletedAt } = await server.cubbyJson('orgs', 'delete', org.name, '--confirm', org.name)
  const { organizations } = await server.cubbyJson('stats')
  const found = (name: string): Json => organizations.find(({ organization }: Json) => organization === name)
  expect(found(org.name)).toMatchObject({ deletedAt, records: 0 })
  expect(found(active.name)).not.toHaveProperty('deletedAt')
  const lines = (await server.cubby('stats')).stdout.split('\n').map((line) => line.split(/ {2,}/))
  expect(lines).toContainEqual([org.name, '*', '*', 'deleted', '0', '0', '0', '0', '0'])
  expect(lines).toContainEqual([active.name, '*', '*', '0', '0', '0', '0', '0'])
})

test('an unknown organization: exit 1; a name that cannot be one: exit 2', async () => {
  const unknown = await service.server.cubby('stats', '--org', 'nobody')
  expect({ exitCode: unknown.exitCode, stdout: unknown.stdout }).toEqual({ exitCode: 1, stdout: '' })
  expect(unknown.stderr).toContain('there is no organization nobody')
  const malformed = await service.server.cubby('stats', '--db', 'A B')
  expect({ exitCode: malformed.exitCode, stdout: malformed.stdout }).toEqual({ exitCode: 2, stdout: '' })
  expect(malformed.stderr).toContain('--db')
})
