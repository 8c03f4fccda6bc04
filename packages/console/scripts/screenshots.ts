import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { chromiumFlags, findChromium } from '../../client/test/chromium.ts'
import { startServer } from '../../server/test/harness.ts'
import { buildConsole } from '../build.ts'
import { orderData } from '../src/screens/sample/shop.ts'
import { compactJson } from '../src/text/format.ts'
import { fillShop, type Send } from './shop-data.ts'

// Pictures of every screen. Without arguments: the set in docs/console. With a directory: every screen at every width, light
// and dark, for people who work on the look; with words after it, only the screens with those names.
//
//   bun packages/console/scripts/screenshots.ts [DIR [NAME…]]

const root = join(import.meta.dir, '../../..')
const directory = process.argv[2] ?? join(root, 'docs/console')
const isWhole = process.argv[2] !== undefined
const names = process.argv.slice(3)
const widths = {
  huge: [2560, 1200],
  desk: [1440, 900],
  small: [1024, 768],
  tablet: [768, 1024],
  phone: [390, 844],
  tiny: [320, 640],
} as const

interface Shot {
  name: string
  hash: string
  /** Waits for the screen, and does what it takes to see the state. */
  prepare?: (page: Page) => Promise<unknown>
  /** The pictures that docs/console keeps, each with its width and scheme. */
  kept?: [keyof typeof widths, 'light' | 'dark'][]
}

const text = (words: string) => (page: Page) => page.locator('main').getByText(words).first().waitFor()

/** Somebody else writes records of the table that is open. */
let writeElsewhere = async (): Promise<unknown> => undefined

/** Somebody else writes the record that is open. */
let changeElsewhere = async (): Promise<unknown> => undefined

const shots: Shot[] = [
  {
    name: 'overview',
    hash: '#/',
    prepare: text('Newest writes'),
    kept: [
      ['desk', 'light'],
      ['phone', 'dark'],
    ],
  },
  {
    name: 'jump',
    hash: '#/',
    prepare: async (page) => {
      await text('Newest writes')(page)
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill('or')
    },
    kept: [['small', 'light']],
  },
  {
    name: 'keys-of-the-keyboard',
    hash: '#/',
    prepare: async (page) => {
      await text('Newest writes')(page)
      await page.keyboard.press('?')
    },
  },
  { name: 'database', hash: '#/shop', prepare: text('can be restored for'), kept: [['desk', 'light']] },
  {
    name: 'table',
    hash: '#/shop/orders',
    prepare: text('ord_1900'),
    kept: [
      ['desk', 'light'],
      ['desk', 'dark'],
      ['phone', 'light'],
    ],
  },
  {
    name: 'record',
    hash: '#/shop/orders/r/ord_1899',
    prepare: text('Valid JSON'),
    kept: [
      ['desk', 'light'],
      ['desk', 'dark'],
      ['phone', 'dark'],
    ],
  },
  {
    name: 'live',
    hash: '#/shop/orders?index=t',
    prepare: async (page) => {
      await page.locator('.live-state[data-state="live"]').waitFor()
      await writeElsewhere()
      await page.locator('.row-mark').first().waitFor()
    },
    kept: [['desk', 'light']],
  },
  {
    name: 'cell-menu',
    hash: '#/shop/orders?index=i1&hash=%22open%22',
    prepare: async (page) => {
      await page.locator('.grid tbody [tabindex="0"]').focus()
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('Alt+ArrowDown')
      await page.getByRole('menu').waitFor()
    },
    kept: [['desk', 'light']],
  },
  { name: 'folder', hash: '#/shop/_buckets/avatars?prefix=legal%2F', prepare: text('terms.txt') },
  { name: 'new-record', hash: '#/shop/orders/_new' },
  { name: 'about', hash: '#/shop/orders/_about', prepare: text('Queries that'), kept: [['small', 'light']] },
  { name: 'empty-table', hash: '#/shop/drafts' },
  { name: 'no-such-table', hash: '#/shop/nothing' },
  { name: 'buckets', hash: '#/shop/_buckets' },
  { name: 'bucket', hash: '#/shop/_buckets/avatars', prepare: text('ada.png'), kept: [['desk', 'light']] },
  { name: 'file', hash: '#/shop/_buckets/avatars/f/ada.png', prepare: text('image/png') },
  { name: 'tasks', hash: '#/shop/_tasks', prepare: text('send-mail'), kept: [['desk', 'light']] },
  { name: 'task', hash: '#/shop/_tasks/send-mail', prepare: text('succeeded'), kept: [['desk', 'dark']] },
  { name: 'keys', hash: '#/_keys', prepare: text('website'), kept: [['desk', 'light']] },
  {
    name: 'request-pad',
    hash: '#/_pad',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByText('succeeded').first().waitFor()
    },
    kept: [['small', 'dark']],
  },
  {
    name: 'create-key',
    hash: '#/_keys',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Create a key' }).click()
      await page.getByLabel('only some').check()
    },
  },
  {
    name: 'import',
    hash: '#/_import/shop/customers',
    prepare: async (page) => {
      const buffer = Buffer.from(customersCsv)
      await page.getByLabel('File').setInputFiles({ name: 'customers.csv', mimeType: 'text/csv', buffer })
      await page.getByLabel('Hash key').waitFor()
    },
    kept: [['desk', 'light']],
  },
  // The last one, because leaving it asks.
  {
    name: 'conflict',
    hash: '#/shop/orders/r/ord_1898',
    prepare: async (page) => {
      const area = page.getByLabel('Data as JSON text')
      await area.fill((await area.inputValue()).replace('"shipped"', '"paid"'))
      await changeElsewhere()
      await page.keyboard.press('Control+s')
      await page.getByText('These members differ').waitFor()
    },
    kept: [['desk', 'light']],
  },
]

