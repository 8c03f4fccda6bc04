import { describe, expect, test } from 'bun:test'
import { errorCodes as serverCodes } from '../../server/src/core/error-codes.ts'
import { CubbyError, type ErrorCode, errorCodes } from '../src/index.ts'
import { failureOf, fakeCubby, json, key, refused } from './fake-fetch.ts'

describe('CubbyError', () => {
  test('has what the error body says', async () => {
    const body = { field: 'data.status', hint: 'Leave it out.' }
    const { table } = fakeCubby([refused(400, 'invalid_index_value', body)])
    const error = await failureOf(table.save({ hashKey: 'a', data: {} }))
    expect(error).toBeInstanceOf(CubbyError)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({
      name: 'CubbyError',
      message: 'It is invalid_index_value.',
      code: 'invalid_index_value',
      status: 400,
      field: 'data.status',
      hint: 'Leave it out.',
      requestId: 'req-1',
    })
  })

  test('field and hint are undefined where the body has none', async () => {
    const { table } = fakeCubby([refused(403, 'read_only_key')])
    const error = await failureOf(table.save({ hashKey: 'a', data: {} }))
    expect(error.field).toBeUndefined()
    expect(error.hint).toBeUndefined()
  })

  test('a code that this client does not know is passed on', async () => {
    const { table } = fakeCubby([refused(418, 'out_of_coffee')])
    expect(await failureOf(table.findOne('a'))).toMatchObject({ code: 'out_of_coffee' as ErrorCode, status: 418 })
  })

  test.each([
    ['a page', new Response('<h1>Too large</h1>', { status: 413 }), 413],
    ['nothing', new Response(null, { status: 403 }), 403],
    ['JSON of another shape', json({ error: 'no' }, 404), 404],
    ['JSON null', json(null, 400), 400],
  ])("a proxy's refusal with %s is internal, with its status", async (_, reply, status) => {
    const { table, requests } = fakeCubby([reply])
    expect(await failureOf(table.save({ hashKey: 'a', data: {} }))).toMatchObject({ code: 'internal', status })
    expect(requests).toHaveLength(1)
  })

  test('never contains the API key', async () => {
    const { table } = fakeCubby([refused(500, 'internal'), new TypeError('it broke')], { retries: 0 })
    for (let i = 0; i < 2; i++) {
      expect(Bun.inspect(await failureOf(table.findOne('a')), { depth: 9 })).not.toContain(key)
    }
  })
})

test('the client and the server have the same error codes in the same order', () => {
  expect([...errorCodes]).toEqual([...serverCodes])
})
