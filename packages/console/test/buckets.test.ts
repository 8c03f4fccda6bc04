import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { type Console, describeConsole, goToScreen, until } from './console.ts'

// Buckets and files, as people use them in Chromium.

setDefaultTimeout(120_000)

const writeWords = /create|delete|remove|restore|upload|replace|save|change/i

/** 2 by 2 pixels. */
const pixels = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGP8z8DAwMDAxAADCBYDAwAYOwEDVdGl+gAAAABJRU5ErkJggg==',
  'base64',
)

const pathOf = (bucket: string, name: string): string =>
  `/v1/app/_buckets/${bucket}/${name.split('/').map(encodeURIComponent).join('/')}`

const put = async (
  it: Console,
  bucket: string,
  name: string,
  body: string | Buffer,
  query = '',
  type = 'text/plain',
) => {
  const response = await fetch(`${it.server.url}${pathOf(bucket, name)}?${query}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${it.organization.secretKey}`, 'content-type': type },
    body: body as BodyInit,
  })
  if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`)
}

const makeBucket = (it: Console, bucket: string) => it.request('POST', `/v1/app/_buckets/${bucket}`)
const bytesOf = (it: Console, bucket: string, name: string) => it.request('GET', pathOf(bucket, name))
const recordOf = async (it: Console, bucket: string, name: string) =>
  JSON.parse(await it.request('GET', `${pathOf(bucket, name)}?record=true`))

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const rows = (page: Page) => page.locator('table.files tbody tr')
const controlsOf = (page: Page): Promise<string[]> =>
  page
    .locator('main button, main input, main textarea, header button')
    .evaluateAll((all) => all.map((each) => `${each.textContent} ${each.getAttribute('aria-label') ?? ''}`.trim()))

/** The names of the pictures that the browser has drawn. */
const widthsOf = (page: Page, selector: string): Promise<number[]> =>
  page
    .locator(selector)
    .evaluateAll((all) => all.map((each) => (each as HTMLImageElement).naturalWidth).filter((width) => width > 0))

/** The types and texts of what the page makes an address of, from now on. */
const watchSaved = async (page: Page): Promise<() => Promise<{ type: string; text: string }[]>> => {
  await page.evaluate(() => {
    const blobs: Blob[] = []
    Object.assign(window, { blobs })
    const { createObjectURL } = URL
    URL.createObjectURL = (blob: Blob) => {
      blobs.push(blob)
      return createObjectURL(blob)
    }
  })
  return () =>
    page.evaluate(() => {
      const { blobs } = window as unknown as { blobs: Blob[] }
      return Promise.all(blobs.map(async (blob) => ({ type: blob.type, text: await blob.text() })))
    })
}

const upload = async (page: Page, files: { name: string; mimeType: string; buffer: Buffer }[]) => {
  await page.locator('input[type=file]').setInputFiles(files)
  await page.locator('dialog').getByRole('button', { name: 'Upload', exact: true }).waitFor()
}
const file = (name: string, text: string, mimeType = 'text/plain') => ({ name, mimeType, buffer: Buffer.from(text) })

describeConsole('buckets in the console', (it) => {
  test('a bucket is created, deleted by its name, restored by Undo, and restored from the list', async () => {
    const page = await it.open('#/app/_buckets')
    await button(page, 'Create a bucket').click()
    await page.getByLabel('Name').fill('My Files')
    await button(page, 'Create').click()
    await page.locator('.faulty').waitFor()
    await page.getByLabel('Name').fill('docs')
    await page.keyboard.press('Enter')
    await page.getByText('This bucket has no files.').waitFor()
    const id = JSON.parse(await it.request('GET', '/v1/app/_buckets/docs')).id
    const remove = async () => {
      await button(page, 'About').click()
      await page.locator('dialog').getByText(id).first().waitFor()
      await button(page, 'Delete the bucket').click()
      expect(await button(page, 'Delete the bucket').isDisabled()).toBe(true)
      await page.locator('dialog input').fill('docs')
      await button(page, 'Delete the bucket').click()
      await page.getByText('docs is deleted.').first().waitFor()
    }
    await remove()
    expect(JSON.parse(await it.request('GET', '/v1/app/_buckets')).buckets).toEqual([])
    await button(page, 'Undo').click()
    await page.getByText('This bucket has no files.').waitFor()
    await remove()
    await page.getByText('7 days', { exact: true }).waitFor()
    await button(page, 'Restore docs').click()
    await page.locator('main').getByRole('link', { name: 'docs', exact: true }).waitFor()
    expect(JSON.parse(await it.request('GET', '/v1/app/_buckets/docs')).id).toBe(id)
  })

  test('files are uploaded with a folder and a visibility; a name that exists asks, and replacing keeps what is stored about it', async () => {
    await makeBucket(it, 'up')
    await put(it, 'up', 'in/b #?%.txt', 'old', 'visibility=public&metadata=%7B%22n%22%3A%201.0%7D')
    const page = await it.open('#/app/_buckets/up')
    await rows(page).first().waitFor()
    await upload(page, [file('a.txt', 'first'), file('b #?%.txt', 'second'), file('kept.txt', 'third')])
    await page.getByLabel('Begin the names with').fill('in/../')
    expect(await button(page, 'Upload').isDisabled()).toBe(true)
    await page.getByLabel('Begin the names with').fill('in/')
    await put(it, 'up', 'in/kept.txt', 'theirs')
    await button(page, 'Upload').click()
    await button(page, 'Replace in/b #?%.txt').waitFor()
    await button(page, 'Skip in/kept.txt').click()
    // Three are sent at once; the one without a question may be the last to end.
    await page.locator('.upload', { hasText: 'in/a.txt' }).getByText('Done').waitFor()
    expect(await bytesOf(it, 'up', 'in/a.txt')).toBe('first')
    expect((await recordOf(it, 'up', 'in/a.txt')).visibility).toBe('private')
    expect(await bytesOf(it, 'up', 'in/b #?%.txt')).toBe('old')

    // Someone else replaces it after the question was asked: it is asked again, and their bytes stay until then.
    await put(it, 'up', 'in/b #?%.txt', 'theirs, longer', 'visibility=public&metadata=%7B%22n%22%3A%201.0%7D')
    await button(page, 'Replace in/b #?%.txt').click()
    await page.getByText('14 bytes, public').waitFor()
    expect(await bytesOf(it, 'up', 'in/b #?%.txt')).toBe('theirs, longer')
    await button(page, 'Replace in/b #?%.txt').click()
    await page.locator('.upload .tag.ok').nth(1).waitFor()
    expect(await bytesOf(it, 'up', 'in/b #?%.txt')).toBe('second')
    expect(await it.request('GET', `${pathOf('up', 'in/b #?%.txt')}?record=true`)).toContain('"metadata":{"n": 1.0}')
    expect((await recordOf(it, 'up', 'in/b #?%.txt')).visibility).toBe('public')
    expect(await bytesOf(it, 'up', 'in/kept.txt')).toBe('theirs')
    await page.getByRole('link', { name: 'in/', exact: true }).click()
    await rows(page).nth(2).waitFor()
  })

  test('files that are dropped are uploaded, public if so chosen', async () => {
    await makeBucket(it, 'drop')
    const page = await it.open('#/app/_buckets/drop')
    await page.getByText('This bucket has no files.').waitFor()
    const data = await page.evaluateHandle(() => {
      const transfer = new DataTransfer()
      transfer.items.add(new File(['dropped'], 'dropped.txt', { type: 'text/plain' }))
      return transfer
    })
    await page.dispatchEvent('.drop', 'dragover', { dataTransfer: data })
    await page.getByText('Drop files to upload them to drop').waitFor()
    await page.dispatchEvent('.drop', 'drop', { dataTransfer: data })
    await page.getByLabel('Public').check()
    await button(page, 'Upload').click()
    await rows(page).first().waitFor()
    const { url, visibility } = await recordOf(it, 'drop', 'dropped.txt')
    expect(visibility).toBe('public')
    expect(await (await fetch(url)).text()).toBe('dropped')
  })

  test('folders are opened and left by links and by the way back; the address leads to one', async () => {
    await makeBucket(it, 'tree')
    for (const name of ['a.txt', 'reports/2026/jan.txt', 'reports/2026/feb.txt', 'reports/readme.txt', 'q? &=#/x.txt'])
      await put(it, 'tree', name, 'x')
    const page = await it.open('#/app/_buckets/tree')
    const bodies: string[] = []
    page.on('request', (request) => request.url().endsWith('/query') && bodies.push(request.postData() ?? ''))
    const names = () => rows(page).locator('a').allInnerTexts()
    await until(names, ['q? &=#/', 'reports/', 'a.txt'])
    await page.locator('main').getByText('1 file and 2 folders', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'reports/', exact: true }).click()
    await until(names, ['2026/', 'readme.txt'])
    expect(page.url()).toEndWith('#/app/_buckets/tree?prefix=reports%2F')
    expect(JSON.parse(bodies.at(-1)!)).toMatchObject({ prefix: 'reports/', folders: true })
    await page.getByRole('link', { name: '2026/', exact: true }).click()
    await until(names, ['feb.txt', 'jan.txt'])
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('2026')
    expect(await it.findings(page)).toEqual([])
    await page.goBack()
    await until(names, ['2026/', 'readme.txt'])
    await page.goForward()
    await until(names, ['feb.txt', 'jan.txt'])
    // A file leads back to its folder.
    await page.getByRole('link', { name: 'jan.txt' }).click()
    await page.getByRole('heading', { name: 'jan.txt', level: 1 }).waitFor()
    await page.getByRole('link', { name: 'reports', exact: true }).click()
    await until(names, ['2026/', 'readme.txt'])
    // Every file below is listed, with its whole name, if there are no folders.
    await page.getByLabel('Order').selectOption('all')
    await until(names, ['reports/2026/feb.txt', 'reports/2026/jan.txt', 'reports/readme.txt'])
    // Signs that have a meaning in addresses.
    const odd = await it.open('#/app/_buckets/tree?prefix=q%3F%20%26%3D%23%2F')
    await until(() => rows(odd).locator('a').allInnerTexts(), ['x.txt'])
    const wrong = await it.open('#/app/_buckets/tree?folder=a')
    await wrong.getByText('The address has no folder of this bucket').waitFor()
    await wrong.getByRole('link', { name: 'Show all files' }).click()
    await until(() => rows(wrong).count(), 3)
    // Another folder is opened before the list of the first has come.
    const hasty = await it.open('#/app/_buckets')
    const held = Promise.withResolvers<void>()
    await hasty.route('**/_buckets/tree/query', async (route) => {
      if (route.request().postDataJSON().prefix !== undefined) await held.promise
      await route.continue().catch(() => {})
    })
    const asked = hasty.waitForRequest('**/_buckets/tree/query')
    await goToScreen(hasty, '#/app/_buckets/tree?prefix=reports%2F', 'reports')
    await asked
    await goToScreen(hasty, '#/app/_buckets/tree', 'tree')
    await until(() => rows(hasty).locator('a').allInnerTexts(), ['q? &=#/', 'reports/', 'a.txt'])
    held.resolve()
  })

  test('the list has pages, a prefix, orders and a count; selected files are removed only in the version that was seen', async () => {
    await makeBucket(it, 'many')
    for (let i = 0; i < 103; i++) await put(it, 'many', `n/${String(i).padStart(3, '0')}.txt`, 'x'.repeat(5))
    await put(it, 'many', 'z.txt', 'last')
    const page = await it.open('#/app/_buckets/many')
    await page.locator('main').getByText('1 file and 1 folder', { exact: true }).waitFor()
    await page.getByLabel('Order').selectOption('all')
    await until(() => rows(page).count(), 100)
    await button(page, 'More').click()
    await rows(page).nth(103).waitFor()
    await button(page, 'Count').click()
    await page.getByText('104 files in all').waitFor()
    await page.getByLabel('Order').selectOption('newest')
    await rows(page).first().getByText('z.txt').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('n/10')
    await page.locator('main').getByText('3 files', { exact: true }).waitFor()
    expect(await rows(page).locator('a').allInnerTexts()).toEqual(['100.txt', '101.txt', '102.txt'])
    await page.getByLabel('Only names that begin with').fill('nothing')
    await button(page, 'Remove the filter').click()
    await page.getByRole('link', { name: 'n/', exact: true }).click()
    await rows(page).nth(99).waitFor()

    await page.getByLabel('Select n/000.txt').check()
    await page.getByLabel('Select n/001.txt').check()
    await put(it, 'many', 'n/001.txt', 'changed meanwhile')
    await button(page, 'Remove 2 files').click()
    await page.locator('dialog').getByRole('button', { name: 'Remove 2 files' }).click()
    await page.getByText('Not removed:').waitFor()
    expect(await page.locator('dialog code').allInnerTexts()).toEqual(['n/001.txt'])
    expect(await bytesOf(it, 'many', 'n/001.txt')).toBe('changed meanwhile')
    // Says "Stop" until both have ended.
    await page.locator('dialog').getByText('Close', { exact: true }).click()
    await page.getByLabel('Select n/000.txt').waitFor({ state: 'detached' })
    await page.getByLabel('Select n/001.txt').uncheck()
    await page.getByLabel('Select n/002.txt').check()
    await button(page, 'Remove 1 file').click()
    await page.locator('dialog').getByRole('button', { name: 'Remove 1 file' }).click()
    await page.getByLabel('Select n/002.txt').waitFor({ state: 'detached' })
    await page.waitForFunction(() => document.activeElement?.id === 'main')
  })

  test('pictures are shown by the address of their file, small ones in the list, and nothing of a file becomes an address of the page', async () => {
    await makeBucket(it, 'pics')
    await put(it, 'pics', 'a.png', pixels, '', 'image/png')
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>'
    await put(it, 'pics', 'b.svg', svg, 'visibility=public', 'image/svg+xml')
    await put(it, 'pics', 'broken.png', 'not a picture', '', 'image/png')
    await put(it, 'pics', 'huge.png', Buffer.alloc(1_000_001), '', 'image/png')
    await put(it, 'pics', 'page.html', '<script>alert(1)</script>', '', 'text/html')
    const page = await it.open('#/app/_buckets')
    const saved = await watchSaved(page)
    const read: string[] = []
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (pathname.startsWith('/files/')) read.push(pathname.split('/').at(-1)!)
    })
    page.on('dialog', (dialog) => it.complaints.push(dialog.message()))
    await page.locator('main').getByRole('link', { name: 'pics' }).click()
    await until(() => widthsOf(page, '.thumbnail img'), [2, 9])
    await page.locator('.thumbnail', { hasText: 'png' }).nth(1).waitFor()
    expect(read.toSorted()).toEqual(['a.png', 'b.svg', 'broken.png'])
    const addresses = await page
      .locator('.thumbnail img')
      .evaluateAll((all) => all.map((each) => each.getAttribute('src')))
    expect(addresses).toEqual([
      expect.stringMatching(/^files\/bkt_\w{22}\/a\.png\?expires=/),
      expect.stringMatching(/^files\/bkt_\w{22}\/b\.svg\?v=\d+$/),
    ])
    await rows(page).getByText('broken.png').click()
    await page.getByText('not a picture that the browser can show').waitFor()
    await page.goBack()
    await rows(page).getByText('page.html').click()
    await page.getByLabel('Text of page.html').getByText('<script>alert(1)</script>').waitFor()
    expect(await saved()).toEqual([])
  })

  test('a public picture that is replaced is shown as it is now', async () => {
    await makeBucket(it, 'changing')
    const svg = (width: number) => `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="9"/>`
    await put(it, 'changing', 'a.svg', svg(3), 'visibility=public', 'image/svg+xml')
    const page = await it.open('#/app/_buckets/changing/f/a.svg')
    await until(() => widthsOf(page, '.file-picture img'), [3])
    await page.locator('input[type=file]').setInputFiles(file('b.svg', svg(5), 'image/svg+xml'))
    await until(() => widthsOf(page, '.file-picture img'), [5])
  })

  test('what is stored about a file is changed as typed; a change by someone else shows both versions, and nothing is lost', async () => {
    await makeBucket(it, 'meta')
    const text = '{ "a": 1.0, "a": 12345678901234567890 }'
    await put(it, 'meta', 'f.txt', 'bytes', `metadata=${encodeURIComponent(text)}`)
    const page = await it.open('#/app/_buckets/meta/f/f.txt')
    const metadata = page.getByLabel('metadata', { exact: true })
    await metadata.waitFor()
    expect(await metadata.inputValue()).toBe(text)
    await metadata.fill('{ "a": 1.0, }')
    await page.getByText('line 1, column 11').waitFor()
    expect(await button(page, 'Save').isDisabled()).toBe(true)
    const mine = '{ "a": 1.50,  "mine": 1e2 }'
    await metadata.fill(mine)
    await page.getByLabel('ttl, when it expires').fill('2099-01-31T12:00:00Z')
    await it.request('PATCH', pathOf('meta', 'f.txt'), '{"contentType":"text/csv","metadata":{ "theirs": 2.0 }}')

    await page.keyboard.press('Control+s')
    const dialog = page.locator('dialog')
    await dialog.getByText('{ "theirs": 2.0 }').waitFor()
    expect(await dialog.locator('tr.differs').count()).toBe(3)
    await button(page, 'Keep editing').click()
    expect(await metadata.inputValue()).toBe(mine)
    expect(await it.request('GET', `${pathOf('meta', 'f.txt')}?record=true`)).toContain('{ "theirs": 2.0 }')
    await button(page, 'Save').click()
    await button(page, 'Save mine over it').click()
    await dialog.waitFor({ state: 'detached' })
    const stored = await it.request('GET', `${pathOf('meta', 'f.txt')}?record=true`)
    expect(stored).toContain(`"metadata":${mine}`)
    expect(JSON.parse(stored)).toMatchObject({
      ttl: Date.parse('2099-01-31T12:00:00Z') / 1000,
      contentType: 'text/plain',
    })

    // Leaving asks, and the draft is found again.
    await metadata.fill('{"draft":true}')
    await page.getByRole('link', { name: 'Buckets', exact: true }).click()
    await button(page, 'Leave').click()
    await page.getByRole('heading', { name: 'Buckets', exact: true }).waitFor()
    await page.goBack()
    await metadata.waitFor()
    expect(await metadata.inputValue()).toBe('{"draft":true}')
    await button(page, 'Undo my changes').click()
    expect(await metadata.inputValue()).toBe(mine)
  })

  test('a file is downloaded, linked to, replaced and removed', async () => {
    await makeBucket(it, 'one')
    await put(it, 'one', 'a/b.txt', 'the bytes', 'metadata=%7B%22k%22%3A1.0%7D')
    const page = await it.open('#/app/_buckets/one/f/a%2Fb.txt')
    const saved = await watchSaved(page)
    const download = page.waitForEvent('download')
    await button(page, 'Download').click()
    expect((await download).suggestedFilename()).toBe('b.txt')
    // A type that browsers show would make it a document of the console's origin.
    expect(await saved()).toEqual([{ type: 'application/octet-stream', text: 'the bytes' }])
    await page.getByLabel('A signed link works for').selectOption('7 days')
    await button(page, 'Create link').click()
    const link = await page.getByRole('textbox', { name: 'the signed link' }).inputValue()
    expect(await (await fetch(link)).text()).toBe('the bytes')
    const expires = Number(new URL(link).searchParams.get('expires'))
    expect(Math.abs(expires - Date.now() - 604_800_000)).toBeLessThan(120_000)

    await page.locator('input[type=file]').setInputFiles(file('other.csv', 'x,y', 'text/csv'))
    await page.locator('dd', { hasText: 'text/csv' }).waitFor()
    expect(await bytesOf(it, 'one', 'a/b.txt')).toBe('x,y')
    expect(await it.request('GET', `${pathOf('one', 'a/b.txt')}?record=true`)).toContain('"metadata":{"k":1.0}')

    await put(it, 'one', 'a/b.txt', 'changed meanwhile')
    await button(page, 'Remove').click()
    const confirm = page.locator('dialog').getByRole('button', { name: 'Remove', exact: true })
    await confirm.click()
    await page.locator('dialog').getByText('17 bytes').waitFor()
    expect(await bytesOf(it, 'one', 'a/b.txt')).toBe('changed meanwhile')
    await confirm.click()
    await page.getByText('There are no files in the folder “a/”.').waitFor()
  })

  test('with a public key there is no write control, and a private file says why it is not shown', async () => {
    await makeBucket(it, 'public')
    await put(it, 'public', 'open.txt', 'open', 'visibility=public')
    await put(it, 'public', 'secret.txt', 'secret')
    const page = await it.open('#/app/_buckets/public', {}, it.organization.publicKey)
    await rows(page).first().waitFor()
    expect(await rows(page).locator('a').allInnerTexts()).toEqual(['open.txt'])
    const found = await controlsOf(page)
    await rows(page).getByText('open.txt').click()
    await page.getByText('Everybody can read this file').waitFor()
    found.push(...(await controlsOf(page)))
    await page.goto(`${it.server.url}/console#/app/_buckets`)
    await page.getByRole('heading', { name: 'Buckets', exact: true }).waitFor()
    found.push(...(await controlsOf(page)))
    expect(found.filter((words) => writeWords.test(words))).toEqual([])
    expect(found.length).toBeGreaterThan(8)
    expect(await page.locator('input[type=file]').count()).toBe(0)
    await page.goto(`${it.server.url}/console#/app/_buckets/public/f/secret.txt`)
    await page.getByText('private_file').waitFor()
  })

  test('hostile names are text, and a name that a browser would drop from a path is never sent', async () => {
    const names = ['<img src=x onerror=alert(1)>.txt', 'ü/日本 &?#%2F"\'.txt', '$&{{constructor}}', 'url', 'a\\b']
    await makeBucket(it, 'hostile')
    for (const name of names) await put(it, 'hostile', name, name)
    const page = await it.open('#/app/_buckets/hostile')
    await rows(page).nth(4).waitFor()
    expect((await rows(page).locator('a').allInnerTexts()).toSorted()).toEqual(names.with(1, 'ü/').toSorted())
    for (const name of names) {
      const steps = name.split(/(?<=\/)/)
      for (const step of steps) await rows(page).getByRole('link', { name: step, exact: true }).click()
      await page.getByRole('heading', { name: steps.at(-1)!, exact: true, level: 1 }).waitFor()
      await page.getByLabel(`Text of ${name}`).getByText(name, { exact: true }).waitFor()
      for (const _ of steps) await page.goBack()
    }
    await rows(page).nth(4).waitFor()
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    const refusals = { '..': 'has no page', '.': 'has no page', 'a%2F..': 'invalid_key', 'a%2F%2Fb': 'invalid_key' }
    for (const [name, refusal] of Object.entries(refusals)) {
      await page.goto(`${it.server.url}/console#/app/_buckets/hostile/f/${name}`)
      await page.getByText(refusal).waitFor()
    }
    expect(asked.filter((url) => url.includes('/v1/'))).toEqual([])
  })

  test('axe-core finds nothing, in light and dark, and nothing is cut off at 320 px', async () => {
    await makeBucket(it, 'look')
    await put(it, 'look', `${'long-name-'.repeat(12)}.png`, pixels, 'visibility=public', 'image/png')
    await put(it, 'look', 'data.json', '{"n":1.0}', '', 'application/json')
    const places = [
      ['#/app/_buckets', 'Buckets'],
      ['#/app/_buckets/look', 'look'],
      ['#/app/_buckets/look/f/data.json', 'data.json'],
      ['#/app/_buckets/none', 'none'],
    ] as const
    const page = await it.open('#/app/_buckets')
    for (const [hash, heading] of places) {
      await goToScreen(page, hash, heading)
      await page.locator('main table, main .facts, main .message').first().waitFor()
      expect(await it.findings(page)).toEqual([])
      // Only colours change.
      await page.emulateMedia({ colorScheme: 'dark' })
      expect(await it.findings(page, ['color-contrast'])).toEqual([])
      await page.emulateMedia({ colorScheme: 'light' })
    }
    const narrow = await it.open('#/app/_buckets', { viewport: { width: 320, height: 640 } })
    for (const [hash, heading] of places) {
      await goToScreen(narrow, hash, heading)
      await narrow.locator('main table, main .facts, main .message').first().waitFor()
      expect(await narrow.evaluate('document.documentElement.scrollWidth')).toBe(320)
      expect(await narrow.evaluate('document.querySelector("main").scrollWidth')).toBeLessThanOrEqual(320)
    }
  })
})
