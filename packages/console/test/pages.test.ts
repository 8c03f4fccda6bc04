import { expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import type { Page } from 'playwright-core'
import { describeConsole, goToScreen, until } from './console.ts'

// The screens beside the tables, files and tasks: databases, declaration, keys, request pad.

setDefaultTimeout(120_000)

const writeWords = /\bcreate\b|delete|remove|revoke|restore|new record|import|save|upload/i

/** The screens with their headings. */
const screens = [
  ['#/', 'Overview'],
  ['#/shop', 'shop'],
  ['#/shop/orders/_about', 'About'],
  ['#/_keys', 'Keys'],
  ['#/_pad', 'Request pad'],
] as const

/** The words of everything that can be pressed. */
const controlsOf = async (page: Page): Promise<string[]> =>
  page
    .locator('button, a, input, select, textarea')
    .evaluateAll((all) =>
      all.map((element) => `${element.textContent} ${element.getAttribute('aria-label') ?? ''}`.trim()),
    )

describeConsole('the pages of the console', (it) => {
  test('an empty store shows the first steps, and the sample data is loaded and removed by one click each', async () => {
    const page = await it.open()
    await page.getByRole('heading', { name: 'First steps' }).waitFor()
    expect(await page.locator('.checklist li .tag').allInnerTexts()).toEqual(['to do', 'to do', 'to do', 'to do'])
    await page.getByRole('button', { name: 'Load sample data' }).click()
    await page.getByRole('heading', { name: 'orders' }).waitFor()
    const stored = await it.request('POST', '/v1/cubby-sample/orders/query', { index: 't', select: 'count' })
    expect(JSON.parse(stored).count).toBe(100)
    await page.getByRole('link', { name: 'Overview' }).click()
    // The first steps are done, and the newest writes are shown.
    await page.locator('.checklist').waitFor()
    expect(await page.locator('.checklist li .tag').allInnerTexts()).toEqual(['done', 'done', 'to do', 'to do'])
    await page.locator('.newest').getByRole('link', { name: 'ord_1100' }).waitFor()
    await page.locator('.checklist').getByRole('link', { name: 'Keys' }).waitFor()
    await page.getByRole('link', { name: 'cubby-sample' }).first().click()
    await page.getByRole('button', { name: 'Remove the sample data' }).click()
    await page.getByRole('button', { name: 'Load sample data' }).waitFor()
    // Nothing else is in the organization, and yet what was deleted is found.
    await page.getByRole('button', { name: 'Restore cubby-sample / orders' }).waitFor()
    expect(JSON.parse(await it.request('GET', '/v1/cubby-sample')).tables).toEqual([])
  })

  test('the examples of "Connect from code" work when they are pasted', async () => {
    const page = await it.open()
    await page.getByRole('banner').getByRole('button', { name: 'Connect from code' }).click()
    await page.locator('dialog pre').nth(1).waitFor()
    const [curl, typescript] = await page.locator('dialog pre').allInnerTexts()
    const env = { ...process.env, CUBBY_KEY: it.organization.secretKey }
    const commands = curl!.replace(/^export .*\n/, '')
    const shell = Bun.spawnSync(['sh', '-ec', commands], { env })
    expect(shell.stdout.toString()).toContain('"data":{"text":"hello"}')
    const file = `${import.meta.dir}/../dist/connect-example.ts`
    await Bun.write(file, typescript!)
    const program = Bun.spawnSync([process.execPath, file], { env })
    expect(program.stdout.toString() + program.stderr.toString()).toContain('text: "hello"')
  })

  test('a table is created with its indices, described, deleted by its name, and restored', async () => {
    const page = await it.open()
    await page.getByRole('button', { name: 'Create a table' }).first().click()
    await until(() => page.evaluate(() => document.activeElement?.closest('.field')?.textContent), 'Database')
    await page.getByRole('textbox', { name: 'Database' }).fill('Shop')
    await page.getByRole('textbox', { name: 'Table' }).fill('orders')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.locator('.faulty').waitFor()
    await page.getByRole('textbox', { name: 'Database' }).fill('shop')
    await page.getByRole('button', { name: 'Add an index' }).click()
    await page.getByLabel('i1 hash field').fill('status')
    await page.getByLabel('i1 range field').fill('createdAt')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('heading', { name: 'orders' }).waitFor()
    const described = JSON.parse(await it.request('GET', '/v1/shop/orders'))
    expect(described.indices).toEqual({ i1: { hashField: 'status', rangeField: 'createdAt' } })
    await it.request('PUT', '/v1/shop/orders', '{"hashKey":"a","data":{"status":"op\\"en","createdAt":1e3}}')

    await page.goto(`${it.server.url}/console#/shop/orders/_about`)
    const queries = page.locator('section[aria-label^="Query"]')
    await queries.nth(2).waitFor()
    const bodies = await queries.allInnerTexts()
    expect(bodies).toHaveLength(3)
    for (const body of bodies) expect(JSON.parse(await it.request('POST', '/v1/shop/orders/query', body)).count).toBe(1)

    await page.getByRole('button', { name: 'Delete the table' }).click()
    const confirm = page.locator('dialog').getByRole('button', { name: 'Delete the table' })
    expect(await confirm.isDisabled()).toBe(true)
    await page.locator('dialog input').fill('orders')
    await confirm.click()
    await page.getByRole('heading', { name: 'Deleted tables' }).waitFor()
    expect(await page.locator('main').innerText()).toContain('7 days')
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await page.getByRole('heading', { name: 'orders' }).waitFor()
    expect(JSON.parse(await it.request('GET', '/v1/shop/orders')).status).toBe('active')

    await it.request('DELETE', '/v1/shop/orders')
    await page.goto(`${it.server.url}/console#/shop`)
    await page.getByRole('button', { name: 'Restore orders' }).click()
    await page.getByRole('row').getByRole('link', { name: 'orders' }).waitFor()
  })

  test('a key is created, shown once, and revoked', async () => {
    const page = await it.open('#/_keys')
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByLabel('secret').check()
    await page.getByLabel('Name').fill('<b>robot</b>')
    await page.getByLabel('only some').check()
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByText('Choose a database, or all of them.').first().waitFor()
    await page.getByLabel('shop', { exact: true }).check()
    await page.getByLabel('Databases that do not exist yet').fill('later, shop')
    await page.getByLabel('Expires').selectOption('In a day')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const key = await page.locator('dialog code').innerText()
    expect(key).toMatch(/^svc_live_[0-9A-Za-z]{38}$/)
    await page.getByRole('button', { name: 'Done' }).click()
    expect(await page.content()).not.toContain(key)
    const row = page.getByRole('row').filter({ hasText: '<b>robot</b>' })
    expect(await row.innerText()).toContain('shop, later')
    await row.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Revoke the key' }).click()
    await row.getByText('revoked').waitFor()
    const response = await fetch(`${it.server.url}/v1`, { headers: { authorization: `Bearer ${key}` } })
    expect(response.status).toBe(403)
  })

  test('a key is rolled: the new one is shown once, and both say which they belong to', async () => {
    const created = JSON.parse(await it.request('POST', '/api/keys', '{"kind":"public","name":"shop window"}'))
    const page = await it.open('#/_keys')
    await page.getByRole('button', { name: 'Roll shop window' }).click()
    await page.getByLabel('The old key works').selectOption('For an hour')
    await page.getByRole('button', { name: 'Roll the key' }).click()
    const key = await page.locator('dialog code.wrap').innerText()
    expect(key).toMatch(/^svc_pub_[0-9A-Za-z]{38}$/)
    await page.getByRole('button', { name: 'Done' }).click()
    expect(await page.content()).not.toContain(key)
    const rows = page.getByRole('row').filter({ hasText: 'shop window' })
    await rows.nth(0).getByText(`rolled from ${created.masked}`).waitFor()
    await rows
      .nth(1)
      .getByText(`rolled into svc_pub_****${key.slice(-4)}`)
      .waitFor()
    // It was rolled: only the new one can be.
    expect(await rows.getByRole('button', { name: 'Roll' }).count()).toBe(1)
    const statusOf = async (text: string): Promise<number> =>
      (await fetch(`${it.server.url}/v1`, { headers: { authorization: `Bearer ${text}` } })).status
    expect([await statusOf(key), await statusOf(created.key)]).toEqual([200, 200])
    const { keys } = JSON.parse(await it.request('GET', '/api/keys'))
    const [next, old] = keys as [{ id: string; createdAt: number }, { rolledTo: string; expiresAt: number }]
    expect(old.rolledTo).toBe(next.id)
    expect(Math.abs(old.expiresAt - next.createdAt - 3_600_000)).toBeLessThan(60_000)

    await rows.nth(0).getByRole('button', { name: 'Roll' }).click()
    await page.getByLabel('The old key works').selectOption('No longer: it is revoked')
    await page.getByRole('button', { name: 'Roll the key' }).click()
    await page.getByRole('button', { name: 'Done' }).click()
    await rows.nth(1).getByText('revoked').waitFor()
    expect(await statusOf(key)).toBe(403)
  })

  test('a token of a user is made, shown once, and ends when the user is revoked', async () => {
    const page = await it.open('#/_keys')
    await page.getByRole('button', { name: 'Make a token' }).click()
    await page.getByLabel('User', { exact: true }).fill('<b>ada</b>')
    await page.getByLabel('Grants').fill('[{')
    await page.getByText('This is not JSON').waitFor()
    await page.getByLabel('Grants').fill('[{"db":"shop","table":"orders","hash":"ada","can":"delete"}]')
    await page.getByRole('button', { name: 'Make', exact: true }).click()
    await page.getByText('grants[0].can is "delete"').first().waitFor()
    const grants = [{ db: 'shop', table: 'orders', hash: 'ada', can: 'write' }]
    await page.getByLabel('Grants').fill(JSON.stringify(grants))
    await page.getByLabel('Expires').selectOption('In 15 minutes')
    await page.getByRole('button', { name: 'Make', exact: true }).click()
    const token = await page.locator('dialog code.wrap').innerText()
    await page.getByRole('button', { name: 'Done' }).click()
    expect(await page.content()).not.toContain(token)
    const self = async () => (await it.server.as(token).get('/api/tokens/self')).body
    expect(await self()).toMatchObject({ user: '<b>ada</b>', grants })
    await page.getByRole('button', { name: 'Revoke a user' }).click()
    await page.getByLabel('User', { exact: true }).fill('<b>ada</b>')
    await page.getByRole('button', { name: 'Revoke the user' }).click()
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect((await self()).error.code).toBe('revoked_token')
  })

  test('an issuer is added, changed and deleted', async () => {
    const stored = async () => JSON.parse(await it.request('GET', '/api/issuers')).issuers
    const page = await it.open('#/_keys')
    await page.getByText('An issuer is a login service.').waitFor()
    await page.getByRole('button', { name: 'Add an issuer' }).click()
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1' }] }
    const grants = [{ db: 'shop', table: 'orders', hash: '{sub}', can: 'read' }]
    const declaration = { issuer: 'https://login.test/', audience: 'shop', keys, grants }
    await page.getByLabel('Name').fill('login')
    await page.getByLabel('Declaration').fill('{"issuer":}')
    expect(await page.getByRole('button', { name: 'Add', exact: true }).isDisabled()).toBe(true)
    await page.getByLabel('Declaration').fill(JSON.stringify(declaration))
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    const row = page.getByRole('row').filter({ hasText: 'https://login.test/' })
    await row.getByText('1 given').waitFor()
    expect(await stored()).toMatchObject([{ name: 'login', ...declaration }])
    // Adding replaces no other one: that would end the tokens of its users.
    await page.getByRole('button', { name: 'Add an issuer' }).click()
    await page.getByLabel('Name').fill('login')
    await page.getByText('There is an issuer with this name').waitFor()
    expect(await page.getByRole('button', { name: 'Add', exact: true }).isDisabled()).toBe(true)
    await page.getByRole('button', { name: 'Cancel' }).click()

    await row.getByRole('button', { name: 'Change login' }).click()
    const text = await page.getByLabel('Declaration').inputValue()
    expect(JSON.parse(text)).toMatchObject(declaration)
    await page.getByLabel('Declaration').fill(text.replace('"shop"', '"window"'))
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await row.getByText('window').waitFor()
    await row.getByRole('button', { name: 'Delete login' }).click()
    await page.getByRole('button', { name: 'Delete the issuer' }).click()
    await page.getByText('An issuer is a login service.').waitFor()
    expect(await stored()).toEqual([])
  })

  test('the request pad sends what is typed, shows all of the answer, and keeps a history', async () => {
    const page = await it.open('#/_pad')
    await page.getByLabel('Method').selectOption('PUT')
    await page.getByLabel('Path').fill('/v1/shop/orders')
    const body = '{"hashKey":"big", "data":{"n":12345678901234567890, "n":1.0}}'
    await page.getByLabel('Body').fill(body)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('200 succeeded').waitFor()
    expect(await page.getByLabel('Body of the answer').innerText()).toContain('{"n":12345678901234567890, "n":1.0}')
    await page.getByLabel('Method').selectOption('GET')
    await page.getByLabel('Path').fill('/v1/shop/none')
    await page.keyboard.press('Enter')
    await page.getByText('404 failed').waitFor()
    expect(await page.getByLabel('Body of the answer').innerText()).toContain('table_not_found')
    await page.locator('.history button').last().click()
    expect(await page.getByLabel('Body', { exact: true }).inputValue()).toBe(body)
  })

  test('with a public key no write control is in the DOM, and with a limited key only its databases', async () => {
    await it.request('POST', '/v1/other/things')
    const page = await it.open('#/', {}, it.organization.publicKey)
    await page.getByRole('row').getByRole('link', { name: 'orders' }).waitFor()
    for (const [hash, heading] of screens.slice(0, 4)) {
      await goToScreen(page, hash, heading)
      await page.waitForTimeout(300)
      expect((await controlsOf(page)).filter((words) => writeWords.test(words))).toEqual([])
    }
    await goToScreen(page, '#/', 'Overview')
    await page.getByText('A public key of').waitFor()
    const limited = await it.request('POST', '/api/keys', { kind: 'secret', databases: ['other'] })
    const second = await it.open('#/', {}, JSON.parse(limited).key)
    await second.getByRole('row').getByRole('link', { name: 'things' }).waitFor()
    expect(await second.content()).not.toContain('shop')
    await second.getByText('it reads and writes only other').waitFor()
  })

  test('by keyboard alone: filter, a table, back, and the request pad', async () => {
    const page = await it.open()
    await page.getByRole('row').getByRole('link', { name: 'orders' }).waitFor()
    await page.keyboard.press('/')
    await until(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label')), 'Filter this list')
    await page.keyboard.type('thin')
    await page.getByRole('row').getByRole('link', { name: 'orders' }).waitFor({ state: 'detached' })
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'other' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
  })

  test('Ctrl+K jumps to tables, tasks and pages by a part of the name, and ? shows the keys', async () => {
    await it.request('PUT', '/v1/other/_tasks/sweep-up', {})
    for (const keys of ['Control+k', 'Meta+k']) {
      const page = await it.open('#/_pad')
      const jump = page.getByRole('dialog', { name: 'Jump to' })
      await page.locator('.rail').getByRole('link', { name: 'sweep-up' }).waitFor()
      await page.keyboard.press(keys)
      await until(() => page.evaluate(() => document.activeElement?.getAttribute('role')), 'combobox')
      await page.keyboard.type('oth sweep')
      await until(() => jump.getByRole('option').allInnerTexts(), ['other / sweep-up\ntask'])
      expect(await it.findings(page)).toEqual([])
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'sweep-up', level: 1 }).waitFor()
      expect(await jump.count()).toBe(0)
      await page.keyboard.press(keys)
      await jump.getByRole('option').first().waitFor()
      await page.keyboard.press('ArrowDown')
      const second = await jump.getByRole('option').nth(1).innerText()
      expect(await jump.locator('[aria-selected=true]').innerText()).toBe(second)
      await page.keyboard.type('no such thing')
      await jump.getByText('Nothing has this in its name').waitFor()
      await page.keyboard.press('Escape')
      await jump.waitFor({ state: 'detached' })
      await page.locator('main').focus()
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keys of the keyboard' }).getByText('saves the record').waitFor()
      // Going back leaves nothing over the screen that is shown then.
      await page.goBack()
      await page.locator('dialog').waitFor({ state: 'detached' })
      // A question mark in a field is text.
      await page.getByLabel('Path').fill('')
      await page.getByLabel('Path').press('?')
      expect([await page.getByLabel('Path').inputValue(), await page.locator('dialog').count()]).toEqual(['?', 0])
    }
  })

  test('the keys have a button, the list names all of them, and "/" is announced on the box that it leads to', async () => {
    const page = await it.open('#/shop')
    await page.getByRole('button', { name: 'Keys of the keyboard' }).click()
    const dialog = page.getByRole('dialog', { name: 'Keys of the keyboard' })
    await dialog.waitFor()
    expect(await dialog.locator('kbd').allInnerTexts()).toEqual(expect.arrayContaining(['Alt ↓', 'Shift →', '/', '?']))
    await page.keyboard.press('Escape')
    for (const hash of ['#/', '#/shop/orders', '#/_pad']) {
      await page.goto(`${it.server.url}/console${hash}`)
      const announced = page.locator('input[placeholder*="/"]:not([name=path])').filter({ visible: true })
      if (hash === '#/') await announced.first().waitFor()
      await page.locator('main').focus()
      await page.keyboard.press('/')
      for (const box of await announced.all())
        expect([hash, await box.evaluate((each) => each === document.activeElement)]).toEqual([hash, true])
    }
  })

  test('a message with Undo covers nothing, on a desk and on a phone', async () => {
    for (const viewport of [
      { width: 1024, height: 500 },
      { width: 320, height: 640 },
    ]) {
      await it.request('POST', '/v1/shop/brief', {})
      const page = await it.open('#/shop/brief/_about', { viewport })
      await page.getByRole('button', { name: 'Delete the table' }).click()
      await page.locator('dialog input').fill('brief')
      await page.locator('dialog').getByRole('button', { name: 'Delete the table' }).click()
      const undo = page.locator('.toast').getByRole('button', { name: 'Undo' })
      await undo.waitFor()
      const covered = await page.evaluate(() => {
        const toast = document.querySelector('.toasts')!.getBoundingClientRect()
        return [...document.querySelectorAll('.rail-foot, .rail-body > nav, .rail-top, main, header')].flatMap(
          (part) => {
            const { top, bottom, left, right } = part.getBoundingClientRect()
            const isApart = bottom <= toast.top || top >= toast.bottom || right <= toast.left || left >= toast.right
            return isApart || bottom === top ? [] : [part.className || part.tagName]
          },
        )
      })
      expect([viewport.width, covered]).toEqual([viewport.width, []])
      expect(await page.locator('.toast').evaluate((toast) => toast.getBoundingClientRect().right <= innerWidth)).toBe(
        true,
      )
      await undo.click()
      await page.getByRole('heading', { name: 'brief' }).waitFor()
      await it.request('DELETE', '/v1/shop/brief')
    }
  })

  test('in the rail a database opens and closes, which is remembered; where the reader is stays listed', async () => {
    const page = await it.open('#/shop/orders')
    const rail = page.getByRole('navigation', { name: 'Databases' })
    const fold = rail.getByRole('button', { name: 'Contents of other' })
    await rail.getByRole('link', { name: 'things' }).waitFor()
    expect(await fold.getAttribute('aria-expanded')).toBe('true')
    await fold.press('Enter')
    await rail.getByRole('link', { name: 'things' }).waitFor({ state: 'detached' })
    await page.reload()
    await it.signIn(page)
    await rail.getByRole('link', { name: 'orders' }).waitFor()
    expect(await fold.getAttribute('aria-expanded')).toBe('false')
    await page.goto(`${it.server.url}/console#/other/things`)
    await rail.getByRole('link', { name: 'things' }).waitFor()
    expect(await rail.getByRole('link', { name: 'sweep-up' }).count()).toBe(0)
    await fold.click()
    await rail.getByRole('link', { name: 'sweep-up' }).waitFor()
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('svc_')
  })

  test('a database has tabs for its tables, buckets and tasks with their numbers', async () => {
    await it.request('POST', '/v1/other/_buckets/pictures')
    const page = await it.open('#/other')
    const tabs = page.getByRole('navigation', { name: 'In other' })
    await tabs.getByText('Tables 1').waitFor()
    for (const [tab, heading] of [
      ['Buckets 1', 'Buckets'],
      ['Tasks 1', 'Tasks'],
      ['Tables 1', 'other'],
    ] as const) {
      await tabs.getByRole('link', { name: tab }).click()
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
      expect(await tabs.locator('[aria-current=page]').textContent()).toBe(tab)
    }
  })

  test('a table that is missing is created by its button, and shown', async () => {
    const page = await it.open('#/shop/forgotten')
    await page.getByRole('button', { name: 'Create the table forgotten' }).click()
    expect(await page.getByRole('textbox', { name: 'Table' }).inputValue()).toBe('forgotten')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('link', { name: 'New record' }).first().waitFor()
    expect(JSON.parse(await it.request('GET', '/v1/shop/forgotten')).status).toBe('active')
    await it.request('DELETE', '/v1/shop/forgotten')
  })

  test('the first page: failed runs, the newest writes of the tables used last, and what can be restored', async () => {
    await it.request('PUT', '/v1/front/_tasks/mail', '{}')
    await it.request('POST', '/v1/front/_tasks/mail/run', '{}')
    await it.request('POST', '/v1/front/_tasks/mail/run', '{}')
    const { runs } = JSON.parse(await it.request('POST', '/v1/front/_tasks/mail/claim', '{}'))
    const finish = { lease: runs[0].lease, error: { message: 'no' }, retry: false }
    await it.request('POST', `/v1/front/_tasks/mail/runs/${runs[0].id}/finish`, finish)
    for (const table of ['used', 'unused']) {
      await it.request('POST', `/v1/front/${table}`)
      await it.request('PUT', `/v1/front/${table}`, { hashKey: `of-${table}`, data: { text: 'x'.repeat(500) } })
    }
    await it.request('POST', '/v1/front/gone')
    await it.request('DELETE', '/v1/front/gone')
    const page = await it.open('#/front/used')
    await page.locator('.grid').getByText('of-used').first().waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    const main = page.locator('main')
    await main.getByRole('link', { name: 'of-used' }).waitFor()
    expect(await main.getByRole('link', { name: 'of-unused' }).count()).toBe(0)
    // A list that is cut off says so.
    expect(await main.locator('.newest code').first().innerText()).toEndWith('…')
    await page.getByRole('button', { name: 'Restore front / gone' }).click()
    await page.getByRole('row').getByRole('link', { name: 'gone' }).waitFor()
    const row = page.getByRole('row').filter({ hasText: 'front' }).first()
    expect(await row.locator('td').first().innerText()).toBe('3')
    expect(await row.innerText()).toContain('1 queued')
    await row.getByRole('link', { name: '1 failed' }).click()
    await page.getByRole('heading', { name: 'mail', level: 1 }).waitFor()
    await page.locator('table.runs tbody tr').first().waitFor()
    expect(await page.locator('table.runs tbody tr .tag').allInnerTexts()).toEqual(['failed'])
  })

  test('messages do not pile up, and are beside every editor', async () => {
    for (const table of ['first', 'second', 'third']) {
      await it.request('POST', `/v1/pile/${table}`)
      await it.request('DELETE', `/v1/pile/${table}`)
    }
    await it.request('POST', '/v1/pile/kept')
    const page = await it.open('#/pile')
    for (const table of ['first', 'second', 'third']) {
      await page.getByRole('button', { name: `Restore ${table}` }).click()
      await page.locator('.toast', { hasText: `${table} is restored` }).waitFor()
      expect(await page.locator('.toast').count()).toBe(1)
    }
    const box = (await page.locator('.toasts').boundingBox())!
    const main = (await page.locator('main').boundingBox())!
    expect(box.x + box.width).toBeLessThanOrEqual(main.x)
  })

  test('an unknown address, and an error of the server, are said with a way on', async () => {
    const page = await it.open('#/a/b/c/d/e/f')
    await page.getByText('This address of the console has no page').waitFor()
    await page.goto(`${it.server.url}/console#/shop/nothing/_about`)
    await page.getByText('table_not_found').waitFor()
    expect(await page.locator('.message').first().innerText()).toContain('POST /v1/shop/nothing')
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`axe-core finds nothing, ${colorScheme}, also at 320 px, where nothing is wider than the page`, async () => {
      const page = await it.open('#/', { colorScheme })
      for (const [hash, heading] of [...screens, ['#/nothing/at/all', 'No such page'] as const]) {
        await goToScreen(page, hash, heading)
        await page.waitForTimeout(400)
        expect({ hash, found: await it.findings(page) }).toEqual({ hash, found: [] })
      }
      await page.setViewportSize({ width: 320, height: 640 })
      for (const [hash, heading] of screens) {
        await goToScreen(page, hash, heading)
        await page.waitForTimeout(300)
        expect({ hash, width: await page.evaluate(() => document.documentElement.scrollWidth) }).toEqual({
          hash,
          width: 320,
        })
      }
      await page.getByRole('button', { name: 'Menu' }).click()
      expect(await it.findings(page)).toEqual([])
    })
  }

  test('a database with 1,000 tables: the rail lists 200 and where the reader is, and its filter finds the others', async () => {
    const nameOf = (i: number): string => `t${String(i).padStart(4, '0')}`
    const left = Array.from({ length: 1000 }, (_, i) => nameOf(i))
    const work = async () => {
      for (let name = left.shift(); name !== undefined; name = left.shift())
        await it.request('POST', `/v1/many/${name}`)
    }
    await Promise.all(Array.from({ length: 8 }, work))
    const page = await it.open(`#/many/${nameOf(900)}`)
    const rail = page.getByRole('navigation', { name: 'Databases' })
    // Other tests have databases of their own.
    const entries = rail.locator('.rail-entry', { hasText: /^t\d{4}$/ })
    const current = rail.locator('.rail-entry[aria-current=page]')
    await current.waitFor()
    expect(await current.innerText()).toBe(nameOf(900))
    const isInView = () =>
      current.evaluate((link) => {
        const { top, bottom } = link.getBoundingClientRect()
        return top >= 0 && bottom <= innerHeight && link.contains(document.elementFromPoint(20, (top + bottom) / 2))
      })
    // It is scrolled to a frame later.
    await until(isInView, true)
    await rail.getByText('799 more: use the filter').waitFor()
    expect(await entries.count()).toBe(201)
    await page.getByLabel('Filter databases').fill('t07')
    await rail.getByText('t0799').waitFor()
    expect(await entries.count()).toBe(100)
    await rail.getByRole('link', { name: 't0750' }).click()
    await page.getByRole('heading', { name: 't0750' }).waitFor()
    await until(isInView, true)
    // The list of the database has all of them, and the pages below the list stay in reach.
    await page.goto(`${it.server.url}/console#/many`)
    await page.locator('main').getByRole('link', { name: 't0999' }).waitFor()
    await page.getByRole('link', { name: 'Request pad' }).click()
    await page.getByRole('heading', { name: 'Request pad' }).waitFor()
    expect(await it.findings(page)).toEqual([])
  })

  test('on a phone the lists of runs, keys, files and deleted tables are not wider than the page, and show what went wrong', async () => {
    await it.request('PUT', '/v1/phone/_tasks/mail', '{"attempts":1}')
    await it.request('POST', '/v1/phone/_tasks/mail/run', '{}')
    const { runs } = JSON.parse(await it.request('POST', '/v1/phone/_tasks/mail/claim', '{}'))
    await it.request('POST', `/v1/phone/_tasks/mail/runs/${runs[0].id}/finish`, {
      lease: runs[0].lease,
      error: { message: `mailbox unavailable ${'x'.repeat(150)}` },
    })
    await it.request('POST', '/api/keys', { kind: 'secret', name: 'the worker that sends mail, in production' })
    await it.request('POST', '/v1/phone/old', {})
    await it.request('DELETE', '/v1/phone/old')
    await it.request('POST', '/v1/phone/_buckets/files', {})
    await fetch(`${it.server.url}/v1/phone/_buckets/files/a-long-name-of-a-report-${'x'.repeat(60)}.txt`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${it.organization.secretKey}` },
      body: 'text',
    })
    const page = await it.open('#/', { viewport: { width: 390, height: 844 } })
    for (const [place, seen] of [
      ['#/phone/_tasks/mail', page.getByText('mailbox unavailable')],
      ['#/_keys', page.getByRole('button', { name: 'Revoke the worker' })],
      ['#/phone', page.getByRole('button', { name: 'Restore old' })],
      ['#/phone/_buckets/files', page.getByText('private')],
    ] as const) {
      await page.goto(`${it.server.url}/console${place}`)
      const list = page.locator('main .scroll-x', { has: page.locator('tbody tr') }).first()
      await list.waitFor()
      expect([place, await list.evaluate((part) => part.scrollWidth - part.clientWidth)]).toEqual([place, 0])
      const box = (await seen.first().boundingBox())!
      expect([place, box.x >= 0 && box.x + box.width <= 390]).toEqual([place, true])
    }
  })

  test('the rail shows how many runs of a task wait, before its screen was opened', async () => {
    await it.request('PUT', '/v1/waits/_tasks/mail', '{}')
    for (let i = 0; i < 3; i++) await it.request('POST', '/v1/waits/_tasks/mail/run', '{}')
    const page = await it.open('#/waits')
    await page.getByRole('navigation', { name: 'Databases' }).getByText('task · 3').waitFor()
  })
})
