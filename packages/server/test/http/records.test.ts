import { describe, expect, test } from 'bun:test'
import { inParallel, ok, refused, useService } from './service.ts'

const service = useService()

/** The text of `data` in an answer's text, cut out without parsing it. */
const cut = (text: string, data: string): boolean => text.includes(`"data":${data}`)

describe('put, get, delete', () => {
  test('put answers 200 with the record, get the same record', async () => {
    const table = await service.table()
    const before = Date.now()
    const record = await table.put('user#1', { name: 'Ada', tags: ['a', { b: null }] })
    expect(record).toEqual({
      hashKey: 'user#1',
      data: { name: 'Ada', tags: ['a', { b: null }] },
      updatedAt: expect.any(Number),
    })
    expect(Number.isInteger(record.updatedAt)).toBe(true)
    expect(record.updatedAt).toBeGreaterThanOrEqual(before)
    expect(record.updatedAt).toBeLessThanOrEqual(Date.now())
    expect(ok(await table.get('user#1'))).toEqual(record)
  })

  test('JSON ends with a newline; an item and a message of MCP are sent as they are', async () => {
    const table = await service.table()
    await table.put('a', { n: 'x'.repeat(40_000) })
    const item = `/api/collections/${table.path.replace('/v1/', '').replace('/', '.')}/items/a`
    for (const path of [table.path, table.at('a'), '/v1/none/none', '/nowhere', '/healthz', '/api/keys']) {
      expect([path, (await service.api.get(path)).text.slice(-2)]).toEqual([path, '}\n'])
    }
    expect((await service.api.post(`${table.path}/query`, { index: 't' })).text).toEndWith('null}\n')
    expect((await service.api.get(item)).text).toEndWith('x"}')
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const accept = { accept: 'application/json, text/event-stream' }
    expect((await service.api.request('POST', '/mcp', ping, accept)).text).toEndWith('}')
  })

  test('rangeKey and ttl come back where they were given', async () => {
    const table = await service.table()
    const record = await table.put('a', {}, { rangeKey: 'r', ttl: 4102444800 })
    expect(record).toEqual({ hashKey: 'a', rangeKey: 'r', data: {}, ttl: 4102444800, updatedAt: record.updatedAt })
    expect(ok(await table.get('a', 'r'))).toEqual(record)
  })

  test('put is an upsert: the new data replaces all of the old data', async () => {
    const table = await service.table()
    await table.put('a', { one: 1, two: 2 })
    await table.put('a', { two: 3 })
    expect(ok(await table.get('a')).data).toEqual({ two: 3 })
  })

  test('get of a record that is not there: 404 record_not_found', async () => {
    const table = await service.table()
    await table.put('a', {}, { rangeKey: 'r' })
    refused(await table.get('a'), 404, 'record_not_found')
    refused(await table.get('b'), 404, 'record_not_found')
    refused(await table.get('a', 's'), 404, 'record_not_found')
    refused(await table.get('b', 'r'), 404, 'record_not_found')
  })

  test('delete answers { deleted: true }, or false if there was none', async () => {
    const table = await service.table()
    await table.put('a')
    await table.put('a', {}, { rangeKey: 'r' })
    expect(ok(await table.delete('a'))).toEqual({ deleted: true })
    refused(await table.get('a'), 404, 'record_not_found')
    expect(ok(await table.delete('a'))).toEqual({ deleted: false })
    ok(await table.get('a', 'r'))
    expect(ok(await table.delete('a', 'r'))).toEqual({ deleted: true })
    expect(ok(await table.delete('a', 'r'))).toEqual({ deleted: false })
    expect(ok(await table.delete('never', 'there'))).toEqual({ deleted: false })
  })

  test('Prefer: return=minimal answers 200 without data', async () => {
    const table = await service.table()
    const answer = await table.tryPut(
      { hashKey: 'a', rangeKey: 'r', data: { x: 1 }, ttl: 4102444800 },
      { prefer: 'return=minimal' },
    )
    const { data: _, ...minimal } = ok(await table.get('a', 'r'))
    expect(ok(answer)).toEqual(minimal)
    expect(ok(await table.tryPut({ hashKey: 'a', data: {} }, { prefer: 'return=representation' })).data).toEqual({})
  })

  test('updatedAt strictly increases with every write while the record exists', async () => {
    const table = await service.table()
    let last = 0
    for (let i = 0; i < 30; i++) {
      const { updatedAt } = await table.put('a', { i })
      expect(updatedAt).toBeGreaterThan(last)
      last = updatedAt
    }
    const racing = await Promise.all(Array.from({ length: 40 }, (_, i) => table.put('a', { i })))
    const versions = racing.map((record) => record.updatedAt)
    expect(new Set(versions).size).toBe(40)
    expect(Math.min(...versions)).toBeGreaterThan(last)
    expect(ok(await table.get('a')).updatedAt).toBe(Math.max(...versions))
  })

  test('what was acknowledged is read by the next request', async () => {
    const table = await service.table()
    await inParallel(
      Array.from({ length: 100 }, (_, i) => `k${i}`),
      16,
      async (key) => {
        const record = await table.put(key, { key })
        expect(ok(await table.get(key))).toEqual(record)
        expect(ok(await table.delete(key))).toEqual({ deleted: true })
        refused(await table.get(key), 404, 'record_not_found')
      },
    )
  })
})

