import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { buildScript } from '../build.ts'
import type * as Client from '../src/index.ts'
import { chromiumFlags, findChromium } from './chromium.ts'
import { type RealServer, startRealServer } from './real-server.ts'

// Uploads of a page: with a signed URL, because a page of another origin may not use a secret key.

const executablePath = findChromium('the browser tests of files')
const browserTest = executablePath === undefined ? test.skip : test

type PageWindow = { client: typeof Client; document: { querySelector(selector: string): { files: Blob[] } } }

let directory: string
let server: RealServer
let site: Bun.Server<undefined>
let browser: Browser
let page: Page

beforeAll(async () => {
  if (executablePath === undefined) return
  directory = await mkdtemp(join(tmpdir(), 'cubby-client-'))
  await buildScript(directory)
  server = await startRealServer()
  await server.cubby().db('app').buckets.create('files')
  const html = `<!doctype html><title>files</title><input type="file"><script type="module">
    import * as client from '/index.js'
    window.client = client
  </script>`
  site = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    routes: {
      '/': () => new Response(html, { headers: { 'content-type': 'text/html' } }),
      '/index.js': () => new Response(Bun.file(join(directory, 'index.js'))),
    },
    fetch: () => new Response(null, { status: 404 }),
  })
  browser = await chromium.launch({ executablePath, args: chromiumFlags })
  page = await browser.newPage()
  await page.goto(`http://localhost:${site.port}/`)
  await page.waitForFunction(() => 'client' in globalThis)
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await site?.stop(true)
  await server?.stop()
  if (directory !== undefined) await rm(directory, { recursive: true, force: true })
}, 120_000)

const bucket = () => server.cubby().db('app').bucket('files')
const urlOf = async (name: string, more = {}) => (await bucket().getUrl(name, { method: 'PUT', ...more })).url
const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex')

browserTest(
  'a file that was chosen in an input is uploaded, with progress',
  async () => {
    const bytes = new Uint8Array(6_000_000).fill(120)
    const path = join(directory, 'photo.png')
    await Bun.write(path, bytes)
    await page.setInputFiles('input', path)
    // On the loopback device all of it may be sent before the browser reports anything.
    const network = await page.context().newCDPSession(page)
    const conditions = { offline: false, latency: 0, downloadThroughput: -1 }
    await network.send('Network.emulateNetworkConditions', { ...conditions, uploadThroughput: 12_000_000 })
    const { record, steps } = await page.evaluate(
      async (url) => {
        const { client, document } = globalThis as unknown as PageWindow
        const file = document.querySelector('input').files[0]!
        const steps: Client.UploadProgress[] = []
        const record = await client.uploadTo(url, file, { onProgress: (step) => steps.push(step) })
        return { record, steps }
      },
      await urlOf('photos/ü.png', { visibility: 'public', metadata: { by: 'page' } }),
    )
    await network.send('Network.emulateNetworkConditions', { ...conditions, uploadThroughput: -1 })
    await network.detach()
    expect(record).toMatchObject({ name: 'photos/ü.png', size: bytes.length, sha256: sha256(bytes) })
    expect(record).toMatchObject({ contentType: 'image/png', visibility: 'public', metadata: { by: 'page' } })
    expect(steps.at(-1)).toEqual({ sentBytes: bytes.length, totalBytes: bytes.length })
    // Progress is reported more than once, and never goes backwards.
    expect(steps.length).toBeGreaterThan(2)
    expect(steps.map((step) => step.sentBytes)).toEqual(steps.map((step) => step.sentBytes).sort((a, b) => a - b))
    expect(await bucket().describe('photos/ü.png')).toEqual(record)
  },
  30_000,
)

browserTest(
  'strings, bytes and streams are uploaded; a stream is collected first',
  async () => {
    const url = await urlOf('kinds.txt', { replace: true })
    const sums = await page.evaluate(async (url) => {
      const { client } = globalThis as unknown as PageWindow
      const chunks = async function* () {
        yield 'hel'
        yield new TextEncoder().encode('lo')
      }
      const bodies = [
        () => 'hello',
        () => new TextEncoder().encode('hello'),
        () => new Blob(['hel', 'lo']),
        () => new Blob(['hello']).stream() as ReadableStream<Uint8Array>,
        chunks,
      ]
      const sums: string[] = []
      for (const body of bodies) {
        for (const options of [
          {},
          { onProgress: ({ totalBytes }: Client.UploadProgress) => sums.push(`${totalBytes}`) },
        ]) {
          const { sha256, contentType } = await client.uploadTo(url, body(), options)
          sums.push(`${sha256} ${contentType}`)
        }
      }
      return sums
    }, url)
    const sum = `${sha256('hello')} text/plain`
    // A short upload has one or two steps; a collected stream has a length.
    expect(new Set(sums)).toEqual(new Set([sum, '5']))
    expect(sums.filter((text) => text === sum)).toHaveLength(10)
  },
  30_000,
)

