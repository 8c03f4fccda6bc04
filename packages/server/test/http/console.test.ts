import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Server, startServer } from '../harness.ts'
import { refused } from './service.ts'

setDefaultTimeout(120_000)

const servers: Server[] = []
const start = async (...args: string[]): Promise<Server> => {
  const server = await startServer({ args })
  servers.push(server)
  return server
}
let server: Server
beforeAll(async () => {
  server = await start()
})
afterAll(async () => {
  for (const one of servers) await one.stop()
})

const chrome = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

/** Gets the answer as it was sent: not decompressed, and without following redirects. */
const get = (url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
  fetch(url, { method, headers: { 'accept-encoding': 'identity', ...headers }, decompress: false, redirect: 'manual' })

const shown = ({ headers }: Response): Record<string, string> => {
  const { 'x-request-id': id, date: _, ...rest } = Object.fromEntries(headers)
  expect(id).toBeString()
  return rest
}

/** The files that a page names, by their ending. */
const filesOf = (html: string): Record<string, string> =>
  Object.fromEntries(
    Array.from(html.matchAll(/ (?:href|src)="([^"]+\.(\w+))"/g), ([, path, ending]) => [ending!, path!]),
  )

const common = {
  vary: 'Accept-Encoding',
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'Accept-Ranges, Content-Disposition, Content-Range, ETag, Idempotency-Replayed, Repr-Digest, Retry-After, X-Request-Id',
}

// Without them a script in somebody's record or file would run with the key of the user who looks at it.
const protection = (scripts: string) => ({
  'content-security-policy': `default-src 'none'; script-src ${scripts}; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'`,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
})

/** The nonce of the answer's policy. */
const nonceOf = ({ headers }: Response): string =>
  / script-src 'nonce-([^']*)';/.exec(headers.get('content-security-policy')!)![1]!

describe('GET /console', () => {
  test('is a page with exactly these headers, asked for again each time', async () => {
    const answer = await get(`${server.url}/console`)
    const html = await answer.text()
    expect(answer.status).toBe(200)
    expect(shown(answer)).toEqual({
      ...common,
      ...protection(`'nonce-${nonceOf(answer)}'`),
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-length': String(Buffer.byteLength(html)),
    })
    expect(html).toStartWith('<!doctype html>\n<html lang="en">')
    for (const part of [
      '<title>Cubby</title>',
      '<meta name="viewport" ',
      '<meta name="color-scheme" content="light dark">',
    ])
      expect(html).toContain(part)
    expect(html).toContain('<div id="app"></div>')
    expect(html).toMatch(/<noscript>[^<]+/)
  })

  test('its scripts run by a nonce of 128 bits that is new for each answer, so that no cache is told that it has the page', async () => {
    const nonces = new Set<string>()
    for (let i = 0; i < 20; i++) {
      const answer = await get(`${server.url}/console`, { 'if-none-match': '*' })
      const html = await answer.text()
      const nonce = nonceOf(answer)
      expect([answer.status, Buffer.from(nonce, 'base64').length]).toEqual([200, 16])
      nonces.add(nonce)
      const scripts = html.match(/<(script|link rel="modulepreload") [^>]*>/g)!
      expect(scripts.length).toBeGreaterThan(1)
      for (const tag of scripts) expect(tag).toContain(` nonce="${nonce}"`)
      expect(html.split(nonce).length - 1).toBe(scripts.length)
    }
    expect(nonces.size).toBe(20)
  })

  test('has no script, style or handler in it, and no address of another site', async () => {
    const html = await (await get(`${server.url}/console`)).text()
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son\w+=|\/\/|data:/i)
    expect(Object.keys(filesOf(html)).sort()).toEqual(['css', 'js', 'svg'])
  })

  test('HEAD as GET, OPTIONS 204, other methods 405 with Allow', async () => {
    const [whole, head] = [await get(`${server.url}/console`), await get(`${server.url}/console`, {}, 'HEAD')]
    const { 'content-security-policy': _, ...headers } = shown(whole)
    expect([head.status, await head.text(), shown(head)]).toEqual([200, '', expect.objectContaining(headers)])
    expect(nonceOf(head)).not.toBe(nonceOf(whole))
    expect((await server.raw('OPTIONS', '/console')).status).toBe(204)
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await server.raw(method, '/console', { headers: [['Content-Length', '0']] })
      refused(answer, 405, 'method_not_allowed')
      expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    }
  })

  test('with a slash at its end leads to the page, relative to where the browser is', async () => {
    const answer = await get(`${server.url}/console/`)
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '../console'])
    expect((await fetch(`${server.url}/console/`)).url).toBe(`${server.url}/console`)
  })

  test('GET / names it, and sends browsers there', async () => {
    const { body } = await server.raw('GET', '/')
    expect(body.console).toBe(`http://127.0.0.1:${server.port}/console`)
    const browser = await get(`${server.url}/`, { accept: chrome })
    expect([browser.status, browser.headers.get('location')]).toEqual([302, '/console'])
  })
})

