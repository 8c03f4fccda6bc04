import { afterAll, describe, expect, test } from 'bun:test'
import packageJson from '../../package.json' with { type: 'json' }
import { prefersHtml } from '../../src/http/accept.ts'
import { type ApiResponse, type Server, startServer } from '../harness.ts'
import { connectRaw } from '../raw-connection.ts'
import { makeBucket } from './bucket.ts'
import { ok, refused, useService } from './service.ts'

const service = useService()

const chrome =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7'

const get = (headers: [string, string][] = [], method = 'GET', target = '/'): Promise<ApiResponse> =>
  service.server.raw(method, target, { headers })

const expectJson = (answer: ApiResponse, base: string): void => {
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    name: 'Cubby',
    version: packageJson.version,
    docs: `${base}/docs`,
    openapi: `${base}/openapi.json`,
    console: `${base}/console`,
    skill: `${base}/SKILL.md`,
    llms: `${base}/llms.txt`,
    mcp: `${base}/mcp`,
  })
  expect(answer.headers.get('vary')).toBe('Accept')
  expect(answer.headers.get('cache-control')).toBe('private, no-cache')
}

describe('GET /', () => {
  test('without a key: name, version and absolute URLs that lead somewhere', async () => {
    const answer = await get()
    expectJson(answer, `http://127.0.0.1:${service.server.port}`)
    const { docs, openapi, console, skill, llms, mcp } = answer.body
    for (const url of [docs, openapi, console, skill, llms]) expect((await fetch(url)).status).toBe(200)
    expect((await fetch(mcp, { method: 'POST' })).status).toBe(401)
  })

  test('HEAD as GET, OPTIONS 204, other methods 405 with Allow', async () => {
    const [json, head] = [await get(), await get([], 'HEAD')]
    expect([head.status, head.text, head.headers.get('vary')]).toEqual([200, '', 'Accept'])
    expect(head.headers.get('content-length')).toBe(json.headers.get('content-length'))
    const browser = await get([['Accept', chrome]], 'HEAD')
    expect([browser.status, browser.headers.get('location')]).toEqual([302, '/console'])
    expect((await get([], 'OPTIONS')).status).toBe(204)
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await get([['Content-Length', '0']], method)
      refused(answer, 405, 'method_not_allowed')
      expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    }
  })

  test('a query string changes nothing, as on the other routes without a key', async () => {
    expectJson(await get([], 'GET', '/?utm_source=x'), `http://127.0.0.1:${service.server.port}`)
    expect((await get([], 'GET', '/healthz?x=1')).status).toBe(200)
  })

  test('a browser is redirected to /console, relative to where it is', async () => {
    const answer = await get([['Accept', chrome]])
    expect([answer.status, answer.text]).toEqual([302, ''])
    expect(answer.headers.get('location')).toBe('/console')
    expect(answer.headers.get('vary')).toBe('Accept')
    expect(answer.headers.get('cache-control')).toBe('private, no-cache')
    expect((await fetch(service.server.url, { headers: { accept: chrome } })).url).toBe(`${service.server.url}/console`)
  })
})

describe('Accept: who is a browser', () => {
  const cases: [string | null, boolean][] = [
    [null, false],
    ['', false],
    ['*/*', false],
    ['*/*;q=0.1', false],
    ['application/json', false],
    ['application/json, text/plain, */*', false],
    ['text/html, application/json', false],
    ['application/json;q=0.9, text/html;q=0.8', false],
    ['text/html;q=0', false],
    ['text/html;q=0, */*', false],
    ['text/html;q=0.5, */*;q=0.8', false],
    ['image/png', false],
    ['text/plain', false],
    ['text/html;q=2', false],
    ['text/html;q=yes, application/json;q=0.1', false],
    ['xtext/html', false],
    ['text/htmlx', false],
    ['"text/html"', false],
    ['*/html', false],
    [',;,=,/', false],
    ['text/html', true],
    ['TEXT/HTML', true],
    [' text/html ; charset=utf-8 ; q=0.3', true],
    [chrome, true],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
    ['application/json;q=0.8, text/html;q=0.801', true],
    ['text/*, application/json;q=0.9', true],
    ['*/*, application/json;q=0.5', true],
    ['text/html;level=1;q=0.7, text/html;q=0.2, application/json;q=0.5', true],
    [`${'a/b,'.repeat(500)}text/html`, true],
    // No browser sends so much, and to read it would take milliseconds.
    [`text/html,${'a/b,'.repeat(600)}`, false],
  ]
  for (const [accept, expected] of cases) {
    test(`${expected ? 'yes' : 'no'}: ${accept?.slice(0, 80)}`, () => expect(prefersHtml(accept)).toBe(expected))
  }

  test('over HTTP the header decides in the same way', async () => {
    for (const [accept, expected] of cases) {
      if (accept === null || accept.length > 1_000) continue
      expect([accept, (await get([['Accept', accept]])).status]).toEqual([accept, expected ? 302 : 200])
    }
  })
})