describe('data is returned exactly as it was sent', () => {
  const verbatim: Record<string, string> = {
    'number text': '{"a":12345678901234567890,"b":1.0,"c":-0,"d":1E5,"e":1e400,"f":0.10,"g":-0.0e-7}',
    'white space': '{ "a" :\t1 ,\r\n  "b": [ 1 ,2 , { } ] \n}',
    'member order': '{"b":1,"a":2,"10":3,"9":4,"":5}',
    'duplicates inside data': '{"a":1,"b":{"c":1,"c":2},"a":3,"\\u0061":4}',
    'escapes as written': '{"a":"\\u00e9é\\/\\/\\"\\\\\\b\\n","\\u006b":"\\ud83d\\ude00😀","nul":"\\u0000"}',
    'lone surrogates in escapes': '{"a":"\\ud800","\\udfff":1}',
    'characters that JavaScript treats apart': '{"a":"\u2028\u2029\ufeff\u007f"}',
    'names that JavaScript treats apart': '{"__proto__":{"a":1},"constructor":null,"toString":[]}',
    'braces and quotes in strings': '{"a":"}{\\"]\\\\","b":"\\\\\\\\","c":"{"}',
    'an empty object': '{}',
  }
  for (const [what, data] of Object.entries(verbatim)) {
    test(what, async () => {
      const table = await service.table({ i1: { hashField: 'absent' } })
      for (const body of [`{"hashKey":"k","data":${data}}`, `\n{ "data" : ${data} , "hashKey" : "k" }\t`]) {
        const put = await table.tryPut(body)
        expect(put.status).toBe(200)
        expect(cut(put.text, data)).toBe(true)
        expect(cut((await table.get('k')).text, data)).toBe(true)
      }
      const operation = `{"operations":[{"op":"put","hashKey":"b","data":${data}},{"data": ${data},"op":"put","hashKey":"c"}]}`
      expect(ok(await service.api.post(`${table.path}/batch`, operation))).toEqual({ count: 2 })
      expect(cut((await table.get('b')).text, data)).toBe(true)
      expect(cut((await table.get('c')).text, data)).toBe(true)
      const page = await table.tryQuery({ index: 't' })
      expect(page.text.split(`"data":${data}`).length).toBe(4)
    })
  }
})

