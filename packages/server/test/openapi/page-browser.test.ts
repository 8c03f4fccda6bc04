import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { chromiumFlags, findChromium } from '../../../client/test/chromium.ts'
import { type Organization, type Server, startServer } from '../harness.ts'

// The page as its readers use it: in a browser, with a keyboard, on a phone, with a screen reader, and with an API key that
// must not stay anywhere.

setDefaultTimeout(120_000)

const executablePath = findChromium('the docs page in a browser')
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const desktop = { width: 1440, height: 900 }
const phone = { width: 390, height: 844 }

describe.skipIf(executablePath === undefined)('the docs page in a browser', () => {
  let server: Server
  let organization: Organization
  let browser: Browser
  beforeAll(async () => {
    server = await startServer({ shared: true })
    organization = await server.createOrganization()
    browser = await chromium.launch({ executablePath, args: chromiumFlags })
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  let context: BrowserContext | undefined
  /** The complaints of the browser: errors, warnings and violations of the policy. */
  let complaints: string[] = []
  let requests: string[] = []
  afterEach(async () => {
    await context?.close()
    context = undefined
  })

  const open = async (
    options: Parameters<Browser['newContext']>[0] = {},
    hash = '',
    waitUntil: 'load' | 'commit' = 'load',
  ): Promise<Page> => {
    context = await browser.newContext({ viewport: desktop, reducedMotion: 'reduce', ...options })
    complaints = []
    requests = []
    const page = await context.newPage()
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('request', (request) => requests.push(`${request.method()} ${request.url()}`))
    await page.goto(`${server.url}/docs${hash}`, { waitUntil })
    return page
  }

  /** Findings of axe-core by all its rules, in the whole page or in one part of it. */
  const findings = async (page: Page, part = 'html'): Promise<string[]> => {
    // Evaluated by the debugger, so the page's policy does not concern it.
    await page.evaluate(`${axeSource};0`)
    // Otherwise the sections out of view are laid out for each question of axe-core, one by one.
    await page.evaluate(
      `for (const section of document.querySelectorAll('section')) section.style.contentVisibility = 'visible'`,
    )
    const found = (await page.evaluate(`axe.run('${part}', { resultTypes: ['violations'] })`)) as {
      violations: { id: string; nodes: { target: string[] }[] }[]
      passes: { id: string }[]
    }
    // If the rules had nothing to look at, no finding would mean nothing.
    expect(found.passes.map(({ id }) => id)).toContain('color-contrast')
    return found.violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
  }

  const openSearch = async (page: Page, words: string): Promise<void> => {
    await page.keyboard.press('Control+k')
    await page.locator('dialog.search input').fill(words)
  }

  const openTryIt = async (page: Page, operation: string): Promise<void> => {
    await page.locator(`#${operation} .try-it`).click()
  }

  /** Removes the other sections: axe-core takes a minute for each look at the whole page on a busy machine. */
  const keepOnly = (page: Page, selector: string): Promise<unknown> =>
    page.evaluate(`
      for (const section of document.querySelectorAll('main > section, .operation')) {
        if (!section.matches('${selector}') && section.querySelector('${selector}') === null) section.remove()
      }`)

  /**
   * Removes each section whose elements are all of a kind that was there before: the same tags and attributes up to the root.
   * Returns how many sections stay.
   */
  const keepOneOfEachKind = (page: Page): Promise<number> =>
    page.evaluate(`(() => {
      const isOwn = ({ name }) => /^(id|for|href|name|title|value|data-.*|aria-(controls|describedby|label|labelledby))$/.test(name)
      const kindOf = (element) => {
        if (element === document.body) return ''
        const attributes = [...element.attributes].filter((attribute) => !isOwn(attribute))
        return kindOf(element.parentElement) + '>' + [element.localName, ...attributes.map(({ name, value }) => name + '=' + value)].join(' ')
      }
      const known = new Set()
      for (const section of document.querySelectorAll('.operation, .schema')) {
        const kinds = [...section.querySelectorAll('*')].map(kindOf)
        if (kinds.every((kind) => known.has(kind))) section.remove()
        for (const kind of kinds) known.add(kind)
      }
      return document.querySelectorAll('.operation, .schema').length
    })()`)

  for (const [screen, viewport] of Object.entries({ desktop, phone })) {
    for (const colorScheme of ['light', 'dark'] as const) {
      test(`axe-core finds nothing: ${screen}, ${colorScheme}`, async () => {
        const page = await open({ viewport, colorScheme })
        // Once the whole page; a look at it takes axe-core 20 seconds.
        if (viewport === phone || colorScheme === 'dark') expect(await keepOneOfEachKind(page)).toBeGreaterThan(10)
        expect(await findings(page)).toEqual([])
      })

      test(`axe-core finds nothing in what opens: ${screen}, ${colorScheme}`, async () => {
        const page = await open({ viewport, colorScheme })
        await openSearch(page, 'ttl')
        await keepOnly(page, '#putRecord')
        expect(await findings(page, 'dialog.search')).toEqual([])
        await page.keyboard.press('Escape')
        await openTryIt(page, 'putRecord')
        await page.locator('#api-key').fill(organization.publicKey)
        await page.locator('#try-body').fill('{')
        await page.locator('dialog.try .primary').click()
        await page.locator('.received .status').waitFor()
        await page.locator('.received summary').click()
        expect(await findings(page, 'dialog.try')).toEqual([])
        await page.locator('dialog.try .quiet').click()
        if (screen === 'phone') {
          await page.locator('.menu').click()
          expect(await findings(page, '#contents')).toEqual([])
        }
        // The browser reports the status of the answer, and nothing else.
        expect(complaints.filter((text) => !text.includes('the server responded with a status of 403'))).toEqual([])
      })
    }
  }

  test('axe-core finds nothing in examples and fields that are folded at first', async () => {
    const page = await open({ viewport: phone })
    await keepOnly(page, '#putRecord, #queryRecords')
    await page.evaluate(`
      for (const details of document.querySelectorAll('main details')) { details.removeAttribute('name'); details.open = true }
      document.dispatchEvent(new Event('codeshown'))`)
    await page.waitForTimeout(500)
    expect(await findings(page, 'main')).toEqual([])
  })

  test('at no width it scrolls sideways, in any language', async () => {
    const page = await open()
    const excess = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
    for (const width of [1440, 1024, 768, 390, 320]) {
      await page.setViewportSize({ width, height: 844 })
      for (const language of ['curl', 'typescript', 'python']) {
        await page.locator(`#putRecord [data-tab=${language}]`).click()
        expect([width, language, await page.evaluate(excess)]).toEqual([width, language, 0])
      }
    }
  })

  test('it loads nothing else, and the browser has no complaints', async () => {
    const page = await open()
    await page.waitForTimeout(300)
    expect(requests.filter((request) => !request.includes(' data:'))).toEqual([`GET ${server.url}/docs`])
    expect(complaints).toEqual([])
    // The script ran: it has the address of the server.
    expect(await page.locator('[data-base]').textContent()).toBe(server.url)
  })

  // ── Search ───────────────────────────────────────────────────────────────────────────────────────────────

  const results = (page: Page) => page.locator('[role=option]')

  test('search finds words, shows where, and Enter goes there', async () => {
    const page = await open()
    for (const words of [
      'ttl',
      'If-Match',
      'beginsWith',
      'precondition_failed',
      'recoverableUntil',
      'encodeURIComponent',
    ]) {
      await openSearch(page, words)
      const first = results(page).first()
      expect((await first.locator('mark').first().textContent())?.toLowerCase()).toBe(words.toLowerCase())
      await page.keyboard.press('Enter')
      await page.locator('dialog.search').waitFor({ state: 'hidden' })
      // The page marks only what was found last.
      const reached = page.locator('.found')
      expect(await reached.textContent()).toContain(words)
      const box = (await reached.boundingBox())!
      expect(box.y + box.height).toBeGreaterThan(48)
      expect(box.y).toBeLessThan(desktop.height)
      // The address leads there too.
      expect(new URL(page.url()).hash.length).toBeGreaterThan(1)
      await page.evaluate("history.replaceState(null, '', location.pathname)")
    }
  })

  test('search covers operations, parameters, fields, prose, error codes, examples and hints', async () => {
    const page = await open()
    const firstPath = async (words: string) => {
      await openSearch(page, words)
      const first = results(page).first()
      const shown = `${await first.locator('.path').textContent()} › ${await first.locator('.title').textContent()}`
      await page.keyboard.press('Escape')
      return shown
    }
    expect(await firstPath('put and delete several')).toContain('Queries and batches')
    expect(await firstPath('Prefer')).toContain('Put a record')
    expect(await firstPath('ifUpdatedAt')).toContain('Put and delete several records')
    expect(await firstPath('Data of another organization')).toContain('API keys')
    expect(await firstPath('storage_full')).toBe('Error codes › storage_full')
    expect(await firstPath('repeat after Retry-After')).toBe('Error codes › unavailable')
    expect(await firstPath('the index is sparse')).toBe('Error codes › invalid_index_value')
    expect(await firstPath('session-7')).toContain('Write a record that expires')
  })

  test('search works with the keyboard alone: / opens, arrows move, Escape closes and returns the focus', async () => {
    const page = await open()
    await page.locator('.open-search').focus()
    await page.keyboard.press('/')
    await page.keyboard.type('cursor')
    const active = () => page.locator('dialog.search input').getAttribute('aria-activedescendant')
    expect(await active()).toBe('result-0')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    expect(await active()).toBe('result-1')
    expect(await page.locator('[role=option][aria-selected=true]').count()).toBe(1)
    await page.keyboard.press('Escape')
    expect(await page.locator('dialog.search').isVisible()).toBe(false)
    expect(await page.evaluate('document.activeElement.className')).toBe('open-search')
  })

  test('a slash that is typed into a field stays a slash', async () => {
    const page = await open()
    await openTryIt(page, 'getRecord')
    await page.locator('#try-hashKey').fill('')
    await page.locator('#try-hashKey').press('/')
    expect(await page.locator('#try-hashKey').inputValue()).toBe('/')
    expect(await page.locator('dialog.search').isVisible()).toBe(false)
    expect(await page.locator('.line').textContent()).toContain('/v1/app/orders/%2F')
  })

  test('search says so if nothing is found', async () => {
    const page = await open()
    await openSearch(page, 'zebra')
    expect(await results(page).count()).toBe(0)
    expect(await page.locator('dialog.search [role=status]').textContent()).toContain(
      'Nothing on this page has "zebra"',
    )
  })

  // ── Contents and examples ────────────────────────────────────────────────────────────────────────────────

  test('the current section is marked in the contents, and only that', async () => {
    const page = await open()
    const current = page.locator('#contents [aria-current]')
    for (const id of ['versions-of-a-record', 'applyBatch', 'error-codes', 'requests']) {
      await page.evaluate(`document.getElementById('${id}').scrollIntoView()`)
      await page.locator(`#contents a[href="#${id}"][aria-current=location]`).waitFor()
      expect(await current.count()).toBe(1)
      const box = (await current.boundingBox())!
      expect(box.y).toBeGreaterThan(0)
      expect(box.y + box.height).toBeLessThan(desktop.height)
    }
  })

  test('each title in the contents fits into one line', async () => {
    const page = await open()
    const heights = (await page.evaluate(
      "[...document.querySelectorAll('#contents a')].map((link) => [link.textContent, link.offsetHeight])",
    )) as [string, number][]
    expect(heights.length).toBeGreaterThan(30)
    expect(heights.filter(([, height]) => height > 30)).toEqual([])
  })

  test('on a narrow screen the example follows the description, before the fields', async () => {
    const page = await open({ viewport: { width: 1024, height: 768 } })
    const top = async (part: string) => (await page.locator(`#queryRecords ${part}`).boundingBox())!.y
    expect(await top('.examples')).toBeGreaterThan(await top('.text'))
    expect(await top('.details')).toBeGreaterThan(await top('.examples'))
  })

  test('on a phone the contents are a sheet: opened by a button, closed by a link, by Escape and by its own button', async () => {
    const page = await open({ viewport: phone })
    const sheet = page.locator('#contents')
    expect(await sheet.isVisible()).toBe(false)
    await page.locator('.menu').click()
    expect(await sheet.isVisible()).toBe(true)
    await sheet.locator('a[href="#applyBatch"]').click()
    expect(await sheet.isVisible()).toBe(false)
    expect((await page.locator('#applyBatch').boundingBox())!.y).toBeLessThan(120)
    await page.locator('.menu').click()
    await page.keyboard.press('Escape')
    expect(await sheet.isVisible()).toBe(false)
    await page.locator('.menu').click()
    await sheet.locator('.close').click()
    expect(await sheet.isVisible()).toBe(false)
  })

  const visibleCode = (page: Page, operation: string) => page.locator(`#${operation} details[open] .code pre:visible`)

  test('a tab chooses the language for the whole page, also after it is loaded again', async () => {
    const page = await open()
    expect(await visibleCode(page, 'applyBatch').textContent()).toStartWith('curl ')
    const tab = page.locator('#putRecord [role=tab]')
    await tab.nth(0).focus()
    await page.keyboard.press('ArrowRight')
    expect(await tab.nth(1).getAttribute('aria-selected')).toBe('true')
    expect(await visibleCode(page, 'applyBatch').textContent()).toContain("from '@cubbydb/client'")
    await page.keyboard.press('End')
    expect(await visibleCode(page, 'applyBatch').textContent()).toContain('import requests')
    await page.reload()
    expect(await visibleCode(page, 'applyBatch').textContent()).toContain('import requests')
  })

  test('the example stands beside its text and stays in view; another one can be chosen', async () => {
    const page = await open({}, '#putRecord')
    const text = (await page.locator('#putRecord .text').boundingBox())!
    const example = page.locator('#putRecord .examples')
    expect((await example.boundingBox())!.x).toBeGreaterThan(text.x + text.width)
    await page.mouse.wheel(0, 600)
    await page.waitForTimeout(300)
    const { y } = (await example.boundingBox())!
    expect(y).toBeGreaterThan(0)
    expect(y).toBeLessThan(120)
    await example.locator('select').selectOption('typo')
    expect(await visibleCode(page, 'putRecord').textContent()).toContain('"dat"')
    expect(await example.locator('details[open] .answer').textContent()).toContain('invalid_request')
  })

  test('code is not wrapped: a long line scrolls inside its block, also with the keyboard', async () => {
    const page = await open({ viewport: phone })
    // A cursor is longer than the screen is wide.
    const block = "document.querySelector('#queryRecords details[open] .answer pre')"
    expect(await page.evaluate(`getComputedStyle(${block}).whiteSpace`)).toBe('pre')
    expect(await page.evaluate(`getComputedStyle(${block}).overflowX`)).toBe('auto')
    expect(await page.evaluate(`${block}.scrollWidth > ${block}.clientWidth`)).toBe(true)
    expect(await page.evaluate(`${block}.tabIndex`)).toBe(0)
    const short = "document.querySelector('#describeTable details[open] .code pre')"
    expect(await page.evaluate(`${short}.tabIndex`)).toBe(-1)
  })

  test('the shown code can be copied', async () => {
    const page = await open()
    await context!.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: server.url })
    await page.locator('#putRecord .tools .quiet').click()
    await page.locator('#putRecord .tools .quiet', { hasText: 'Copied' }).waitFor()
    const copied = await page.evaluate('navigator.clipboard.readText()')
    expect(copied).toBe((await visibleCode(page, 'putRecord').textContent())!)
  })

  // ── Try it ───────────────────────────────────────────────────────────────────────────────────────────────

  /** Everywhere that a page can leave something behind. */
  const traces = async (page: Page): Promise<string> => {
    const inPage = await page.evaluate(`(async () => JSON.stringify({
      markup: document.documentElement.outerHTML,
      local: { ...localStorage }, session: { ...sessionStorage }, cookies: document.cookie,
      databases: await indexedDB.databases(), caches: await caches.keys(),
      history: history.state, name: window.name, address: location.href,
    }))()`)
    return `${inPage} ${JSON.stringify(await context!.storageState({ indexedDB: true }))} ${requests.join(' ')}`
  }

  test('the form sends a request to this server and shows its answer; the key stays nowhere', async () => {
    const { secretKey } = organization
    await server.as(secretKey).post('/v1/app/orders')
    const page = await open()
    await openTryIt(page, 'putRecord')
    expect(await page.evaluate('document.activeElement.id')).toBe('api-key')
    expect(await page.locator('#api-key').getAttribute('autocomplete')).toBe('off')
    await page.locator('#api-key').fill(secretKey)
    await page.locator('#try-body').fill('{"hashKey":"from-the-page","data":{"long":12345678901234567890}}')
    await page.keyboard.press('Control+Enter')
    const status = page.locator('.received .status')
    await status.waitFor()
    expect(await status.textContent()).toBe('200 OK')
    expect(await page.locator('.received .label').textContent()).toMatch(/\d+ ms · \d+ bytes/)
    // Indented, and the number is as it was sent.
    expect(await page.locator('.received > div > pre').textContent()).toContain('\n    "long": 12345678901234567890\n')
    await page.locator('.received summary').click()
    expect(await page.locator('.received .headers pre').textContent()).toMatch(/etag: "\d+"/)
    const stored = await server.as(secretKey).get('/v1/app/orders/from-the-page')
    expect(stored.status).toBe(200)
    expect(requests.at(-1)).toBe(`PUT ${server.url}/v1/app/orders`)
    expect(complaints).toEqual([])

    expect(await traces(page)).not.toContain(secretKey.slice(9, 25))
    // Another operation has the key already; a page that is loaded again has not.
    await page.locator('dialog.try .quiet').click()
    await openTryIt(page, 'getRecord')
    await page.locator('#try-hashKey').fill('from-the-page')
    await page.locator('dialog.try .primary').click()
    await status.waitFor()
    expect(await status.textContent()).toBe('200 OK')
    expect(await traces(page)).not.toContain(secretKey.slice(9, 25))
    await page.reload()
    await openTryIt(page, 'getRecord')
    expect(await page.locator('#api-key').inputValue()).toBe('')
  })

  test('the form uploads text and chosen files as they are, and shows no bytes of a picture', async () => {
    const { secretKey } = organization
    const api = server.as(secretKey)
    await api.post('/v1/app/_buckets/avatars')
    const page = await open()
    await openTryIt(page, 'putFile')
    expect(await page.locator('#try-name').inputValue()).toBe('ada/small.png')
    expect(await page.locator('#try-Content-Type').inputValue()).toBe('image/png')
    expect(await page.locator('#try-body').inputValue()).toBe('the bytes of a picture')
    await page.locator('#api-key').fill(secretKey)
    const status = page.locator('.received .status')
    const sendIt = async (): Promise<string> => {
      await pressSend(page)
      await status.waitFor()
      return page.locator('.received > div').innerText()
    }
    expect(await sendIt()).toContain('"contentType": "image/png"')
    expect(requests.at(-1)).toBe(`PUT ${server.url}/v1/app/_buckets/avatars/ada/small.png`)
    const stored = await api.get('/v1/app/_buckets/avatars/ada/small.png?record=true')
    const digest = new Bun.CryptoHasher('sha256').update('the bytes of a picture').digest('hex')
    expect(stored.body).toMatchObject({ size: 22, sha256: digest })

    // Text without a type: the type follows from the name, not from what a browser adds.
    await page.locator('dialog.try .quiet').click()
    await openTryIt(page, 'putFile')
    await page.locator('#try-Content-Type').fill('')
    await page.locator('#try-name').fill('a b/{}.json')
    await page.locator('#try-body').fill('{ not JSON')
    expect(await page.locator('.problem').textContent()).toBe('')
    expect(await sendIt()).toContain('"contentType": "application/json"')

    // A file, whose bytes are not text.
    await page.locator('dialog.try .quiet').click()
    await openTryIt(page, 'putFile')
    await page.locator('#try-name').fill('a//b')
    expect(await page.locator('.problem').textContent()).toBe('name is "a//b", which no path can have.')
    await page.locator('#try-name').fill('zero')
    await page.locator('#try-Content-Type').fill('')
    const buffer = Buffer.from([0, 255, 254, 10])
    await page.locator('#try-file').setInputFiles({ name: 'x.webp', mimeType: 'image/webp', buffer })
    expect(await sendIt()).toContain('"contentType": "image/webp"')
    await page.locator('dialog.try .quiet').click()
    await openTryIt(page, 'getFile')
    await page.locator('#try-name').fill('zero')
    await page.locator('#try-record').fill('')
    expect(await sendIt()).toContain('4 bytes')
    expect(await page.locator('.received .note').textContent()).toBe('The body is not text; it is not shown.')
    expect(complaints).toEqual([])
  })

  test('the form shows errors as the server sends them, and what is wrong before it sends', async () => {
    const page = await open()
    await openTryIt(page, 'queryRecords')
    await page.locator('#try-body').fill('{"hash": ')
    expect(await page.locator('.problem').textContent()).toContain('The body is not JSON')
    await page.locator('dialog.try .primary').click()
    const status = page.locator('.received .status')
    await status.waitFor()
    expect(await status.textContent()).toBe('401 Unauthorized')
    expect(await page.locator('.received > div > pre').textContent()).toContain('"code": "missing_api_key"')
    await page.locator('#try-db').fill('')
    expect(await page.locator('.problem').textContent()).toBe('db is empty; the request needs it.')
  })

  const pressSend = (page: Page) => page.locator('dialog.try .primary').click()

  test('the form does not send a path that would name something else', async () => {
    const page = await open()
    await openTryIt(page, 'deleteRecord')
    await page.locator('#api-key').fill(organization.secretKey)
    requests = []
    // A browser drops . and .., and a proxy may drop an empty segment: then it would be the path of the table.
    for (const [key, problem] of [
      ['', 'hashKey is empty; the request needs it.'],
      ['.', 'hashKey is ".", which no path can have.'],
      ['..', 'hashKey is "..", which no path can have.'],
    ] as const) {
      await page.locator('#try-hashKey').fill(key)
      expect(await page.locator('.problem').textContent()).toBe(problem)
      await pressSend(page)
      expect(await page.evaluate('document.activeElement.id')).toBe('try-hashKey')
    }
    await page.locator('#try-hashKey').fill('%2e%2e/.. ?#')
    await pressSend(page)
    await page.locator('.received .status').waitFor()
    expect(requests).toEqual([`DELETE ${server.url}/v1/app/orders/%252e%252e%2F..%20%3F%23`])
  })

  test('the form says what sending does: a query reads, whatever its method; a delete is marked', async () => {
    const page = await open()
    const said = async (operation: string) => {
      await openTryIt(page, operation)
      const line = page.locator('dialog.try .line small')
      const text = (await line.count()) === 0 ? 'reads' : (await line.textContent())!.trim()
      // Enter sends only what changes nothing.
      requests = []
      await page.keyboard.press('Enter')
      if (text === 'reads') await page.locator('.received .status').waitFor()
      else expect(requests).toEqual([])
      const focused = await page.evaluate('document.activeElement.id || document.activeElement.textContent')
      await page.keyboard.press('Escape')
      return `${text}, ${focused}`
    }
    await openTryIt(page, 'putRecord')
    await page.locator('#api-key').fill(organization.secretKey)
    await page.keyboard.press('Escape')
    for (const id of ['queryRecords', 'findRecords', 'getRecord', 'listApiKeys', 'checkHealth']) {
      expect([id, await said(id)]).toEqual([id, 'reads, Send'])
    }
    for (const id of ['putRecord', 'applyBatch', 'createTable', 'restoreTable', 'createApiKey']) {
      expect([id, await said(id)]).toEqual([id, 'changes data on this server, api-key'])
    }
    for (const id of ['deleteRecord', 'deleteRecordWithRangeKey', 'deleteTable', 'revokeApiKey']) {
      expect([id, await said(id)]).toEqual([id, 'deletes data on this server, api-key'])
    }
  })

  test('an answer that comes late does not appear in the form of another operation, and a second click sends nothing', async () => {
    const page = await open()
    let response = () => {}
    const held = new Promise<void>((resolve) => {
      response = resolve
    })
    await page.route('**/healthz', async (route) => {
      await held
      await route.continue().catch(() => {})
    })
    await openTryIt(page, 'checkHealth')
    requests = []
    await pressSend(page)
    await page.locator('dialog.try .primary').click({ force: true })
    expect(requests).toHaveLength(1)
    expect(await page.locator('dialog.try .primary').textContent()).toBe('Sending …')
    await page.keyboard.press('Escape')
    await openTryIt(page, 'checkReadiness')
    expect(await page.locator('dialog.try .primary').textContent()).toBe('Send')
    response()
    await page.waitForTimeout(200)
    expect(await page.locator('.received').textContent()).toBe('')
    await pressSend(page)
    await page.locator('.received .status').waitFor()
    expect(await page.locator('.received > div > pre').textContent()).toContain('ready')
  })

  test('the form shows answers without a body, long ones, and that none came', async () => {
    const api = server.as(organization.secretKey)
    await api.post('/v1/app/orders')
    const { body } = await api.put('/v1/app/orders', { hashKey: 'long', data: { text: 'x'.repeat(300_000) } })
    const page = await open()
    const status = page.locator('.received .status')
    await openTryIt(page, 'headRecord')
    // Spaces around a pasted key are left out.
    await page.locator('#api-key').fill(`  ${organization.secretKey} `)
    await page.locator('#try-hashKey').fill('long')
    await pressSend(page)
    await status.waitFor()
    expect(await page.locator('.received').textContent()).toContain('No body.')
    await page.keyboard.press('Escape')
    await openTryIt(page, 'getRecord')
    await page.locator('#try-hashKey').fill('long')
    await pressSend(page)
    await status.waitFor()
    expect(await page.locator('.received .note').textContent()).toBe('The first 200,000 characters.')
    await page.locator('#try-If-None-Match').fill(`"${body.updatedAt}"`)
    await pressSend(page)
    await page.locator('.received .status', { hasText: '304' }).waitFor()
    expect(await page.locator('.received').textContent()).toContain('No body.')
    // A key in two parts is not sent at all.
    requests = []
    await page.locator('#api-key').fill('svc_live_a b')
    await pressSend(page)
    expect(await page.locator('.problem').first().textContent()).toBe('The API key has characters that no key has.')
    expect(requests).toEqual([])
    await page.locator('#api-key').fill(organization.secretKey)
    await context!.setOffline(true)
    await pressSend(page)
    const failure = page.locator('.received .problem')
    await failure.waitFor()
    expect(await failure.textContent()).toContain('No answer came (Failed to fetch). Is the server running')
  })

  test('a request that needs no key is sent without it', async () => {
    const page = await open()
    await openTryIt(page, 'getRecord')
    await page.locator('#api-key').fill(organization.secretKey)
    await page.keyboard.press('Escape')
    await openTryIt(page, 'checkHealth')
    const [request] = await Promise.all([page.waitForRequest('**/healthz'), pressSend(page)])
    expect(await request.headerValue('authorization')).toBeNull()
  })

  test('every operation can be tried, except one that only a browser may send', async () => {
    const page = await open()
    const without = await page.evaluate(`[...document.querySelectorAll('.operation')]
      .filter((operation) => operation.querySelector('.try-it') === null).map(({ id }) => id)`)
    expect(without).toEqual(['preflight'])
  })

  test('the form takes the example that is shown, with its query and headers', async () => {
    const page = await open()
    await page.locator('#deleteRecordWithRangeKey .examples select').selectOption('wrongVersion')
    await openTryIt(page, 'deleteRecordWithRangeKey')
    expect(await page.locator('#try-rangeKey').inputValue()).toBe('o-2')
    expect(await page.locator('#try-If-Match').inputValue()).toMatch(/^"\d+"$/)
    expect(await page.locator('.line').textContent()).toContain('deletes data on this server')
    await page.locator('dialog.try .quiet').click()
    await page.locator('#listTables .examples select').selectOption('deletedOnes')
    await openTryIt(page, 'listTables')
    expect(await page.locator('.line').textContent()).toBe(`GET ${server.url}/v1/app?deleted=true`)
  })

  // ── Without a script, in the dark, on paper ──────────────────────────────────────────────────────────────

  for (const [screen, viewport] of Object.entries({ desktop, phone })) {
    test(`without JavaScript everything is there to read: ${screen}`, async () => {
      const page = await open({ javaScriptEnabled: false, viewport })
      expect(await page.locator('#putRecord').textContent()).toContain('Creates a record or replaces the existing one')
      const code = page.locator('#putRecord details[open] .code pre')
      expect(await code.count()).toBe(3)
      for (let i = 0; i < 3; i++) expect(await code.nth(i).isVisible()).toBe(true)
      // Buttons that would do nothing are not shown.
      expect(await page.locator('.open-search').isVisible()).toBe(false)
      // The other examples open without a script, and so does the sheet.
      await page.locator('#putRecord summary', { hasText: 'Create, never replace' }).click()
      expect(await page.locator('#putRecord details[data-example=create] pre').first().isVisible()).toBe(true)
      if (screen === 'phone') await page.locator('.menu').click()
      expect(await page.locator('#contents').isVisible()).toBe(true)
    })
  }

  test('a link to a field unfolds what holds it', async () => {
    const page = await open()
    const folded = page.locator('#queryRecords details.nested [data-find=field]').first()
    const id = await folded.getAttribute('id')
    expect(await folded.isVisible()).toBe(false)
    await page.goto(`${server.url}/docs#${id}`)
    await folded.waitFor({ state: 'visible' })
  })

  test('it has the colours of the product, light and dark', async () => {
    const page = await open({ colorScheme: 'dark' })
    const pageBackground = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    expect(await pageBackground()).toBe('rgb(15, 18, 19)')
    await page.emulateMedia({ colorScheme: 'light' })
    expect(await pageBackground()).toBe('rgb(255, 255, 255)')
  })

  test('printed, it is text and one example in one column', async () => {
    const page = await open()
    await page.emulateMedia({ media: 'print' })
    for (const hidden of ['.bar', '#contents', '#putRecord .tools', '#putRecord .chooser']) {
      expect([hidden, await page.locator(hidden).isVisible()]).toEqual([hidden, false])
    }
    const text = (await page.locator('#putRecord .text').boundingBox())!
    expect((await page.locator('#putRecord .examples').boundingBox())!.y).toBeGreaterThan(text.y + text.height)
    expect(await visibleCode(page, 'putRecord').count()).toBe(1)
  })
})
