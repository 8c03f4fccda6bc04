import { beforeAll, describe, expect, test } from 'bun:test'
import {
  fileIdleMsMax,
  loadCommitLinesMax,
  loadErrorsMax,
  loadLineBytesMax,
  loadsOfOrganizationMax,
} from '../../src/core/limits.ts'
import { type ApiResponse, eventually, type Json } from '../harness.ts'
import { sumOf } from '../metrics/exposition-rules.ts'
import { metricsOn, scrape } from '../metrics/scraping.ts'
import { connectRaw, type RawConnection, rawRequest } from '../raw-connection.ts'
import { createKey, freshName, makeTable, ok, refused, type TestTable, useService } from './service.ts'

// Loads through the door: what their lines do, and what ends them. A load is never all or nothing, so every answer must say
// exactly which lines are stored.

const service = useService({ args: metricsOn })
let table: TestTable
beforeAll(async () => {
  table = await service.table({ i1: { hashField: 's', rangeField: 'n' } })
})

const line = (hashKey: string, data: Json = {}, more: Json = {}): string => JSON.stringify({ hashKey, data, ...more })
const numbered = (count: number, prefix = freshName('k')): string[] =>
  Array.from({ length: count }, (_, n) => line(prefix, { n }, { rangeKey: String(n) }))
const done = (count: number, more: Json = {}): Json => ({ count, skipped: 0, failed: 0, errors: [], ...more })

