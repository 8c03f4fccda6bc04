import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { buildScript } from '../../../client/build.ts'
import { chromiumFlags, findChromium } from '../../../client/test/chromium.ts'
import {
  eventually,
  type Json,
  makeTempDir,
  type Organization,
  removeTempDir,
  type Server,
  startServer,
} from '../harness.ts'
import { makeCommands, runShellBlocks } from './shell-blocks.ts'

// Examples are copied before they are read. Each is run here as its README says, on Node, with the built client.

setDefaultTimeout(120_000)

const root = resolve(import.meta.dir, '../../../..')
let dir: string
let commands: string
let server: Server
let org: Organization
let env: Record<string, string>

beforeAll(async () => {
  dir = makeTempDir()
  commands = makeCommands(join(dir, 'commands'))
  cpSync(join(root, 'examples'), join(dir, 'examples'), { recursive: true })
  const client = join(dir, 'node_modules/@cubbydb/client')
  await buildScript(client)
  writeFileSync(join(client, 'package.json'), '{ "type": "module", "exports": { ".": "./index.js", "./*": "./*.js" } }')
  server = await startServer()
  org = await server.createOrganization('default')
  env = { CUBBY_URL: server.url, CUBBY_KEY: org.secretKey, CUBBY_PUBLIC_KEY: org.publicKey }
})
afterAll(async () => {
  await server?.stop()
  removeTempDir(dir)
})

