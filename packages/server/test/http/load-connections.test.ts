import { describe, expect, test } from 'bun:test'
import { loadCommitLinesMax } from '../../src/core/limits.ts'
import { type ApiResponse, eventually, type Json } from '../harness.ts'
import { sumOf } from '../metrics/exposition-rules.ts'
import { metricsOn, scrape } from '../metrics/scraping.ts'
import { type RawConnection, rawRequest } from '../raw-connection.ts'
import { createKey, freshName, ok, refused, type TestTable, useService } from './service.ts'

// A load is answered before its end, after hours, or not at all because its client has left. Its connection must never take a
// part of the body for a request, and its place must be free again.

const service = useService({ args: metricsOn })

type Headers = [string, string][]
const chunked: Headers = [['Transfer-Encoding', 'chunked']]
const chunk = (text: string | Uint8Array): Buffer => {
  const bytes = Buffer.from(text as string)
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}
const lastChunk = '0\r\n\r\n'

const line = (hashKey: string, rangeKey?: number): string =>
  `${JSON.stringify({ hashKey, rangeKey: rangeKey === undefined ? undefined : String(rangeKey), data: {} })}\n`
const lines = (hashKey: string, from: number, to: number): string =>
  Array.from({ length: to - from }, (_, n) => line(hashKey, from + n)).join('')

const request = (table: TestTable, method: string, target: string, headers: Headers = [], body?: string | Uint8Array) =>
  rawRequest(service.server, method, target, { key: table.api.key, headers, body })
const loadOf = (table: TestTable, headers: Headers, body?: string | Uint8Array, query = '') =>
  request(table, 'POST', `${table.path}/load${query}`, headers, body)

const loadsInFlight = async (): Promise<number | undefined> =>
  sumOf(await scrape(service.server), 'cubby_loads_in_flight')
const noneInFlight = () => eventually('no load is in flight', async () => (await loadsInFlight()) === 0 || undefined)

const count = (answer: ApiResponse): Json => ok(answer).count

/** The next answer on the connection; undefined if it is closed instead. */
const answerOrEnd = (connection: RawConnection): Promise<ApiResponse | undefined> =>
  connection.answer().catch(() => undefined)

describe('the next request on the connection', () => {
  test('is answered after the load', async () => {
    const table = await service.table()
    const connection = await service.server.connect()
    const text = `${lines('a', 0, 2_500)}${line('b')}`
    const packed = Bun.gzipSync(Buffer.from(text))
    const bodies = [
      loadOf(table, [], text),
      Buffer.concat([loadOf(table, chunked), chunk(text), Buffer.from(lastChunk)]),
      loadOf(table, [['Content-Encoding', 'gzip']], packed),
    ]
    for (const body of bodies) {
      connection.send(body)
      expect(count(await connection.answer())).toBe(2_501)
      connection.send(request(table, 'GET', `${table.path}/b`))
      expect(ok(await connection.answer()).hashKey).toBe('b')
    }
    connection.close()
  })

  // Bun ends a connection whose client sends the next request behind a body, before the answer.
  test('is not taken for a line if it is sent with the load', async () => {
    const table = await service.table()
    const behind = request(table, 'PUT', table.path, [], '{"hashKey":"behind","data":{}}')
    for (const begun of [
      loadOf(table, [], line('a')),
      Buffer.concat([loadOf(table, chunked), chunk(line('a')), Buffer.from(lastChunk)]),
    ]) {
      const connection = await service.server.connect()
      connection.send(Buffer.concat([begun, behind]))
      const answer = await answerOrEnd(connection)
      if (answer !== undefined) expect(count(answer)).toBe(1)
      connection.close()
    }
    await noneInFlight()
  })

  // A body whose rest looks like a request: nobody may take it for one.
  const smuggled = (table: TestTable): string =>
    `\r\n\r\n${Buffer.from(request(table, 'PUT', table.path, [], '{"hashKey":"smuggled","data":{}}')).toString()}`

  const expectNotSmuggled = async (table: TestTable): Promise<void> => {
    refused(await table.get('smuggled'), 404, 'record_not_found')
    ok(await table.get('first'))
    await noneInFlight()
  }

  test('is never a part of a body of a declared length that was answered before its end', async () => {
    for (const query of ['', '?onError=never']) {
      const table = await service.table()
      if (query !== '') await table.put('first')
      const connection = await service.server.connect()
      const begun = `${line('first')}{}\n`
      const rest = `${lines('rest', 0, 3_000)}${smuggled(table)}${'x'.repeat(100_000)}`
      connection.send(loadOf(table, [['Content-Length', String(begun.length + rest.length)]], undefined, query))
      connection.send(begun)
      const answer = await connection.answer()
      if (query === '') expect(ok(answer)).toMatchObject({ count: 1, failed: 1 })
      else refused(answer, 400, 'invalid_request', 'onError')
      connection.send(rest.slice(0, 50_000))
      connection.send(rest.slice(50_000))
      connection.send(request(table, 'GET', `${table.path}/first`))
      const next = await answerOrEnd(connection)
      if (next !== undefined) expect(ok(next).hashKey).toBe('first')
      expect(answer.headers.get('connection') === 'close').toBe(next === undefined)
      connection.close()
      await expectNotSmuggled(table)
    }
  })

  test('is never a part of a gzip body that was answered before its end', async () => {
    const table = await service.table()
    const connection = await service.server.connect()
    const packed = Bun.gzipSync(Buffer.from(`${line('first')}{}\n`))
    const rest = smuggled(table)
    const headers: Headers = [['Content-Encoding', 'gzip']]
    connection.send(loadOf(table, [...headers, ['Content-Length', String(packed.length + rest.length)]]))
    connection.send(packed)
    expect(ok(await connection.answer())).toMatchObject({ count: 1, failed: 1 })
    connection.send(rest)
    connection.send(request(table, 'GET', `${table.path}/first`))
    const next = await answerOrEnd(connection)
    if (next !== undefined) expect(ok(next).hashKey).toBe('first')
    connection.close()
    await expectNotSmuggled(table)
  })

  test('comes after an error too: the body ends, or the connection does', async () => {
    const table = await service.table()
    const connection = await service.server.connect()
    connection.send(loadOf(table, [['Content-Encoding', 'gzip']], 'no gzip'))
    const answer = await connection.answer()
    refused(answer, 400, 'invalid_request', 'Content-Encoding')
    expect(answer.headers.get('connection')).toBe('close')
    await connection.closed
  })
})

