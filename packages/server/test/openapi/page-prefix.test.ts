import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Browser, chromium } from 'playwright-core'
import { chromiumFlags, findChromium } from '../../../client/test/chromium.ts'
import { type Json, type Organization, type Server, startServer } from '../harness.ts'

// The page behind a proxy that serves it below a path, and for requests whose Host is a lie.

setDefaultTimeout(120_000)

const executablePath = findChromium('the docs page behind a prefix')

let server: Server
let organization: Organization
let proxy: Bun.Server<undefined>
beforeAll(async () => {
  proxy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      const { pathname, search } = new URL(request.url)
      if (!pathname.startsWith('/store/')) return new Response('not here', { status: 404 })
      const { method, headers } = request
      return fetch(server.url + pathname.slice('/store'.length) + search, {
        method,
        headers,
        body: request.body,
        redirect: 'manual',
        decompress: false,
      } as BunFetchRequestInit)
    },
  })
  server = await startServer({ args: ['--public-url', `http://127.0.0.1:${proxy.port}/store`] })
  organization = await server.createOrganization()
})
afterAll(async () => {
  await proxy?.stop(true)
  await server?.stop()
})

const base = () => `http://127.0.0.1:${proxy.port}/store`

test('the page and the document name the address with the prefix, whatever Host says', async () => {
  for (const host of ['evil.example', '"><script>alert(1)</script>', 'a@b', '127.0.0.1:1']) {
    const page = await (await fetch(`${server.url}/docs`, { headers: { host } })).text()
    expect(page).toContain(`<code data-base>${base()}</code>`)
    expect(page).not.toContain(host)
    const document = (await (await fetch(`${server.url}/openapi.json`, { headers: { host } })).json()) as Json
    expect(document.servers[0].url).toBe(base())
  }
})

describe.skipIf(executablePath === undefined)('behind a prefix, in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: chromiumFlags })
  })
  afterAll(() => browser?.close())

  test('GET / leads to the console; the link of /docs to the document, and its form sends below the prefix', async () => {
    const page = await browser.newPage()
    await page.goto(`${base()}/`)
    expect(page.url().split('#')[0]).toBe(`${base()}/console`)
    await page.goto(`${base()}/docs`)
    expect(await page.locator('[data-base]').textContent()).toBe(base())
    expect(await page.locator('[data-setup] pre').first().textContent()).toContain(`CUBBY_URL=${base()}\n`)
    expect(await page.evaluate("document.querySelector('.quiet-link').href")).toBe(`${base()}/openapi.json`)
    await page.locator('#listDatabases .try-it').click()
    await page.locator('#api-key').fill(organization.secretKey)
    const [request] = await Promise.all([page.waitForRequest('**/v1**'), page.locator('dialog.try .primary').click()])
    expect(request.url()).toStartWith(`${base()}/v1`)
    await page.locator('.received .status', { hasText: '200 OK' }).waitFor()
    await page.close()
  })
})
