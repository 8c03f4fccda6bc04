import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeConsole, until } from './console.ts'

setDefaultTimeout(120_000)

/** `{"a":1}` is shown over lines. */
const shown = (a: number): string => `{\n  "a": ${a}\n}`
/** The text before its 1. */
const shownOne = '{\n  "a": '

/** The record is a page by itself below 1,200 px. */
const asPage = { viewport: { width: 1024, height: 800 } }

const hashOf = (...parts: string[]): string => `#/app/orders/${parts.map(encodeURIComponent).join('/')}`

describeConsole('the record view', (it) => {
  beforeAll(async () => {
    await it.request('POST', '/v1/app/orders', {
      indices: { i1: { hashField: 'status', rangeField: 'placedAt' }, i2: { hashField: 'user' } },
    })
  })

  const put = async (hashKey: string, data: string, more = ''): Promise<number> =>
    JSON.parse(
      await it.request('PUT', '/v1/app/orders', `{"hashKey":${JSON.stringify(hashKey)},"data":${data}${more}}`),
    ).updatedAt
  /** The whole answer, as text. */
  const get = (...key: string[]): Promise<string> =>
    it.request('GET', `/v1/app/orders/${key.map(encodeURIComponent).join('/')}`)
  const area = (page: Page) => page.getByLabel('Data as JSON text')
  const textOf = (page: Page): Promise<string> => area(page).inputValue()
  const goTo = async (page: Page, hash: string): Promise<void> => {
    await page.evaluate((to) => {
      location.hash = to
    }, hash)
  }
  /** Types `text` before the character at `offset`. The page may move the focus once more, after something has gone. */
  const typeAt = async (page: Page, offset: number, text: string): Promise<void> => {
    const before = await textOf(page)
    for (let tries = 0; tries < 20 && (await textOf(page)) === before; tries++) {
      await area(page).evaluate((field, at) => {
        field.focus()
        ;(field as HTMLTextAreaElement).setSelectionRange(at, at)
      }, offset)
      await page.keyboard.insertText(text)
    }
    expect(await textOf(page)).toBe(before.slice(0, offset) + text + before.slice(offset))
  }
  const save = async (page: Page): Promise<void> => {
    await page.keyboard.press('Control+s')
  }
  /** The console says so, and the record has `part` in it. */
  const saved = async (page: Page, hashKey: string, part: string): Promise<string> => {
    const deadlineMs = Date.now() + 15_000
    for (;;) {
      if (Date.now() > deadlineMs) throw new Error(`${hashKey} was not saved with ${part}`)
      // A record that was deleted may not be there yet.
      const stored = await get(hashKey).catch(() => '')
      if (stored.includes(part)) {
        const { updatedAt } = JSON.parse(stored)
        await page.getByText(`Saved, version ${updatedAt}`).waitFor({ state: 'attached' })
        return stored
      }
      await Bun.sleep(50)
    }
  }
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

  // The risk: a console that parses and prints JSON rounds numbers and drops members that it only passes on.
  test('the text is shown and saved byte for byte', async () => {
    const odd =
      '{\r\n\t"n": 12345678901234567890 ,"x":1.0,"big":1e400,\r"zero":-0 , "dup":1,"dup":2,\n' +
      '"esc":"\\u0041\\/\\ud83d\\ude00 \u2028 🦊","__proto__":[ ], "e" :{ } \t}'
    await put('odd', odd)
    const page = await it.open(hashOf('r', 'odd'), asPage)
    expect(await textOf(page)).toStartWith(
      '{\n  "n": 12345678901234567890,\n  "x": 1.0,\n  "big": 1e400,\n  "zero": -0,\n',
    )
    await page.getByText('Shown formatted').waitFor()
    // One value: no byte around it changes.
    await typeAt(page, (await textOf(page)).indexOf('1e400'), '-')
    await page.getByText('White space stays as stored').waitFor()
    await save(page)
    const changed = odd.replace('1e400', '-1e400')
    expect(await saved(page, 'odd', '-1e400')).toContain(`"data":${changed},"updatedAt"`)
    // A member: the others stay where they are.
    await typeAt(page, 1, '"z": 100000000000000000001.50,')
    await save(page)
    const added = changed.replace('{\r\n\t', '{\r\n\t"z": 100000000000000000001.50,\r\n\t')
    expect(await saved(page, 'odd', '"z"')).toContain(`"data":${added},"updatedAt"`)
    // The formatting is stored on demand only, and the view says so.
    await button(page, 'Format').click()
    await page.getByText('Shown formatted').waitFor()
    expect(await button(page, 'Save').isDisabled()).toBe(true)
    await page.getByText('More').click()
    await button(page, 'Store the formatting').click()
    await page.getByText('Saving also stores the formatting').waitFor()
    await save(page)
    const formatted = await saved(page, 'odd', '\n  "z": ')
    for (const part of [
      '100000000000000000001.50',
      '12345678901234567890',
      '1.0',
      '1e400',
      '-0',
      '"dup": 2',
      '\\u0041\\/',
    ]) {
      expect(formatted).toContain(part)
    }
    expect(formatted).toContain('"dup": 1,\n')
  })

  test('a record of 409,600 bytes opens whole, can be typed in and saved', async () => {
    const lines = Array.from(
      { length: 10_480 },
      (_, i) => `  "field${String(i).padStart(5, '0')}": "value of this field",`,
    )
    const start = `{\n${lines.join('\n')}\n  "end": "`
    const large = `${start}${'x'.repeat(409_600 - start.length - 3)}"\n}`
    expect(large.length).toBe(409_600)
    await put('large', large)
    const page = await it.open('#/_pad', asPage)
    const openMs = await page.evaluate(
      async (hash) => {
        const startMs = performance.now()
        location.hash = hash
        while (!document.querySelector<HTMLTextAreaElement>('.editor textarea')?.value) {
          await new Promise(requestAnimationFrame)
        }
        await new Promise(requestAnimationFrame)
        return performance.now() - startMs
      },
      hashOf('r', 'large'),
    )
    // A limit on time says something only on a quiet machine.
    if (process.env.CUBBY_TEST_CONSOLE === 'full') expect(openMs).toBeLessThan(1_000)
    expect(await textOf(page)).toBe(large)
    expect(await page.locator('.editor-gutter').innerText()).toStartWith('1\n2\n3')
    // The editor draws only what is in view.
    expect(await page.locator('.editor-gutter > div > div').count()).toBeLessThan(80)
    await page.locator('.status-line').getByText('409,600 of 409,600 bytes').waitFor()
    await typeAt(page, 5, 'F')
    await page.getByText(/data has 409601 bytes/).waitFor()
    await page.keyboard.press('Delete')
    await page.getByText('Valid JSON').waitFor()
    await save(page)
    expect(await saved(page, 'large', '"Field')).toContain(`"data":${large.slice(0, 5)}F${large.slice(6)},"updatedAt"`)
  })

  // The risk: the second of two people overwrites what the first saved, and nobody notices.
  test('two people: nobody is overwritten unseen, and nothing typed is lost', async () => {
    await put('shared', '{\n  "status": "open",\n  "n": 1\n}')
    const page = await it.open(hashOf('r', 'shared'), asPage)
    await typeAt(page, (await textOf(page)).indexOf('1'), '9')
    await put('shared', '{\n  "status": "paid",\n  "n": 1\n}')
    await save(page)
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The record was changed meanwhile').waitFor()
    expect(await dialog.locator('.diff-changed').allInnerTexts()).toEqual([
      expect.stringContaining('"status": "open"'),
      expect.stringContaining('"n": 91'),
      expect.stringContaining('"status": "paid"'),
      expect.stringContaining('"n": 1'),
    ])
    expect(await dialog.locator('mark').allInnerTexts()).toEqual(['"open"', '91', '"paid"', '1'])
    expect(await dialog.locator('.members legend').allInnerTexts()).toEqual([
      'status changed by somebody else',
      'n changed by you',
    ])
    expect(await it.findings(page)).toEqual([])
    // Esc decides nothing: the next save asks again.
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await save(page)
    await dialog.getByText('The record was changed meanwhile').waitFor()
    // Each has changed another member: both changes go on, and the next save replaces the version that was shown.
    await button(page, 'Keep editing').click()
    expect(await textOf(page)).toBe('{\n  "status": "paid",\n  "n": 91\n}')
    expect(await page.locator('.record-top .message').innerText()).toMatch(/Taken from it: status\.\s+Yours: n\./)
    expect(await it.findings(page)).toEqual([])
    await save(page)
    await saved(page, 'shared', '"status": "paid",\n  "n": 91')
    expect(await page.locator('.record-top .message').count()).toBe(0)
    // Both have changed the same one: mine is offered first, theirs can be taken.
    await typeAt(page, (await textOf(page)).indexOf('91'), '7')
    await put('shared', '{\n  "status": "paid",\n  "n": 5\n}')
    await save(page)
    await dialog.getByText('changed by both').waitFor()
    expect(await dialog.getByRole('radio', { name: 'Yours 791' }).isChecked()).toBe(true)
    await dialog.getByRole('radio', { name: 'Stored 5' }).check()
    await button(page, 'Keep editing').click()
    expect(await textOf(page)).toBe('{\n  "status": "paid",\n  "n": 5\n}')
    expect(await button(page, 'Save').isDisabled()).toBe(true)
    // A third writer, after the comparison was shown and after editing has gone on.
    await typeAt(page, (await textOf(page)).indexOf('5'), '91')
    await put('shared', '{ "second": true }')
    await save(page)
    await dialog.getByText('"second": true').waitFor()
    await button(page, 'Keep editing').click()
    await put('shared', '{ "third": true }')
    await save(page)
    await dialog.getByText('"third": true').waitFor()
    await put('shared', '{ "third": 3 }')
    await button(page, 'Save mine over it').click()
    await dialog.getByText('"third": 3').waitFor()
    expect(await get('shared')).toContain('third')
    await button(page, 'Save mine over it').click()
    await saved(page, 'shared', '"n": 915')
    // Taking the stored one can be undone.
    await typeAt(page, 1, '"x": 0,')
    await put('shared', '{ "fourth": true }')
    await save(page)
    await button(page, 'Take the stored one').click()
    expect(await textOf(page)).toBe('{\n  "fourth": true\n}')
    await button(page, 'Undo').click()
    expect(await textOf(page)).toContain('"n": 915')
  })

  test('deleted meanwhile: said, and saved anew only on demand', async () => {
    await put('gone', '{"a":1}')
    const page = await it.open(hashOf('r', 'gone'), asPage)
    await typeAt(page, shownOne.length, '2')
    await it.request('DELETE', '/v1/app/orders/gone')
    await save(page)
    await page.getByText('The record was deleted meanwhile').waitFor()
    // Going on means that the next save creates it, and still replaces nothing.
    await button(page, 'Keep editing').click()
    await page.getByText('The record does not exist any more.').waitFor()
    await put('gone', '{"theirs":1}')
    await save(page)
    await page.getByText('The record was changed meanwhile').waitFor()
    await page.keyboard.press('Escape')
    await it.request('DELETE', '/v1/app/orders/gone')
    await save(page)
    await page.getByText('The record does not exist any more.').waitFor({ state: 'detached' })
    await it.request('DELETE', '/v1/app/orders/gone')
    await typeAt(page, shownOne.length, '2')
    await save(page)
    await page.getByText('The record was deleted meanwhile').waitFor()
    await button(page, 'Save mine as a new record').click()
    await saved(page, 'gone', '"a": 221')
  })

  test('a delete does not remove what somebody else has just written', async () => {
    await put('del', '{"a":1}')
    const page = await it.open(hashOf('r', 'del'), asPage)
    // The page has read the first version.
    await until(() => textOf(page), shown(1))
    await put('del', '{"a":2}')
    await page.getByText('More').click()
    await button(page, 'Delete').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('The record was changed meanwhile').waitFor()
    expect(await get('del')).toContain('{"a":2}')
    await button(page, 'Delete the stored one').click()
    await page.waitForURL((url) => url.hash === '#/app/orders')
    expect(await it.request('POST', '/v1/app/orders/find', { keys: [{ hashKey: 'del' }] })).toContain('"items":[]')
  })

  test('no answer: it may have been saved, and reading again tells', async () => {
    await put('lost', '{"a":1}')
    const page = await it.visit(hashOf('r', 'lost'), asPage)
    let fate: 'answered' | 'applied, then cut' | 'cut' = 'answered'
    let cuts = 0
    // Set before the page signs in, so that it holds for every request of the form.
    await page.route('**/v1/app/orders', async (route) => {
      if (fate === 'answered' || route.request().method() !== 'PUT') return route.continue()
      if (fate === 'applied, then cut') expect((await route.fetch()).status()).toBe(200)
      await route.abort()
      cuts++
    })
    await it.signIn(page)
    await typeAt(page, shownOne.length, '2')
    fate = 'applied, then cut'
    await save(page)
    await until(() => cuts, 1)
    await page.getByText('It may have been saved all the same.').waitFor()
    expect(await textOf(page)).toBe(shown(21))
    fate = 'answered'
    await button(page, 'Read the record again').click()
    await saved(page, 'lost', '{"a":21}')
    // The second time it did not arrive.
    await typeAt(page, shownOne.length, '3')
    fate = 'cut'
    await save(page)
    await until(() => cuts, 2)
    await button(page, 'Read the record again').click()
    await page.getByText('The stored record is as it was before.').waitFor()
    expect(await textOf(page)).toBe(shown(321))
    fate = 'answered'
    await save(page)
    await saved(page, 'lost', '{"a":321}')
  })

  test('leaving with unsaved text asks; a draft outlives it and a revoked key', async () => {
    await put('draft', '{"a":1}')
    const { id, key } = JSON.parse(await it.request('POST', '/api/keys', { kind: 'secret' }))
    const page = await it.open(hashOf('r', 'draft'), asPage, key)
    await typeAt(page, shownOne.length, '2')
    await page.getByRole('link', { name: 'app', exact: true }).first().click()
    await page.getByText('Leave without saving?').waitFor()
    await button(page, 'Cancel').click()
    expect(await textOf(page)).toBe(shown(21))
    await page.getByRole('link', { name: 'app', exact: true }).first().click()
    // Nothing is destroyed by leaving: the button is not red.
    expect(await button(page, 'Leave').getAttribute('class')).toBe('filled')
    await button(page, 'Leave').click()
    await area(page).waitFor({ state: 'detached' })
    await goTo(page, hashOf('r', 'draft'))
    await page.getByText('Your unsaved text from before.').waitFor()
    expect(await textOf(page)).toBe(shown(21))
    await it.request('DELETE', `/api/keys/${id}`)
    await save(page)
    await page.getByLabel('API key').fill(it.organization.secretKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Your unsaved text from before.').waitFor()
    expect(await textOf(page)).toBe(shown(21))
    await button(page, 'Discard it').click()
    expect(await textOf(page)).toBe(shown(1))
    expect(await get('draft')).toContain('{"a":1}')
  })

  test('a public key sees the whole text and no way to change it', async () => {
    await put('read', '{"a":1.0}', ',"ttl":4102444800')
    const page = await it.open(hashOf('r', 'read'), asPage, it.organization.publicKey)
    expect(await textOf(page)).toBe('{\n  "a": 1.0\n}')
    expect(await area(page).getAttribute('readonly')).not.toBeNull()
    expect(await page.locator('main input').count()).toBe(0)
    expect(await page.locator('main button').allTextContents()).toEqual(['Copy', 'Copy the hash key', 'Copy as curl'])
    expect(await page.locator('main').innerText()).toContain('2100-01-01 00:00:00 UTC')
    await goTo(page, hashOf('_new'))
    await page.getByText('Sign in with a secret key to create a record.').waitFor()
    expect(await area(page).count()).toBe(0)
  })

  test('faults name line, column and what was expected, and lead there', async () => {
    await put('fault', '{\n  "status": "open",\n  "user": "ada"\n}')
    const page = await it.open(hashOf('r', 'fault'), asPage)
    await page.getByText('Valid JSON · in i2').waitFor()
    await typeAt(page, (await textOf(page)).length - 1, ',')
    const fault = page.locator('.status-fault')
    await fault.getByText('line 4, column 1: expected a value after the comma').waitFor()
    await save(page)
    expect(await get('fault')).toContain('"ada"\n}')
    await page.keyboard.press('Delete')
    await typeAt(page, (await textOf(page)).indexOf('"ada"'), '[1],"x":')
    await page.getByText('user is an array; index i2 takes a string, number or boolean').waitFor()
    await area(page).press('Control+Home')
    await fault.press('Enter')
    await page.getByText('line 3, column 11').last().waitFor()
    await until(
      () => area(page).evaluate((field) => (field as HTMLTextAreaElement).selectionStart),
      (await textOf(page)).indexOf('[1]'),
    )
  })

  test('the ttl: typed as a time from now, shown as the time it means, removed when it is empty', async () => {
    await put('ttl', '{"a":1}')
    const page = await it.open(hashOf('r', 'ttl'), asPage)
    await page.getByLabel('Expires (ttl)').fill('in 30 days')
    const before = Math.floor(Date.now() / 1000)
    await save(page)
    const { ttl } = JSON.parse(await saved(page, 'ttl', '"ttl":'))
    expect(ttl).toBeGreaterThanOrEqual(before + 30 * 86_400)
    expect(ttl).toBeLessThan(before + 30 * 86_400 + 60)
    // "Saved" may be said a moment before the field shows the time.
    await until(
      () => page.getByLabel('Expires (ttl)').inputValue(),
      new Date(ttl * 1000).toISOString().replace('.000', ''),
    )
    await page.getByLabel('Expires (ttl)').fill('soon')
    await page.getByText('Give epoch seconds, a date-time').waitFor()
    await save(page)
    expect(JSON.parse(await get('ttl')).ttl).toBe(ttl)
    await page.getByLabel('Expires (ttl)').fill('')
    await save(page)
    await saved(page, 'ttl', '"data":{"a":1},"updatedAt"')
  })

  test('a time from now means the second in which it was sent, however late the answer comes', async () => {
    const page = await it.open(hashOf('_new'), asPage)
    await page.getByLabel('Hash key').fill('slow')
    await page.getByLabel('Expires (ttl)').fill('in 30 days')
    // The answer comes in a later second.
    await page.route(/\/v1\/app\/orders/, async (route) => {
      const response = await route.fetch()
      await Bun.sleep(1_100)
      await route.fulfill({ response })
    })
    await area(page).fill('{}')
    await save(page)
    const { ttl } = JSON.parse(await saved(page, 'slow', '"data":{}'))
    // It is saved, so nothing asks before it opens.
    await page.waitForURL(`**${hashOf('r', 'slow')}`)
    const stored = new Date(ttl * 1000).toISOString().replace('.000', '')
    // The form of the new record is still shown at first.
    await until(() => page.getByLabel('Expires (ttl)').inputValue(), stored)
  })

  test('a new record, with a key that no input can hold; it never replaces one that exists', async () => {
    const page = await it.open(hashOf('_new'), asPage)
    expect(await textOf(page)).toBe('{\n  \n}')
    await button(page, 'Start with the fields of the indices: status, placedAt, user').click()
    expect(JSON.parse(await textOf(page))).toEqual({ status: '', placedAt: '', user: '' })
    await page.getByLabel('As a JSON string').first().check()
    await page.getByLabel('Hash key').fill('"a/b\\nc\\u0000<img src=x onerror=alert(1)>"')
    await page.getByLabel('Range key').fill('🦊/😀')
    expect(await it.findings(page)).toEqual([])
    await save(page)
    await page.waitForURL((url) => url.hash.startsWith('#/app/orders/r/'))
    const key = ['a/b\nc\0<img src=x onerror=alert(1)>', '🦊/😀']
    expect(page.url()).toEndWith(hashOf('r', ...key))
    await page.getByRole('heading', { name: '"a/b\\nc\\u0000<img src=x onerror=alert(1)>"' }).waitFor()
    expect(JSON.parse(await get(...key))).toMatchObject({ hashKey: key[0], rangeKey: key[1] })
    expect(await page.locator('main img').count()).toBe(0)
    // The record is saved under a key that exists, and then under one that does not.
    await put('taken', '{"first":true}')
    await page.getByText('More').click()
    await button(page, 'Save as another key').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Hash key').fill('"taken"')
    await dialog.getByLabel('Range key').fill('#')
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await dialog.getByText('precondition_failed').waitFor()
    expect(await get('taken')).toContain('{"first":true}')
    await dialog.getByLabel('Hash key').fill('"free"')
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await page.waitForURL((url) => url.hash === hashOf('r', 'free'))
    expect(JSON.parse(await get('free')).data).toEqual({ status: '', placedAt: '', user: '' })
  })

  test('a save is seen, with the time of its version, and ages go on and agree', async () => {
    await put('seen', '{"a":1}')
    const page = await it.visit(hashOf('r', 'seen'))
    await page.addInitScript(`{
      const RightDate = Date
      globalThis.offMs = 0
      globalThis.Date = class extends RightDate {
        constructor(...given) { super(...(given.length === 0 ? [Date.now()] : given)) }
        static now() { return RightDate.now() + globalThis.offMs }
      }
    }`)
    await page.reload()
    await it.signIn(page)
    await typeAt(page, shownOne.length, '2')
    await save(page)
    const { updatedAt } = JSON.parse(await saved(page, 'seen', '{"a":21}'))
    const time = new Date(updatedAt)
      .toISOString()
      .replace('T', ' ')
      .replace(/(\.000)?Z/, '')
    const line = page.locator('.status-line')
    await line.getByText(`Saved ${time} UTC`).waitFor()
    expect(await it.findings(page)).toEqual([])
    await line.getByText('Valid JSON').waitFor()
    // The row of the grid and the facts beside it.
    const ages = () =>
      page
        .locator(`time[datetime="${new Date(updatedAt).toISOString()}"]`)
        .evaluateAll((times) => times.map((each) => each.textContent))
    await until(ages, ['just now', 'just now'])
    await page.evaluate('globalThis.offMs = 5 * 60_000')
    await until(ages, ['5 min ago', '5 min ago'])
    // There is one way of writing an exact time.
    const shownTimes = (await page.locator('main').innerText()).match(/\d{4}-\d\d-\d\d.\d\d:\d\d:\d\d\S*( UTC)?/g) ?? []
    expect(shownTimes).toEqual([`${time} UTC`])
  })

  test('beside the grid, by keyboard alone: edit, save, close', async () => {
    await put('panel', '{ "status": "open" }')
    const page = await it.open(hashOf('r', 'panel'))
    const panel = page.getByRole('complementary', { name: 'Record panel' })
    await panel.getByText('Valid JSON').waitFor()
    expect(await it.findings(page)).toEqual([])
    // Looking and laying out change nothing: Esc asks nothing.
    await typeAt(page, 1, '  ')
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
    await page.goBack()
    await panel.getByText('Valid JSON').waitFor()
    await typeAt(page, 1, ' "n": 7,')
    // Tab leaves the editor: it is no trap.
    await page.keyboard.press('Tab')
    await until(() => page.evaluate(() => document.activeElement?.textContent?.startsWith('Save')), true)
    await page.keyboard.press('Enter')
    const { updatedAt } = JSON.parse(await saved(page, 'panel', '{ "n": 7, "status": "open" }'))
    await panel.getByText(String(updatedAt)).first().waitFor()
    await typeAt(page, 1, ' "m": 8,')
    await page.keyboard.press('Escape')
    const question = page.getByText('Leave without saving?')
    await question.waitFor()
    await page.keyboard.press('Escape')
    await question.waitFor({ state: 'detached' })
    const edited = await textOf(page)
    await area(page).fill(edited.replace(' "m": 8,', ''))
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
  })

  test('axe-core finds nothing, light and dark; at 320 px nothing is cut off', async () => {
    await put('axe', '{\n  "status": "open", "n": 1.0, "ok": true, "none": null\n}', ',"ttl":4102444800')
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await it.open(hashOf('r', 'axe'), { viewport: { width: 320, height: 640 }, colorScheme })
      await page.getByText('Valid JSON').waitFor()
      expect(await it.findings(page)).toEqual([])
      await typeAt(page, 1, ',')
      await page.locator('.status-fault').waitFor()
      expect(await it.findings(page)).toEqual([])
      for (const hash of [hashOf('r', 'axe'), hashOf('_new')]) {
        await page.keyboard.press('Control+z')
        await goTo(page, hash)
        await area(page).waitFor()
        const overflow = await page.evaluate(() => {
          const main = document.querySelector('main')!
          return [document.documentElement.scrollWidth, main.scrollWidth - main.clientWidth]
        })
        expect(overflow).toEqual([320, 0])
      }
      await page.context().close()
    }
  })

  test('the spaces of a key are seen, and a key of 1,024 bytes leaves room for the record on a small phone', async () => {
    const long = 'k'.repeat(1024)
    for (const key of [' a  b ', long]) await put(key, '{"n":1}')
    const page = await it.open(hashOf('r', ' a  b '))
    expect(await page.locator('.record-title h2').innerText()).toBe('" a  b "')
    const small = await it.open(hashOf('r', long), { viewport: { width: 320, height: 640 } })
    expect(await small.locator('h1').innerText()).toBe(long)
    await small.getByLabel('Data as JSON text').waitFor()
    expect(await small.evaluate('document.querySelector("main").clientHeight')).toBeGreaterThan(320)
  })
})