describe('data', () => {
  for (const data of ['null', '[]', '"text"', '1', 'true']) {
    test(`${data} is no object: invalid_request`, async () => {
      const table = await service.table()
      refused(await table.tryPut(`{"hashKey":"a","data":${data}}`), 400, 'invalid_request', 'data')
      refused(await table.get('a'), 404, 'record_not_found')
    })
  }

  test('it is required', async () => {
    const table = await service.table()
    refused(await table.tryPut({ hashKey: 'a' }), 400, 'invalid_request', 'data')
  })

  const padded = (bytes: number, filler = 'x') => {
    const frame = '{ "a": "" }'
    const fill = bytes - Buffer.byteLength(frame)
    const text = filler.repeat(Math.floor(fill / Buffer.byteLength(filler)))
    return `{ "a": "${text}${'y'.repeat(fill - Buffer.byteLength(text))}" }`
  }

  for (const [what, filler] of [
    ['ASCII', 'x'],
    ['characters of several bytes', '€'],
  ] as const) {
    test(`409,600 bytes of text as sent are taken, one more is record_too_large (${what})`, async () => {
      const table = await service.table()
      const fits = padded(409_600, filler)
      expect(Buffer.byteLength(fits)).toBe(409_600)
      ok(await table.tryPut(`{"hashKey":"a","data":${fits}}`))
      expect(cut((await table.get('a')).text, fits)).toBe(true)
      refused(await table.tryPut(`{"hashKey":"b","data":${padded(409_601, filler)}}`), 413, 'record_too_large')
      refused(await table.get('b'), 404, 'record_not_found')
    })
  }

  test('white space inside data counts as sent', async () => {
    const table = await service.table()
    ok(await table.tryPut(`{"hashKey":"a","data":{${' '.repeat(409_598)}}}`))
    refused(await table.tryPut(`{"hashKey":"a","data":{${' '.repeat(409_599)}}}`), 413, 'record_too_large')
  })

  test('64 levels are taken, itself being the first; 65 are not', async () => {
    const table = await service.table()
    const arrays = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    const objects = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
    for (const nested of [arrays, objects]) {
      ok(await table.tryPut(`{"hashKey":"a","data":${nested(64)}}`))
      expect(cut((await table.get('a')).text, nested(64))).toBe(true)
      refused(await table.tryPut(`{"hashKey":"b","data":${nested(65)}}`), 400, 'invalid_request')
      refused(await table.tryPut(`{"hashKey":"b","data":${nested(50_000)}}`), 400, 'invalid_request')
    }
    refused(await table.get('b'), 404, 'record_not_found')
  })
})

describe('record keys', () => {
  const allowed = [
    'a',
    ' ',
    'a/b',
    '/',
    'a\0b',
    '\0',
    '#',
    '##',
    '?',
    'a?b=c&d',
    '%',
    '%2F',
    '%2e%2e',
    'a+b',
    '"quoted"',
    'back\\slash',
    '..\\x',
    '../x',
    '...',
    ' .',
    './',
    'é',
    'e\u0301',
    '日本語',
    '😀',
    '\uffff',
    '\ufeffx',
    '\u2028',
    '\x7f\x01\n\t\r',
    '__proto__',
    'query',
    'batch',
    'restore',
    'x'.repeat(1024),
    'é'.repeat(512),
    '😀'.repeat(256),
  ]
  for (const key of allowed) {
    test(`any character: ${JSON.stringify(key.length > 40 ? `${key.slice(0, 10)}… (${key.length})` : key)}`, async () => {
      const table = await service.table()
      const asHash = await table.put(key, { as: 'hash' })
      const asRange = await table.put('h', { as: 'range' }, { rangeKey: key })
      const asBoth = await table.put(key, { as: 'both' }, { rangeKey: `${key.slice(0, 200)}!` })
      expect(asHash.hashKey).toBe(key)
      expect(asRange.rangeKey).toBe(key === '#' ? undefined : key)
      expect(ok(await table.get(key))).toEqual(asHash)
      expect(ok(await table.get('h', key))).toEqual(asRange)
      expect(ok(await table.get(key, `${key.slice(0, 200)}!`))).toEqual(asBoth)
      expect((await table.items({ hash: key })).length).toBe(2)
      expect(await table.items({ hash: 'h', range: { eq: key } })).toEqual([asRange])
      expect(ok(await table.delete(key))).toEqual({ deleted: true })
      expect(ok(await table.delete('h', key))).toEqual({ deleted: true })
    })
  }

  const refusedKeys: [string, string][] = [
    ['an empty string', '""'],
    ['1,025 bytes', JSON.stringify('x'.repeat(1025))],
    ['1,026 bytes in 513 characters', JSON.stringify('é'.repeat(513))],
    ['a lone high surrogate', '"a\\ud800"'],
    ['a lone low surrogate', '"\\udc00a"'],
    ['"."', '"."'],
    ['".."', '".."'],
    ['".." by escapes', '"\\u002e\\u002e"'],
    ['a number', '1'],
    ['null', 'null'],
    ['an array', '["a"]'],
  ]
  for (const [what, key] of refusedKeys) {
    test(`${what}: invalid_key`, async () => {
      const table = await service.table()
      refused(await table.tryPut(`{"hashKey":${key},"data":{}}`), 400, 'invalid_key', 'hashKey')
      refused(await table.tryPut(`{"hashKey":"a","rangeKey":${key},"data":{}}`), 400, 'invalid_key', 'rangeKey')
      refused(await table.tryQuery(`{"hash":${key}}`), 400, 'invalid_key', 'hash')
      const batch = `{"operations":[{"op":"delete","hashKey":"ok"},{"op":"delete","hashKey":${key}}]}`
      refused(await service.api.post(`${table.path}/batch`, batch), 400, 'invalid_key', 'operations[1].hashKey')
      expect(await table.hashes({ index: 't' })).toEqual([])
    })
  }

  test('a missing hashKey: invalid_key', async () => {
    const table = await service.table()
    refused(await table.tryPut({ data: {} }), 400, 'invalid_key', 'hashKey')
    refused(await table.tryBatch([{ op: 'put', data: {} }]), 400, 'invalid_key', 'operations[0].hashKey')
  })

  test('keys of 1,025 bytes in a path: invalid_key', async () => {
    const table = await service.table()
    refused(await table.get('x'.repeat(1025)), 400, 'invalid_key')
    refused(await table.delete('x'.repeat(1025)), 400, 'invalid_key')
    refused(await table.get('a', 'é'.repeat(513)), 400, 'invalid_key')
  })

  test('keys that only look alike are different records', async () => {
    const table = await service.table()
    const keys = ['a', 'A', 'é', 'e\u0301', 'a ', ' a', 'a\0', 'ａ']
    for (const key of keys) await table.put(key, { key })
    for (const key of keys) expect(ok(await table.get(key)).data).toEqual({ key })
  })
})