// Without this a caller, or a cache between callers, would get URLs that lead to somebody else.
describe('Host', () => {
  const own = () => `http://127.0.0.1:${service.server.port}`

  for (const host of ['cubby.example.com', 'localhost:4600', '10.0.0.7:80', '[::1]:4600', 'a_b-c.d~e']) {
    test(`${host} is the base of the URLs`, async () => expectJson(await get([['Host', host]]), `http://${host}`))
  }

  for (const host of [
    '',
    'a b',
    'user@evil.example',
    'evil.example/x',
    'evil.example?x',
    'evil.example#x',
    '"><script>alert(1)</script>',
    '","docs":"http://evil.example',
    'a\\b',
    'a:port',
    'a:123456',
    '[::1',
    'é',
    'a\tb',
    'x'.repeat(3_000),
  ]) {
    test(`${JSON.stringify(host.slice(0, 40))} is not repeated: the address that the server listens on`, async () => {
      expectJson(await get([['Host', host]]), own())
    })
  }

  test('none (HTTP/1.0) is answered too', async () => {
    const connection = await connectRaw(service.server.port)
    connection.send('GET / HTTP/1.0\r\n\r\n')
    expectJson(await connection.answer(), own())
    connection.close()
  })

  test('X-Forwarded headers, which every caller can send, mean nothing', async () => {
    const answer = await get([
      ['X-Forwarded-Host', 'evil.example'],
      ['X-Forwarded-Proto', 'https'],
      ['Forwarded', 'host=evil.example;proto=https'],
    ])
    expectJson(answer, own())
  })
})

describe('--public-url', () => {
  const servers: Server[] = []
  const start = async (...args: string[]): Promise<Server> => {
    const server = await startServer({ args })
    servers.push(server)
    return server
  }
  afterAll(async () => {
    for (const server of servers) await server.stop()
  })

  test('is the base of the URLs, whatever Host says; the redirect stays relative', async () => {
    const server = await start('--public-url', 'https://cubby.example.com/')
    expectJson(await server.raw('GET', '/', { headers: [['Host', 'other.example']] }), 'https://cubby.example.com')
    const browser = await server.raw('GET', '/', { headers: [['Accept', 'text/html']] })
    expect(browser.headers.get('location')).toBe('/console')
  })

  test('with a path prefix, which the redirect has too; with workers', async () => {
    const server = await start('--public-url', 'https://example.com/cubby/', '--workers', '2')
    expectJson(await server.raw('GET', '/'), 'https://example.com/cubby')
    const browser = await server.raw('GET', '/', { headers: [['Accept', 'text/html']] })
    expect(browser.headers.get('location')).toBe('/cubby/console')
    // A URL of a file is for others: it must be the address at which they reach the server, also one that is signed.
    const bucket = await makeBucket(server.as((await server.createOrganization()).secretKey))
    const base = `https://example.com/cubby/files/${bucket.created.id}/`
    expect((await bucket.put('a/é', 'x', { query: { visibility: 'public' } })).url).toBe(`${base}a/%C3%A9`)
    await bucket.put('b', 'private')
    const { url } = ok(await bucket.api.post(`${bucket.path}/url`, { name: 'b' }))
    const [listed] = (await bucket.query({ prefix: 'b', expiresIn: 60 })).items
    for (const signed of [url, listed.url]) {
      expect(signed).toStartWith(`${base}b?`)
      const target = signed.replace('https://example.com/cubby', '')
      expect(await (await fetch(server.url + target)).text()).toBe('private')
    }
  })
})
