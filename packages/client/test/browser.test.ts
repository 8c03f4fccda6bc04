import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { buildScript } from '../build.ts'
import type * as Client from '../src/index.ts'
import { chromiumFlags, findChromium } from './chromium.ts'
import { type RealServer, startRealServer } from './real-server.ts'

const executablePath = findChromium('the browser tests of the client')
const browserTest = executablePath === undefined ? test.skip : test

/** The page's script leaves this for the test. */
type PageWindow = { client: typeof Client }

let directory: string
let server: RealServer
let site: Bun.Server<undefined>
let browser: Browser

beforeAll(async () => {
  if (executablePath === undefined) return
  directory = await mkdtemp(join(tmpdir(), 'cubby-client-'))
  await buildScript(directory)
  server = await startRealServer()
  const app = server.cubby().db('app')
  await app.tables.create('notes', { indices: { i1: { hashField: 'topic', rangeField: 'at' } } })
  await app.table('notes').save(
    Array.from({ length: 5 }, (_, i) => ({
      hashKey: i === 4 ? 'a/b' : `n${i}`,
      data: { topic: 'x', at: new Date(i) },
    })),
  )
  await app.tables.create('live', { changes: {} })
  await app.table('live').save(['a', 'b'].map((hashKey) => ({ hashKey, data: {} })))
  const page = `<!doctype html><title>notes</title><script type="module">
    import * as client from '/index.js'
    window.client = client
  </script>`
  site = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    routes: {
      '/': () => new Response(page, { headers: { 'content-type': 'text/html' } }),
      '/index.js': () => new Response(Bun.file(join(directory, 'index.js'))),
      '/changes.js': () => new Response(Bun.file(join(directory, 'changes.js'))),
      '/load.js': () => new Response(Bun.file(join(directory, 'load.js'))),
    },
    fetch: () => new Response(null, { status: 404 }),
  })
  browser = await chromium.launch({ executablePath, args: chromiumFlags })
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await site?.stop(true)
  await server?.stop()
  if (directory !== undefined) await rm(directory, { recursive: true, force: true })
}, 120_000)

const inPage = async <T>(host: string, work: (given: { url: string; key: string }) => Promise<T>, key: string) => {
  const context = await browser.newContext()
  try {
    const page = await context.newPage()
    await page.goto(`http://${host}:${site.port}/`)
    await page.waitForFunction(() => 'client' in globalThis)
    return await page.evaluate(work, { url: server.url, key })
  } finally {
    await context.close()
  }
}

// Another port of the same host is another origin of the same site; another host is another site.
const origins = [
  ['of another site', 'localhost'],
  ['of another origin', '127.0.0.1'],
] as const

