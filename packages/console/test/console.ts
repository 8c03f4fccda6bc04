import { afterAll, afterEach, beforeAll, describe, expect } from 'bun:test'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { chromiumFlags, findChromium } from '../../client/test/chromium.ts'
import { type Organization, type Server, startServer } from '../../server/test/harness.ts'
import { buildConsole } from '../build.ts'

// The console as people use it: Chromium on a real server.

export const desk = { width: 1440, height: 900 }
export const phone = { width: 390, height: 844 }
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type ContextOptions = Parameters<Browser['newContext']>[0]

export class Console {
  server!: Server
  organization!: Organization
  browser!: Browser
  /** The complaints of the browser: errors, warnings and violations of the policy. Each test ends with none. */
  complaints: string[] = []
  /** The address at which pages are opened, if that is not the server's. */
  address: string | undefined
  readonly #contexts: BrowserContext[] = []

  async start(executablePath: string, serverOptions: Parameters<typeof startServer>[0]): Promise<void> {
    await buildConsole(join(import.meta.dir, '../dist'))
    this.server = await startServer(serverOptions)
    this.organization = await this.server.createOrganization()
    this.browser = await chromium.launch({ executablePath, args: chromiumFlags })
  }

  async stop(): Promise<void> {
    await this.browser?.close()
    await this.server?.stop()
  }

  async closePages(): Promise<void> {
    for (const context of this.#contexts.splice(0)) await context.close()
    this.complaints = []
  }

  /** A browser of its own, not signed in. */
  async visit(hash = '#/', options: ContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({ viewport: desk, reducedMotion: 'reduce', ...options })
    this.#contexts.push(context)
    const page = await context.newPage()
    page.setDefaultTimeout(30_000)
    page.on('console', (message) => {
      // Chromium reports every answer with an error status; which of them are right, each test says.
      if (!message.text().startsWith('Failed to load resource')) this.complaints.push(message.text())
    })
    page.on('pageerror', (error) => this.complaints.push(error.message))
    await page.goto(`${this.address ?? this.server.url}/console${hash}`)
    return page
  }

  /** Signed in by the form, at `hash`. */
  async open(hash = '#/', options: ContextOptions = {}, key: string = this.organization.secretKey): Promise<Page> {
    const page = await this.visit(hash, options)
    await this.signIn(page, key)
    return page
  }

  async signIn(page: Page, key: string = this.organization.secretKey): Promise<void> {
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.shell').waitFor()
  }

  /** Findings of axe-core, by all its rules unless some are named. */
  async findings(page: Page, rules?: string[]): Promise<string[]> {
    // Evaluated by the debugger, so the page's policy does not concern it.
    await page.evaluate(`${axeSource};0`)
    const options = JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) })
    const found = (await page.evaluate(`axe.run('html', ${options})`)) as {
      violations: { id: string; nodes: { target: string[] }[] }[]
      passes: { id: string }[]
    }
    // If the rules had nothing to look at, no finding would mean nothing.
    expect(found.passes.map(({ id }) => id)).toContain('color-contrast')
    return found.violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
  }

  /** The key of a new sign-in link. */
  async linkKey(organization: string = this.organization.name): Promise<{ id: string; key: string }> {
    const { link } = await this.server.cubbyJson('console', 'link', '--org', organization)
    const key = link.slice(link.indexOf('#key=') + '#key='.length)
    const { id } = (await this.server.as(key).get('/api/keys/self')).body
    return { id, key }
  }

  /** A request of the API by the organization's secret key; fails the test unless it succeeds. */
  async request(method: string, path: string, body?: object | string): Promise<string> {
    const response = await fetch(this.server.url + path, {
      method,
      headers: { authorization: `Bearer ${this.organization.secretKey}`, 'content-type': 'application/json' },
      body: typeof body === 'object' ? JSON.stringify(body) : body,
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text
  }
}

export interface Front {
  url: string
  /** Called with the number of bytes that all clients have sent. */
  onBytes: (sum: number) => void
  close(): void
}

/** Polls: much of what a page does comes a frame, a timer or an answer later. */
export const until = async <T>(found: () => T | Promise<T>, wanted: T): Promise<void> => {
  const endMs = Date.now() + 30_000
  let last = await found()
  while (!Bun.deepEquals(last, wanted) && Date.now() < endMs) {
    await Bun.sleep(50)
    last = await found()
  }
  expect<unknown>(last).toEqual(wanted)
}

/** Goes to another screen of the open page. Until its heading is there, the screen before it is shown. */
export const goToScreen = async (page: Page, hash: string, heading: string): Promise<void> => {
  await page.evaluate((to) => {
    location.hash = to
  }, hash)
  await page.getByRole('heading', { name: heading, exact: true, level: 1 }).waitFor()
}

/** An address that stays: a server of the tests gets another port when it restarts. */
export const openFront = async (it: Console): Promise<Front> => {
  let sum = 0
  const listener = createServer((client) => {
    const server = connect(Number(new URL(it.server.url).port), '127.0.0.1')
    client.on('error', () => server.destroy())
    server.on('error', () => client.destroy())
    server.on('close', () => client.destroy())
    client.on('data', (bytes) => {
      sum += bytes.length
      front.onBytes(sum)
    })
    client.pipe(server).pipe(client)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const front: Front = {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    onBytes: () => {},
    close: () => listener.close(),
  }
  return front
}

/** Tests with one server and one browser. Without a Chromium they say so and are skipped. */
export const describeConsole = (
  what: string,
  tests: (console: Console) => void,
  serverOptions: Parameters<typeof startServer>[0] = { shared: true },
): void => {
  const executablePath = findChromium(what)
  describe.skipIf(executablePath === undefined)(what, () => {
    const consoleUnderTest = new Console()
    beforeAll(async () => consoleUnderTest.start(executablePath!, serverOptions), 60_000)
    afterAll(() => consoleUnderTest.stop(), 30_000)
    afterEach(async () => {
      const { complaints } = consoleUnderTest
      await consoleUnderTest.closePages()
      expect(complaints).toEqual([])
    })
    tests(consoleUnderTest)
  })
}

/** The same with a server of their own, which the tests stop and start. */
export const describeOwnConsole = (what: string, tests: (console: Console) => void): void =>
  describeConsole(what, tests, {})