describe('the files of the page', () => {
  const types: Record<string, string> = {
    js: 'text/javascript; charset=utf-8',
    css: 'text/css; charset=utf-8',
    svg: 'image/svg+xml; charset=utf-8',
  }

  /** The files that the page names now, with their addresses. */
  const files = async (): Promise<[ending: string, url: string][]> => {
    const page = await get(`${server.url}/console`)
    return Object.entries(filesOf(await page.text())).map(([ending, path]) => [
      ending,
      new URL(path, `${server.url}/console`).href,
    ])
  }

  test('are named by their content and may be kept for ever, with the headers of the page but no script of their own', async () => {
    for (const [ending, url] of await files()) {
      const answer = await get(url)
      const text = await answer.text()
      const hash = new Bun.CryptoHasher('sha256').update(text).digest('hex').slice(0, 16)
      // The names of scripts are in scripts, so they cannot be hashes of their own text: see the bundle test of the console.
      const name = ending === 'js' ? /^[0-9a-f]{16}$/ : hash
      expect(url.slice(`${server.url}/console/`.length).split('.')).toEqual([expect.stringMatching(name), ending])
      expect(answer.status).toBe(200)
      expect(shown(answer)).toEqual({
        ...common,
        ...protection("'none'"),
        'content-type': types[ending]!,
        'cache-control': 'public, max-age=31536000, immutable',
        etag: `W/"${url.split('/').at(-1)!.split('.')[0]}"`,
        'content-length': String(Buffer.byteLength(text)),
      })
      expect((await get(url, {}, 'HEAD')).headers.get('content-length')).toBe(String(Buffer.byteLength(text)))
    }
  })

  test('another name is 404 as any path that no route has', async () => {
    const [, url] = (await files())[0]!
    const { pathname } = new URL(url)
    for (const path of ['/console/console.js', `${pathname}x`, `${pathname}/x`, '/console//', '/console/../x']) {
      refused(await server.raw('GET', path), 404, 'route_not_found')
    }
    refused(await server.raw('POST', pathname, { headers: [['Content-Length', '0']] }), 405, 'method_not_allowed')
  })
})

test('the files: compressed for those who accept it, 304 for those who have them', async () => {
  const page = `${server.url}/console`
  const names = Object.values(filesOf(await (await get(page)).text()))
  for (const url of names.map((path) => new URL(path, page).href)) {
    const plain = await get(url)
    const gzipped = await get(url, { 'accept-encoding': 'gzip, br' })
    expect([gzipped.status, gzipped.headers.get('content-encoding')]).toEqual([200, 'gzip'])
    const text = new TextDecoder().decode(Bun.gunzipSync(new Uint8Array(await gzipped.arrayBuffer())))
    expect(text).toBe(await plain.text())
    const again = await get(url, { 'if-none-match': plain.headers.get('etag')! })
    expect([again.status, await again.text()]).toEqual([304, ''])
    for (const name of ['cache-control', 'content-security-policy', 'etag', 'vary'])
      expect(again.headers.get(name)).toBe(plain.headers.get(name))
  }
})

test('--no-console: 404, GET / does not name it, and browsers are sent to /docs', async () => {
  const without = await start('--no-console')
  for (const path of ['/console', '/console/', '/console/x.js']) {
    refused(await without.raw('GET', path), 404, 'route_not_found')
  }
  expect((await without.raw('GET', '/')).body).not.toHaveProperty('console')
  const browser = await get(`${without.url}/`, { accept: chrome })
  expect([browser.status, browser.headers.get('location')]).toEqual([302, '/docs'])
})

// Without this an absolute path in the page would lead to another service of the same host.
test('behind a proxy that adds a path, with workers: everything that the page names is there', async () => {
  const behind = await start('--public-url', 'https://example.com/cubby', '--workers', '2')
  const proxy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const { pathname, search } = new URL(request.url)
      if (!pathname.startsWith('/cubby/')) return new Response('another service', { status: 418 })
      const { headers } = request
      return fetch(behind.url + pathname.slice('/cubby'.length) + search, {
        headers,
        decompress: false,
        redirect: 'manual',
      })
    },
  })
  try {
    const base = `${proxy.url.origin}/cubby`
    // Each request has a connection of its own, so both workers are asked.
    const nonces = new Set<string>()
    for (let i = 0; i < 12; i++) {
      const page = await get(`${base}/console`, { connection: 'close' })
      nonces.add(nonceOf(page))
      for (const path of Object.values(filesOf(await page.text())))
        expect((await get(new URL(path, `${base}/console`).href)).status).toBe(200)
    }
    expect(nonces.size).toBe(12)
    for (const address of [`${base}/`, `${base}/console/`]) {
      const arrived = await fetch(address, { headers: { accept: chrome } })
      expect([arrived.status, arrived.url]).toEqual([200, `${base}/console`])
    }
    expect((await behind.raw('GET', '/')).body.console).toBe('https://example.com/cubby/console')
  } finally {
    await proxy.stop(true)
  }
})