for (const [which, host] of origins) {
  browserTest(
    `a page ${which} with a public key reads`,
    async () => {
      const read = await inPage(
        host,
        async ({ url, key }) => {
          const { Cubby } = (globalThis as unknown as PageWindow).client
          const notes = new Cubby({ url, key }).db('app').table('notes')
          const met: string[] = []
          for await (const { hashKey } of notes.query({ index: 'i1', hash: 'x', limit: 2 })) met.push(hashKey)
          return {
            one: (await notes.findOne('n1'))?.data,
            again: (await notes.findOne('n1'))?.data,
            missing: (await notes.findOne('nope')) === undefined,
            slashed: (await notes.findOne('a/b'))?.hashKey,
            dated: (await notes.query({ index: 'i1', hash: 'x', range: { gte: new Date(3) } })).count,
            met,
          }
        },
        server.publicKey,
      )
      const one = { topic: 'x', at: '1970-01-01T00:00:00.001Z' }
      expect(read).toEqual({
        one,
        again: one,
        missing: true,
        slashed: 'a/b',
        dated: 2,
        met: ['n0', 'n1', 'n2', 'n3', 'a/b'],
      })
    },
    30_000,
  )

  browserTest(
    `a page ${which} follows a table, with three streams at most`,
    async () => {
      const shown = await inPage(
        host,
        async ({ url, key }) => {
          const { Cubby } = (globalThis as unknown as PageWindow).client
          let streams = 0
          const cubby = new Cubby({
            url,
            key,
            fetch: (target, init) => {
              if (new Headers(init.headers).get('accept') === 'text/event-stream') streams++
              return fetch(target, init)
            },
          })
          const table = cubby.db('app').table('live')
          const met: string[] = []
          for await (const { hashKey } of table.changes()) {
            met.push(hashKey)
            if (met.length === 2) break
          }
          const stop = new AbortController()
          const results: number[] = []
          const watches = ['a', 'b', 'c', 'd', 'e'].map((hash) =>
            table.watch(
              { hash },
              {
                signal: stop.signal,
                onChange: (items) => {
                  if (results.push(items.length) === 5) stop.abort()
                },
              },
            ),
          )
          await Promise.all(watches)
          return { met, results, streams }
        },
        server.publicKey,
      )
      expect(shown.met).toEqual(['a', 'b'])
      expect(shown.results.sort()).toEqual([0, 0, 0, 1, 1])
      expect(shown.streams).toBeGreaterThan(0)
      expect(shown.streams).toBeLessThanOrEqual(4)
    },
    30_000,
  )

  browserTest(
    `a page ${which} with a public key does not write`,
    async () => {
      const codes = await inPage(
        host,
        async ({ url, key }) => {
          const { Cubby, CubbyError } = (globalThis as unknown as PageWindow).client
          const notes = new Cubby({ url, key }).db('app').table('notes')
          const codeOf = (work: Promise<unknown>) =>
            work.then(
              () => 'no error',
              (error) => (error instanceof CubbyError ? `${error.status} ${error.code}` : String(error)),
            )
          return [
            await codeOf(notes.save({ hashKey: 'n1', data: {} }, { ifMatch: 1 })),
            await codeOf(notes.save({ hashKey: 'n1', data: {} }, { ifAbsent: true, minimal: true })),
            await codeOf(notes.save([{ hashKey: 'n1', data: {} }])),
            await codeOf(notes.remove('n1')),
            await codeOf(notes.load([{ hashKey: 'n1', data: {} }])),
            await codeOf(notes.load(new Blob(['{"hashKey":"n1","data":{}}']).stream())),
          ]
        },
        server.publicKey,
      )
      expect(codes).toEqual(Array.from({ length: 6 }, () => '403 read_only_key'))
    },
    30_000,
  )

  browserTest(
    `a secret key in a page ${which} is refused`,
    async () => {
      const refusal = await inPage(
        host,
        async ({ url, key }) => {
          const { Cubby, CubbyError } = (globalThis as unknown as PageWindow).client
          const notes = new Cubby({ url, key }).db('app').table('notes')
          try {
            await notes.findOne('n1')
            return 'it was not'
          } catch (error) {
            if (!(error instanceof CubbyError)) return String(error)
            const { code, status, requestId } = error
            return { code, status, requestId: typeof requestId }
          }
        },
        server.secretKey,
      )
      expect(refusal).toEqual({ code: 'secret_key_in_browser', status: 403, requestId: 'string' })
    },
    30_000,
  )
}

// A browser tells the page nothing but "Failed to fetch".
browserTest(
  'a request without a response names the address and the usual reasons',
  async () => {
    const failure = await inPage(
      'localhost',
      async ({ key }) => {
        const { Cubby, CubbyError } = (globalThis as unknown as PageWindow).client
        const notes = new Cubby({ url: 'http://127.0.0.1:1', key, retries: 0 }).db('app').table('notes')
        try {
          await notes.findOne('n1')
          return 'it got one'
        } catch (error) {
          return error instanceof CubbyError
            ? { code: error.code, message: error.message, hint: error.hint }
            : `${error}`
        }
      },
      server.publicKey,
    )
    expect(failure).toEqual({
      code: 'unavailable',
      message: 'GET http://127.0.0.1:1/v1/app/notes/n1: Failed to fetch',
      hint: expect.stringMatching(/Is the server running\?.*mixed content.*CORS/),
    })
  },
  30_000,
)
