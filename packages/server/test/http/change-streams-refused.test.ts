import { expect, test } from 'bun:test'
import type { Json } from '../harness.ts'
import type { Block } from './event-blocks.ts'
import { lastEventId, makeKept, openReady, openStream, type StreamRequest } from './event-stream.ts'
import { createExpiredKey, createRevokedKey, ok, type TestTable, unknownKey, useService } from './service.ts'

// What is refused for a page of changes is refused for a stream of them too, before the stream begins.

const service = useService()

/** The last event of a stream that is ready. */
const readyOf = async (table: TestTable): Promise<Block> => {
  const stream = await openReady(table)
  stream.close()
  return stream.events[0]!
}

const refusedWith = async (path: string, request: StreamRequest): Promise<unknown[]> => {
  const stream = await openStream(service.server, path, request)
  await stream.ended()
  stream.close()
  const { error } = JSON.parse(stream.text)
  expect([stream.headers.get('content-type')?.split(';')[0], error.requestId]).toEqual([
    'application/json',
    stream.headers.get('x-request-id'),
  ])
  return [stream.status, error.code, error.field]
}

test('limit and waitSeconds, and members that are wrong', async () => {
  const { path, api } = await makeKept(service.api)
  const { key } = api
  const wrong: [Json, string][] = [
    [{ limit: 10 }, 'limit'],
    [{ waitSeconds: 0 }, 'waitSeconds'],
    [{ from: 'end' }, 'from'],
    [{ from: 'now', cursor: 'x' }, 'from'],
    [{ select: 'count' }, 'select'],
    [{ filter: {} }, 'filter'],
  ]
  for (const [body, field] of wrong)
    expect(await refusedWith(path, { key, body })).toEqual([400, 'invalid_request', field])
  expect(await refusedWith(path, { key, body: { hash: '' } })).toEqual([400, 'invalid_key', 'hash'])
  expect(await refusedWith(path, { key, body: '{' })).toEqual([400, 'invalid_json', undefined])
})

test('cursors that are unreadable, of other changes, or expired', async () => {
  const [table, other] = [await makeKept(service.api), await makeKept(service.api)]
  const { key } = table.api
  const [{ id }, { id: others }] = [await readyOf(table), await readyOf(other)]
  for (const bad of ['x', others!, `${id}A`]) {
    expect(await refusedWith(table.path, { key, headers: lastEventId(bad) })).toEqual([400, 'invalid_cursor', 'cursor'])
    expect(await refusedWith(table.path, { key, body: { cursor: bad } })).toEqual([400, 'invalid_cursor', 'cursor'])
  }
  expect(await refusedWith(table.path, { key, body: { cursor: id, hash: 'a' } })).toEqual([
    400,
    'invalid_cursor',
    'cursor',
  ])
  for (const keepHours of [null, 24]) ok(await table.api.put(`${table.path}/changes`, { keepHours }))
  for (const request of [{ headers: lastEventId(id!) }, { body: { cursor: id } }]) {
    expect(await refusedWith(table.path, { key, ...request })).toEqual([410, 'cursor_expired', 'cursor'])
  }
})

test('tables that are not there or keep no changes, and keys that may not read', async () => {
  const [kept, plain] = [await makeKept(service.api), await service.table()]
  const { key } = service.api
  const [revoked, expired] = [await createRevokedKey(service.api), await createExpiredKey(service.api)]
  expect(await refusedWith('/v1/app/nothing', { key })).toEqual([404, 'table_not_found', undefined])
  expect(await refusedWith(plain.path, { key })).toEqual([409, 'changes_not_kept', undefined])
  expect(await refusedWith(kept.path, { key: service.stranger.key })).toEqual([404, 'table_not_found', undefined])
  expect(await refusedWith(kept.path, { key: unknownKey() })).toEqual([401, 'invalid_api_key', undefined])
  expect(await refusedWith(kept.path, { key: revoked.key })).toEqual([403, 'revoked_api_key', undefined])
  expect(await refusedWith(kept.path, { key: expired.key })).toEqual([401, 'expired_api_key', undefined])
})