browserTest(
  'an empty file has one step of progress',
  async () => {
    const steps = await page.evaluate(
      async (url) => {
        const { client } = globalThis as unknown as PageWindow
        const steps: Client.UploadProgress[] = []
        const { size } = await client.uploadTo(url, new Blob([]), { onProgress: (step) => steps.push(step) })
        return { size, steps }
      },
      await urlOf('empty.txt'),
    )
    expect(steps).toEqual({ size: 0, steps: [{ sentBytes: 0, totalBytes: 0 }] })
  },
  30_000,
)

browserTest(
  'a refusal has its code, with progress and without; a signal aborts',
  async () => {
    const names = ['small', 'unsent', 'aborted', 'half']
    const urls = await Promise.all(names.map((name) => urlOf(name, name === 'small' ? { sizeMax: 10 } : {})))
    const codes = await page.evaluate(async ([small, unsent, aborted, half]) => {
      const { client } = globalThis as unknown as PageWindow
      const codeOf = (work: Promise<unknown>) =>
        work.then(
          () => 'no error',
          (error) => (error instanceof client.CubbyError ? `${error.status} ${error.code}` : `${error.name}`),
        )
      const onProgress = () => {}
      const large = new Blob([new Uint8Array(3_000_000)])
      const failing = async function* () {
        yield 'half'
        throw new RangeError('mine')
      }
      const controller = new AbortController()
      const aborting = { signal: controller.signal, onProgress: () => controller.abort() }
      return [
        await codeOf(client.uploadTo(small!, large)),
        await codeOf(client.uploadTo(small!, large, { onProgress })),
        await codeOf(client.uploadTo(`${small}x`, 'a', { onProgress })),
        await codeOf(client.uploadTo('http://127.0.0.1:1/files/a', 'a', { onProgress })),
        await codeOf(client.uploadTo(unsent!, large, { signal: AbortSignal.abort(), onProgress })),
        await codeOf(client.uploadTo(aborted!, large, aborting)),
        await codeOf(client.uploadTo(half!, failing())),
      ]
    }, urls)
    expect(codes).toEqual([
      '413 file_too_large',
      '413 file_too_large',
      '403 invalid_signature',
      '0 outcome_unknown',
      'AbortError',
      'AbortError',
      'RangeError',
    ])
    // The bytes of `aborted` may all have been sent when the signal came.
    for (const name of ['small', 'unsent', 'half']) expect(await bucket().describe(name)).toBeUndefined()
  },
  30_000,
)

browserTest(
  'a page with a public key reads public files',
  async () => {
    await bucket().put('open.txt', 'hello', { visibility: 'public' })
    await bucket().put('closed.txt', 'hello')
    const read = await page.evaluate(
      async ({ url, key, sum }) => {
        const { client } = globalThis as unknown as PageWindow
        const files = new client.Cubby({ url, key }).db('app').bucket('files')
        const file = (await files.get('open.txt'))!
        const part = (await files.get('open.txt', { range: { start: 1, end: 3 } }))!
        const codeOf = (work: Promise<unknown>) => work.catch((error) => error.code)
        return {
          file: [file.size, file.contentType, file.sha256 === sum, await (await file.blob()).text()],
          part: [part.size, part.range, await part.text()],
          unchanged: await files.get('open.txt', { ifNoneMatch: sum }),
          missing: (await files.get('nope')) === undefined,
          closed: await codeOf(files.get('closed.txt')),
          put: [await codeOf(files.put('a', 'b')), await codeOf(files.put('a', 'b', { onProgress: () => {} }))],
          names: (await files.query({ prefix: 'open' })).items.map(({ name }) => name),
          url: (await (await fetch((await files.getUrl('open.txt')).url)).text()) === 'hello',
        }
      },
      { url: server.url, key: server.publicKey, sum: sha256('hello') },
    )
    expect(read).toEqual({
      file: [5, 'text/plain', true, 'hello'],
      part: [5, { start: 1, end: 3 }, 'el'],
      unchanged: null,
      missing: true,
      closed: 'private_file',
      put: ['read_only_key', 'read_only_key'],
      names: ['open.txt'],
      url: true,
    })
  },
  30_000,
)