describe('a head', () => {
  test('that expects 100 gets it, or the refusal', async () => {
    const table = await service.table()
    const connection = await service.server.connect()
    const text = lines('a', 0, 10)
    const expecting: Headers = [
      ['Expect', '100-continue'],
      ['Content-Length', String(text.length)],
    ]
    connection.send(loadOf(table, expecting))
    expect((await connection.answer()).status).toBe(100)
    connection.send(text)
    expect(count(await connection.answer())).toBe(10)
    connection.send(loadOf(table, expecting, undefined, '?ifAbsent=x'))
    const first = await connection.answer()
    refused(first.status === 100 ? await connection.answer() : first, 400, 'invalid_request', 'ifAbsent')
    connection.close()
  })

  test('with two lengths is refused, and nothing is stored', async () => {
    for (const headers of [
      [...chunked, ['Content-Length', '5']],
      [['Content-Length', '5'], ...chunked],
      [
        ['Content-Length', '5'],
        ['Content-Length', '6'],
      ],
    ] as Headers[]) {
      const table = await service.table()
      const connection = await service.server.connect()
      connection.send(loadOf(table, headers))
      connection.send(Buffer.concat([chunk(line('a')), Buffer.from(lastChunk)]))
      const answer = await answerOrEnd(connection)
      if (answer !== undefined) expect(answer.status).toBe(400)
      await connection.closed
      refused(await table.get('a'), 404, 'record_not_found')
    }
  })

  test('may announce chunks with extensions', async () => {
    const table = await service.table()
    const connection = await service.server.connect()
    const text = line('a')
    connection.send(loadOf(table, chunked))
    connection.send(`${text.length.toString(16)};name=value\r\n${text}\r\n${lastChunk}`)
    expect(count(await connection.answer())).toBe(1)
    connection.close()
  })

  test('of another method speaks of the record with this key', async () => {
    const table = await service.table()
    refused(await table.get('load'), 404, 'record_not_found')
    await table.put('load')
    const head = await service.server.raw('HEAD', `${table.path}/load`, { key: table.api.key })
    expect([head.status, head.text]).toEqual([200, ''])
    expect(ok(await table.api.delete(`${table.path}/load`))).toEqual({ deleted: true })
  })

  test('with a key for this database may load, of a page on another origin too', async () => {
    const table = await service.table()
    const { key } = await createKey(service.api, { kind: 'secret', databases: ['app'] })
    const answer = await service.server.raw('POST', `${table.path}/load`, { key, body: line('a') })
    expect(count(answer)).toBe(1)
    const asked = 'authorization, content-type, content-encoding'
    const headers: Headers = [
      ['Origin', 'https://page.example'],
      ['Access-Control-Request-Method', 'POST'],
    ]
    headers.push(['Access-Control-Request-Headers', asked])
    const preflight = await service.server.raw('OPTIONS', `${table.path}/load`, { headers })
    const allowed = preflight.headers.get('access-control-allow-headers')?.toLowerCase() ?? ''
    expect(preflight.status).toBe(204)
    for (const name of asked.split(', ')) expect(allowed.split(', ')).toContain(name)
  })
})

describe('a client that leaves', () => {
  test('in the middle of any body gives its place back', async () => {
    for (const isPacked of [false, true]) {
      for (const headers of [chunked, [['Content-Length', '10000000']] as Headers]) {
        const table = await service.table()
        const connection = await service.server.connect()
        const key = freshName('gone')
        connection.send(loadOf(table, isPacked ? [...headers, ['Content-Encoding', 'gzip']] : headers))
        const text = Buffer.from(lines(key, 0, loadCommitLinesMax + 1))
        const bytes = isPacked ? Bun.gzipSync(text) : text
        connection.send(headers === chunked ? chunk(bytes) : bytes)
        await eventually('lines are stored', async () => (await table.get(key, '0')).status === 200 || undefined)
        expect(await loadsInFlight()).toBe(1)
        connection.close()
        await noneInFlight()
        refused(await table.get(key, String(loadCommitLinesMax)), 404, 'record_not_found')
      }
    }
  })

  test('has no more of its lines stored, also of those that have arrived', async () => {
    const table = await service.table()
    const sent = 100_000
    const stored = async () => sumOf(await scrape(service.server), 'cubby_load_lines_total', { outcome: 'stored' }) ?? 0
    const before = await stored()
    const connection = await service.server.connect()
    // Far more than sockets and the server hold of a body.
    const text = `{"hashKey":"one","data":{"text":"${'x'.repeat(1_000)}"}}\n`
    connection.send(Buffer.concat([loadOf(table, chunked), chunk(text.repeat(sent))]))
    await eventually('a line is stored', async () => (await table.get('one')).status === 200 || undefined)
    connection.close()
    await noneInFlight()
    expect((await stored()) - before).toBeLessThan(sent / 2)
  })
})
