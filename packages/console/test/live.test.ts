import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeConsole, goToScreen, until } from './console.ts'

// The table screen while others write: it follows the query that it shows. Every test has a table of its own.

setDefaultTimeout(120_000)

const dot = (page: Page) => page.locator('.live-state[data-state]')
const isLive = (page: Page) => page.locator('.live-state[data-state="live"]').waitFor()
const keysShown = (page: Page): Promise<string[]> => page.locator('.grid tbody th a').allTextContents()
const rowOf = (page: Page, key: string) => page.locator('.grid tbody tr', { has: page.getByText(key, { exact: true }) })
const markOf = (page: Page, key: string) => rowOf(page, key).locator('.row-mark .offscreen')
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true })

/** Behaves as if the reader had changed to another tab. */
const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)

/** Counts the requests of a page for the changes and the records of tables. */
const countRequests = (page: Page) => {
  const seen = { queries: [] as number[], pages: 0, streams: 0, open: 0, openMax: 0 }
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (pathname.endsWith('/query')) seen.queries.push(performance.now())
    if (!pathname.endsWith('/changes')) return
    if (!request.headers().accept?.includes('event-stream')) {
      seen.pages++
      return
    }
    seen.streams++
    seen.open++
    seen.openMax = Math.max(seen.openMax, seen.open)
    const end = (ended: typeof request) => {
      if (ended !== request) return
      seen.open--
      page.off('requestfinished', end)
      page.off('requestfailed', end)
    }
    page.on('requestfinished', end)
    page.on('requestfailed', end)
  })
  return seen
}

