import { expect, setDefaultTimeout, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { describeConsole, goToScreen } from './console.ts'

setDefaultTimeout(120_000)

describeConsole('importing', (it) => {
  const choose = async (page: Page, content: string | Buffer, name = 'records.ndjson'): Promise<void> => {
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({ name, mimeType: 'application/x-ndjson', buffer: Buffer.from(content) })
    await page.getByRole('button', { name: 'Import', exact: true }).click()
  }
  const ended = (page: Page, how = 'Imported') => page.getByRole('heading', { name: new RegExp(`^${how}: `) }).waitFor()
  const facts = (page: Page): Promise<string> => page.locator('.facts').innerText()
  const badLines = async (page: Page): Promise<string[]> =>
    (await page.locator('.import-lines tbody tr').allInnerTexts()).map((row) => row.replace('\t', ' '))
  const count = async (table: string): Promise<number> =>
    JSON.parse(await it.request('POST', `/v1/app/${table}/query`, { index: 't', select: 'count' })).count

  test('tables are created as declared, bad lines are listed, the rest arrives byte for byte', async () => {
    const exact = '{ "n": 12345678901234567890,"x":1.0 ,"big":1e400,"x":2, "s":"\\u0041\\/🦊" }'
    const deep = `${'{"a":'.repeat(64)}{}${'}'.repeat(64)}`
    const lines = [
      '{"db":"app","table":"people","indices":{"i1":{"hashField":"born"}}}',
      `{"db":"app","table":"people","hashKey":"exact","rangeKey":"a/b\\n🦊","data":${exact}}`,
      '{"db":"app","table":"people","hashKey":"twice","data":{"n":1}}',
      'not JSON',
      '{"db":"app","table":"people","hashKey":"alan","data":{"born":[1912]}}',
      // Only the server knows how deep data may be: the batch is sent again without it.
      `{"db":"app","table":"people","hashKey":"deep","data":${deep}}`,
      '{"db":"app","table":"people","hashKey":"twice","data":{"n":2}}',
      '{"db":"app","table":"people","hashKey":"old","data":{},"ttl":1}',
      '{"db":"app","table":"nowhere","hashKey":"a","data":{}}',
      '{"db":"app","table":"nowhere","hashKey":"b","data":{}}',
      '',
      '{"db":"app","table":"people","hashKey":"last","data":{"born":1815},"ttl":4102444800}',
    ]
    const page = await it.open('#/_import')
    await page.getByText('Existing records are overwritten.').waitFor()
    await choose(page, lines.join('\n'))
    await ended(page, 'Imported in part')
    expect(await facts(page)).toContain('4 imported')
    expect(await facts(page)).toContain('12 read, 5 refused, 1 expired and skipped')
    expect(await badLines(page)).toEqual([
      expect.stringMatching(/^4 the line is not JSON: column 1: expected a value/),
      '5 data: born is an array; index i1 takes a string, number or boolean.',
      expect.stringMatching(/^6 data .*64/),
      expect.stringMatching(/^9 there is no table app\/nowhere/),
    ])
    expect(await it.request('GET', `/v1/app/people/exact/${encodeURIComponent('a/b\n🦊')}`)).toContain(
      `"data":${exact},"updatedAt"`,
    )
    expect(await it.request('GET', '/v1/app/people/twice')).toContain('{"n":2}')
    expect(await it.request('GET', '/v1/app/people/last')).toContain('"ttl":4102444800')
    expect(await it.request('GET', '/v1/app/people')).toContain('"hashField":"born"')
    expect(await it.findings(page)).toEqual([])
  })

  test('into a chosen table, by batches of 25, over answers of a busy server; gzip is read', async () => {
    const page = await it.open('#/_import')
    const sizes: number[] = []
    let busy = 2
    await page.route('**/batch', async (route) => {
      if (busy-- > 0) {
        const error = { code: 'unavailable', message: 'Busy.', requestId: 'r' }
        await route.fulfill({ status: 503, headers: { 'retry-after': '0' }, body: JSON.stringify({ error }) })
        return
      }
      sizes.push(JSON.parse(route.request().postData()!).operations.length)
      await route.continue()
    })
    const lines = Array.from({ length: 1_001 }, (_, i) => `{"hashKey":"k${i}","data":{"i":${i}}}`)
    await page.getByLabel('Database', { exact: true }).fill('app')
    await page.getByLabel('Table', { exact: true }).fill('fresh')
    await page.getByLabel('Create missing tables').check()
    await choose(page, gzipSync(lines.join('\n')), 'records.ndjson.gz')
    await ended(page)
    expect(await facts(page)).toContain('1,001 imported')
    expect(await count('fresh')).toBe(1_001)
    expect(Math.max(...sizes)).toBe(25)
    expect(sizes).toHaveLength(41)
    expect(await page.locator('.import-lines').count()).toBe(0)
  })

  test('a stop ends it, many bad lines are counted and the first 100 shown', async () => {
    const page = await it.open('#/_import', { viewport: { width: 320, height: 640 }, colorScheme: 'dark' })
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const sent = Promise.withResolvers<void>()
    await page.route('**/batch', async (route) => {
      sent.resolve()
      await held
      await route.continue()
    })
    await page.getByLabel('Database', { exact: true }).fill('app')
    await page.getByLabel('Table', { exact: true }).fill('fresh')
    const lines = Array.from({ length: 5_000 }, (_, i) => `{"hashKey":"s${i}","data":{}}`)
    await choose(page, `${'x\n'.repeat(250)}${lines.join('\n')}`)
    await page.getByText('Refused lines: 100 of 250 shown').waitFor()
    expect(await badLines(page)).toHaveLength(100)
    // It goes on while another screen is shown.
    await page.evaluate(() => {
      location.hash = '#/_pad'
    })
    await page.getByRole('heading', { name: 'Request pad' }).waitFor()
    await page.evaluate(() => {
      location.hash = '#/_import'
    })
    // Bad lines are shown before the first good ones are sent; what is sent is imported in spite of the stop.
    await sent.promise
    await page.getByRole('button', { name: 'Stop' }).click()
    release()
    await ended(page, 'Stopped')
    const records = Number(/(\d+) imported/.exec(await facts(page))![1])
    expect(records).toBeGreaterThan(0)
    expect(records).toBeLessThan(5_000)
    const stored = JSON.parse(
      await it.request('POST', '/v1/app/fresh/find', { keys: [{ hashKey: 's0' }, { hashKey: `s${records}` }] }),
    )
    expect(stored.items.map(({ hashKey }: { hashKey: string }) => hashKey)).toEqual(['s0'])
    expect(await it.findings(page)).toEqual([])
    const width = await page.evaluate(() => document.querySelector('main')!.scrollWidth)
    expect(width).toBeLessThanOrEqual(320)
  })

  test('a file of which no line was taken is not called imported', async () => {
    const page = await it.open('#/_import')
    await choose(page, 'not JSON\nneither\n')
    await ended(page, 'Nothing imported')
    await page.getByRole('status').getByText('Nothing imported: 0 records, 2 lines').waitFor({ state: 'attached' })
    await choose(page, '')
    await ended(page, 'Nothing imported')
  })

  test('CSV: opened from a table it goes into that table; keys, numbers and the first rows are shown before', async () => {
    await it.request('POST', '/v1/app/people2', { indices: { i1: { hashField: 'city' } } })
    const page = await it.open('#/app/people2')
    await page.locator('header').getByRole('link', { name: 'Import' }).click()
    await page.getByRole('heading', { name: 'Import', level: 1 }).waitFor()
    const content = `email,city,n,zip\r\nada@x.com,"Lon""don, SE",12345678901234567890,0815\r\nli@x.com,,x,1\r\n${Array.from({ length: 30 }, (_, i) => `k${i},c,${i},0${i}`).join('\r\n')}`
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(content) })
    await page.getByLabel('Hash key').waitFor()
    expect(await page.getByLabel('Database', { exact: true }).inputValue()).toBe('app')
    expect(await page.getByLabel('Table', { exact: true }).inputValue()).toBe('people2')
    expect(await page.getByLabel('Hash key').inputValue()).toBe('email')
    const preview = page.getByRole('region', { name: 'The first 20 rows' })
    expect(await preview.locator('tbody tr').count()).toBe(20)
    expect(await preview.innerText()).toContain('"Lon\\"don, SE"')
    // One of the rows has no number: the column is text until the reader says otherwise.
    expect(await page.getByLabel('n', { exact: true }).isChecked()).toBe(false)
    await page.getByLabel('n', { exact: true }).check()
    await preview.getByText('x is no number').waitFor()
    expect(await it.findings(page)).toEqual([])
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await ended(page, 'Imported in part')
    expect(await facts(page)).toContain('31 imported')
    expect(await facts(page)).toContain('rows\n32 read, 1 refused')
    await page.getByRole('heading', { name: 'Refused rows: 1' }).waitFor()
    // The form is as it was, so that the import can be tried again.
    expect(await page.getByLabel('Hash key').inputValue()).toBe('email')
    expect(await page.getByLabel('n', { exact: true }).isChecked()).toBe(true)
    expect(await badLines(page)).toEqual([expect.stringMatching(/^3 n is "x"; a column of numbers/)])
    expect(await it.request('GET', '/v1/app/people2/ada@x.com')).toContain(
      '"data":{"email":"ada@x.com","city":"Lon\\"don, SE","n":12345678901234567890,"zip":"0815"}',
    )
    await page.setViewportSize({ width: 320, height: 640 })
    expect(await page.evaluate(() => document.querySelector('main')!.scrollWidth)).toBeLessThanOrEqual(320)
  })

  test('a table that is missing is said before, and created by one button; the form is kept over screens', async () => {
    const page = await it.open('#/_import')
    let batches = 0
    await page.route('**/batch', async (route) => {
      batches++
      await route.continue()
    })
    const buffer = Buffer.from('id,n\na,1\nb,2\n\n')
    await page.getByLabel('File', { exact: true }).setInputFiles({ name: 'new.csv', mimeType: 'text/csv', buffer })
    await page.getByLabel('Hash key').waitFor()
    await page.getByLabel('Database', { exact: true }).fill('app')
    await page.getByLabel('Table', { exact: true }).fill('not-there')
    await page.getByText('There is no such table yet. Tick').waitFor()
    await page.getByLabel('n', { exact: true }).uncheck()
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('There is no table app/not-there.').waitFor()
    expect(batches).toBe(0)
    expect(await it.findings(page)).toEqual([])
    await goToScreen(page, '#/_pad', 'Request pad')
    await goToScreen(page, '#/_import', 'Import')
    expect(await page.getByLabel('Table', { exact: true }).inputValue()).toBe('not-there')
    expect(await page.getByLabel('n', { exact: true }).isChecked()).toBe(false)
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByRole('button', { name: 'Create it and import' }).click()
    await ended(page)
    expect(await facts(page)).toContain('2 read, 0 refused')
    expect(await it.request('GET', '/v1/app/not-there/b')).toContain('{"id":"b","n":"2"}')
    // The form is empty after an import of the whole file.
    expect(await page.getByLabel('Table', { exact: true }).inputValue()).toBe('')
    // Lines of NDJSON may declare their tables, so that is known only afterwards.
    await choose(
      page,
      '{"db":"app","table":"later","hashKey":"a","data":{}}\n{"db":"app","table":"later","hashKey":"b","data":{}}\n',
    )
    await ended(page, 'Nothing imported')
    await page.getByText('There is no table app/later.', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Create it and try again' }).click()
    await ended(page)
    expect(await count('later')).toBe(2)
  })

  test('CSV: a file that is not CSV is said before the import, and ends it', async () => {
    const page = await it.open('#/_import/app/people2')
    const buffer = Buffer.from('a,a\n1,2\n')
    await page.getByLabel('File', { exact: true }).setInputFiles({ name: 'twice.csv', mimeType: 'text/csv', buffer })
    await page.getByText('columns 1 and 2 are both called').first().waitFor()
    expect(await page.getByRole('button', { name: 'Import', exact: true }).isDisabled()).toBe(true)
  })

  test('a public key gets no form', async () => {
    const page = await it.open('#/_import', {}, it.organization.publicKey)
    await page.getByText('Sign in with a secret key to import records.').waitFor()
    expect(await page.locator('main input, main button').count()).toBe(0)
  })
})