/** Sends a load in one piece. */
const load = async (
  body: string | Uint8Array,
  query = '',
  headers: Record<string, string> = { 'Content-Type': 'application/x-ndjson' },
  { path, api }: Pick<TestTable, 'path' | 'api'> = table,
): Promise<ApiResponse> => {
  // Text would be sent with a content type of its own.
  const bytes = Buffer.from(body as string)
  const response = await fetch(`${service.server.url}${path}/load${query}`, {
    ...{ method: 'POST', body: bytes },
    headers: { Authorization: `Bearer ${api.key}`, ...headers },
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
}

const loadLines = async (lines: string[], query?: string): Promise<Json> => ok(await load(lines.join('\n'), query))

const keysOf = async (hashKey: string, from = table): Promise<string[]> => {
  const page = ok(await from.api.post(`${from.path}/query`, { hash: hashKey, limit: 1_000 }))
  return page.items.map(({ rangeKey }: Json) => rangeKey)
}

describe('lines', () => {
  test('are puts, in their order, with indices, ttl and data as it was sent', async () => {
    const text = '{ "s":"x",  "n" : 1.50, "n":2e0 }'
    const body = `{"hashKey":"a","data":${text}}\n\n  \r\n{"rangeKey":"r","ttl":4102444800,"data":{"s":"x","n":1},"hashKey":"a"}\r\n${line('b')}`
    expect(ok(await load(body))).toEqual(done(3))
    expect((await table.get('a')).text).toContain(`"data":${text}`)
    expect(ok(await table.get('a', 'r'))).toMatchObject({ ttl: 4102444800, data: { s: 'x', n: 1 } })
    const found = ok(await table.api.post(`${table.path}/query`, { index: 'i1', hash: 'x' }))
    expect(found.items.map(({ data }: Json) => data.n)).toEqual([1, 2])
  })

  test('need no content type, and no line feed at the end; an empty body has none', async () => {
    expect(ok(await load(line('plain'), '', {}))).toEqual(done(1))
    expect(ok(await load(''))).toEqual(done(0))
    expect(ok(await load('\n\n'))).toEqual(done(0))
    expect(ok(await load(`\ufeff${line('marked')}`))).toEqual(done(1))
    ok(await table.get('marked'))
  })

  test('of several commits are stored all, and a key that comes twice is written twice', async () => {
    const lines = numbered(2 * loadCommitLinesMax + 10)
    const twice = freshName('twice')
    lines.splice(500, 0, line(twice, { n: 1 }))
    lines.splice(600, 0, line(twice, { n: 2 }))
    lines.push(line(twice, { n: 3 }))
    expect(await loadLines(lines)).toEqual(done(lines.length))
    const first = ok(await table.get(twice))
    expect(first.data).toEqual({ n: 3 })
    expect(await loadLines(lines)).toEqual(done(lines.length))
    // Each of the three raised it.
    expect(ok(await table.get(twice)).updatedAt).toBeGreaterThanOrEqual(first.updatedAt + 3)
  })

  test('of a table with five indices are found by each', async () => {
    const fields = ['a', 'b', 'c', 'd', 'e']
    const own = await service.table(
      Object.fromEntries(fields.map((hashField, i) => [`i${i + 1}`, { hashField, rangeField: 'n' }])),
    )
    const count = loadCommitLinesMax + 10
    const lines = Array.from({ length: count }, (_, n) =>
      line(`k${n}`, { n, ...Object.fromEntries(fields.map((field) => [field, `${field}${n % 2}`])) }),
    )
    // Twice: the second time every record and its entries are replaced.
    for (const _ of [1, 2]) expect(ok(await load(lines.join('\n'), '', {}, own))).toEqual(done(count))
    for (const [i, field] of fields.entries()) {
      const page = ok(await own.api.post(`${own.path}/query`, { index: `i${i + 1}`, hash: `${field}1`, limit: 1_000 }))
      expect(page.items.map(({ data }: Json) => data.n)).toEqual(Array.from({ length: count / 2 }, (_, n) => 2 * n + 1))
    }
  })

  test('of 400 kB, whatever their characters, are stored byte for byte', async () => {
    const texts = ['x'.repeat(399_000), '€'.repeat(133_000), '😀'.repeat(99_000), '\\n\\"'.repeat(99_000)]
    const prefix = freshName('large')
    const lines = texts.map((text, n) => `{"hashKey":"${prefix}","rangeKey":"${n}","data":{"t":"${text}"}}`)
    expect(await loadLines([...lines, ...lines])).toEqual(done(2 * texts.length))
    for (const [n, text] of texts.entries()) {
      expect((await table.get(prefix, String(n))).text.includes(`"data":{"t":"${text}"}`)).toBe(true)
    }
  })

  test('the first that is refused ends the load, and nothing after it is stored', async () => {
    const prefix = freshName('stop')
    const lines = numbered(1_500, prefix)
    lines.splice(1_200, 0, '', line(prefix, { s: null }, { rangeKey: 'wrong' }))
    expect(await loadLines(lines)).toEqual({
      ...done(1_200),
      failed: 1,
      errors: [
        {
          line: 1_202,
          code: 'invalid_index_value',
          message: 'data.s is null; index i1 takes a string, number or boolean.',
          field: 'data.s',
        },
      ],
    })
    ok(await table.get(prefix, '1199'))
    refused(await table.get(prefix, '1200'), 404, 'record_not_found')
  })

  test('with onError=skip all others are stored, and the first refused ones are named', async () => {
    const wrong: [string, string, string | undefined][] = [
      ['{"hashKey":"a"', 'invalid_json', undefined],
      ['[]', 'invalid_request', undefined],
      ['{"hashKey":"","data":{}}', 'invalid_key', 'hashKey'],
      ['{"hashKey":"a","data":[]}', 'invalid_request', 'data'],
      ['{"hashKey":"a","data":{},"ifUpdatedAt":null}', 'invalid_request', 'ifUpdatedAt'],
      ['{"op":"delete","hashKey":"a"}', 'invalid_request', 'op'],
      ['{"hashKey":"a","data":{},"ttl":1}', 'invalid_ttl', 'ttl'],
      [line('a', { s: null }), 'invalid_index_value', 'data.s'],
      [line('a', { text: 'x'.repeat(410_000) }), 'record_too_large', 'data'],
      [line('a', { text: 'x'.repeat(loadLineBytesMax) }), 'body_too_large', undefined],
    ]
    const lines = numbered(wrong.length)
    const mixed = wrong.flatMap(([text], n) => [text, lines[n]!])
    const answer = await loadLines(mixed, '?onError=skip')
    expect(answer).toMatchObject({ count: lines.length, skipped: 0, failed: wrong.length })
    expect(answer.errors.map(({ line: at, code, field }: Json) => [at, code, field])).toEqual(
      wrong.map(([, code, field], n) => [2 * n + 1, code, field]),
    )
    const many = await loadLines(Array(loadErrorsMax + 7).fill('x'), '?onError=skip')
    expect([many.failed, many.errors.length, many.errors.at(-1).line]).toEqual([
      loadErrorsMax + 7,
      loadErrorsMax,
      loadErrorsMax,
    ])
  })

  test('that are not UTF-8 are refused alone, wherever they are cut', async () => {
    const good = numbered(3)
    const bad = Buffer.from('{"hashKey":"caf\xe9","data":{}}', 'latin1')
    const body = Buffer.concat([Buffer.from(`${good[0]}\n`), bad, Buffer.from(`\n${good[1]}\n${good[2]}`)])
    const answer = ok(await load(body, '?onError=skip'))
    expect(answer).toMatchObject({ count: 3, failed: 1 })
    expect(answer.errors[0]).toMatchObject({ line: 2, code: 'invalid_json' })
  })

  test('a line of 2 MiB is passed over without being kept, and the next one counts', async () => {
    const lines = [numbered(1)[0]!, line('a', { text: 'x'.repeat(2 * loadLineBytesMax) }), numbered(1)[0]!]
    const answer = await loadLines(lines, '?onError=skip')
    expect(answer).toMatchObject({ count: 2, failed: 1 })
    expect(answer.errors[0]).toMatchObject({ line: 2, code: 'body_too_large' })
  })

  test('with ifAbsent records that exist are left alone', async () => {
    const prefix = freshName('absent')
    const lines = numbered(5, prefix)
    expect(await loadLines(lines.slice(1, 3))).toEqual(done(2))
    const before = ok(await table.get(prefix, '1'))
    const other = lines.map((text) => text.replace('"data":{', '"data":{"new":1,'))
    expect(await loadLines(other, '?ifAbsent=true')).toEqual(done(3, { skipped: 2 }))
    expect(ok(await table.get(prefix, '1'))).toEqual(before)
    expect(ok(await table.get(prefix, '4')).data).toEqual({ new: 1, n: 4 })
    // The second of a key finds the first.
    expect(await loadLines([line(`${prefix}2`), line(`${prefix}2`)], '?ifAbsent=true')).toEqual(done(1, { skipped: 1 }))
  })

  test('the path is a record for other methods', async () => {
    await table.put('load', { of: 'coal' })
    expect(ok(await table.get('load')).data).toEqual({ of: 'coal' })
    expect(ok(await table.api.delete(`${table.path}/load`))).toEqual({ deleted: true })
  })
})

describe('gzip', () => {
  const packed = { 'Content-Encoding': 'gzip' }

  test('is unpacked, in several members too', async () => {
    const lines = numbered(3_000)
    const bytes = Buffer.from(`${lines.join('\n')}\n`)
    expect(ok(await load(Bun.gzipSync(bytes), '', packed))).toEqual(done(3_000))
    const halves = [bytes.subarray(0, 1_000), bytes.subarray(1_000)].map((half) => Bun.gzipSync(Buffer.from(half)))
    expect(ok(await load(Buffer.concat(halves), '', { 'Content-Encoding': 'GZIP' }))).toEqual(done(3_000))
  })

  test('that is broken or cut short is 400 with the number of stored lines, which are the first ones', async () => {
    const prefix = freshName('cut')
    const lines = numbered(30_000, prefix).map((text, n) => text.replace('{"n"', `{"r":"${(n * 7919) % 104_729}","n"`))
    const whole = Bun.gzipSync(Buffer.from(lines.join('\n')))
    const broken = Buffer.from(whole)
    broken.fill(0xff, Math.floor(broken.length / 2))
    const cut = whole.subarray(0, Math.floor(whole.length / 2))
    for (const [body, query] of [
      [cut, ''],
      // What it is unpacked to may not be JSON.
      [broken, '?onError=skip'],
    ] as const) {
      const { count, message } = refused(await load(body, query, packed), 400, 'invalid_request', 'Content-Encoding')
      expect(message).toContain('gzip')
      expect(count).toBeGreaterThan(0)
      expect(count % loadCommitLinesMax).toBe(0)
      ok(await table.get(prefix, String(count - 1)))
      refused(await table.get(prefix, String(count)), 404, 'record_not_found')
    }
    expect(refused(await load('no gzip', '', packed), 400, 'invalid_request').count).toBe(0)
  })

  test('with a zero after a member is broken: the lines of later members would be lost without an error', async () => {
    const [first, second] = [numbered(2), numbered(2)].map((lines) => Bun.gzipSync(Buffer.from(lines.join('\n'))))
    const zeros = Buffer.alloc(100)
    const broken = Buffer.from(second!)
    broken[0] = 0
    for (const rest of [[broken], [zeros], [zeros, second!]]) {
      const body = Buffer.concat([first!, ...rest])
      const { message } = refused(await load(body, '', packed), 400, 'invalid_request', 'Content-Encoding')
      expect(message).toContain('zero')
      // The members may arrive apart from each other.
      const connection = await connectRaw(service.server.port)
      const headers: [string, string][] = [
        ['Content-Length', String(body.length)],
        ['Content-Encoding', 'gzip'],
      ]
      connection.send(rawRequest(service.server, 'POST', `${table.path}/load`, { key: table.api.key, headers }))
      connection.send(first!)
      await Bun.sleep(20)
      connection.send(Buffer.concat(rest))
      refused(await connection.answer(), 400, 'invalid_request', 'Content-Encoding')
      connection.close()
    }
  })
})

describe('what the head decides', () => {
  test('other types and encodings are 415', async () => {
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x']) {
      refused(await load(line('a'), '', { 'Content-Type': type }), 415, 'unsupported_media_type', 'Content-Type')
    }
    ok(await load(line('a'), '', { 'Content-Type': 'Application/X-NDJSON; charset=utf-8' }))
    for (const encoding of ['br', 'gzip, gzip', 'deflate']) {
      const headers = { 'Content-Encoding': encoding }
      refused(await load(line('a'), '', headers), 415, 'unsupported_media_type', 'Content-Encoding')
    }
  })

  test('wrong parameters, conditions, idempotency keys, keys and tables are refused', async () => {
    refused(await load(line('a'), '?onError=never'), 400, 'invalid_request', 'onError')
    refused(await load(line('a'), '?ifAbsent=1'), 400, 'invalid_request', 'ifAbsent')
    refused(await load(line('a'), '?x=1'), 400, 'invalid_request', 'x')
    refused(await load(line('a'), '', { 'If-Match': '*' }), 400, 'invalid_request', 'If-Match')
    refused(await load(line('a'), '', { 'Idempotency-Key': 'k' }), 400, 'invalid_request', 'Idempotency-Key')
    const { reader, stranger, api } = service
    refused(await load(line('a'), '', {}, { path: table.path, api: reader }), 403, 'read_only_key')
    refused(await load(line('a'), '', {}, { path: table.path, api: stranger }), 404, 'table_not_found')
    const scoped = await createKey(api, { kind: 'secret', databases: ['other'] })
    const scopedApi = service.server.as(scoped.key)
    refused(await load(line('a'), '', {}, { path: table.path, api: scopedApi }), 403, 'key_scope')
    refused(await load(line('a'), '', {}, { path: '/v1/app/nowhere', api }), 404, 'table_not_found')
    refused(await load(line('a'), '', {}, { path: '/v1/app/_x', api }), 400, 'reserved_name')
  })

  test('is answered without waiting for the body', async () => {
    const connection = await begin(`${table.path}/load?onError=never`, [['Content-Length', '1000000']])
    refused(await connection.answer(), 400, 'invalid_request', 'onError')
    connection.close()
  })
})

const chunkedHeader: [string, string][] = [['Transfer-Encoding', 'chunked']]
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const lastChunk = '0\r\n\r\n'

/** Sends the head of a load. */
const begin = async (
  target: string,
  headers: [string, string][] = chunkedHeader,
  key = service.api.key,
): Promise<RawConnection> => {
  const connection = await connectRaw(service.server.port, 90_000)
  connection.send(rawRequest(service.server, 'POST', target, { key, headers }))
  return connection
}

/** Sends enough lines of the connection's load that a commit of them is seen. */
const sendCommitted = async (connection: RawConnection, prefix: string, into = table): Promise<void> => {
  connection.send(chunk(`${numbered(loadCommitLinesMax + 1, prefix).join('\n')}\n`))
  await eventually('the first lines are stored', async () => (await into.get(prefix, '0')).status === 200 || undefined)
}

describe('a body that arrives in parts', () => {
  test('is stored while it arrives, cut at any byte', async () => {
    const prefix = freshName('parts')
    const connection = await begin(`${table.path}/load`)
    await sendCommitted(connection, prefix)
    for (const part of [`{"hashKey":"${prefix}","ra`, 'ngeKey":"€", "data":{', '}}\n']) connection.send(chunk(part))
    connection.send(chunk(`{"hashKey":"${prefix}","rangeKey":"ü`))
    connection.send(`${chunk('","data":{}}')}${lastChunk}`)
    expect(ok(await connection.answer())).toEqual(done(loadCommitLinesMax + 3))
    expect((await keysOf(prefix)).length).toBe(1_000)
    ok(await table.get(prefix, '€'))
    ok(await table.get(prefix, 'ü'))
    connection.close()
  })

  test('that a line stops is answered at once, and the connection takes the next request', async () => {
    const connection = await begin(`${table.path}/load`)
    const good = numbered(1)[0]!
    connection.send(chunk(`${good}\n{}\n`))
    expect(ok(await connection.answer())).toMatchObject({ count: 1, failed: 1, errors: [{ line: 2 }] })
    for (let n = 0; n < 20; n++) connection.send(chunk(`${good}\n`.repeat(1_000)))
    connection.send(lastChunk)
    connection.send(rawRequest(service.server, 'GET', table.path, { key: service.api.key }))
    ok(await connection.answer())
    connection.close()
  })

  test('in one chunk for each line is taken; in very many fine ones it is refused with the stored lines', async () => {
    const { key } = await createKey(service.api)
    const prefix = freshName('fine')
    const connection = await begin(`${table.path}/load`, chunkedHeader, key)
    for (const text of numbered(3_000, prefix)) connection.send(chunk(`${text}\n`))
    connection.send(lastChunk)
    expect(ok(await connection.answer())).toEqual(done(3_000))
    connection.close()
    const fine = await begin(`${table.path}/load?onError=skip`, chunkedHeader, key)
    fine.send(chunk('{}\n').repeat(100_000))
    const { hint } = refused(await fine.answer(), 400, 'invalid_request')
    expect(hint).toContain('larger chunks')
    fine.close()
  })

  test('that ends in the middle of a line stores nothing of it, and the lines before are the first ones', async () => {
    const prefix = freshName('gone')
    const connection = await begin(`${table.path}/load`)
    await sendCommitted(connection, prefix)
    connection.send(chunk(`{"hashKey":"${prefix}","rangeKey":"half`))
    connection.close()
    await eventually('the load has ended', async () => (await loadsInFlight()) === 0 || undefined)
    ok(await table.get(prefix, String(loadCommitLinesMax - 1)))
    refused(await table.get(prefix, 'half'), 404, 'record_not_found')
  })

  const loadsInFlight = async (): Promise<number | undefined> =>
    sumOf(await scrape(service.server), 'cubby_loads_in_flight')

  test('ends with the key that sends it', async () => {
    const { id, key } = await createKey(service.api)
    const prefix = freshName('revoked')
    const connection = await begin(`${table.path}/load`, chunkedHeader, key)
    await sendCommitted(connection, prefix)
    ok(await service.api.delete(`/api/keys/${id}`))
    connection.send(chunk(`${numbered(loadCommitLinesMax, freshName('never')).join('\n')}\n`))
    const { count, message } = refused(await connection.answer(), 403, 'revoked_api_key')
    expect(count).toBe(loadCommitLinesMax)
    expect(message).toContain(`${count} lines are stored.`)
    connection.close()
  })

  test('ends with the key that sends it, also if it has no good lines', async () => {
    const { id, key } = await createKey(service.api)
    const connection = await begin(`${table.path}/load?onError=skip`, chunkedHeader, key)
    connection.send(chunk('{}\n\n'))
    await eventually('the load is in progress', async () => (await loadsInFlight()) === 1 || undefined)
    ok(await service.api.delete(`/api/keys/${id}`))
    connection.send(chunk('{}\n\n'))
    expect(refused(await connection.answer(), 403, 'revoked_api_key').count).toBe(0)
    connection.close()
  })

  test('is answered when a commit has failed, also if its sender is silent', async () => {
    const own = await service.table()
    const connection = await begin(`${own.path}/load`)
    await sendCommitted(connection, 'own', own)
    ok(await own.api.delete(own.path))
    // Enough for one more commit, but not for two.
    connection.send(chunk(`${numbered(loadCommitLinesMax, 'own').join('\n')}\n`))
    const startedAtMs = performance.now()
    expect(refused(await connection.answer(), 404, 'table_not_found').count).toBe(loadCommitLinesMax)
    expect(performance.now() - startedAtMs).toBeLessThan(fileIdleMsMax / 2)
    connection.close()
  })

  test('ends with its table, also if another one takes the name', async () => {
    for (const isReplaced of [false, true]) {
      const own = await service.table()
      const connection = await begin(`${own.path}/load`)
      await sendCommitted(connection, 'own', own)
      ok(await own.api.delete(own.path))
      if (isReplaced) await makeTable(service.api, { i1: { hashField: 'n' } }, own.name)
      connection.send(chunk(`${numbered(2 * loadCommitLinesMax, 'own').join('\n')}\n`))
      expect(refused(await connection.answer(), 404, 'table_not_found').count).toBe(loadCommitLinesMax)
      connection.close()
      if (isReplaced) expect(await keysOf('own', own)).toEqual([])
    }
  })

  test('has one of few places; the others are told to come later, and another organization is served', async () => {
    const target = `${table.path}/load`
    const prefix = freshName('places')
    const open = await Promise.all(Array.from({ length: loadsOfOrganizationMax }, () => begin(target)))
    await eventually('all are in progress', async () => (await loadsInFlight()) === open.length || undefined)
    refused(await load(line('late')), 503, 'unavailable')
    const other = await makeTable(service.stranger)
    expect(ok(await load(line('other'), '', {}, other))).toEqual(done(1))
    for (const connection of open) connection.send(`${chunk(line(prefix))}${lastChunk}`)
    for (const connection of open) {
      expect(ok(await connection.answer())).toEqual(done(1))
      connection.close()
    }
    await eventually('a place is free', async () => (await load(line('late'))).status === 200 || undefined)
  })

  test('is counted with its lines', async () => {
    const counted = async (outcome: string): Promise<number> =>
      sumOf(await scrape(service.server), 'cubby_load_lines_total', { outcome }) ?? 0
    const before = [await counted('stored'), await counted('skipped'), await counted('refused')]
    const lines = numbered(3)
    await loadLines(lines)
    await loadLines([...lines, 'x', ...numbered(1)], '?ifAbsent=true&onError=skip')
    const after = [await counted('stored'), await counted('skipped'), await counted('refused')]
    expect(after.map((count, n) => count - before[n]!)).toEqual([4, 3, 1])
  })
})
