import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeConsole, until } from './console.ts'

// The console's words when an answer is an error, or does not come. They must not claim something else.

setDefaultTimeout(120_000)

const busy = {
  status: 503,
  contentType: 'application/json',
  body: JSON.stringify({ error: { code: 'overloaded', message: 'The server is busy.' } }),
}

describeConsole('answers that fail', (it) => {
  /** The next request of this kind is applied, and its answer is lost. */
  const loseAnswer = async (page: Page, url: string): Promise<void> => {
    let isLost = false
    await page.route(url, async (route) => {
      if (isLost || route.request().method() !== 'POST') return route.continue()
      isLost = true
      await route.fetch()
      return route.abort()
    })
  }

  test('a key whose creation got no answer is listed, to be revoked: its text is lost', async () => {
    const page = await it.open('#/_keys')
    await loseAnswer(page, '**/api/keys')
    await page.getByRole('button', { name: 'Create a key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('lost')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByText('may have been created').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Revoke lost' }).click()
    await page.getByRole('button', { name: 'Revoke the key' }).click()
    await page.getByRole('row', { name: /lost.*revoked/ }).waitFor()
  })

  test('a run whose addition got no answer may have been added, and the page says so', async () => {
    await it.request('PUT', '/v1/app/_tasks/once', '{}')
    const page = await it.open('#/app/_tasks/once')
    await loseAnswer(page, '**/v1/app/_tasks/once/run')
    await page.getByRole('button', { name: 'Run', exact: true }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Run', exact: true }).click()
    await dialog.getByText('may have been added all the same').waitFor()
    await page.locator('table.runs tbody tr').waitFor()
  })

  test('an Undo that fails says why', async () => {
    await it.request('POST', '/v1/app/undone', {})
    const page = await it.open('#/app/undone/_about')
    await page.route('**/v1/app/undone/restore', (route) => route.fulfill(busy))
    await page.getByRole('button', { name: 'Delete the table' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox').fill('undone')
    await dialog.getByRole('button', { name: 'Delete the table' }).click()
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await page.locator('.toast').getByText('The server is busy.').waitFor()
  })

  test('a picture that the server does not send is not said to be no picture', async () => {
    await it.request('POST', '/v1/app/_buckets/pictures', {})
    const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    await fetch(`${it.server.url}/v1/app/_buckets/pictures/dot.png`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${it.organization.secretKey}`, 'content-type': 'image/png' },
      body: Buffer.from(dot, 'base64'),
    })
    const page = await it.open('#/')
    await page.route(/\/dot\.png($|\?expires=)/, (route) => route.fulfill(busy))
    await page.goto(`${it.server.url}/console#/app/_buckets/pictures/f/dot.png`)
    await page.locator('main').getByText('The server is busy.').first().waitFor()
    expect(await page.locator('main').innerText()).not.toContain('not a picture')
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('img', { name: 'dot.png' }).waitFor()
  })

  test('a filter of files that is emptied by keyboard keeps the focus, and claims nothing meanwhile', async () => {
    await it.request('POST', '/v1/app/_buckets/filtered', {})
    await fetch(`${it.server.url}/v1/app/_buckets/filtered/a.txt`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${it.organization.secretKey}` },
      body: 'a',
    })
    const page = await it.open('#/app/_buckets/filtered')
    await page.getByLabel('Only names that begin with').fill('z')
    await page.getByText('No file has a name that begins with “z”').waitFor()
    await page.route('**/filtered/query', (route) => route.fulfill(busy))
    await page.keyboard.press('Backspace')
    await page.locator('main').getByText('The server is busy.').first().waitFor()
    expect(await page.locator('main').innerText()).not.toContain('This bucket has no files')
    await until(() => page.evaluate('document.activeElement.type'), 'search')
  })

  test('the text of an error that is cut in the list of runs says so', async () => {
    await it.request('PUT', '/v1/app/_tasks/wordy', '{"attempts":1}')
    await it.request('POST', '/v1/app/_tasks/wordy/run', '{"id":"a-1"}')
    const { runs } = JSON.parse(await it.request('POST', '/v1/app/_tasks/wordy/claim', {}))
    const [{ id, lease }] = runs
    await it.request('POST', `/v1/app/_tasks/wordy/runs/${id}/finish`, {
      lease,
      error: { message: 'x'.repeat(300) },
    })
    const page = await it.open('#/app/_tasks/wordy')
    expect(await page.locator('.run-error').last().innerText()).toEndWith('x…')
  })

  test('on a phone Esc closes the menu and that of the account', async () => {
    const page = await it.open('#/', { viewport: { width: 390, height: 844 } })
    const menu = page.getByRole('button', { name: 'Menu' })
    await menu.click()
    await page.getByLabel('Filter databases').focus()
    await page.keyboard.press('Escape')
    expect(await menu.getAttribute('aria-expanded')).toBe('false')
    await until(() => page.evaluate('document.activeElement.textContent'), 'Menu')
    await page.locator('.account summary').click()
    await page.getByRole('button', { name: 'Sign out' }).focus()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Sign out' }).waitFor({ state: 'hidden' })
    await until(() => page.evaluate('document.activeElement.tagName'), 'SUMMARY')
  })
})
