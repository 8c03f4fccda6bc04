import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeConsole } from './console.ts'

// "Copy as curl" of the request pad, run by a real shell: what arrives is what the pad sends.

setDefaultTimeout(120_000)

interface Arrived {
  method: string
  url: string
  headers: Record<string, string | null>
  body: string
}

/** The requests that the page sends by itself, at any time: its files, the key, the databases and what is in them. */
const isOfPage = (method: string, path: string): boolean =>
  /^\/(console|api\/)/.test(path) || (method === 'GET' && /^\/v1(\/app(\/_(buckets|tasks))?)?$/.test(path))

const compared = ['authorization', 'content-type', 'if-match', 'x-empty']

interface PadCase {
  method: string
  path: string
  body?: string
  headers?: string
}

const cases: Record<string, PadCase> = {
  'a body that begins with @': { method: 'POST', path: '/v1/app/notes/query', body: '@/etc/hostname' },
  'a HEAD request': { method: 'HEAD', path: '/v1/app/notes/a' },
  'a body with quotes, newlines and what a shell would expand': {
    method: 'PUT',
    path: '/v1/app/notes',
    body: `{\n\t"hashKey": "it's",\n  "data": {"s": "'\\"$HOME \`id\` $(id) \\\\n !! %s %% 🦊", "n": 1.0}\n}\n`,
  },
  'a path with spaces, letters beyond ASCII, brackets and quotes': {
    method: 'GET',
    path: `/v1/app/notes/a b/ü[1-3]{x,y}'"?cursor=[1-3]{a,b} c#part`,
  },
  'typed headers, with quotes and without a value': {
    method: 'DELETE',
    path: '/v1/app/notes/a',
    headers: 'If-Match: "1794761737644"\nX-Empty:\nauthorization: Bearer it\'s "mine" $HOME',
  },
  'a POST without a body': { method: 'POST', path: '/v1/app/other' },
  'a body that is longer than an argument may be': {
    method: 'POST',
    path: '/v1/app/notes/query',
    body: `@'${'"ü$'.repeat(60_000)}\n\n`,
  },
}

describeConsole('"Copy as curl" of the request pad', (it) => {
  const arrived: Arrived[] = []
  const recorder = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url)
      const body = await request.text()
      if (!isOfPage(request.method, pathname)) {
        const headers = Object.fromEntries(compared.map((name) => [name, request.headers.get(name)]))
        arrived.push({ method: request.method, url: pathname + search, headers, body })
      }
      return fetch(it.server.url + pathname + search, {
        method: request.method,
        headers: request.headers,
        body: body === '' ? undefined : body,
        decompress: false,
      } as BunFetchRequestInit)
    },
  })
  beforeAll(() => {
    it.address = `http://127.0.0.1:${recorder.port}`
  })
  afterAll(() => recorder.stop(true))

  const curlOf = async (page: Page): Promise<string> => {
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    return page.evaluate(() => navigator.clipboard.readText())
  }

  for (const [what, { method, path, body, headers }] of Object.entries(cases)) {
    test(`${what} arrives from a shell as from the page`, async () => {
      const page = await it.open('#/_pad', { permissions: ['clipboard-read', 'clipboard-write'] })
      await page.getByLabel('Method').selectOption(method)
      await page.getByLabel('Path').fill(path)
      if (body !== undefined) await page.getByLabel('Body', { exact: true }).fill(body)
      if (headers !== undefined) {
        await page.locator('summary', { hasText: 'Headers' }).first().click()
        await page.getByLabel('More headers').fill(headers)
      }
      arrived.length = 0
      await page.getByRole('button', { name: 'Send' }).click()
      await page.locator('.pad-answer .tag').waitFor()
      const command = await curlOf(page)
      expect(command).not.toContain(it.organization.secretKey)
      // The command is in a file, because an argument of sh may not be long either.
      const shell = Bun.spawn(['sh'], {
        stdin: new Blob([command]),
        env: { PATH: process.env.PATH, HOME: '/', CUBBY_KEY: it.organization.secretKey },
        stdout: 'pipe',
        stderr: 'pipe',
      })
      const said = await new Response(shell.stderr).text()
      expect([await shell.exited, said]).toEqual([0, expect.not.stringContaining('curl:')])
      expect(arrived).toHaveLength(2)
      const [fromPage, fromShell] = arrived
      expect(fromShell!).toEqual(fromPage!)
      expect(fromPage!.body).toBe(body ?? '')
      expect(fromPage!.method).toBe(method)
    })
  }
})
