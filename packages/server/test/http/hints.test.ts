import { expect, test } from 'bun:test'
import { repeatLater } from '../../src/core/hint.ts'
import { httpHint } from '../../src/http/hint-text.ts'
import { ok, useService } from './service.ts'

// The same code writes these hints and the description of the API, so a comparison of the two shows nothing. Here they are
// compared with fixed text.

const service = useService()

const hintOf = async (method: string, path: string, body?: unknown): Promise<string> =>
  (await service.api.request(method, path, body)).body.error.hint

test('hints that suggest a call are written as HTTP requests', async () => {
  const { db, name, path } = await service.table()
  expect(await hintOf('GET', `/v1/${db}/none`)).toBe(`Create it: POST /v1/${db}/none`)
  expect(await hintOf('POST', `${path}/restore`, { deletedAt: 'now' })).toBe(
    `Leave it out for the table deleted last, or take it from GET /v1/${db}?deleted=true.`,
  )
  const { deletedAt, recoverableUntil } = ok(await service.api.delete(path))
  expect(await hintOf('GET', path)).toBe(
    `Restore it until ${new Date(recoverableUntil).toISOString()}: POST ${path}/restore; or create a new, empty table: POST ${path}`,
  )
  expect(await hintOf('POST', `${path}/restore`, { deletedAt: 1 })).toBe(
    `See GET /v1/${db}?deleted=true, or leave deletedAt out for the newest.`,
  )
  ok(await service.api.post(path), 201)
  expect(await hintOf('POST', `${path}/restore`)).toBe(
    `Delete it first (DELETE /v1/${db}/${name}), then restore with { "deletedAt": ${deletedAt} }.`,
  )
  expect(await hintOf('GET', `${path}/a`)).toBe('If it has a range key, add it to the path.')
  expect(await hintOf('DELETE', '/api/keys/key_1')).toBe('Ids are listed by GET /api/keys; they start with "key_".')
  expect(httpHint(repeatLater)).toBe('Repeat the request after the time in Retry-After.')
})
