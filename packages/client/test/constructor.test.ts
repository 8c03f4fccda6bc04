import { describe, expect, test } from 'bun:test'
import { Cubby, CubbyError, type CubbyOptions } from '../src/index.ts'
import { key, url } from './fake-fetch.ts'

const refusalOf = (options: unknown): CubbyError => {
  try {
    new Cubby(options as CubbyOptions)
  } catch (error) {
    expect(error).toBeInstanceOf(CubbyError)
    return error as CubbyError
  }
  throw new Error('it was accepted')
}

describe('new Cubby', () => {
  test.each([
    ['undefined', undefined],
    ['localhost:4600', 'localhost:4600'],
    ['127.0.0.1:4600', '127.0.0.1:4600'],
    ['cubby.test', 'cubby.test'],
    ['', ''],
    ['4600', 4600],
    ['null', null],
    ['ftp://cubby.test/', new URL('ftp://cubby.test')],
  ])('the url %p is rejected with what to pass', (shown, url) => {
    const { code, field, status, message } = refusalOf({ url, key })
    expect({ code, field, status }).toEqual({ code: 'invalid_request', field: 'url', status: 0 })
    expect(message).toStartWith(
      `url is "${shown}"; it takes http:// or https:// and a host, such as http://127.0.0.1:4600`,
    )
  })

  test.each([
    'http://ada:secret@cubby.test',
    'ada:secret@cubby.test',
    'http://cubby.test/?a=1',
    'http://cubby.test/#a',
    'http://cubby.test/?',
    'http://cubby.test/v1',
    'http://cubby.test/below/v1/',
  ])('the url %p is rejected, and a password is not shown', (url) => {
    const { field, message } = refusalOf({ url, key })
    expect(field).toBe('url')
    expect(message).toContain('without user, password, query and /v1')
    expect(message).not.toContain('secret')
  })

  test.each([
    [undefined, 'missing_api_key', 'key is missing;'],
    [null, 'missing_api_key', 'key is missing;'],
    ['', 'missing_api_key', 'key is missing;'],
    [7, 'invalid_api_key', 'key is number;'],
    [key.slice(0, -1), 'invalid_api_key', 'key is malformed (46 characters);'],
    [`${key}\n`, 'invalid_api_key', 'key is malformed (48 characters);'],
    [`Bearer ${key}`, 'invalid_api_key', 'key is malformed (54 characters);'],
    [key.replace('live', 'test'), 'invalid_api_key', 'key is malformed (47 characters);'],
  ])('the key %p is rejected with what to pass, and not shown', (given, code, start) => {
    const error = refusalOf({ url, key: given })
    expect(error).toMatchObject({ code, field: 'key', status: 0 })
    expect(error.message).toStartWith(start)
    expect(error.message).toEndWith('it takes an API key: svc_live_ or svc_pub_ and 38 letters and digits.')
    expect(Bun.inspect(error, { depth: 9 })).not.toContain('00000')
  })

  test('a key that is passed as the url is not shown', () => {
    expect(refusalOf({ url: key, key: url }).message).toStartWith('url is "…";')
    expect(refusalOf({ url: `http//${key}`, key: url }).message).not.toContain(key)
  })

  test.each([[undefined], [null], [{}]])('options %p are rejected as a missing url', (options) => {
    expect(refusalOf(options)).toMatchObject({ code: 'invalid_request', field: 'url' })
  })

  test('both kinds of key are accepted', () => {
    expect(() => new Cubby({ url, key })).not.toThrow()
    expect(() => new Cubby({ url, key: key.replace('live', 'pub') })).not.toThrow()
  })
})
