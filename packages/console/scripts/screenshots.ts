import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { chromiumFlags, findChromium } from '../../client/test/chromium.ts'
import { startServer } from '../../server/test/harness.ts'
import { buildConsole } from '../build.ts'
import { fillShop, type Send } from './shop-data.ts'

// Pictures of every screen. Without arguments: the set in docs/console. With a directory: every screen at every width, light
// and dark, for people who work on the look; with words after it, only the screens with those names.
//
//   bun packages/console/scripts/screenshots.ts [DIR [NAME…]]

const root = join(import.meta.dir, '../../..')
const directory = process.argv[2] ?? join(root, 'docs/console')
const isWhole = process.argv[2] !== undefined
const names = process.argv.slice(3)
const widths = { desk: [1440, 900], small: [1024, 768], tablet: [768, 1024], phone: [390, 844] } as const

interface Shot {
  name: string
  hash: string
  /** Waits for the screen, and does what it takes to see the state. */
  prepare?: (page: Page) => Promise<unknown>
  /** In docs/console, at this width and in this scheme. */
  kept?: [keyof typeof widths, 'light' | 'dark'][]
}

const text = (words: string) => (page: Page) => page.locator('main').getByText(words).first().waitFor()

const shots: Shot[] = [
  { name: 'databases', hash: '#/', prepare: text('send-mail'), kept: [['desk', 'light']] },
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
  { name: 'new-record', hash: '#/shop/orders/_new' },
  { name: 'about', hash: '#/shop/orders/_about', prepare: text('Queries that'), kept: [['small', 'light']] },
  { name: 'empty-table', hash: '#/shop/drafts' },
  { name: 'no-such-table', hash: '#/shop/nothing' },
  { name: 'buckets', hash: '#/shop/_buckets' },
  { name: 'bucket', hash: '#/shop/_buckets/avatars', prepare: text('ada.png'), kept: [['desk', 'light']] },
  { name: 'file', hash: '#/shop/_buckets/avatars/f/ada.png', prepare: text('image/png') },
  { name: 'tasks', hash: '#/shop/_tasks', prepare: text('send-mail') },
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
  { name: 'import', hash: '#/_import' },
]

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
  const pages = new Map<string, Page>()
  for (const { shot, width, scheme } of wantedShots()) {
    const place = `${width}-${scheme}`
    const page = pages.get(place) ?? (await openPage(browser, server.url, secretKey, width, scheme))
    pages.set(place, page)
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