test('every example is run by a test', () => {
  const folders = readdirSync(join(root, 'examples'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(folders.map(({ name }) => name).sort()).toEqual([
    'bulk-import',
    'live-board',
    'node-script',
    'notes',
    'outbox',
    'todo',
    'upload',
  ])
})

for (const name of ['node-script', 'bulk-import']) {
  test(`${name} does what its README shows, and a second time`, async () => {
    const readme = join(root, 'examples', name, 'README.md')
    expect(await runShellBlocks(readme, { cwd: dir, commands, env })).toBeGreaterThan(0)
    await runShellBlocks(readme, { cwd: dir, commands, env })
  })
}

const scripts = [
  'live-board/server.mjs',
  'node-script/orders.mjs',
  'notes/server.mjs',
  'outbox/place-order.mjs',
  'outbox/worker.mjs',
  'todo/server.mjs',
  'upload/server.mjs',
]
for (const script of scripts) {
  test(`${script} says in one line that a key is missing or wrong`, async () => {
    const run = async (keys: Record<string, string>): Promise<string> => {
      const child = Bun.spawn(['node', join('examples', script)], {
        cwd: dir,
        env: { PATH: process.env.PATH, CUBBY_URL: server.url, ...keys },
        stdout: 'ignore',
        stderr: 'pipe',
      })
      const said = await new Response(child.stderr).text()
      expect(await child.exited).toBe(1)
      return said
    }
    expect(await run({})).toMatch(/^Set CUBBY_KEY .*see README\.md\.\n$/)
    const wrong = { CUBBY_KEY: 'svc_live_x', CUBBY_PUBLIC_KEY: org.publicKey }
    expect(await run(wrong)).toMatch(/^Cubby at http:\S+ did not create the (table|bucket): .*API key.*\n$/)
  })
}

const executablePath = findChromium(
  'the pages of examples/live-board, examples/notes, examples/todo and examples/upload',
)

type App = Bun.Subprocess<'ignore', 'pipe', 'inherit'>

/** Starts the server of an example. It must print the line that its README shows, with its own port. */
const startApp = async (name: string): Promise<{ app: App; url: string }> => {
  const app = Bun.spawn(['node', `examples/${name}/server.mjs`], {
    cwd: dir,
    env: { PATH: process.env.PATH, ...env, PORT: '0' },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const { value } = await app.stdout.getReader().read()
  const printed = Buffer.from(value!).toString()
  const readme = readFileSync(join(root, 'examples', name, 'README.md'), 'utf8')
  const [shown] = /^\w+ \w+: http:.*$/m.exec(readme)!
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)![0]
  expect(printed).toBe(`${shown.replace(/http:\/\/127\.0\.0\.1:\d+/, url)}\n`)
  return { app, url }
}

describe('todo', () => {
  let app: App
  let url: string

  beforeAll(async () => {
    ;({ app, url } = await startApp('todo'))
  })
  afterAll(async () => {
    app?.kill()
    await app?.exited
  })

  const send = (method: string, path: string, body?: object, type = 'application/json') =>
    fetch(url + path, { method, headers: { 'content-type': type }, body: body && JSON.stringify(body) })

  test('the server hands the page the public key only', async () => {
    for (const path of ['/', '/config.json', '/cubby.js']) {
      const response = await fetch(url + path)
      expect(response.status).toBe(200)
      expect(await response.text()).not.toContain(org.secretKey)
    }
    expect(await (await fetch(`${url}/config.json`)).json()).toEqual({ url: server.url, key: org.publicKey })
  })

  test('the server adds, marks and removes; what is wrong is refused', async () => {
    const added: Json = await (await send('POST', '/todos', { text: ' milk ' })).json()
    expect(added.data).toMatchObject({ list: 'home', text: 'milk', done: false })
    const marked: Json = await (await send('PUT', `/todos/${added.hashKey}`, { done: true })).json()
    expect(marked.data).toEqual({ ...added.data, done: true })
    expect(await (await send('DELETE', `/todos/${added.hashKey}`)).json()).toEqual({ deleted: true })
    const refused = [
      await send('PUT', `/todos/${added.hashKey}`, { done: true }),
      await send('POST', '/todos', { text: ' ' }),
      await send('POST', '/todos', { text: 'x'.repeat(501) }),
      await send('POST', '/todos', { text: 'x'.repeat(20_000) }),
      await send('POST', '/todos', { text: 'a form of another site' }, 'text/plain'),
      await send('DELETE', '/todos/../../x'),
      await send('GET', '/server.mjs'),
    ]
    expect(refused.map(({ status }) => status)).toEqual([404, 400, 400, 413, 415, 404, 404])
  })

  test('its README names the commands that start it', async () => {
    const skip = (text: string): boolean => text.includes('server.mjs')
    // The other block makes the limited key, on the store in ./cubby-data.
    const options = { cwd: dir, commands, env: { ...env, CUBBY_DATA: server.dataDir }, skip }
    expect(await runShellBlocks(join(root, 'examples/todo/README.md'), options)).toBe(1)
  })

  describe.skipIf(executablePath === undefined)('in a browser', () => {
    let browser: Browser
    beforeAll(async () => {
      browser = await chromium.launch({ executablePath, args: chromiumFlags })
    })
    afterAll(async () => {
      await browser?.close()
    })

    const rows = (page: Page): Promise<string[]> => page.locator('li label').allInnerTexts()
    const shows = (page: Page, texts: string[]): Promise<true> =>
      eventually(`the page shows ${texts}`, async () =>
        JSON.stringify((await rows(page)).map((text) => text.trim())) === JSON.stringify(texts) ? true : undefined,
      )

    test('the page reads with the public key and writes through the server', async () => {
      const page = await browser.newPage()
      const problems: string[] = []
      page.on('pageerror', (error) => problems.push(String(error)))
      const toCubby: string[] = []
      page.on('request', (request) => {
        if (request.url().startsWith(server.url)) toCubby.push(`${request.method()} ${new URL(request.url()).pathname}`)
      })
      // Also on a slow connection: text typed before the page has its configuration is not lost.
      await page.route('**/config.json', async (route) => {
        await Bun.sleep(300)
        await route.continue()
      })
      await page.goto(url)
      for (const text of ['milk', '<b>bread</b>']) {
        await page.locator('input[name=text]').fill(text)
        await page.getByRole('button', { name: 'Add' }).click()
        await page.locator('li').filter({ hasText: text }).waitFor()
      }
      await shows(page, ['milk', '<b>bread</b>'])
      await page.getByLabel('milk').check()
      await page.locator('li.done').waitFor()
      await page.reload()
      await shows(page, ['milk', '<b>bread</b>'])
      expect(await page.getByLabel('milk').isChecked()).toBe(true)
      await page.locator('li').filter({ hasText: 'milk' }).getByRole('button', { name: 'Remove' }).click()
      await shows(page, ['<b>bread</b>'])
      expect(problems).toEqual([])
      expect(new Set(toCubby.filter((call) => !call.startsWith('OPTIONS')))).toEqual(
        new Set(['POST /v1/todo/todos/query']),
      )
      await page.close()
    })
  })
})

describe('live-board', () => {
  let app: App
  let url: string

  beforeAll(async () => {
    ;({ app, url } = await startApp('live-board'))
  })
  afterAll(async () => {
    app?.kill()
    await app?.exited
  })

  const post = (path: string, type = 'application/json') =>
    fetch(url + path, { method: 'POST', headers: { 'content-type': type } })

  test('the server places orders, moves them on and hands them over; what is wrong is refused', async () => {
    const { hashKey: id }: Json = await (await post('/orders')).json()
    const stored = async () => (await server.as(org.secretKey).get(`/v1/board/orders/${id}`)).body.data?.state
    expect(await stored()).toBe('new')
    for (const state of ['cooking', 'ready', undefined]) {
      expect((await post(`/orders/${id}/next`)).status).toBe(200)
      expect(await stored()).toBe(state)
    }
    expect(await (await post(`/orders/${id}/next`)).json()).toEqual({ deleted: false })
    const refused = [await post('/orders', 'text/plain'), await post('/orders/a.b/next'), await fetch(`${url}/orders`)]
    expect(refused.map(({ status }) => status)).toEqual([415, 404, 404])
    for (const path of ['/', '/config.json', '/client/index.js', '/client/changes.js']) {
      const response = await fetch(url + path)
      expect(response.status).toBe(200)
      expect(await response.text()).not.toContain(org.secretKey)
    }
  })

  test('its README adds an order from the shell', async () => {
    const skip = (text: string): boolean => text.includes('server.mjs')
    const readme = join(root, 'examples/live-board/README.md')
    expect(await runShellBlocks(readme, { cwd: dir, commands, env, skip })).toBe(1)
  })

  test.skipIf(executablePath === undefined)('what one page moves, another shows, by one stream each', async () => {
    const browser = await chromium.launch({ executablePath, args: chromiumFlags })
    try {
      const problems: string[] = []
      const streams: string[] = []
      const open = async (): Promise<Page> => {
        const page = await browser.newPage()
        page.on('pageerror', (error) => problems.push(String(error)))
        page.on('request', (request) => {
          if (request.headers().accept === 'text/event-stream') streams.push(new URL(request.url()).pathname)
        })
        await page.goto(url)
        return page
      }
      const column = (page: Page, state: string) => page.locator(`section[data-state=${state}] li button`)
      const [mine, theirs] = [await open(), await open()]
      await mine.getByRole('button', { name: 'Place an order' }).click()
      await column(theirs, 'new').filter({ hasText: 'Toast' }).waitFor()
      await column(theirs, 'new').nth(1).waitFor()
      await column(theirs, 'new').filter({ hasText: 'Toast' }).click()
      await column(mine, 'cooking').filter({ hasText: 'Toast' }).waitFor()
      await column(mine, 'cooking').filter({ hasText: 'Toast' }).click()
      await column(theirs, 'ready').filter({ hasText: 'Toast' }).click()
      await eventually('the order has left both pages', async () =>
        (await mine.getByText('Toast').count()) + (await theirs.getByText('Toast').count()) === 0 ? true : undefined,
      )
      expect(problems).toEqual([])
      expect(streams).toEqual(['/v1/board/orders/changes', '/v1/board/orders/changes'])
    } finally {
      await browser.close()
    }
  })
})

describe('notes', () => {
  let app: App
  let url: string

  beforeAll(async () => {
    ;({ app, url } = await startApp('notes'))
  })
  afterAll(async () => {
    app?.kill()
    await app?.exited
  })

  const post = (path: string, body: unknown, type = 'application/json') =>
    fetch(url + path, { method: 'POST', headers: { 'content-type': type }, body: JSON.stringify(body) })
  const tokenOf = async (name: string): Promise<string> => {
    const { loginToken }: Json = await (await post('/login', { name })).json()
    return ((await (await post('/token', { loginToken })).json()) as Json).token
  }

  test('the server sends no key, and every answer has a policy that allows its own scripts alone', async () => {
    for (const path of [
      '/',
      '/notes.js',
      '/notes.css',
      '/config.json',
      '/client/index.js',
      '/client/changes.js',
      '/x',
    ]) {
      const response = await fetch(url + path)
      expect(await response.text()).not.toMatch(/svc_(live|pub)_\w{38}/)
      const policy = response.headers.get('content-security-policy')!
      expect(policy).toStartWith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' http://")
      expect(policy).not.toContain('unsafe')
    }
  })

  // What the page asks for is up to whoever uses it. So the token alone must keep people apart.
  test('the token of ada reads and writes the notes of ada, and those of nobody else', async () => {
    const [ada, bob] = [server.as(await tokenOf('ada')), server.as(await tokenOf('bob'))]
    const note = { hashKey: 'ada', rangeKey: 'of the test', data: { text: 'x' } }
    expect((await ada.put('/v1/notes/notes', note)).status).toBe(200)
    expect((await ada.post('/v1/notes/notes/query', { hash: 'ada' })).body.count).toBe(1)
    const refused = await Promise.all([
      bob.get('/v1/notes/notes/ada/of%20the%20test'),
      bob.put('/v1/notes/notes', note),
      bob.delete('/v1/notes/notes/ada/of%20the%20test'),
      bob.post('/v1/notes/notes/query', { hash: 'ada' }),
      bob.post('/v1/notes/notes/query', { index: 't' }),
      bob.post('/v1/notes/notes/changes', {}),
      bob.post('/v1/notes/notes/find', { keys: [{ hashKey: 'bob' }, { hashKey: 'ada' }] }),
      bob.get('/v1'),
    ])
    expect(refused.map(({ body }) => body.error?.code)).toEqual(Array(8).fill('not_granted'))
    expect((await ada.put('/v1/notes/notes', { ...note, data: { text: 'x'.repeat(10_000) } })).status).toBe(413)
    expect((await ada.delete('/v1/notes/notes/ada/of%20the%20test')).status).toBe(200)
  })

  test('what is wrong is refused', async () => {
    const { loginToken }: Json = await (await post('/login', { name: 'ada' })).json()
    const [head, claims, signature] = loginToken.split('.')
    const forged = Buffer.from(Buffer.from(claims, 'base64url').toString().replace('"ada"', '"bob"')).toString(
      'base64url',
    )
    const refused = [
      await post('/login', { name: 'ada:x' }),
      await post('/login', { name: 'x'.repeat(20_001) }),
      await post('/login', { name: 'ada' }, 'text/plain'),
      await post('/token', { loginToken: `${head}.${forged}.${signature}` }),
      await post('/token', {}),
      await post('/notes.js', {}),
    ]
    expect(refused.map(({ status }) => status)).toEqual([400, 413, 415, 401, 401, 404])
  })

  test.skipIf(executablePath === undefined)(
    'ada sees her notes in two windows, live, and bob sees only his',
    async () => {
      const browser = await chromium.launch({ executablePath, args: chromiumFlags })
      try {
        const problems: string[] = []
        const logIn = async (context: BrowserContext, name: string): Promise<Page> => {
          const page = await context.newPage()
          page.on('pageerror', (error) => problems.push(String(error)))
          page.on('console', (message) => {
            if (/policy/i.test(message.text())) problems.push(message.text())
          })
          await page.goto(url)
          await page.getByLabel('Your name').fill(name)
          await page.getByRole('button', { name: 'Log in' }).click()
          await page.getByText(`You are ${name}.`).waitFor()
          return page
        }
        const add = async (page: Page, text: string): Promise<void> => {
          await page.getByLabel('New note').fill(text)
          await page.getByRole('button', { name: 'Add' }).click()
        }
        const shows = (page: Page, texts: string[]): Promise<true> =>
          eventually(`the page shows ${texts}`, async () => {
            // In one step: a row that goes away meanwhile would be waited for.
            const shown = await page.evaluate('[...document.querySelectorAll("li textarea")].map((box) => box.value)')
            return JSON.stringify(shown) === JSON.stringify(texts) ? true : undefined
          })
        const [hers, his] = [await browser.newContext(), await browser.newContext()]
        const [first, second, bobs] = [await logIn(hers, 'ada'), await logIn(hers, 'ada'), await logIn(his, 'bob')]

        await add(first, 'milk')
        await shows(second, ['milk'])
        await add(bobs, 'of bob')
        await add(second, '<img src=x onerror=alert(1)>')
        const both = ['<img src=x onerror=alert(1)>', 'milk']
        await Promise.all([shows(first, both), shows(second, both), shows(bobs, ['of bob'])])

        // A note that is being edited stays as it is typed, and replaces another version only when that is asked for twice.
        const box = (page: Page) => page.getByLabel('Note', { exact: true }).last()
        const save = (page: Page) => page.getByRole('button', { name: 'Save' }).last().click()
        await box(first).fill('milk and bread')
        await box(second).fill('milk and tea')
        await save(second)
        await second.locator('li').last().waitFor()
        await eventually('the other window has stored it', async () => {
          const { items } = (await server.as(org.secretKey).post('/v1/notes/notes/query', { hash: 'ada' })).body
          return items.some(({ data }: Json) => data.text === 'milk and tea') ? true : undefined
        })
        await save(first)
        await first.getByText('Another window has changed this note.').waitFor()
        expect(await box(first).inputValue()).toBe('milk and bread')
        await save(first)
        await shows(second, ['<img src=x onerror=alert(1)>', 'milk and bread'])

        await second.getByRole('button', { name: 'Delete' }).first().click()
        await Promise.all([
          shows(first, ['milk and bread']),
          shows(second, ['milk and bread']),
          shows(bobs, ['of bob']),
        ])

        // A reload of the tab stays logged in. Whom the service does not know any more has to log in again.
        await first.reload()
        await shows(first, ['milk and bread'])
        await first.getByRole('button', { name: 'Log out' }).click()
        await first.getByLabel('Your name').waitFor()
        expect(problems).toEqual([])
      } finally {
        await browser.close()
      }
    },
  )

  test.skipIf(executablePath === undefined)(
    'when the user is revoked, the page says that the person has to log in again',
    async () => {
      const browser = await chromium.launch({ executablePath, args: chromiumFlags })
      try {
        const page = await browser.newPage()
        await page.goto(url)
        await page.getByLabel('Your name').fill('eve')
        await page.getByRole('button', { name: 'Log in' }).click()
        await page.getByLabel('New note').fill('a note')
        await page.getByRole('button', { name: 'Add' }).click()
        await page.getByLabel('Note', { exact: true }).waitFor()
        expect((await server.as(org.secretKey).post('/api/tokens/revoke', { user: 'notes-login:eve' })).status).toBe(
          200,
        )
        await page.getByText('Log in again.').waitFor()
        expect(await page.getByLabel('Note', { exact: true }).count()).toBe(0)
      } finally {
        await browser.close()
      }
    },
  )
})

describe('upload', () => {
  let app: App
  let url: string

  beforeAll(async () => {
    ;({ app, url } = await startApp('upload'))
  })
  afterAll(async () => {
    app?.kill()
    await app?.exited
  })

  const ask = (type: string) => fetch(`${url}/uploads?type=${encodeURIComponent(type)}`, { method: 'POST' })

  test('the server hands out URLs for pictures, and no key', async () => {
    for (const path of ['/', '/cubby.js', '/pictures'])
      expect(await (await fetch(url + path)).text()).not.toContain(org.secretKey)
    const given: Json = await (await ask('image/png')).json()
    expect(given.url).toMatch(/\/[0-9a-f-]{36}\.png\?/)
    const put = (body: string | Uint8Array<ArrayBuffer>, type: string) =>
      fetch(given.url, { method: 'PUT', body, headers: { 'content-type': type } })
    expect((await put('<script>', 'text/html')).status).toBe(415)
    expect((await put(new Uint8Array(5_000_001), 'image/png')).status).toBe(413)
    expect((await put('a picture', 'image/png')).status).toBe(200)
    expect((await put('another', 'image/png')).status).toBe(412)
    const [first]: Json = await (await fetch(`${url}/pictures`)).json()
    expect(await (await fetch(first)).text()).toBe('a picture')
    for (const type of ['text/html', 'constructor', '']) expect([415, 404]).toContain((await ask(type)).status)
    expect((await fetch(`${url}/uploads?type=image%2Fpng`)).status).toBe(404)
  })

  test.skipIf(executablePath === undefined)('the page uploads without a key and shows the picture', async () => {
    const browser = await chromium.launch({ executablePath, args: chromiumFlags })
    try {
      const page = await browser.newPage()
      const problems: string[] = []
      page.on('pageerror', (error) => problems.push(String(error)))
      await page.goto(url)
      // One red pixel.
      const red = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'
      const file = { name: 'red.png', mimeType: 'image/png', buffer: Buffer.from(red, 'base64') }
      await page.locator('input').setInputFiles(file)
      await eventually('the page shows the picture', async () => {
        const widths = (await page.evaluate('[...document.images].map((image) => image.naturalWidth)')) as number[]
        return widths.includes(1) ? true : undefined
      })
      await page.locator('input').setInputFiles({ ...file, name: 'page.html', mimeType: 'text/html' })
      await page.getByText('Choose a PNG, JPEG or WebP picture.').waitFor()
      expect(problems).toEqual([])
    } finally {
      await browser.close()
    }
  })

  test('its README has no other commands than those that start it', async () => {
    const skip = (text: string): boolean => text.includes('server.mjs')
    expect(await runShellBlocks(join(root, 'examples/upload/README.md'), { cwd: dir, commands, env, skip })).toBe(0)
  })
})

describe('outbox', () => {
  const startWorker = () => {
    const worker = Bun.spawn(['node', 'examples/outbox/worker.mjs'], {
      cwd: dir,
      env: { PATH: process.env.PATH, ...env },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    return { worker, out: new Response(worker.stdout).text(), problems: new Response(worker.stderr).text() }
  }

  test('orders and their mails do what the README shows, and a worker stops cleanly', async () => {
    const { worker, out, problems } = startWorker()
    try {
      const skip = (text: string): boolean => text.includes('worker.mjs')
      const readme = join(root, 'examples/outbox/README.md')
      expect(await runShellBlocks(readme, { cwd: dir, commands, env, skip })).toBe(2)
    } finally {
      worker.kill('SIGTERM')
    }
    expect(await worker.exited).toBe(0)
    expect(await out).toMatch(
      /^mail worker: waiting for mails \(Ctrl-C stops it\)\nmail to ada@example.com: thank you for order o-\d+, 40 euros\nmail worker: stopped\n$/,
    )
    expect(await problems).toMatch(/^order o-\d+: nobody is not an address\n$/)
  })

  test('a mail that was ordered without a worker is sent by the next one', async () => {
    const api = server.as(org.secretKey)
    const order = { hashKey: 'o-1', data: { to: 'grace@example.com', total: 5 } }
    expect((await api.put('/v1/outbox/orders', order)).status).toBe(200)
    const { worker, out } = startWorker()
    await eventually('the order says that its mail was sent', async () => {
      const { body } = await api.get('/v1/outbox/orders/o-1')
      return body.data.mailSentAt ? true : undefined
    })
    worker.kill('SIGTERM')
    expect(await worker.exited).toBe(0)
    expect(await out).toContain('mail to grace@example.com: thank you for order o-1, 5 euros')
    const { body } = await api.post('/v1/outbox/_tasks/mail/query', { limit: 1 })
    expect(body.items).toMatchObject([{ key: '["o-1"]', status: 'succeeded', attempt: 1 }])
    // What the worker wrote into the order was in the batch that finished the run.
    expect((await api.post('/v1/outbox/_tasks/mail/query', { status: 'queued' })).body.items).toEqual([])
  })
})
