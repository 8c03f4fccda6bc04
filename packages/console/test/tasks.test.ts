import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { type Console, describeConsole, goToScreen, until } from './console.ts'

// Tasks and runs, as people use them in Chromium.

setDefaultTimeout(120_000)

const writeWords = /declare|run|pause|resume|delete|secret|retry|cancel|restore/i
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const path = (task: string, rest = ''): string => `/v1/app/_tasks/${task}${rest}`
const declare = (it: Console, task: string, body: object | string = {}) => it.request('PUT', path(task), body)
const taskOf = async (it: Console, task: string) => JSON.parse(await it.request('GET', path(task)))
const add = async (it: Console, task: string, body: object | string = {}) =>
  JSON.parse(await it.request('POST', path(task, '/run'), body))
const claim = async (it: Console, task: string, limit = 1) =>
  JSON.parse(await it.request('POST', path(task, '/claim'), { limit })).runs
const finish = (it: Console, task: string, run: { id: string; lease: string }, body: object) =>
  it.request('POST', path(task, `/runs/${run.id}/finish`), { lease: run.lease, ...body })
const rows = (page: Page) => page.locator('table.runs tbody tr')

/** Behaves as if the reader had changed to another tab. */
const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)

describeConsole('tasks in the console', (it) => {
  test('a task is declared by the form and as JSON; its secret is shown once; it is deleted by its name and restored', async () => {
    const page = await it.open('#/app/_tasks')
    await button(page, 'Declare a task').click()
    await page.getByLabel('Name', { exact: true }).fill('Mail')
    await button(page, 'Declare').click()
    await page.locator('.faulty').waitFor()
    await page.getByLabel('Name', { exact: true }).fill('mail')
    await page.getByLabel('url', { exact: true }).fill('https://example.invalid/hook')
    await page.getByLabel('authorization', { exact: true }).fill('Bearer mine')
    await page.getByLabel('attempts', { exact: true }).fill('7')
    await page.getByLabel('keepSeconds', { exact: true }).fill('soon')
    await page.getByLabel('schedule', { exact: true }).selectOption('cron')
    await page.getByLabel('cron', { exact: true }).fill('30 6 * * mon-fri')
    await page.getByLabel('timezone', { exact: true }).fill('Europe/Berlin')
    await page.getByLabel('payload of the scheduled runs').fill('{ "n": 1.0, }')
    await page.getByText('line 1, column 11').waitFor()
    await page.getByLabel('payload of the scheduled runs').fill('{ "n": 1.0 }')
    await button(page, 'Declare').click()
    // The server's words about the field are shown.
    await page.locator('dialog code', { hasText: 'keepSeconds' }).waitFor()
    await page.getByLabel('keepSeconds', { exact: true }).fill('3600')
    await button(page, 'As JSON').click()
    const json = page.getByLabel('Declaration as JSON')
    expect(JSON.parse(await json.inputValue())).toMatchObject({ attempts: 7, keepSeconds: 3600 })
    await json.fill((await json.inputValue()).replace('"attempts": 7', '"attempts": 8, "leaseSeconds": 60'))
    await button(page, 'As a form').click()
    expect(await page.getByLabel('leaseSeconds', { exact: true }).inputValue()).toBe('60')
    await button(page, 'Declare').click()
    const secret = await page.getByRole('textbox', { name: 'the signing secret' }).inputValue()
    expect(secret).toMatch(/^whsec_/)
    await button(page, 'I have it').click()
    await page.getByText('This task has no runs.').waitFor()
    expect(await page.content()).not.toContain(secret)
    expect(await taskOf(it, 'mail')).toMatchObject({
      url: 'https://example.invalid/hook',
      attempts: 8,
      leaseSeconds: 60,
      keepSeconds: 3600,
      schedule: { cron: '30 6 * * mon-fri', timezone: 'Europe/Berlin' },
    })
    expect(await it.request('GET', path('mail'))).toContain('"payload":{ "n": 1.0 }')

    await button(page, 'New secret').click()
    await button(page, 'Create a secret').click()
    expect(await page.getByRole('textbox', { name: 'the signing secret' }).inputValue()).not.toBe(secret)
    await page.keyboard.press('Escape')

    const remove = async () => {
      // Red, and not beside what is pressed every day.
      expect(await page.locator('header .danger').count()).toBe(0)
      await button(page, 'Delete the task').click()
      const confirm = page.locator('dialog').getByRole('button', { name: 'Delete the task' })
      expect(await confirm.isDisabled()).toBe(true)
      await page.locator('dialog input').fill('mail')
      await confirm.click()
      await page.getByText('mail is deleted.').first().waitFor()
    }
    await remove()
    await button(page, 'Undo').click()
    await page.getByText('This task has no runs.').waitFor()
    await remove()
    await button(page, 'Restore mail').click()
    await page.locator('main').getByRole('link', { name: 'mail' }).waitFor()
    expect((await taskOf(it, 'mail')).attempts).toBe(8)
  })

  test('pausing keeps every member of the declaration, also one that someone else changes in between', async () => {
    await declare(
      it,
      'paused',
      '{"attempts":3,"concurrency":4,"url":"https://example.invalid/","authorization":"x","schedule":{"every":600,"payload":{ "n": 1.00 }}}',
    )
    const page = await it.open('#/app/_tasks/paused')
    await button(page, 'Pause').waitFor()
    let puts = 0
    await page.route('**/v1/app/_tasks/paused', async (route) => {
      if (route.request().method() === 'PUT' && ++puts === 1) {
        await declare(
          it,
          'paused',
          '{"attempts":9,"concurrency":4,"url":"https://example.invalid/","authorization":"****","schedule":{"every":600,"payload":{ "n": 2.00 }}}',
        )
      }
      await route.continue()
    })
    await button(page, 'Pause').click()
    await button(page, 'Resume').waitFor()
    expect(puts).toBe(2)
    const text = await it.request('GET', path('paused'))
    expect(JSON.parse(text)).toMatchObject({ paused: true, attempts: 9, concurrency: 4, authorization: '****' })
    expect(text).toContain('"payload":{ "n": 2.00 }')
    await button(page, 'Resume').click()
    await button(page, 'Pause').waitFor()
    expect(await taskOf(it, 'paused')).toMatchObject({ paused: false, attempts: 9, authorization: '****' })
  })

  test('a declaration that someone else has changed meanwhile shows both, and mine is saved over theirs only if I say so', async () => {
    await declare(it, 'edited', { attempts: 3 })
    const page = await it.open('#/app/_tasks/edited')
    await button(page, 'Declaration').click()
    await page.getByLabel('attempts', { exact: true }).fill('5')
    await declare(it, 'edited', { attempts: 4, leaseSeconds: 77 })
    await button(page, 'Save').click()
    await page.getByText('"leaseSeconds": 77').waitFor()
    expect((await taskOf(it, 'edited')).attempts).toBe(4)
    await button(page, 'Keep editing').click()
    expect(await page.getByLabel('attempts', { exact: true }).inputValue()).toBe('5')
    await button(page, 'Save').click()
    await button(page, 'Save mine over it').click()
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect(await taskOf(it, 'edited')).toMatchObject({ attempts: 5, leaseSeconds: 30 })
  })

  test('runs are added with their exact payload and shown live by status, and nothing is asked while the page is hidden', async () => {
    await declare(it, 'chores')
    const page = await it.open('#/app/_tasks/chores')
    await page.locator('header').getByRole('button', { name: 'Run' }).click()
    const payload = '{ "n": 1.0, "big": 12345678901234567890, "n": 2 }'
    await page.getByLabel('payload').fill('{ "n": 1.0, "big": }')
    await page.getByText('line 1, column 20').waitFor()
    // Closed by mistake, before the page had a moment for the last change: the text is there again.
    await page.getByLabel('payload').evaluate((field, text) => {
      const area = field as HTMLTextAreaElement
      area.value = text
      area.dispatchEvent(new Event('input', { bubbles: true }))
      area.closest('dialog')!.dispatchEvent(new Event('cancel', { cancelable: true }))
    }, payload)
    await page.locator('dialog').waitFor({ state: 'detached' })
    await page.locator('header').getByRole('button', { name: 'Run' }).click()
    expect(await page.getByLabel('payload').inputValue()).toBe(payload)
    await page.getByLabel('id or key').selectOption('id')
    await page.getByLabel('id', { exact: true }).fill('order-1')
    await page.locator('dialog').getByRole('button', { name: 'Run' }).click()
    await rows(page).getByText('order-1').waitFor()
    expect(await it.request('GET', path('chores', '/runs/order-1'))).toContain(`"payload":${payload}`)
    await page.locator('.rail-entry', { hasText: 'chores' }).getByText('task · 1').waitFor()

    await add(it, 'chores', { id: 'order-2' })
    await rows(page).getByText('order-2').waitFor()
    const [first] = await claim(it, 'chores')
    await finish(it, 'chores', first, { error: { message: '<b>no</b>' }, retry: false })
    await button(page, 'failed 1').click()
    await rows(page).getByText('order-2').waitFor({ state: 'detached' })
    await rows(page).getByText('<b>no</b>').waitFor()
    expect(await rows(page).count()).toBe(1)
    await page.getByRole('img', { name: 'queued 1, running 0, succeeded 0, failed 1, cancelled 0' }).waitFor()

    let asked = 0
    let answered = 0
    page.on('request', () => asked++)
    page.on('requestfinished', () => answered++)
    page.on('requestfailed', () => answered++)
    // The same holds if it is hidden while an answer is awaited.
    const hidden = Promise.withResolvers<void>()
    await page.route('**/chores/query', async (route) => {
      await hidden.promise
      await route.continue()
    })
    await page.waitForRequest('**/chores/query')
    await setHidden(page, true)
    hidden.resolve()
    await until(() => answered >= asked, true)
    asked = 0
    await Bun.sleep(2_500)
    expect(asked).toBe(0)
    await setHidden(page, false)
    await until(() => asked > 0, true)
  })

  test('without an answer the list stays, says that it is not live and tries again', async () => {
    await declare(it, 'away')
    await add(it, 'away', { id: 'r-1' })
    const page = await it.open('#/app/_tasks/away')
    await rows(page).first().waitFor()
    await page.route('**/v1/**', (route) => route.abort())
    await add(it, 'away', { id: 'r-2' })
    await page.getByText('Not live').waitFor()
    expect(await rows(page).count()).toBe(1)
    // The page tries again by itself too, so this is shortly before the button is pressed.
    await page.unroute('**/v1/**')
    await button(page, 'Try now').click()
    await rows(page).getByText('r-2').waitFor()
    expect(await page.getByText('Not live').count()).toBe(0)
  })

  test('a run is followed until it ends, retried and cancelled; its texts are whole and exact', async () => {
    await declare(it, 'follow', { attempts: 1 })
    await add(it, 'follow', '{"id":"f-1","payload":{ "n": 1.00 }}')
    const page = await it.open('#/app/_tasks/follow/r/f-1')
    await page.locator('main .tag', { hasText: 'queued' }).waitFor()
    const [run] = await claim(it, 'follow')
    await it.request('POST', path('follow', '/runs/f-1/extend'), `{"lease":"${run.lease}","progress":{ "done": 0.50 }}`)
    await page.getByLabel('progress', { exact: true }).getByText('{ "done": 0.50 }').waitFor()
    await page.locator('main .tag', { hasText: 'running' }).waitFor()
    const message = `<script>${'m'.repeat(990)}`
    await finish(it, 'follow', run, { error: { message } })
    await page.getByText(message, { exact: true }).waitFor()
    expect(await page.getByLabel('payload', { exact: true }).innerText()).toBe('{ "n": 1.00 }')
    let asked = 0
    page.on('request', () => asked++)
    await Bun.sleep(2_500)
    expect(asked).toBe(0)

    await button(page, 'Retry').click()
    await page.locator('main .tag', { hasText: 'queued' }).waitFor()
    const [again] = await claim(it, 'follow')
    await it.request('POST', path('follow', '/runs/f-1/finish'), `{"lease":"${again.lease}","result":{ "r": 1e2 }}`)
    await page.getByLabel('result', { exact: true }).getByText('{ "r": 1e2 }').waitFor()
    // It has succeeded: repeating it is asked for.
    expect(await button(page, 'Retry').count()).toBe(0)
    await button(page, 'Run again').click()
    expect(JSON.parse(await it.request('GET', path('follow', '/runs/f-1'))).status).toBe('succeeded')
    await page.locator('dialog').getByRole('button', { name: 'Run again' }).click()
    await button(page, 'Cancel the run').click()
    await button(page, 'Keep it').click()
    await page.locator('dialog').waitFor({ state: 'detached' })
    await button(page, 'Cancel the run').click()
    await page.locator('dialog').getByRole('button', { name: 'Cancel the run' }).click()
    await page.locator('main .tag', { hasText: 'cancelled' }).waitFor()
    expect(JSON.parse(await it.request('GET', path('follow', '/runs/f-1'))).status).toBe('cancelled')
  })

  test('with a public key the list is not asked for, runs are read without payload and key, and there is no write control', async () => {
    await declare(it, 'seen')
    await add(it, 'seen', '{"key":"hidden-key","payload":{"hidden":"hidden-payload"}}')
    const page = await it.open('#/app/_tasks', {}, it.organization.publicKey)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.getByText('A public key does not list tasks.').waitFor()
    expect(await it.findings(page)).toEqual([])
    // They are reached by their names, from the rail and the tabs of the database.
    await page.goto(`${it.server.url}/console#/app`)
    await page.getByRole('navigation', { name: 'In app' }).getByRole('link', { name: 'Tasks' }).waitFor()
    const rail = page.getByRole('navigation', { name: 'Databases' })
    await rail.locator('a[href="#/app/_tasks"]').click()
    await page.getByLabel('Name of the task').fill('seen')
    await page.keyboard.press('Enter')
    await page.waitForURL('**#/app/_tasks/seen')
    expect(await rail.locator('[aria-current]').innerText()).toStartWith('seen')
    await page.goto(`${it.server.url}/console#/app/_tasks/seen`)
    await rows(page).first().waitFor()
    const found = await page.locator('main button, header button').allInnerTexts()
    await rows(page).locator('a').click()
    await page.getByText('A public key reads neither the payload nor the key').waitFor()
    found.push(...(await page.locator('main button, header button').allInnerTexts()))
    expect(found.filter((words) => writeWords.test(words) && !/^(running|cancelled)\s/.test(words))).toEqual([])
    expect(found).toContain('Copy as curl')
    expect(await page.content()).not.toContain('hidden-')
    expect(asked.filter((url) => /_tasks(\?|$|\/seen$)/.test(url))).toEqual([])
  })

  const fail = async (task: string, count: number) => {
    for (let i = 0; i < count; i++) await add(it, task, { id: `${task}-${i}` })
    for (const run of await claim(it, task, count)) {
      await finish(it, task, run, { error: { message: 'no' }, retry: false })
    }
  }
  const countsOf = async (task: string) => JSON.parse(await it.request('GET', path(task, '?counts=true'))).counts

  test('failed runs are in red with their number in the rail and in the list, and one click leads to them', async () => {
    await declare(it, 'broken')
    await declare(it, 'healthy')
    await fail('broken', 3)
    const page = await it.open('#/app/_tasks')
    await page.locator('.rail-entry', { hasText: 'broken' }).getByText('3 failed').waitFor()
    const row = page.getByRole('row').filter({ hasText: 'broken' })
    const red = row.getByText('3 failed')
    const colour = await red.evaluate((element) => getComputedStyle(element).color)
    expect(colour).toBe('rgb(179, 38, 30)')
    expect(await row.locator('.tag.ok').count()).toBe(0)
    expect(await page.getByRole('row').filter({ hasText: 'healthy' }).locator('.tag').innerText()).toBe('active')
    expect(await page.getByRole('row').filter({ hasText: 'healthy' }).locator('.tag.ok').count()).toBe(1)
    await red.click()
    await button(page, 'failed 3').waitFor()
    await until(() => rows(page).count(), 3)
    expect(await page.evaluate(() => location.hash)).toBe('#/app/_tasks/broken/failed')
  })

  test('a task whose pushes are refused does not look healthy, though nothing has failed and nothing is due', async () => {
    // The name resolves nowhere.
    await declare(it, 'refused', { url: 'https://nobody.invalid/hook', backoffSeconds: 3600 })
    await add(it, 'refused', { id: 'refused-1' })
    await until(
      async () => JSON.parse(await it.request('GET', path('refused', '/runs/refused-1'))).error?.code,
      'connection',
    )
    expect(await countsOf('refused')).toMatchObject({ queued: 1, failed: 0 })
    const page = await it.open('#/app/_tasks')
    const row = page.getByRole('row').filter({ hasText: 'refused' })
    await row.getByText('pushes fail: connection').waitFor()
    expect(await row.locator('.tag.ok').count()).toBe(0)
    await row.getByRole('link', { name: 'refused' }).click()
    await page.locator('.task-facts').getByText('pushes fail: connection').waitFor()
    await it.request('POST', path('refused', '/runs/refused-1/cancel'))
    await page.locator('.task-facts').getByText('active').waitFor()
  })

  test('all failed runs are retried by one click, and all queued ones cancelled behind a question', async () => {
    await declare(it, 'bulk')
    await fail('bulk', 10)
    const page = await it.open('#/app/_tasks/bulk')
    await button(page, 'Retry 10 failed').click()
    await page.getByText('10 of 10 queued again').first().waitFor()
    expect(await countsOf('bulk')).toMatchObject({ queued: 10, failed: 0 })
    await page.getByRole('status').getByText('10 of 10 queued again').waitFor({ state: 'attached' })
    await button(page, 'Cancel 10 queued').click()
    // No button of a question whose verb is "cancel" is called "Cancel".
    expect(await page.locator('dialog .actions button').allInnerTexts()).toEqual(['Cancel the runs', 'Keep them'])
    expect(await countsOf('bulk')).toMatchObject({ queued: 10 })
    // One of them ends in between: it is not called cancelled.
    const [run] = await claim(it, 'bulk')
    await finish(it, 'bulk', run, { result: {} })
    await page.locator('dialog').getByRole('button', { name: 'Cancel the runs' }).click()
    await page.getByText('9 of 10 queued cancelled').first().waitFor()
    expect(await countsOf('bulk')).toMatchObject({ queued: 0, cancelled: 9, succeeded: 1 })
  })

  test('chosen runs: each verb has those that it can change, a refusal is listed, and a stop ends it', async () => {
    await declare(it, 'some')
    await fail('some', 3)
    await add(it, 'some', { id: 'waiting' })
    const page = await it.open('#/app/_tasks/some')
    await rows(page).getByText('waiting').waitFor()
    for (const id of ['some-0', 'some-1', 'waiting']) await page.getByLabel(`Select ${id}`).check()
    await page.getByText('3 selected').waitFor()
    await button(page, 'Cancel 1').waitFor()
    expect(await it.findings(page)).toEqual([])
    // Someone else is faster.
    await page.route('**/some-0/retry', async (route) => {
      await it.request('POST', path('some', '/runs/some-0/retry'))
      await route.continue()
    })
    await button(page, 'Retry 2').click()
    await page.getByText('1 of 2 queued again, 1 not').first().waitFor()
    await page.locator('.bulk summary').click()
    await page.locator('.bulk li', { hasText: 'some-0' }).waitFor()
    expect(await countsOf('some')).toMatchObject({ queued: 3, failed: 1 })
    await page.getByLabel('Select all shown runs').check()
    await page.getByText('4 selected').waitFor()
    await button(page, 'Clear the selection').click()

    await declare(it, 'some2')
    await fail('some2', 20)
    await page.goto(`${it.server.url}/console#/app/_tasks/some2`)
    const held = Promise.withResolvers<void>()
    await page.route('**/some2/runs/*/retry', async (route) => {
      await held.promise
      await route.continue()
    })
    await button(page, 'Retry 20 failed').click()
    await button(page, 'Stop').click()
    held.resolve()
    await page
      .getByText(/^Stopped: [1-4] of 20 queued again/)
      .first()
      .waitFor()
    expect((await countsOf('some2')).failed).toBeGreaterThanOrEqual(16)
  })

  test('a bulk retry of an organization that has signed out is not continued with the next key', async () => {
    const other = await it.server.createOrganization()
    await declare(it, 'left')
    await fail('left', 12)
    const page = await it.open('#/app/_tasks/left')
    const keys: string[] = []
    const held = Promise.withResolvers<void>()
    await page.route('**/left/runs/*/retry', async (route) => {
      keys.push(route.request().headers().authorization!)
      await held.promise
      await route.continue()
    })
    await button(page, 'Retry 12 failed').click()
    await until(() => keys.length, 4)
    await page.locator('.account summary').click()
    await button(page, 'Sign out').click()
    await it.signIn(page, other.secretKey)
    held.resolve()
    await until(async () => (await countsOf('left')).queued, 4)
    await page.getByRole('heading', { name: 'left', level: 1 }).waitFor()
    expect(new Set(keys)).toEqual(new Set([`Bearer ${it.organization.secretKey}`]))
    expect(await page.locator('.bulk').count()).toBe(0)
  })

  test('all counts of a task come by one request, and those of a list too', async () => {
    await declare(it, 'cheap')
    const page = await it.open('#/app/_tasks/cheap')
    await page.getByText('This task has no runs.').waitFor()
    const asked: string[] = []
    page.on('request', (request) =>
      asked.push(`${request.method()} ${new URL(request.url()).pathname}${new URL(request.url()).search}`),
    )
    await until(() => asked.length >= 4, true)
    expect([...new Set(asked.slice(0, 4))].sort()).toEqual([
      `GET ${path('cheap', '?counts=true')}`,
      `POST ${path('cheap', '/query')}`,
    ])
  })

  test('axe-core finds nothing, in light and dark, nothing is cut off at 320 px, and the dialogs work by keyboard', async () => {
    await declare(it, 'look', {
      schedule: { cron: '0 6 * * *', payload: { a: 1 } },
      url: 'https://example.invalid/',
      paused: true,
    })
    for (let i = 0; i < 3; i++) await add(it, 'look', { id: `${'long-id-'.repeat(10)}${i}` })
    await it.request('POST', path('look', `/runs/${'long-id-'.repeat(10)}0/cancel`))
    const places = [
      ['#/app/_tasks', 'Tasks'],
      ['#/app/_tasks/look', 'look'],
      [`#/app/_tasks/look/r/${'long-id-'.repeat(10)}0`, `${'long-id-'.repeat(10)}0`],
      ['#/app/_tasks/none', 'none'],
    ] as const
    const show = async (page: Page, hash: string, heading: string) => {
      await goToScreen(page, hash, heading)
      await page.locator('main table, main .facts, main .message').first().waitFor()
    }
    const page = await it.open('#/app/_tasks')
    const findNothing = async () => {
      expect(await it.findings(page)).toEqual([])
      // Only colours change.
      await page.emulateMedia({ colorScheme: 'dark' })
      expect(await it.findings(page, ['color-contrast'])).toEqual([])
      await page.emulateMedia({ colorScheme: 'light' })
    }
    for (const [hash, heading] of places) {
      await show(page, hash, heading)
      await findNothing()
    }
    await show(page, '#/app/_tasks/look', 'look')
    await button(page, 'Declaration').focus()
    await page.keyboard.press('Enter')
    await page.getByLabel('cron', { exact: true }).waitFor()
    await findNothing()
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await until(() => page.evaluate('document.activeElement.textContent'), 'Declaration')
    const narrow = await it.open('#/app/_tasks', { viewport: { width: 320, height: 640 } })
    for (const [hash, heading] of places) {
      await show(narrow, hash, heading)
      expect(await narrow.evaluate('document.documentElement.scrollWidth')).toBe(320)
      expect(await narrow.evaluate('document.querySelector("main").scrollWidth')).toBeLessThanOrEqual(320)
    }
  })

  test('the fields of a declaration do not overlap, and the lists fit, at 390, 768 and 1024 px', async () => {
    await it.request('PUT', '/v1/narrow/_tasks/nightly', '{"schedule":{"cron":"0 6 * * mon-fri","timezone":"UTC"}}')
    await it.request('POST', '/v1/narrow/_tasks/nightly/run', '{"payload":{}}')
    const page = await it.open('#/narrow/_tasks')
    for (const width of [390, 768, 1024]) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto(`${it.server.url}/console#/narrow/_tasks`)
      const list = page.locator('main .scroll-x').first()
      await list.getByText('nightly').waitFor()
      expect([width, await list.evaluate((part) => part.scrollWidth - part.clientWidth)]).toEqual([width, 0])
      await page.goto(`${it.server.url}/console#/narrow/_tasks/nightly`)
      await page.getByRole('button', { name: 'Declaration' }).click()
      // It has a size, and Escape closes it, only once it is shown.
      await page.getByLabel('cron', { exact: true }).waitFor()
      const overlaps = await page.locator('dialog .form-row').evaluateAll((rows) =>
        rows.flatMap((row) => {
          const boxes = [...row.querySelectorAll('input, select')].map((field) => field.getBoundingClientRect())
          return boxes.filter((a, i) =>
            boxes.some((b, j) => j > i && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom),
          )
        }),
      )
      expect([width, overlaps]).toEqual([width, []])
      await page.keyboard.press('Escape')
      await page.locator('dialog').waitFor({ state: 'detached' })
    }
  })

  test('a list that cannot be read says so once', async () => {
    const page = await it.open('#/')
    let failed = 0
    page.on('requestfailed', () => failed++)
    await page.route('**/v1/down/_tasks?*', (route) => route.abort())
    await page.goto(`${it.server.url}/console#/down/_tasks`)
    await page.locator('main .message.danger').first().waitFor()
    // Both lists have been tried.
    await until(() => failed >= 2, true)
    expect(await page.locator('main .message.danger').count()).toBe(1)
  })
})
