import { expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import { chromium } from 'playwright-core'
import { chromiumFlags, findChromium } from '../../client/test/chromium.ts'
import { describeOwnConsole, openFront, until } from './console.ts'

// Rules that hold on every screen.

setDefaultTimeout(120_000)

/** Text that would do something if it were ever read as markup, script, style or an address. */
const hostileText = fc.oneof(
  fc.constantFrom(
    '<img src=x onerror=alert(1)>',
    '<script>window.broken=1</script>',
    '"><svg/onload=alert(1)>',
    'javascript:alert(1)',
    '{{constructor.constructor("alert(1)")()}}',
    '</textarea><script>window.broken=1</script>',
    '\u202Egnp.exe',
    '__proto__',
    'constructor',
    '%00%2F..%2F',
    '#/_keys',
  ),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
)

const records = fc.array(
  fc.record({
    hashKey: hostileText,
    data: fc.dictionary(hostileText, fc.oneof(hostileText, fc.double(), fc.constant(null), fc.array(hostileText)), {
      maxKeys: 8,
    }),
  }),
  { minLength: 1000, maxLength: 1000 },
)

/** The text as JSON and UTF-8 can hold it. */
const wellFormed = (text: string): string => text.toWellFormed().slice(0, 300)

describeOwnConsole('the rules of the console', (it) => {
  test('1,000 hostile records are text in the grid, in the record view and in the address', async () => {
    await it.request('POST', '/v1/app/hostile', { indices: { i1: { hashField: '<b>status</b>' } } })
    const seed = Date.now() % 2 ** 31
    const [sample] = fc.sample(records, { numRuns: 1, seed })
    const byKey = new Map(sample!.map((record, i) => [`${wellFormed(record.hashKey)} ${i}`, record.data]))
    const operations = [...byKey].map(([hashKey, data]) => ({ op: 'put', hashKey, data }))
    for (let from = 0; from < operations.length; from += 25) {
      await it.request('POST', '/v1/app/hostile/batch', { operations: operations.slice(from, from + 25) })
    }
    const page = await it.open('#/app/hostile')
    await page.getByLabel('limit').fill('1000')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.querySelectorAll('.grid tbody tr').length === 1000)
    const seen = await page.evaluate(() => ({
      strange: document.querySelectorAll('img, script:not([src]), svg, iframe, object, b').length,
      broken: 'broken' in window,
    }))
    expect([seed, seen]).toEqual([seed, { strange: 0, broken: false }])
    for (const hashKey of [...byKey.keys()].slice(0, 10)) {
      await page.goto(`${it.server.url}/console#/app/hostile/r/${encodeURIComponent(hashKey)}`)
      await page.getByText('Valid JSON').waitFor()
      const stored = JSON.parse(await it.request('POST', '/v1/app/hostile/find', { keys: [{ hashKey }] })).items[0]
      // The record before it is still shown at first.
      const shown = async () => JSON.parse(await page.getByLabel('Data as JSON text').inputValue())
      await until(async () => [seed, await shown()], [seed, stored.data])
    }
    expect(await page.evaluate(() => 'broken' in window)).toBe(false)
  })

  test('a server that restarts in the middle: what was typed is kept, and saved when it is back', async () => {
    await it.request('POST', '/v1/app/notes')
    await it.request('PUT', '/v1/app/notes', '{"hashKey":"a","data":{"text":"before"}}')
    const front = await openFront(it)
    it.address = front.url
    try {
      const page = await it.open('#/app/notes/r/a')
      await page.getByText('Valid JSON').waitFor()
      await page.getByLabel('Data as JSON text').fill('{"text":"typed"}')
      await it.server.kill()
      await page.keyboard.press('Control+s')
      await page.getByText('did not answer').first().waitFor()
      await it.server.restart()
      expect(await page.getByLabel('Data as JSON text').inputValue()).toBe('{"text":"typed"}')
      await page.keyboard.press('Control+s')
      await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor({ state: 'attached' })
      expect(JSON.parse(await it.request('GET', '/v1/app/notes/a')).data).toEqual({ text: 'typed' })
    } finally {
      it.address = undefined
      front.close()
    }
  })

  test('over plain http on another host copying works without the clipboard of secure pages', async () => {
    const { port } = new URL(it.server.url)
    const browser = await chromium.launch({
      executablePath: findChromium('copying on another host')!,
      args: [...chromiumFlags, '--host-resolver-rules=MAP console.example 127.0.0.1'],
    })
    try {
      const page = await browser.newPage()
      await page.goto(`http://console.example:${port}/console#/_pad`)
      await page.getByLabel('API key').fill(it.organization.secretKey)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('button', { name: 'Copy as curl' }).click()
      await page.getByText('Copied').first().waitFor()
      expect(await page.evaluate(() => [isSecureContext, navigator.clipboard === undefined])).toEqual([false, true])
      await page.getByLabel('Path').fill('')
      await page.getByLabel('Method').selectOption('POST')
      await page.getByLabel('Body', { exact: true }).focus()
      await page.keyboard.press('Control+v')
      await until(
        () => page.getByLabel('Body', { exact: true }).inputValue(),
        `curl 'http://console.example:${port}/v1' \\\n  -H "Authorization: Bearer $CUBBY_KEY"`,
      )
    } finally {
      await browser.close()
    }
  })

  test('nothing is loaded from another host, no cookie is set, and no request carries the key in its address', async () => {
    const page = await it.visit()
    const urls: string[] = []
    page.on('request', (request) => urls.push(request.url()))
    await page.reload()
    await page.getByLabel('API key').fill(it.organization.secretKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.shell').waitFor()
    for (const hash of [
      '#/',
      '#/app',
      '#/app/notes',
      '#/app/_buckets',
      '#/app/_tasks',
      '#/_keys',
      '#/_pad',
      '#/_import',
    ]) {
      await page.goto(`${it.server.url}/console${hash}`)
      await page.waitForTimeout(200)
    }
    expect(urls.length).toBeGreaterThan(10)
    expect(urls.filter((url) => new URL(url).origin !== it.server.url || url.includes('svc_'))).toEqual([])
    expect(await page.context().cookies()).toEqual([])
  })

  test('at 200 % zoom no screen is wider than the page', async () => {
    await it.request('POST', '/v1/app/_buckets/files')
    await it.request('PUT', '/v1/app/_tasks/mail', {})
    const page = await it.open('#/', { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 })
    const places = [
      '#/',
      '#/app',
      '#/app/notes',
      '#/app/notes/r/a',
      '#/app/notes/_new',
      '#/app/notes/_about',
      '#/app/_buckets',
      '#/app/_buckets/files',
      '#/app/_tasks',
      '#/app/_tasks/mail',
      '#/_keys',
      '#/_pad',
      '#/_import',
    ]
    for (const hash of places) {
      await page.goto(`${it.server.url}/console${hash}`)
      await page.waitForTimeout(250)
      expect([hash, await page.evaluate(() => document.documentElement.scrollWidth)]).toEqual([hash, 640])
    }
  })

  test('the page can be used soon after it is opened', async () => {
    const timesMs: number[] = []
    const needed: string[][] = []
    for (let round = 0; round < 5; round++) {
      const page = await it.visit()
      await page.getByLabel('API key').waitFor()
      timesMs.push(await page.evaluate(() => performance.getEntriesByName('usable').at(-1)!.startTime))
      needed.push(
        await page.evaluate(() => {
          const usableMs = performance.getEntriesByName('usable').at(-1)!.startTime
          const before = performance.getEntriesByType('resource').filter(({ startTime }) => startTime < usableMs)
          return before.map(({ name }) => new URL(name).pathname.split('.').at(-1)!).sort()
        }),
      )
    }
    globalThis.console.log(`usable after ${timesMs.map(Math.round).join(', ')} ms`)
    // The bound itself is for a quiet machine. On any, the page needs nothing but its own files for that.
    if (process.env.CUBBY_TEST_CONSOLE === 'full') expect(Math.min(...timesMs)).toBeLessThan(300)
    expect(needed).toEqual(Array(5).fill(['css', 'js', 'js']))
  })
})
