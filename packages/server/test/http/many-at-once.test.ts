import { expect, test } from 'bun:test'
import { eventually } from '../harness.ts'
import { growth, metricsOn, scrape } from '../metrics/scraping.ts'
import { useService } from './service.ts'

// Many connections at once: each response is that of its request, and each request is counted and logged once.

const service = useService({ args: [...metricsOn, '--log', 'requests'] })

const connections = 48
const rounds = 15

test('gets, missing records, conditions, heads, queries and tool calls, all beside each other', async () => {
  const table = await service.table()
  for (let n = 0; n < connections; n++) await table.put(`k${n}`, { n })
  const { server } = service
  const { secretKey } = service.org
  const send = (method: string, path: string, headers: Record<string, string> = {}, body?: object): Promise<Response> =>
    fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json', ...headers },
      body: body && JSON.stringify(body),
    })
  const [, , db, name] = table.path.split('/')
  /** The statuses and contents of all kinds of answers, and the record. */
  const one = async (n: number): Promise<[unknown[], object]> => {
    const got = await send('GET', table.at(`k${n}`))
    const record = (await got.json()) as { hashKey: string; data: object }
    const missing = await send('GET', table.at(`missing ${n}`))
    const same = await send('GET', table.at(`k${n}`), { 'if-none-match': got.headers.get('etag')! })
    const head = await send('HEAD', table.at(`k${n}`))
    const query = await send('POST', `${table.path}/query`, {}, { hash: `k${n}` })
    const found = (await query.json()) as { items: { data: object }[] }
    const params = { name: 'get_records', arguments: { db, table: name, keys: [{ hashKey: `k${n}` }] } }
    const call = await send('POST', '/mcp', {}, { jsonrpc: '2.0', id: n, method: 'tools/call', params })
    const answer = (await call.json()) as { id: number; result: { structuredContent: { records: unknown[] } } }
    const answers = [
      [got.status, record.hashKey, record.data],
      [missing.status, ((await missing.json()) as { error: { code: string } }).error.code],
      [same.status, await same.text()],
      [head.status, head.headers.get('etag') === got.headers.get('etag')],
      [query.status, found.items.map(({ data }) => data)],
      [call.status, answer.id, answer.result.structuredContent.records],
    ]
    return [answers, record]
  }
  const before = await scrape(server)
  const linesBefore = server.log.length
  await Promise.all(
    Array.from({ length: connections }, async (_, n) => {
      for (let round = 0; round < rounds; round++) {
        const [answers, record] = await one(n)
        expect(answers).toEqual([
          [200, `k${n}`, { n }],
          [404, 'record_not_found'],
          [304, ''],
          [200, true],
          [200, [{ n }]],
          [200, n, [record]],
        ])
      }
    }),
  )
  const after = await scrape(server)
  const counted = (operation: string, code: string): number =>
    growth(before, after, 'cubby_http_requests_total', { operation, code })
  const times = connections * rounds
  expect([
    counted('getRecord', '200'),
    counted('getRecord', '404'),
    counted('getRecord', '304'),
    counted('queryRecords', '200'),
    counted('callMcp', '200'),
  ]).toEqual([2 * times, times, times, times, times])
  const seconds = 'cubby_http_request_duration_seconds_count'
  expect(growth(before, after, seconds, { operation: 'getRecord' })).toBe(4 * times)
  const lines = () => server.log.slice(linesBefore).filter(({ operation }) => operation === 'getRecord').length
  await eventually('all lines are there', () => (lines() >= 4 * times ? true : undefined))
  expect(lines()).toBe(4 * times)
})