const customersCsv = `email,name,city,since,spent,zip
ada@example.com,Ada Lovelace,London,2019,120.50,0815
"li.wei@example.com","Li, Wei",Shanghai,2021,88,200000
sam@example.com,"Sam ""the fox"" Green",Leeds,2024,,00721
noor@example.com,Noor Ali,Lahore,2020,12.25,54000
`

const wantedShots = (): { shot: Shot; width: keyof typeof widths; scheme: 'light' | 'dark' }[] =>
  shots.flatMap((shot) => {
    if (names.length > 0 && !names.includes(shot.name)) return []
    if (!isWhole) return (shot.kept ?? []).map(([width, scheme]) => ({ shot, width, scheme }))
    const all = Object.keys(widths) as (keyof typeof widths)[]
    return all.flatMap((width) => (['light', 'dark'] as const).map((scheme) => ({ shot, width, scheme })))
  })

const openPage = async (
  browser: Browser,
  url: string,
  key: string,
  width: keyof typeof widths,
  scheme: 'light' | 'dark',
) => {
  const [pixels, height] = widths[width]
  const context = await browser.newContext({
    viewport: { width: pixels, height },
    colorScheme: scheme,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  const page = await context.newPage()
  await page.goto(`${url}/console`)
  await page.getByLabel('API key').waitFor()
  if (isWhole) await page.screenshot({ path: join(directory, `sign-in-${width}-${scheme}.png`) })
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('.shell').waitFor()
  // No row is under the pointer.
  await page.mouse.move(0, 0)
  return page
}

const executablePath = findChromium('the screenshots')
if (executablePath === undefined) process.exit(1)
mkdirSync(directory, { recursive: true })
await buildConsole(join(import.meta.dir, '../dist'))
const server = await startServer({})
const { secretKey } = await server.createOrganization('acme')
const browser = await chromium.launch({ executablePath, args: chromiumFlags })
try {
  const send: Send = async (method, path, body, headers = {}) => {
    const response = await fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json', ...headers },
      body,
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
  await fillShop(send, browser)
  changeElsewhere = async () => {
    const { data } = (await send('GET', '/v1/shop/orders/ord_1898')) as { data: object }
    const changed = { ...data, total: 44.5, note: 'leave it at the door' }
    const body = JSON.stringify({ hashKey: 'ord_1898', data: changed })
    // JSON.parse has rounded it.
    return send('PUT', '/v1/shop/orders', body.replace(/("externalId":)\d+/, '$112345678901234567812'))
  }
  let written = 0
  writeElsewhere = async () => {
    const put = (hashKey: string, index: number) =>
      send('PUT', '/v1/shop/orders', `{"hashKey":"${hashKey}","data":${compactJson(orderData(index, Date.now()))}}`)
    await put('ord_1894', 6)
    await put(`ord_${1901 + written++}`, 13)
  }
  const pages = new Map<string, Page>()
  for (const { shot, width, scheme } of wantedShots()) {
    const place = `${width}-${scheme}`
    const page = pages.get(place) ?? (await openPage(browser, server.url, secretKey, width, scheme))
    pages.set(place, page)
    // A dialog of the shot before it.
    await page.keyboard.press('Escape')
    await page.goto(`${server.url}/console${shot.hash}`)
    try {
      await shot.prepare?.(page)
    } catch (error) {
      console.error(`${shot.name} ${place}: ${error}`)
    }
    await page.waitForTimeout(500)
    await page.screenshot({ path: join(directory, `${shot.name}-${place}.png`) })
  }
} finally {
  await browser.close()
  await server.stop()
}
