import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { errorCodes } from '../../src/core/error-codes.ts'
import { type Json, type Server, startServer } from '../harness.ts'
import { operationsOf } from './scenario.ts'

// The page must work without a network, and its readers have API keys. So it must load nothing, and send only to this server.

setDefaultTimeout(120_000)

let server: Server
let page: string
let headers: Headers
let document: Json
beforeAll(async () => {
  server = await startServer({ shared: true })
  const response = await fetch(`${server.url}/docs`, { headers: { 'x-request-id': 'mine' } })
  headers = response.headers
  page = await response.text()
  document = (await server.request('GET', '/openapi.json')).body
})
afterAll(async () => {
  await server?.stop()
})

const withoutEntities = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')

const attributes = (name: string): string[] =>
  Array.from(page.matchAll(new RegExp(`<[^>]*\\s${name}="([^"]*)"`, 'g')), ([, value]) => withoutEntities(value!))

const contentsOf = (element: string): string[] =>
  Array.from(page.matchAll(new RegExp(`<${element}>(.*?)</${element}>`, 'gs')), ([, text]) => text!)

const policy = (): Record<string, string> =>
  Object.fromEntries(
    headers
      .get('content-security-policy')!
      .split('; ')
      .map((directive) => [directive.split(' ')[0]!, directive.split(' ').slice(1).join(' ')]),
  )

describe('the page', () => {
  test('is HTML, and carries the headers of every answer', () => {
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('x-request-id')).toBe('mine')
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-expose-headers')).toBe(
      'Accept-Ranges, Content-Disposition, Content-Range, ETag, Idempotency-Replayed, Repr-Digest, Retry-After, X-Request-Id',
    )
    expect(headers.get('cache-control')).toBe('private, no-cache')
  })

  test('has every operation, with its curl lines', () => {
    const text = withoutEntities(page)
    for (const { id, method, path, object } of operationsOf(document)) {
      if (object['x-same-as'] !== undefined) continue
      expect(attributes('data-target')).toContain(`${method} ${path}`)
      expect(attributes('id')).toContain(id)
      expect(attributes('href')).toContain(`#${id}`)
      for (const { source } of object['x-codeSamples']) expect(text).toContain(source)
    }
  })

  test('has every error code and every schema, where links lead to', () => {
    const ids = attributes('id')
    for (const code of errorCodes) expect(ids).toContain(`error-${code}`)
    for (const name of Object.keys(document.components.schemas)) expect(ids).toContain(`schema-${name}`)
  })

  test('links lead to places that are there, each of one name only', () => {
    const ids = attributes('id')
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([])
    const inside = attributes('href').filter((href) => href.startsWith('#'))
    expect(inside.length).toBeGreaterThan(100)
    expect(inside.filter((href) => !ids.includes(href.slice(1)))).toEqual([])
  })

  test('shows no key: the samples take it from the environment', () => {
    expect(page).not.toMatch(/svc_(live|pub)_(?!EXAMPLE)[0-9A-Za-z]{38}/)
    // The form that takes one is made by the script, so that nothing can be typed where nothing would be sent.
    expect(page).not.toMatch(/<(input|textarea|form|iframe|object|embed)\b/)
  })

  test('has the code of every example in three languages', () => {
    const examples = operationsOf(document).flatMap(({ object }) =>
      object['x-same-as'] === undefined ? object['x-codeSamples'] : [],
    )
    for (const language of ['curl', 'typescript', 'python']) {
      const blocks = attributes('data-language').filter((value) => value === language)
      // The setup at the top has its own.
      expect(blocks).toHaveLength(examples.length + 1)
    }
  })
})

describe('nothing is loaded from elsewhere', () => {
  test('no element names another address', () => {
    expect(attributes('src')).toEqual([])
    const outside = attributes('href').filter((href) => !href.startsWith('#'))
    expect(outside.map((href) => href.slice(0, 20))).toEqual(['data:image/svg+xml,%', 'openapi.json'])
    for (const style of contentsOf('style')) expect(style).not.toMatch(/@import|url\(|image-set/)
    for (const script of contentsOf('script')) {
      expect(script).not.toMatch(/XMLHttpRequest|\bimport\b|sendBeacon|WebSocket|EventSource|\beval\b|innerHTML/)
      // The form sends; nothing else does.
      expect(script.match(/\bfetch\(/g)).toHaveLength(1)
    }
  })

  test('the policy allows only the style and the script that are in the page, by their hashes, and requests to this server', () => {
    const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
    expect(contentsOf('style')).toHaveLength(1)
    expect(contentsOf('script')).toHaveLength(1)
    expect(policy()).toEqual({
      'default-src': "'none'",
      'style-src': hash(contentsOf('style')[0]!),
      'script-src': hash(contentsOf('script')[0]!),
      'connect-src': "'self'",
      'img-src': 'data:',
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    })
    // The page has nothing that the policy would silently drop.
    expect(page).not.toMatch(/<[^>]+\s(style|on\w+)=/)
  })
})
