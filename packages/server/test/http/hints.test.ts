import { expect, test } from 'bun:test'
import { repeatLater } from '../../src/core/hint.ts'
import { httpHint } from '../../src/http/hint-text.ts'
import { useService } from './service.ts'

// The same code writes these hints and the description of the API, so a comparison of the two shows nothing. Here they are
// compared with fixed text; those of unknown and deleted tables, buckets and tasks are in lifecycle.test.ts.

const service = useService()

const hintOf = async (method: string, path: string): Promise<string> =>
  (await service.api.request(method, path)).body.error.hint

test('hints that suggest a call are written as HTTP requests', async () => {
  const table = await service.table()
  expect(await hintOf('GET', table.at('a'))).toBe('If it has a range key, add it to the path.')
  expect(await hintOf('DELETE', '/api/keys/key_1')).toBe('Ids are listed by GET /api/keys; they start with "key_".')
  expect(httpHint(repeatLater)).toBe('Repeat the request after the time in Retry-After.')
})

test('a field under the name that other services have for it is told its own', async () => {
  const { body: key } = await service.api.post('/api/keys', { type: 'public' })
  expect(key.error).toMatchObject({ code: 'invalid_request', field: 'type', hint: 'Write it as "kind".' })
  await service.api.put('/v1/app/_tasks/flat', {})
  const { body: run } = await service.api.post('/v1/app/_tasks/flat/run', { to: 'ada@example.com' })
  expect(run.error).toMatchObject({ code: 'invalid_request', field: 'to' })
  expect(run.error.hint).toStartWith('Put the input of the run into payload. Known fields: ')
})
