import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type Console, describeConsole, until } from './console.ts'

// The console from a server that is not one process at the root of its host.

setDefaultTimeout(120_000)

/** The whole way: a sign-in link, a written record, an uploaded file whose permanent URL works, sign-out. */
const smokeTest = async (it: Console): Promise<void> => {
  const base = it.address ?? it.server.url
  const { link } = await it.server.cubbyJson('console', 'link', '--org', it.organization.name, '--url', base)
  expect(link).toStartWith(`${base}/console#key=`)
  const page = await it.visit(link.slice(link.indexOf('#')))
  const urls: string[] = []
  page.on('request', (request) => urls.push(request.url()))
  await page.locator('.shell').waitFor()
  expect(page.url()).toBe(`${base}/console#/`)

  await it.request('POST', '/v1/app/notes', {})
  await page.goto(`${base}/console#/app/notes/_new`)
  await page.getByLabel('Hash key').fill('a/b')
  await page.getByLabel('Data as JSON text').fill('{"n":1.0}')
  await page.keyboard.press('Control+s')
  await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor({ state: 'attached' })
  expect(await it.request('GET', '/v1/app/notes/a%2Fb')).toContain('{"n":1.0}')
  await page.goto(`${base}/console#/app/notes`)
  await page.getByRole('grid').getByText('a/b').waitFor()

  await it.request('POST', '/v1/app/_buckets/files')
  await page.goto(`${base}/console#/app/_buckets/files`)
  await page
    .locator('input[type=file]')
    .first()
    .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('text of a') })
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Public').check()
  await dialog.getByRole('button', { name: 'Upload', exact: true }).click()
  await page.locator('.upload').getByRole('link', { name: 'a.txt' }).click()
  const url = await page.getByLabel('the permanent URL').first().inputValue()
  expect(url).toStartWith(`${base}/`)
  expect(await (await fetch(url)).text()).toBe('text of a')

  await page.locator('.account summary').click()
  const revoked = page.waitForResponse((response) => response.request().method() === 'DELETE')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await revoked
  for (const each of urls) expect(each).toStartWith(`${base}/`)
  const { keys } = JSON.parse(await it.request('GET', '/api/keys')) as {
    keys: { name: string | null; status: string }[]
  }
  const made = keys.filter(({ name }) => name?.startsWith('console'))
  expect(made.map(({ status }) => status)).toEqual(['revoked', 'revoked'])
}

/** Pictures are loaded from where the page is, and are drawn: a public one and a private one. */
const picturesTest = async (it: Console): Promise<void> => {
  const base = it.address ?? it.server.url
  await it.request('POST', '/v1/app/_buckets/pictures')
  for (const [name, visibility] of [
    ['a', 'private'],
    ['files/b', 'public'],
  ]) {
    await fetch(`${it.server.url}/v1/app/_buckets/pictures/${name}?visibility=${visibility}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${it.organization.secretKey}`, 'content-type': 'image/svg+xml' },
      body: '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
    })
  }
  const page = await it.open('#/')
  const urls: string[] = []
  page.on('request', (request) => urls.push(request.url()))
  await page.goto(`${base}/console#/app/_buckets/pictures`)
  const pictures = page.locator('.thumbnail img')
  const widths = () => pictures.evaluateAll((all) => all.map((each) => (each as HTMLImageElement).naturalWidth))
  await until(widths, [9])
  await page.getByRole('link', { name: 'files/', exact: true }).click()
  await page.getByRole('link', { name: 'b', exact: true }).waitFor()
  await until(widths, [9])
  expect(urls.filter((url) => !url.startsWith(`${base}/`))).toEqual([])
  const loaded = urls.filter((url) => url.startsWith(`${base}/files/bkt_`)).map((url) => new URL(url).pathname)
  expect(loaded.map((path) => path.replace(/.*\/bkt_\w+\//, '')).toSorted()).toEqual(['a', 'files/b'])
}

let target = ''
const proxy = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: (request) => {
    const { pathname, search } = new URL(request.url)
    if (!pathname.startsWith('/store/')) return new Response('not here', { status: 404 })
    return fetch(target + pathname.slice('/store'.length) + search, {
      method: request.method,
      headers: request.headers,
      body: request.body,
      redirect: 'manual',
      decompress: false,
    } as BunFetchRequestInit)
  },
})
const prefixed = `http://127.0.0.1:${proxy.port}/store`

describeConsole(
  'the console behind a proxy with a path prefix',
  (it) => {
    beforeAll(() => {
      target = it.server.url
      it.address = prefixed
    })
    test('signs in by a link, writes, uploads and signs out below the prefix', () => smokeTest(it))
    test('shows pictures below the prefix', () => picturesTest(it))
  },
  { args: ['--public-url', prefixed] },
)

describeConsole(
  'the console behind that proxy, of a server whose files have another public address',
  (it) => {
    beforeAll(() => {
      target = it.server.url
      it.address = prefixed
    })
    test('shows pictures from where the page is', () => picturesTest(it))
  },
  { args: ['--public-url', 'https://example.com/files/of-cubby'] },
)
afterAll(() => proxy.stop(true))

describeConsole(
  'the console of a server with --workers 2',
  (it) => {
    test('signs in by a link, writes, uploads and signs out, whichever process answers', () => smokeTest(it))
  },
  { args: ['--workers', '2'] },
)
