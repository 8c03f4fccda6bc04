import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeConsole, until } from './console.ts'

// Ways in which text, keys or the way back could get lost between screens and sessions.

setDefaultTimeout(120_000)

describeConsole('between screens and sessions', (it) => {
  const createKey = async (body: object): Promise<{ id: string; key: string }> =>
    JSON.parse(await it.request('POST', '/api/keys', body))

  test('a sign-in link that is pasted into an open tab signs in, and its key does not stay in the address', async () => {
    const link = await it.linkKey()
    const page = await it.visit()
    await page.getByLabel('API key').waitFor()
    await page.goto(`${it.server.url}/console#key=${link.key}`)
    await page.locator('.shell').waitFor({ timeout: 30_000 })
    expect(page.url()).toEndWith('/console#/')
    const { keys } = JSON.parse(await it.request('GET', '/api/keys'))
    expect(keys.find(({ id }: { id: string }) => id === link.id).status).toBe('revoked')
  })

  test('a sign-in link that is not whole says so, and does not stay in the address', async () => {
    const page = await it.visit('#key=svc_live_abc%20def')
    await page.getByText('The sign-in link is not whole').waitFor({ timeout: 30_000 })
    expect(page.url()).not.toContain('svc_live_')
  })

  test('back from unsaved text: after staying, the way back is as it was', async () => {
    await it.request('POST', '/v1/app/way', {})
    await it.request('PUT', '/v1/app/way', { hashKey: 'a', data: {} })
    const page = await it.open('#/', { viewport: { width: 1000, height: 800 } })
    for (const hash of ['#/app', '#/app/way', '#/app/way/r/a']) {
      await page.evaluate(`location.hash = '${hash}'`)
      await page.waitForFunction(`location.hash === '${hash}'`)
    }
    const editor = page.getByLabel('Data as JSON text')
    await editor.fill('{"mine": 1}')
    await page.evaluate('history.back()')
    const question = page.getByRole('dialog', { name: 'Leave without saving?' })
    await question.waitFor()
    await question.getByRole('button', { name: 'Cancel' }).click()
    // The browser had left the address; the page goes back to it.
    await page.waitForURL('**#/app/way/r/a')
    expect(await editor.inputValue()).toBe('{"mine": 1}')
    await page.evaluate('history.back()')
    await question.waitFor()
    await page.waitForURL('**#/app/way/r/a')
    await question.getByRole('button', { name: 'Leave' }).click()
    await page.waitForURL('**#/app/way', { timeout: 30_000 })
    await page.getByRole('grid').waitFor()
    await page.evaluate('history.back()')
    await page.waitForURL('**#/app', { timeout: 30_000 })
  })

  test('the draft of a declaration does not replace what somebody else has declared since', async () => {
    await it.request('PUT', '/v1/app/_tasks/shared', '{"attempts":3}')
    const { id, key } = await createKey({ kind: 'secret', name: 'to be revoked' })
    const page = await it.open('#/app/_tasks/shared', {}, key)
    await page.getByRole('button', { name: 'Declaration' }).click()
    await page.getByLabel('attempts', { exact: true }).fill('7')
    await it.request('DELETE', `/api/keys/${id}`)
    await page.getByText('Signed out:').waitFor()
    const theirs = '{"attempts":3,"schedule":{"every":3600,"payload":{"n":12345678901234567890,"m":1.0}}}'
    await it.request('PUT', '/v1/app/_tasks/shared', theirs)
    await page.getByLabel('API key').fill(it.organization.secretKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Declaration' }).click()
    expect(await page.getByLabel('attempts', { exact: true }).inputValue()).toBe('7')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Take the stored one' }).click({ timeout: 30_000 })
    // And what is stored survives an edit of another member, a pause and a resume, digit by digit.
    await page.getByLabel('attempts', { exact: true }).fill('8')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    const stored = await it.request('GET', '/v1/app/_tasks/shared')
    expect(stored).toContain('{"n":12345678901234567890,"m":1.0}')
    expect(stored).toContain('"attempts":8')
  })

  test('uploads that wait do not go to the organization that signs in next', async () => {
    const other = await it.server.createOrganization()
    for (const key of [it.organization.secretKey, other.secretKey]) {
      const answer = await fetch(`${it.server.url}/v1/app/_buckets/same`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: '{}',
      })
      expect(answer.status).toBeLessThan(300)
    }
    const page = await it.open('#/app/_buckets/same')
    const held: (() => void)[] = []
    await page.route('**/_buckets/same/*.txt?*', async (route) => {
      if (held.length < 3) await new Promise<void>((resolve) => held.push(resolve))
      await route.continue()
    })
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles(
        [1, 2, 3, 4, 5].map((i) => ({ name: `f${i}.txt`, mimeType: 'text/plain', buffer: Buffer.from(`file ${i}`) })),
      )
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Upload/ })
      .click()
    await until(() => held.length, 3)
    await page.locator('.account summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').fill(other.secretKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.shell').waitFor()
    for (const release of held) release()
    await Bun.sleep(1_000)
    const answer = await fetch(`${it.server.url}/v1/app/_buckets/same/query`, {
      method: 'POST',
      headers: { authorization: `Bearer ${other.secretKey}`, 'content-type': 'application/json' },
      body: '{}',
    })
    expect(((await answer.json()) as { items: { name: string }[] }).items.map(({ name }) => name)).toEqual([])
  })

  test('the sample data is removed also when one of its tables is gone already', async () => {
    const page = await it.open('#/')
    await it.request('POST', '/v1/cubby-sample/customers', {})
    await page.goto(`${it.server.url}/console#/cubby-sample`)
    await page.getByRole('button', { name: 'Remove the sample data' }).click()
    await page.getByText('The sample data is removed.').first().waitFor({ timeout: 30_000 })
    expect(JSON.parse(await it.request('GET', '/v1/cubby-sample')).tables).toEqual([])
  })

  test('in the pad a typed header replaces the one that would be sent, and a public key gets no method that only writes', async () => {
    const page = await it.open('#/_pad')
    await page.getByLabel('Method').selectOption('POST')
    await page.getByLabel('Body').fill('{}')
    await page.locator('summary', { hasText: 'Headers' }).first().click()
    await page.getByLabel('More headers').fill('content-type: text/plain')
    const sent = page.waitForRequest((request) => request.method() === 'POST')
    await page.getByRole('button', { name: 'Send' }).click()
    expect(await (await sent).headerValue('content-type')).toBe('text/plain')
    const reader = await it.open('#/_pad', {}, it.organization.publicKey)
    expect(await reader.getByLabel('Method').locator('option').allInnerTexts()).toEqual(['GET', 'POST', 'HEAD'])
  })

  test('a filter does not claim that nothing has the name while databases are not opened', async () => {
    for (let i = 0; i < 9; i++) await it.request('POST', `/v1/zz${i}/plain`, {})
    await it.request('POST', '/v1/zzz/needle', {})
    const page = await it.open('#/')
    await page.getByLabel('Filter this list').fill('needle')
    await page.getByRole('button', { name: 'Look into them' }).click({ timeout: 30_000 })
    await page.locator('main').getByRole('link', { name: 'needle' }).waitFor()
    const other = await it.open('#/')
    await other.getByLabel('Filter databases').fill('needle')
    await other.getByRole('navigation', { name: 'Databases' }).getByRole('button', { name: 'Look into them' }).click()
    await other.getByRole('navigation', { name: 'Databases' }).getByRole('link', { name: 'needle' }).waitFor()
  })

  const requestBy = async (key: string, method: string, path: string, body: object): Promise<unknown> => {
    const answer = await fetch(it.server.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(answer.status).toBeLessThan(300)
    return answer.json()
  }
  const signOut = async (page: Page): Promise<void> => {
    await page.locator('.account summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
  }
  const signIn = async (page: Page, key: string): Promise<void> => {
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.shell').waitFor()
  }

  test('an import that waits for a busy server does not go on in the organization that signs in next', async () => {
    const other = await it.server.createOrganization()
    for (const key of [it.organization.secretKey, other.secretKey]) {
      await requestBy(key, 'POST', '/v1/app/imported', {})
    }
    const page = await it.open('#/_import')
    const batches: string[] = []
    const busy = JSON.stringify({ error: { code: 'overloaded', message: 'Busy.' } })
    await page.route('**/v1/app/imported/batch', async (route) => {
      batches.push((await route.request().headerValue('authorization'))!)
      if (batches.length > 1) return route.continue()
      return route.fulfill({
        status: 503,
        headers: { 'retry-after': '5' },
        contentType: 'application/json',
        body: busy,
      })
    })
    await page.getByLabel('Database', { exact: true }).fill('app')
    await page.getByLabel('Table', { exact: true }).fill('imported')
    const buffer = Buffer.from('{"hashKey":"secret","data":{"of":"the first organization"}}\n')
    await page.getByLabel('File').setInputFiles({ name: 'mine.ndjson', mimeType: 'text/plain', buffer })
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await until(() => batches.length, 1)
    await signOut(page)
    await signIn(page, other.secretKey)
    // Neither the file nor the names that were typed are the next organization's.
    await page.getByLabel('Database', { exact: true }).waitFor()
    expect(await page.getByLabel('Database', { exact: true }).inputValue()).toBe('')
    expect(await page.locator('main').innerText()).not.toContain('mine.ndjson')
    await page.getByRole('status').getByText('Import failed').waitFor({ state: 'attached' })
    // The first one signs in again, and sees that it did not finish.
    await signOut(page)
    await signIn(page, it.organization.secretKey)
    await page.getByText('You signed out').first().waitFor()
    expect(batches).toHaveLength(1)
    const found = await requestBy(other.secretKey, 'POST', '/v1/app/imported/query', { index: 't' })
    expect((found as { items: unknown[] }).items).toEqual([])
  })

  test('names that are read while somebody signs out are not shown to the organization that signs in next', async () => {
    const other = await it.server.createOrganization()
    await it.request('POST', '/v1/app/merger-plans', {})
    await it.request('PUT', '/v1/app/_tasks/shared-name', '{}')
    await it.request('POST', '/v1/app/_tasks/shared-name/run', '{}')
    await requestBy(other.secretKey, 'POST', '/v1/app/plain', {})
    await requestBy(other.secretKey, 'PUT', '/v1/app/_tasks/shared-name', {})
    const page = await it.open('#/app/_tasks')
    const rail = page.getByRole('navigation', { name: 'Databases' })
    await rail.getByText('task · 1').waitFor()
    let release = (): void => {}
    const isReleased = new Promise<void>((resolve) => {
      release = resolve
    })
    let held = 0
    const late: Promise<void>[] = []
    await page.route('**/v1/app?limit=1000', async (route) => {
      if (held++ > 0) return route.continue()
      const answer = await route.fetch()
      const isSent = isReleased.then(() => route.fulfill({ response: answer }))
      late.push(isSent)
      return isSent
    })
    await page.getByRole('link', { name: 'Overview' }).click()
    await until(() => late.length, 1)
    await signOut(page)
    await signIn(page, other.secretKey)
    await rail.getByText('plain').waitFor()
    expect(await rail.innerText()).not.toContain('task · 1')
    release()
    await Promise.all(late)
    // The next page was shown too.
    await page.getByRole('link', { name: 'Request pad' }).click()
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('200 succeeded').waitFor()
    expect(await rail.innerText()).not.toContain('merger-plans')
  })

  test('signing out with unsaved text asks, and so does closing the tab while nobody is signed in', async () => {
    await it.request('POST', '/v1/app/out', {})
    await it.request('PUT', '/v1/app/out', { hashKey: 'a', data: {} })
    const page = await it.open('#/app/out/r/a')
    const editor = page.getByLabel('Data as JSON text')
    await editor.fill('{"mine": 1}')
    await signOut(page)
    const question = page.getByRole('dialog', { name: 'Sign out without saving?' })
    await question.getByRole('button', { name: 'Cancel' }).click()
    expect(await editor.inputValue()).toBe('{"mine": 1}')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await question.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').waitFor()
    const asked: string[] = []
    page.on('dialog', (dialog) => {
      asked.push(dialog.type())
      dialog.dismiss()
    })
    await page.close({ runBeforeUnload: true })
    await until(() => asked.length > 0, true)
    expect(asked).toEqual(['beforeunload'])
    await signIn(page, it.organization.secretKey)
    expect(await editor.inputValue()).toBe('{"mine": 1}')
    await page.getByRole('button', { name: 'Discard it' }).click()
    await signOut(page)
    await page.getByLabel('API key').waitFor()
  })
})