describe('the slot #', () => {
  test('rangeKey "#" and none are the same record, and the answer then has no rangeKey', async () => {
    const table = await service.table()
    const one = await table.put('a', { by: 'none' })
    const two = await table.put('a', { by: '#' }, { rangeKey: '#' })
    expect('rangeKey' in one || 'rangeKey' in two).toBe(false)
    expect(two.updatedAt).toBeGreaterThan(one.updatedAt)
    expect(ok(await table.get('a'))).toEqual(two)
    expect(ok(await table.get('a', '#'))).toEqual(two)
    expect(await table.items({ hash: 'a' })).toEqual([two])
    expect(await table.items({ hash: 'a', range: { eq: '#' } })).toEqual([two])
    expect(ok(await table.delete('a', '#'))).toEqual({ deleted: true })
    refused(await table.get('a'), 404, 'record_not_found')
  })

  test('it sorts as the string #', async () => {
    const table = await service.table()
    for (const rangeKey of ['$', undefined, '!', '##', '"']) await table.put('a', {}, { rangeKey })
    expect(await table.ranges({ hash: 'a' })).toEqual(['!', '"', '#', '##', '$'])
    expect(await table.ranges({ hash: 'a', range: { gt: '#' } })).toEqual(['##', '$'])
    expect(await table.ranges({ hash: 'a', range: { beginsWith: '#' } })).toEqual(['#', '##'])
  })
})

describe('ttl', () => {
  const taken = ['4102444800', '253402300799']
  for (const ttl of taken) {
    test(`${ttl} is taken`, async () => {
      const table = await service.table()
      expect(ok(await table.tryPut(`{"hashKey":"a","data":{},"ttl":${ttl}}`)).ttl).toBe(Number(ttl))
    })
  }
  for (const ttl of ['-1', '0', '60', '253402300800', '1.5', '"4102444800"', 'true', '[]', '1e300']) {
    test(`${ttl}: invalid_ttl`, async () => {
      const table = await service.table()
      refused(await table.tryPut(`{"hashKey":"a","data":{},"ttl":${ttl}}`), 400, 'invalid_ttl', 'ttl')
      const batch = `{"operations":[{"op":"put","hashKey":"a","data":{},"ttl":${ttl}}]}`
      refused(await service.api.post(`${table.path}/batch`, batch), 400, 'invalid_ttl', 'operations[0].ttl')
      refused(await table.get('a'), 404, 'record_not_found')
    })
  }

  test('the hint says when it looks like milliseconds', async () => {
    const table = await service.table()
    const answer = await table.tryPut({ hashKey: 'a', data: {}, ttl: Date.now() + 60_000 })
    expect(refused(answer, 400, 'invalid_ttl').hint).toMatch(/millisecond/i)
  })

  test('a put without ttl removes an earlier one', async () => {
    const table = await service.table()
    await table.put('a', {}, { ttl: 4102444800 })
    await table.put('a')
    expect('ttl' in ok(await table.get('a'))).toBe(false)
  })
})
