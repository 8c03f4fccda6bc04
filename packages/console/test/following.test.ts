import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { type Console, describeConsole, goToScreen, until } from './console.ts'

// Tasks that follow tables, as people see them in Chromium.

setDefaultTimeout(120_000)

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const path = (task: string): string => `/v1/app/_tasks/${task}`
const onOf = async (it: Console, task: string) => JSON.parse(await it.request('GET', path(task))).on
const makeTable = (it: Console, table: string) => it.request('POST', `/v1/app/${table}`)
const follow = (it: Console, task: string, table: string, ops?: string[]) =>
  it.request('PUT', path(task), { on: { table, ops }, attempts: 3 })
const follows = (page: Page) => page.locator('.task-facts div', { hasText: 'follows' })
const section = (page: Page, title: string) =>
  page.locator('section', { has: page.getByRole('heading', { name: title, exact: true }) })
const shoot = async (page: Page, name: string) => {
  if (process.env.CUBBY_SHOTS) await page.screenshot({ path: `${process.env.CUBBY_SHOTS}/${name}.png`, fullPage: true })
}

describeConsole('tasks that follow tables in the console', (it) => {
  test('the form declares it, the page of the task says it, and the form ends it', async () => {
    await makeTable(it, 'orders')
    const page = await it.open('#/app/_tasks')
    await button(page, 'Declare a task').click()
    await page.getByLabel('Name', { exact: true }).fill('index')
    await page.getByLabel('on', { exact: true }).fill('invoices')
    await page.getByLabel('ops', { exact: true }).fill('put, delete')
    await button(page, 'Declare').click()
    // The server's words about the field are shown.
    await page.locator('dialog code', { hasText: 'on.table' }).waitFor()
    await page.getByLabel('on', { exact: true }).fill('orders')
    await shoot(page, 'form')
    await button(page, 'As JSON').click()
    const json = page.getByLabel('Declaration as JSON')
    expect(JSON.parse(await json.inputValue())).toEqual({ on: { table: 'orders', ops: ['put', 'delete'] } })
    await json.fill('{ "on": { "table": "orders", "op": "put" } }')
    await button(page, 'As a form').click()
    await page.getByText('has no member "op"').waitFor()
    await json.fill('{ "on": { "table": "orders", "ops": ["put", "expire"] } }')
    await button(page, 'As a form').click()
    expect(await page.getByLabel('ops', { exact: true }).inputValue()).toBe('put, expire')
    await button(page, 'Declare').click()
    await follows(page).getByText('put, expire').waitFor()
    expect(await onOf(it, 'index')).toEqual({ table: 'orders', ops: ['put', 'expire'] })
    await shoot(page, 'task')
    await follows(page).getByRole('link', { name: 'orders' }).click()
    await page.getByRole('heading', { name: 'orders', level: 1 }).waitFor()
    await goToScreen(page, '#/app/_tasks/index', 'index')
    await button(page, 'Declaration').click()
    expect(await page.getByLabel('on', { exact: true }).inputValue()).toBe('orders')
    await page.getByLabel('on', { exact: true }).fill('')
    await button(page, 'Save').click()
    await follows(page).getByText('no table').waitFor()
    expect(await onOf(it, 'index')).toBeNull()
  })

  test('pausing, resuming and editing keep what a task follows, also after its table was deleted', async () => {
    await makeTable(it, 'kept')
    await follow(it, 'keep', 'kept', ['delete', 'put'])
    const on = { table: 'kept', ops: ['delete', 'put'] }
    const page = await it.open('#/app/_tasks/keep')
    await button(page, 'Pause').click()
    await button(page, 'Resume').waitFor()
    expect(await onOf(it, 'keep')).toEqual(on)
    await button(page, 'Resume').click()
    await button(page, 'Pause').waitFor()
    expect(await onOf(it, 'keep')).toEqual(on)
    await button(page, 'Declaration').click()
    await page.getByLabel('attempts', { exact: true }).fill('9')
    await button(page, 'Save').click()
    await page.getByText('9, backoff').waitFor()
    expect(await onOf(it, 'keep')).toEqual(on)
    await it.request('DELETE', '/v1/app/kept')
    await button(page, 'Pause').click()
    await button(page, 'Resume').waitFor()
    expect(JSON.parse(await it.request('GET', path('keep')))).toMatchObject({ on, paused: true, attempts: 9 })
  })

  test('a table says by whom it is followed, of all tasks of its database, and only to a secret key', async () => {
    await makeTable(it, 'watched')
    await makeTable(it, 'lonely')
    const page = await it.open('#/app/watched/_about')
    await section(page, 'Followed by').getByText('No task follows this table.').waitFor()
    // The last of them is on the second page of tasks.
    for (let i = 0; i < 110; i++) await it.request('PUT', path(`a${String(i).padStart(3, '0')}`), {})
    await follow(it, 'first', 'watched')
    await follow(it, 'zz-last', 'watched', ['expire'])
    await follow(it, 'other', 'lonely')
    await page.reload()
    await it.signIn(page)
    const lines = section(page, 'Followed by').locator('li')
    await until(
      () => lines.allInnerTexts(),
      ['first has a run for each put, delete, expire', 'zz-last has a run for each expire'],
    )
    await shoot(page, 'about')
    expect(await it.findings(page)).toEqual([])
    await lines.getByRole('link', { name: 'zz-last' }).click()
    await page.getByRole('heading', { name: 'zz-last', level: 1 }).waitFor()
    const reader = await it.open('#/app/watched/_about', {}, it.organization.publicKey)
    await reader.getByRole('heading', { name: 'Queries that this table answers' }).waitFor()
    expect(await section(reader, 'Followed by').count()).toBe(0)
  })

  test('nothing is cut off or overlaps at 320, 400 and 1440 px, in light and dark, with long names', async () => {
    const table = `a-table-with-a-long-name-${'x'.repeat(39)}`
    const task = `a-task-with-a-long-name-${'y'.repeat(40)}`
    await makeTable(it, table)
    await follow(it, task, table)
    const page = await it.open(`#/app/_tasks/${task}`)
    for (const width of [320, 400, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      await goToScreen(page, `#/app/_tasks/${task}`, task)
      await follows(page).getByRole('link').waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      expect(await page.evaluate('document.querySelector("main").scrollWidth')).toBeLessThanOrEqual(width)
      expect(await it.findings(page)).toEqual([])
      await shoot(page, `task-${width}`)
      await button(page, 'Declaration').click()
      await page.getByLabel('on', { exact: true }).waitFor()
      const overlaps = await page.locator('dialog .form-row').evaluateAll((formRows) => {
        const boxes = formRows.flatMap((row) =>
          [...row.querySelectorAll('input, select')].map((field) => field.getBoundingClientRect()),
        )
        return boxes.filter((a, i) =>
          boxes.some((b, j) => j > i && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom),
        )
      })
      expect([width, overlaps]).toEqual([width, []])
      const widths = 'const { scrollWidth, clientWidth } = document.querySelector("dialog"); scrollWidth - clientWidth'
      expect([width, await page.evaluate(widths)]).toEqual([width, 0])
      await shoot(page, `dialog-${width}`)
      await page.keyboard.press('Escape')
      await page.locator('dialog').waitFor({ state: 'detached' })
      await goToScreen(page, `#/app/${table}/_about`, 'About')
      await section(page, 'Followed by').locator('li').waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      expect(await page.evaluate('document.querySelector("main").scrollWidth')).toBeLessThanOrEqual(width)
      await page.emulateMedia({ colorScheme: 'dark' })
      expect(await it.findings(page, ['color-contrast'])).toEqual([])
      await page.emulateMedia({ colorScheme: 'light' })
      await shoot(page, `about-${width}`)
    }
  })
})