describeConsole('the live view of a table', (it) => {
  const create = (table: string, more: object = { changes: {} }) => it.request('POST', `/v1/app/${table}`, more)
  const put = (table: string, hashKey: string, data: object) => it.request('PUT', `/v1/app/${table}`, { hashKey, data })
  const fill = async (table: string, count: number, from = 0) => {
    for (let at = from; at < from + count; at += 25) {
      const operations = Array.from({ length: Math.min(25, from + count - at) }, (_, i) => ({
        op: 'put',
        hashKey: `k${String(at + i).padStart(4, '0')}`,
        data: { n: at + i },
      }))
      await it.request('POST', `/v1/app/${table}/batch`, { operations })
    }
  }

  test('rows that others write, change and delete are shown without a reload, and marked', async () => {
    await create('orders')
    await put('orders', 'a', { n: 1 })
    await put('orders', 'b', { n: 2 })
    const page = await it.open('#/app/orders')
    await isLive(page)
    expect(await page.locator('.row-mark').count()).toBe(0)
    await it.request('PUT', '/v1/app/orders', '{"hashKey":"c","data":{"n":12345678901234567890}}')
    await rowOf(page, 'c').waitFor()
    expect(await keysShown(page)).toEqual(['c', 'b', 'a'])
    expect(await markOf(page, 'c').textContent()).toBe('new')
    // The number is as it is stored.
    expect(await rowOf(page, 'c').locator('.json-number').textContent()).toBe('12345678901234567890')
    await put('orders', 'a', { n: 10 })
    await until(() => keysShown(page), ['a', 'c', 'b'])
    expect(await markOf(page, 'a').textContent()).toBe('changed')
    expect(await markOf(page, 'b').count()).toBe(0)
    await it.request('DELETE', '/v1/app/orders/b')
    await until(() => keysShown(page), ['a', 'c'])
    // The marks go by themselves.
    await until(() => page.locator('.row-mark').count(), 0)
    expect(await page.locator('.status strong').textContent()).toBe('2')
  })

  test('the first record of an empty table comes with its columns', async () => {
    await create('empty')
    const page = await it.open('#/app/empty')
    await isLive(page)
    await page.getByText('no records').waitFor()
    await put('empty', 'first', { colour: 'red' })
    await rowOf(page, 'first').waitFor()
    await page.getByRole('columnheader', { name: 'colour' }).waitFor()
    expect(await rowOf(page, 'first').locator('.json-string').textContent()).toBe('"red"')
  })

  test('a query of an index is followed: a record comes and goes with its field, and operands are sent as typed', async () => {
    await create('states', { indices: { i1: { hashField: 'state' } }, changes: {} })
    await put('states', 'a', { state: 1 })
    const page = await it.open('#/app/states?index=i1&hash=1.0')
    const bodies: string[] = []
    page.on('request', (request) => request.url().endsWith('/query') && bodies.push(request.postData() ?? ''))
    await isLive(page)
    await put('states', 'b', { state: 1 })
    await until(() => keysShown(page), ['a', 'b'])
    await put('states', 'a', { state: 2 })
    await until(() => keysShown(page), ['b'])
    expect(new Set(bodies)).toEqual(new Set(['{"index":"i1","hash":1.0,"limit":100}']))
  })

  test('a query that cannot be run ends what was followed', async () => {
    await create('wrong')
    await put('wrong', 'a', { n: 1 })
    const page = await it.open('#/app/wrong')
    const seen = countRequests(page)
    await isLive(page)
    await dot(page).click()
    await dot(page).click()
    await until(() => seen.open, 1)
    await page.evaluate(() => {
      location.hash = '#/app/wrong?index=i9'
    })
    await until(() => seen.open, 0)
    await until(() => keysShown(page), [])
  })

  test('nothing is loaded or asked of a table that keeps no changes; a button turns it on', async () => {
    await create('plain', {})
    await put('plain', 'a', { n: 1 })
    const page = await it.visit('#/app/plain')
    const scripts: string[] = []
    page.on('request', (request) => request.url().endsWith('.js') && scripts.push(request.url()))
    const seen = countRequests(page)
    await it.signIn(page)
    await rowOf(page, 'a').waitFor()
    await put('plain', 'b', { n: 2 })
    expect(await dot(page).count()).toBe(0)
    const queries = seen.queries.length
    const scriptsBefore = scripts.length
    await button(page, 'Keep changes').click()
    const dialog = page.getByRole('dialog')
    const hours = dialog.getByLabel('Hours')
    expect(await hours.inputValue()).toBe('24')
    for (const wrong of ['0', '169', '1.5', '']) {
      await hours.fill(wrong)
      await dialog.getByText('whole number from 1 to 168').waitFor()
      expect(await button(page, 'Keep changes').last().isDisabled()).toBe(true)
    }
    await hours.fill('48')
    expect([seen.pages + seen.streams, seen.queries.length, scripts.length - scriptsBefore <= 1]).toEqual([
      0,
      queries,
      true,
    ])
    await dialog.getByRole('button', { name: 'Keep changes' }).click()
    await isLive(page)
    // What was written before is there too.
    await until(() => keysShown(page), ['b', 'a'])
    const { keepHours } = JSON.parse(await it.request('GET', '/v1/app/plain')).changes
    expect(keepHours).toBe(48)
    expect(await button(page, 'Keep changes').count()).toBe(0)
  })

  test('a public key follows, and sees no button that would turn it on', async () => {
    await create('public')
    await create('plain-public', {})
    await put('public', 'a', { n: 1 })
    await put('plain-public', 'a', { n: 1 })
    const page = await it.open('#/app/public', {}, it.organization.publicKey)
    await isLive(page)
    await put('public', 'b', { n: 1 })
    await rowOf(page, 'b').waitFor()
    await goToScreen(page, '#/app/plain-public', 'plain-public')
    await rowOf(page, 'a').waitFor()
    expect(await page.getByRole('button', { name: 'Keep changes' }).count()).toBe(0)
    expect(await dot(page).count()).toBe(0)
  })

  test('nothing moves under the hands of the reader: what would is held back until they let go', async () => {
    await create('held')
    await fill('held', 3)
    const page = await it.open('#/app/held')
    await isLive(page)
    await page.getByLabel('Select k0000').click()
    await put('held', 'new', { n: 9 })
    await put('held', 'k0001', { n: 100 })
    await button(page, 'Show 1 new').waitFor()
    // Its order stays, its values do not.
    await until(() => rowOf(page, 'k0001').locator('.json-number').textContent(), '100')
    expect(await markOf(page, 'k0001').textContent()).toBe('changed')
    expect(await keysShown(page)).toEqual(['k0002', 'k0001', 'k0000'])
    await it.request('DELETE', '/v1/app/held/k0002')
    await button(page, 'Show 1 new, 1 gone').click()
    await until(() => keysShown(page), ['k0001', 'new', 'k0000'])
    expect(await page.getByLabel('Select k0000').isChecked()).toBe(true)

    // An open record holds the rows too, and closing it shows them.
    await button(page, 'Clear selection').click()
    await rowOf(page, 'new').locator('a').click()
    await page.getByText('Valid JSON').waitFor()
    await put('held', 'newer', { n: 10 })
    await button(page, 'Show 1 new').waitFor()
    expect(await keysShown(page)).toEqual(['k0001', 'new', 'k0000'])
    await button(page, 'Close the record').click()
    await page.locator('h1').click()
    await until(() => keysShown(page), ['newer', 'k0001', 'new', 'k0000'])

    // So does a cell that has the focus.
    await page.locator('.grid tbody [tabindex="0"]').focus()
    await put('held', 'newest', { n: 11 })
    await button(page, 'Show 1 new').click()
    await until(async () => (await keysShown(page))[0], 'newest')
  })

  // The risk: somebody deletes what they have never seen, because the row behind the question has changed.
  test('while the reader is asked whether to delete a row, its newer version is not taken', async () => {
    await create('asked')
    await fill('asked', 2)
    const page = await it.open('#/app/asked')
    await isLive(page)
    await page.getByLabel('Select k0000').click()
    await button(page, 'Delete').click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    const answered = page.waitForResponse((response) => response.url().endsWith('/query'))
    await put('asked', 'k0000', { n: 77 })
    await (await answered).finished()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.locator('.job').getByText('1 record changed meanwhile and was left alone').waitFor()
    expect(await it.request('GET', '/v1/app/asked/k0000')).toContain('77')
    await rowOf(page, 'k0000').getByText('77').waitFor()
  })

  test('what the reader deletes does not come back with rows that waited, and what follows is known', async () => {
    await create('own')
    await fill('own', 2)
    const page = await it.open('#/app/own?index=t&limit=2')
    await isLive(page)
    await page.getByLabel('Select k0000').click()
    await put('own', 'new', { n: 9 })
    await button(page, 'Show 1 new, 1 gone').click()
    await until(() => keysShown(page), ['new', 'k0001'])
    await button(page, 'More').waitFor()
    await page.getByLabel('Select k0001').click()
    await it.request('DELETE', '/v1/app/own/new')
    await button(page, 'Show 1 new, 1 gone').waitFor()
    // No later result comes.
    await page.route('**/own/query', () => {})
    await button(page, 'Delete').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.locator('.job').getByText('1 record deleted').waitFor()
    await until(() => keysShown(page), ['k0000'])
    expect(await button(page, 'More').count()).toBe(0)
  })

  test('further down nothing moves, and at the top it does', async () => {
    await create('long')
    await fill('long', 100)
    const page = await it.open('#/app/long')
    await isLive(page)
    await page.locator('.grid-scroll').evaluate((element) => element.scrollTo(0, 600))
    const topOf = () => rowOf(page, 'k0070').evaluate((row) => Math.round(row.getBoundingClientRect().top))
    const top = await topOf()
    await put('long', 'new', { n: 1 })
    await page.getByRole('button', { name: /^Show 1 new/ }).waitFor()
    expect(await topOf()).toBe(top)
    await page.locator('.grid-scroll').evaluate((element) => element.scrollTo(0, 0))
    await rowOf(page, 'new').waitFor()
  })

  test('only the first page is followed; the dot goes back to it', async () => {
    await create('pages')
    await fill('pages', 150)
    const page = await it.open('#/app/pages')
    await isLive(page)
    await button(page, 'More').click()
    await until(async () => (await keysShown(page)).length, 150)
    expect(await dot(page).textContent()).toBe('stopped')
    await page.getByText('more than the first page is loaded', { exact: true }).waitFor()
    await dot(page).click()
    await isLive(page)
    await until(async () => (await keysShown(page)).length, 100)
    await put('pages', 'new', { n: 1 })
    await rowOf(page, 'new').waitFor()
    // The rest is still there.
    await button(page, 'More').click()
    await until(async () => (await keysShown(page)).length, 151)
  })

  // The risk: a page of large records would load many times what it shows, four times a second.
  test('of large records no more is read than the page that is shown', async () => {
    await create('large')
    const text = 'x'.repeat(300_000)
    for (let i = 0; i < 24; i++) await put('large', `k${i}`, { i, text })
    const page = await it.open('#/app/large')
    const bodies: string[] = []
    page.on('request', (request) => request.url().endsWith('/query') && bodies.push(request.postData() ?? ''))
    await isLive(page)
    const shown = (await keysShown(page)).length
    expect(shown).toBeLessThan(24)
    await put('large', 'new', { n: 1 })
    await rowOf(page, 'new').waitFor()
    expect(bodies.length).toBeGreaterThan(0)
    expect(bodies.filter((body) => body.includes('cursor'))).toEqual([])
    expect(Math.abs((await keysShown(page)).length - shown)).toBeLessThanOrEqual(1)
    await button(page, 'More').click()
    await until(async () => new Set(await keysShown(page)).size > shown, true)
  })

  test('a click pauses, another one goes on with what has changed', async () => {
    await create('paused')
    await put('paused', 'a', { n: 1 })
    const page = await it.open('#/app/paused')
    const seen = countRequests(page)
    await isLive(page)
    await dot(page).click()
    await page.getByText('paused by you', { exact: true }).waitFor()
    await until(() => seen.open, 0)
    await put('paused', 'b', { n: 1 })
    expect(await keysShown(page)).toEqual(['a'])
    await dot(page).click()
    await isLive(page)
    await until(() => keysShown(page), ['b', 'a'])
    expect(await markOf(page, 'b').textContent()).toBe('new')
  })

  test('one stream at most is open; none when the screen is left or hidden for long', async () => {
    for (const table of ['one', 'two']) await create(table)
    for (const table of ['one', 'two']) await put(table, 'a', { n: 1 })
    const page = await it.visit('#/app/one')
    await page.clock.install()
    const seen = countRequests(page)
    await it.signIn(page)
    await isLive(page)
    await goToScreen(page, '#/app/two', 'two')
    await isLive(page)
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await until(() => [seen.streams, seen.open, seen.openMax], [3, 1, 1])
    await isLive(page)
    // Something has come through the stream: no timer of its beginning is left, which the clock would run.
    await put('two', 'first', { n: 1 })
    await rowOf(page, 'first').waitFor()
    await setHidden(page, true)
    await page.clock.runFor(25_000)
    await until(() => seen.open, 0)
    await put('two', 'b', { n: 1 })
    await setHidden(page, false)
    await rowOf(page, 'b').waitFor()
    await until(() => seen.open, 1)
    // Each time that it began, it asked for its place first.
    expect([seen.pages, seen.streams]).toEqual([4, 4])
    await goToScreen(page, '#/app/two/_about', 'About')
    await until(() => seen.open, 0)
    expect(seen.openMax).toBe(1)
  })

  test('200 changes a second: at most four queries a second, and the page shows the last one', async () => {
    await create('busy')
    await fill('busy', 50)
    const page = await it.open('#/app/busy')
    const seen = countRequests(page)
    await isLive(page)
    const startedMs = performance.now()
    const from = seen.queries.length
    const operations = Array.from({ length: 20 }, (_, i) => ({ op: 'put', hashKey: `k00${i + 10}`, data: { n: i } }))
    for (let batch = 1; batch <= 24; batch++) {
      await it.request('POST', '/v1/app/busy/batch', { operations })
      await Bun.sleep(Math.max(0, startedMs + batch * 100 - performance.now()))
    }
    await put('busy', 'last', { n: 1 })
    await rowOf(page, 'last').waitFor()
    const seconds = (performance.now() - startedMs) / 1000
    const queries = seen.queries.length - from
    globalThis.console.log(`480 changes in ${seconds.toFixed(1)} s, ${queries} queries`)
    expect(queries).toBeGreaterThan(1)
    expect(queries).toBeLessThanOrEqual(Math.ceil(seconds * 4) + 1)
    await until(() => page.locator('.row-mark').count(), 0)
  })

  test('a deleted table: the dot says that it stopped, and why', async () => {
    await create('gone')
    await put('gone', 'a', { n: 1 })
    const page = await it.open('#/app/gone')
    await isLive(page)
    await it.request('DELETE', '/v1/app/gone')
    await page.locator('.live-state[data-state="stopped"]').waitFor()
    expect(await page.locator('.place .live-text').textContent()).toContain('gone')
    expect(await keysShown(page)).toEqual(['a'])
    await it.request('POST', '/v1/app/gone/restore')
    await dot(page).click()
    await isLive(page)
  })

  test('a revoked key: sign-in with the reason', async () => {
    await create('secret')
    const { key, id } = JSON.parse(await it.request('POST', '/api/keys', { kind: 'public', name: 'to revoke' }))
    const page = await it.open('#/app/secret', {}, key)
    await isLive(page)
    await it.request('DELETE', `/api/keys/${id}`)
    await page.getByLabel('API key').waitFor()
    expect(await page.locator('body').innerText()).toContain('revoked')
  })

  test('what a table keeps is shown and changed on its page; ending it says what is lost, and stops those who follow', async () => {
    await create('about')
    await put('about', 'a', { n: 1 })
    const follower = await it.open('#/app/about')
    await isLive(follower)
    const page = await it.open('#/app/about/_about')
    const facts = page.locator('section', { has: page.getByRole('heading', { name: 'Changes' }) })
    await facts.getByText('24 hours').waitFor()
    await button(page, 'Change the hours').click()
    await page.getByLabel('Hours').fill('1')
    await button(page, 'Save').click()
    await facts.getByText('1 hour', { exact: true }).waitFor()
    await button(page, 'End').click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.innerText()).toContain('the cursor of every reader ends')
    await dialog.getByRole('textbox').fill('about')
    await dialog.getByRole('button', { name: 'End the changes' }).click()
    await facts.getByText('keeps no changes').waitFor()
    expect(JSON.parse(await it.request('GET', '/v1/app/about')).changes).toBeUndefined()
    await follower.locator('.live-state[data-state="stopped"]').waitFor()
    await button(follower, 'Keep changes').click()
    await follower.getByRole('dialog').getByRole('button', { name: 'Keep changes' }).click()
    await isLive(follower)
    await put('about', 'b', { n: 1 })
    await rowOf(follower, 'b').waitFor()
  })

  test('a table is created with its changes kept', async () => {
    await create('other', {})
    const page = await it.open('#/app')
    await page.getByRole('button', { name: 'Create a table' }).first().click()
    await page.getByLabel('Table', { exact: true }).fill('followed')
    await page.getByLabel(/^Keep changes/).check()
    await page.getByLabel('Hours').fill('72')
    await button(page, 'Create').click()
    await isLive(page)
    expect(JSON.parse(await it.request('GET', '/v1/app/followed')).changes.keepHours).toBe(72)
  })

  test('the marks fade, and with reduced motion they do not move', async () => {
    await create('motion')
    await put('motion', 'a', { n: 1 })
    const animations = async (reducedMotion: 'reduce' | 'no-preference') => {
      const page = await it.open('#/app/motion', { reducedMotion })
      await isLive(page)
      await put('motion', 'a', { n: reducedMotion })
      await markOf(page, 'a').waitFor({ state: 'attached' })
      return rowOf(page, 'a')
        .locator('th')
        .evaluate((cell) => {
          const { animationName, backgroundColor } = getComputedStyle(cell)
          return { animationName, isPlain: backgroundColor === getComputedStyle(document.body).backgroundColor }
        })
    }
    expect(await animations('reduce')).toEqual({ animationName: 'none', isPlain: false })
    expect((await animations('no-preference')).animationName).toMatch(/^marked-/)
  })

  test('axe-core finds nothing, light and dark, live and paused', async () => {
    await create('axe')
    await fill('axe', 3)
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await it.open('#/app/axe', { colorScheme })
      await isLive(page)
      await put('axe', `new-${colorScheme}`, { n: 1 })
      await markOf(page, `new-${colorScheme}`).waitFor({ state: 'attached' })
      expect(await it.findings(page)).toEqual([])
      await dot(page).click()
      await page.getByText('paused by you', { exact: true }).waitFor()
      expect(await it.findings(page)).toEqual([])
    }
  })
})
