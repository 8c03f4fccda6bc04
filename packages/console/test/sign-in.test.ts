import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { type Console, describeConsole } from './console.ts'

// The key of a reader must stay nowhere: whoever comes to the browser later must not find it.

setDefaultTimeout(120_000)

interface KeyList {
  keys: { id: string; name: string | null; masked: string; status: string; expiresAt: number | null }[]
}

/** Everything in the page and in what the browser stores for it that a script could read. */
const tracesOf = (page: Page): Promise<string> =>
  page.evaluate(() =>
    [
      location.href,
      document.documentElement.outerHTML,
      ...[...document.querySelectorAll('input, textarea')].map((field) => (field as HTMLInputElement).value),
      document.cookie,
      JSON.stringify(localStorage),
      JSON.stringify(sessionStorage),
      JSON.stringify(history.state),
    ].join('\n'),
  )

const signingIn = (it: Console): void => {
  const keysOf = async (): Promise<KeyList['keys']> => JSON.parse(await it.request('GET', '/api/keys')).keys
  const isAlive = async (key: string): Promise<boolean> =>
    (await fetch(`${it.server.url}/api/keys/self`, { headers: { authorization: `Bearer ${key}` } })).ok
  const createKey = async (body: object): Promise<{ id: string; key: string }> =>
    JSON.parse(await it.request('POST', '/api/keys', body))

  test('a key is in memory only, and gone when the page is loaded again', async () => {
    const page = await it.open()
    expect(await tracesOf(page)).not.toContain(it.organization.secretKey)
    expect(await page.locator('.account').innerText()).toContain(it.organization.secretKey.slice(-4))
    await page.reload()
    await page.getByLabel('API key').waitFor()
  })

  test('"keep in this tab" keeps it in this tab alone, until sign-out', async () => {
    const page = await it.visit()
    await page.getByLabel('API key').fill(it.organization.secretKey)
    await page.getByLabel('Keep in this tab').check()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.shell').waitFor()
    expect(await page.evaluate(() => JSON.stringify(localStorage) + document.cookie)).not.toContain('svc_')
    await page.reload()
    await page.locator('.shell').waitFor()
    const second = await page.context().newPage()
    await second.goto(page.url())
    await second.getByLabel('API key').waitFor()
    await page.locator('.account summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').waitFor()
    expect(await tracesOf(page)).not.toContain('svc_live_')
    await page.reload()
    await page.getByLabel('API key').waitFor()
  })

  test('"sign in for 12 hours" keeps only a key made for it, and revokes it on sign-out', async () => {
    const page = await it.visit()
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.headers().authorization ?? ''))
    await page.getByLabel('API key').fill(it.organization.secretKey)
    await page.getByLabel('Sign in for 12 hours').check()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.shell').waitFor()
    const own = (await keysOf()).find(({ name }) => name === 'console, 12 hours')!
    const hours = (own.expiresAt! - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(11.9)
    expect(hours).toBeLessThanOrEqual(12)
    sent.length = 0
    await page.locator('.rail').getByRole('link', { name: 'Keys' }).click()
    await page.getByRole('row').getByText(own.masked).waitFor()
    const withKey = sent.filter((authorization) => authorization !== '')
    expect(withKey.length).toBeGreaterThan(0)
    for (const authorization of withKey) expect(authorization).toEndWith(own.masked.slice(-4))
    await page.locator('.account summary').click()
    const revoked = page.waitForResponse((response) => response.request().method() === 'DELETE')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await revoked
    expect((await keysOf()).find(({ id }) => id === own.id)?.status).toBe('revoked')
  })

  test('"sign in for 12 hours" is not offered to a key that cannot create keys, and says why', async () => {
    await it.request('POST', '/v1/app/notes', {})
    const { key } = await createKey({ kind: 'secret', name: 'limited', databases: ['app'] })
    const page = await it.visit()
    const forHours = page.getByLabel('Sign in for 12 hours')
    await forHours.check()
    await page.getByLabel('API key').fill(key)
    await page.getByText('reads and writes only app').waitFor()
    await page.getByText('limited to databases cannot create another key').waitFor()
    expect([await forHours.isDisabled(), await forHours.isChecked()]).toEqual([true, false])
    // Another key gets the choice back, as it was made.
    await page.getByLabel('API key').fill(it.organization.secretKey)
    await page.getByText('reads and writes all databases').waitFor()
    expect([await forHours.isDisabled(), await forHours.isChecked()]).toEqual([false, true])
    await page.getByLabel('API key').fill(it.organization.publicKey)
    expect(await forHours.count()).toBe(0)
    await page.getByLabel('API key').fill(key)
    await page.getByText('reads and writes only app').waitFor()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.shell').waitFor()
    expect(await page.locator('.account').innerText()).toContain(key.slice(-4))
  })

  test('who signs in for 12 hours before the server has described the key is told why not, and no key is created', async () => {
    const { key } = await createKey({ kind: 'secret', name: 'limited too', databases: ['app'] })
    const page = await it.visit()
    let isFirst = true
    // The first description never comes.
    await page.route('**/api/keys/self', (route) => {
      if (isFirst) isFirst = false
      else route.continue()
    })
    const before = (await keysOf()).length
    await page.getByLabel('Sign in for 12 hours').check()
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Error: Not for 12 hours').waitFor()
    expect(await page.locator('.shell').count()).toBe(0)
    expect(await keysOf()).toHaveLength(before)
    await page.getByLabel('Sign in for 12 hours').uncheck()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.shell').waitFor()
  })

  test('the sign-in link works once, and leaves a dead key in the address and the history', async () => {
    const link = await it.linkKey()
    const page = await it.visit(`#key=${link.key}`)
    await page.locator('.shell').waitFor()
    expect(page.url()).toEndWith('/console#/')
    expect(await tracesOf(page)).not.toContain(link.key)
    const keys = await keysOf()
    expect(keys.find(({ id }) => id === link.id)?.status).toBe('revoked')
    const own = keys.find(({ name, status }) => name === 'console, 12 hours' && status === 'active')!
    expect(await page.locator('.account').innerText()).toContain(own.masked.slice(-4))
    await page.reload()
    await page.locator('.shell').waitFor()
    expect(await page.locator('.account').innerText()).toContain(own.masked.slice(-4))
    const second = await it.visit(`#key=${link.key}`)
    await second.getByText('was used before').waitFor()
    expect(await tracesOf(second)).not.toContain(link.key)
  })

  test('the session of a link survives a reload of its tab, and signing out afterwards revokes its key', async () => {
    await revokeAllOwn()
    const page = await it.visit(`#key=${(await it.linkKey()).key}`)
    await page.locator('.shell').waitFor()
    const [own] = await liveOwnKeys()
    await page.reload()
    await page.locator('.shell').waitFor()
    // Only this tab has it.
    expect(await page.evaluate(() => JSON.stringify(localStorage) + document.cookie)).not.toContain('svc_')
    await page.locator('.account summary').click()
    const revoked = page.waitForResponse((response) => response.request().method() === 'DELETE')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await revoked
    expect(await statusOf(own!)).toBe('revoked')
    expect(await tracesOf(page)).not.toContain('svc_live_')
    await page.reload()
    await page.getByLabel('API key').waitFor()
  })

  test('a sign-in link that does not work says "Not signed in" and why: nobody was signed in', async () => {
    const short = await createKey({ kind: 'secret', name: 'short link', expiresAt: Date.now() + 1_000 })
    const revoked = await createKey({ kind: 'secret', name: 'revoked link' })
    await it.request('DELETE', `/api/keys/${revoked.id}`)
    while (await isAlive(short.key)) await Bun.sleep(50)
    for (const [key, reason] of [
      [short.key, 'is older than 15 minutes'],
      [revoked.key, 'was used before, or its key was revoked'],
      [`svc_live_${'A'.repeat(38)}`, 'did not work'],
      ['svc_live_half%20', 'is not whole'],
    ]) {
      const page = await it.visit(`#key=${key}`)
      const notice = await page.locator('.message').innerText()
      expect(notice).toStartWith('Not signed in: ')
      expect(notice).toContain(reason!)
      expect(notice).not.toContain('Signed out')
      expect(page.url()).not.toContain('svc_live_')
    }
  })

  const statusOf = async (id: string): Promise<string | undefined> =>
    (await keysOf()).find((key) => key.id === id)?.status
  const ownKeys = async () => (await keysOf()).filter(({ name }) => name === 'console, 12 hours')
  const liveOwnKeys = async () => (await ownKeys()).filter(({ status }) => status === 'active').map(({ id }) => id)
  /** Revocations get no answer, until it is called again with false. */
  const refuseRevocations = async (page: Page, refused: boolean): Promise<void> => {
    if (refused) {
      await page.route('**/api/keys/key_*', (route) =>
        route.request().method() === 'DELETE' ? route.abort() : route.continue(),
      )
    } else await page.unroute('**/api/keys/key_*')
  }
  const revokeAllOwn = async () => {
    for (const id of await liveOwnKeys()) await it.request('DELETE', `/api/keys/${id}`)
  }

  test('a link whose key could not be revoked: no key is left unseen, and it is revoked on demand', async () => {
    await revokeAllOwn()
    const link = await it.linkKey()
    const page = await it.visit()
    await refuseRevocations(page, true)
    await page.goto(`${it.server.url}/console#key=${link.key}`)
    await page.locator('.shell').waitFor()
    const message = page.locator('.message', { hasText: 'A key still works' })
    await message.waitFor()
    const masked = (await keysOf()).find(({ id }) => id === link.id)!.masked
    expect(await message.innerText()).toContain(masked)
    expect(await statusOf(link.id)).toBe('active')
    // The new key is the one of the session, which signing out revokes.
    const [own, ...others] = await liveOwnKeys()
    expect(others).toEqual([])
    expect(await page.locator('.account').innerText()).toContain(
      (await ownKeys()).find(({ id }) => id === own)!.masked.slice(-4),
    )
    expect(await it.findings(page)).toEqual([])
    await message.getByRole('button', { name: 'Revoke it now' }).click()
    await message.getByText('did not answer').waitFor()
    await refuseRevocations(page, false)
    await message.getByRole('button', { name: 'Revoke it now' }).click()
    await message.waitFor({ state: 'detached' })
    expect(await statusOf(link.id)).toBe('revoked')
    expect(await liveOwnKeys()).toEqual([own!])
  })

  test('signing out revokes the key of the link too, if it still works; what fails is said, and done after the next sign-in', async () => {
    await revokeAllOwn()
    const link = await it.linkKey()
    const page = await it.visit()
    await refuseRevocations(page, true)
    await page.goto(`${it.server.url}/console#key=${link.key}`)
    await page.locator('.shell').waitFor()
    const messages = page.locator('.message', { hasText: 'A key still works' })
    await messages.waitFor()
    await page.locator('.account summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').waitFor()
    await page.locator('.message', { hasText: 'the 12-hour key' }).waitFor()
    expect(await messages.count()).toBe(2)
    const [own] = await liveOwnKeys()
    await page.getByLabel('API key').fill(it.organization.secretKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.shell').waitFor()
    expect(await messages.count()).toBe(2)
    await refuseRevocations(page, false)
    await messages.first().getByRole('button', { name: 'Revoke it now' }).click()
    await page.waitForFunction(() => document.querySelectorAll('.screen > .message').length === 1)
    // The list of keys revokes it as any other key, and then nothing claims that it works.
    await page.locator('.rail').getByRole('link', { name: 'Keys' }).click()
    await page
      .getByRole('row')
      .filter({ hasText: 'active' })
      .getByRole('button', { name: 'Revoke console, 12 hours' })
      .click()
    await page.getByRole('button', { name: 'Revoke the key' }).click()
    await messages.waitFor({ state: 'detached' })
    expect([await statusOf(link.id), await statusOf(own!)]).toEqual(['revoked', 'revoked'])
  })

  // The risk: a shared query asks for a key, and after signing in the reader is somewhere else.
  test('a shared query is what the reader comes to, whichever way they sign in; the page says so', async () => {
    await it.request('POST', '/v1/app/wanted', { indices: { i1: { hashField: 'status' } } })
    for (const [key, status] of [
      ['a', 'open'],
      ['b', 'paid'],
    ])
      await it.request('PUT', '/v1/app/wanted', { hashKey: key, data: { status } })
    const hash = '#/app/wanted?index=i1&hash=%22open%22'
    const isThere = async (page: Page): Promise<void> => {
      await page.locator('.grid tbody').getByText('"open"').waitFor()
      expect(await page.locator('.grid tbody th a').allTextContents()).toEqual(['a'])
      expect(page.url()).toEndWith(hash)
    }
    const linkUrl = async () => `${it.server.url}/console#key=${(await it.linkKey()).key}`
    // A key signs in, while another tab of the same browser is signed in.
    const first = await it.open('#/')
    const page = await first.context().newPage()
    await page.goto(`${it.server.url}/console${hash}`)
    await page.getByText('After that you come to app / wanted, with the query of this address.').waitFor()
    expect(await it.findings(page)).toEqual([])
    await it.signIn(page)
    await isThere(page)
    // A link is opened in the tab.
    const opened = await it.visit(hash)
    await opened.getByLabel('API key').waitFor()
    await opened.goto(await linkUrl())
    await isThere(opened)
    // A link is pasted into the page.
    const pasted = await it.visit(hash)
    const link = await linkUrl()
    await pasted.getByLabel('API key').fill(link)
    await pasted.getByText('A sign-in link works once').waitFor()
    await pasted.getByRole('button', { name: 'Sign in' }).click()
    await isThere(pasted)
    expect(await isAlive(link.slice(link.indexOf('svc_live_')))).toBe(false)
    expect(await tracesOf(pasted)).not.toContain(link.slice(link.indexOf('svc_live_')))
    // A key that was not made for links is not taken from one.
    const wrong = await it.visit(hash)
    await wrong.getByLabel('API key').fill(`${it.server.url}/console#key=${it.organization.secretKey}`)
    await wrong.getByRole('button', { name: 'Sign in' }).click()
    await wrong.getByText('was not made for a link').first().waitFor()
    await wrong.getByLabel('API key').fill(link)
    await wrong.getByRole('button', { name: 'Sign in' }).click()
    await wrong.getByText('was used before').first().waitFor()
    expect(await wrong.locator('.shell').count()).toBe(0)
    await revokeAllOwn()
  })

  test('a session of 12 hours says that its keys end with it, and what to run for one that lasts', async () => {
    const page = await it.visit(`#key=${(await it.linkKey()).key}`)
    await page.locator('.shell').waitFor()
    await page.locator('.rail').getByRole('link', { name: 'Keys' }).click()
    await page.getByRole('button', { name: 'Create a key' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create a key' })
    await dialog.getByLabel('secret').check()
    expect(await dialog.locator('.message').innerText()).toMatch(/expires in 12 h at the latest/)
    expect(await dialog.locator('.message code').innerText()).toContain(
      `cubby keys create --org ${it.organization.name} --kind secret (npx cubbydb keys create`,
    )
    expect(await it.findings(page)).toEqual([])
    // Nothing is said for a key that does not expire.
    const lasting = await it.open('#/_keys')
    await lasting.getByRole('button', { name: 'Create a key' }).click()
    await lasting.getByRole('dialog').getByLabel('Name').waitFor()
    expect(await lasting.getByRole('dialog').locator('.message').count()).toBe(0)
    await revokeAllOwn()
  })

  test('a wrong key is told apart before and after it is sent', async () => {
    const page = await it.visit()
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.headers().authorization ?? ''))
    await page.getByLabel('API key').fill('svc_live_tooshort')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Copy the whole key').waitFor()
    expect(sent.filter((authorization) => authorization !== '')).toEqual([])
    await page.getByLabel('API key').fill(`svc_live_${'A'.repeat(38)}`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('invalid_api_key').waitFor()
  })

  test('a link that is opened while the page still signs in with a kept key is followed, and is not in the address', async () => {
    const page = await it.visit()
    await page.getByLabel('API key').fill(it.organization.secretKey)
    await page.getByLabel('Keep in this tab').check()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.shell').waitFor()
    let release = (): void => {}
    const isReleased = new Promise<void>((resolve) => {
      release = resolve
    })
    let asked = (): void => {}
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    await page.route('**/api/keys/self', async (route) => {
      asked()
      await isReleased
      await route.continue()
    })
    const link = await it.linkKey()
    await page.reload()
    await isAsked
    await page.evaluate((key) => {
      location.hash = `#key=${key}`
    }, link.key)
    release()
    await agree(page).click()
    await page.locator('.account', { hasText: await ownMasked() }).waitFor()
    expect(await tracesOf(page)).not.toContain(link.key)
    expect(await statusOf(link.id)).toBe('revoked')
  })

  const agree = (page: Page) => page.getByRole('button', { name: 'Sign out and use the link' })
  /** The end of the newest 12-hour key that is alive. */
  const ownMasked = async (): Promise<string> => {
    let found: string | undefined
    while (found === undefined) {
      found = (await ownKeys()).find(({ status }) => status === 'active')?.masked.slice(-4)
      if (found === undefined) await Bun.sleep(50)
    }
    return found
  }
  const signInForHours = async (page: Page): Promise<string> => {
    await page.getByLabel('API key').fill(it.organization.secretKey)
    await page.getByLabel('Sign in for 12 hours').check()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.shell').waitFor()
    const [own] = await liveOwnKeys()
    return own!
  }
  const aliveKeys = async (): Promise<string[]> =>
    (await keysOf()).filter(({ status }) => status === 'active').map(({ id }) => id)

  test('a link with a key that was not made for links is not followed: no key is made or revoked, no session ends', async () => {
    const other = await it.server.createOrganization()
    const plain = await createKey({ kind: 'secret', name: 'a secret of the backend' })
    const page = await it.visit()
    await page.getByLabel('API key').waitFor()
    const before = await aliveKeys()
    for (const key of [plain.key, it.organization.secretKey, other.secretKey]) {
      await page.goto(`${it.server.url}/console#key=${key}`)
      const notice = page.locator('.message', { hasText: 'was not made for a link' })
      await notice.waitFor()
      expect(await notice.innerText()).toStartWith('Not signed in: ')
      await page.reload()
      await page.getByLabel('API key').waitFor()
    }
    expect(await aliveKeys()).toEqual(before)
    expect(await isAlive(other.secretKey)).toBe(true)
    await signInForHours(page)
    const account = await page.locator('.account').innerText()
    const signedIn = await aliveKeys()
    for (const key of [plain.key, other.secretKey]) {
      await page.evaluate((to) => {
        location.hash = `#key=${to}`
      }, key)
      const notice = page.locator('.message', { hasText: 'Still signed in:' })
      await notice.waitFor()
      expect(await it.findings(page)).toEqual([])
      expect(await tracesOf(page)).not.toContain(key)
      await notice.getByRole('button', { name: 'Close' }).click()
      await notice.waitFor({ state: 'detached' })
      expect(await page.locator('.account').innerText()).toBe(account)
    }
    expect(await aliveKeys()).toEqual(signedIn)
  })

  test('a link asks before it replaces a session, and only then signs it out; no other key is revoked', async () => {
    await revokeAllOwn()
    await it.request('POST', '/v1/app/asked', {})
    await it.request('PUT', '/v1/app/asked', { hashKey: 'a', data: {} })
    const other = await it.server.createOrganization()
    const link = await it.linkKey(other.name)
    const page = await it.visit('#/app/asked/r/a')
    const own = await signInForHours(page)
    const editor = page.getByLabel('Data as JSON text')
    await editor.fill('{"mine": 1}')
    const before = await aliveKeys()
    const openLink = () =>
      page.evaluate((key) => {
        location.hash = `#key=${key}`
      }, link.key)
    await openLink()
    const dialog = page.locator('dialog')
    await dialog.getByText(other.name).waitFor()
    expect(await it.findings(page)).toEqual([])
    expect(await tracesOf(page)).not.toContain(link.key)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    // Nothing has happened: session, text and address are as they were, and the link can still be used.
    expect([page.url().endsWith('#/app/asked/r/a'), await editor.inputValue()]).toEqual([true, '{"mine": 1}'])
    expect(await aliveKeys()).toEqual(before)
    expect(await isAlive(link.key)).toBe(true)
    await openLink()
    await agree(page).click()
    await page.locator('.account', { hasText: other.name }).waitFor()
    await dialog.waitFor({ state: 'detached' })
    expect(page.url()).toEndWith('/console#/')
    expect([await isAlive(link.key), await isAlive(other.secretKey)]).toEqual([false, true])
    while ((await statusOf(own)) === 'active') await Bun.sleep(50)
    expect(await aliveKeys()).toEqual(before.filter((id) => id !== own))
  })

  test('a session that the tab has kept is one too; if the link fails after all, it stays', async () => {
    const page = await it.visit()
    await page.getByLabel('API key').fill(it.organization.secretKey)
    await page.getByLabel('Keep in this tab').check()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.shell').waitFor()
    const link = await it.linkKey()
    // A page of its own, so that the link is in the address when the console starts.
    await page.goto('about:blank')
    await page.goto(`${it.server.url}/console#key=${link.key}`)
    await agree(page).waitFor()
    await it.request('DELETE', `/api/keys/${link.id}`)
    await agree(page).click()
    await page.locator('dialog').getByText('revoked_api_key').waitFor()
    await page.locator('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.reload()
    await page.locator('.shell').waitFor()
    expect(await page.locator('.account').innerText()).toContain(it.organization.secretKey.slice(-4))
  })

  test('the key of "sign in for 12 hours" ends with the key that was given, if that ends earlier', async () => {
    await revokeAllOwn()
    const expiresAt = Date.now() + 3_600_000
    const { key } = await createKey({ kind: 'secret', name: 'an hour', expiresAt })
    const page = await it.visit()
    await page.getByLabel('API key').fill(key)
    await page.getByLabel('Sign in for 12 hours').check()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.shell').waitFor()
    expect((await ownKeys()).filter(({ status }) => status === 'active').map((own) => own.expiresAt)).toEqual([
      expiresAt,
    ])
  })

  test('a key that is revoked in the middle leads to sign-in with the reason', async () => {
    const { id, key } = await createKey({ kind: 'secret', name: 'to be revoked' })
    const page = await it.open('#/_pad', {}, key)
    await page.getByLabel('Method').selectOption('POST')
    await page.getByLabel('Body').fill('{"half": ')
    await page.getByLabel('Method').selectOption('GET')
    await it.request('DELETE', `/api/keys/${id}`)
    // A request for the rail may be refused first: then there is no button any more.
    const sent = page.getByRole('button', { name: 'Send' }).click()
    sent.catch(() => {})
    await page.getByText('Signed out:').waitFor()
    expect(await page.locator('.message').innerText()).toContain('revoked')
    await page.getByLabel('API key').fill(it.organization.secretKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'Request pad' }).click()
    await page.getByLabel('Method').selectOption('POST')
    expect(await page.getByLabel('Body', { exact: true }).inputValue()).toBe('{"half": ')
  })

  test('revoking the key of the session signs out at once', async () => {
    const { key } = await createKey({ kind: 'secret', name: 'my own' })
    const page = await it.open('#/_keys', {}, key)
    await page.getByRole('button', { name: 'Revoke my own' }).click()
    await page.locator('dialog').getByText('You are signed in with it').waitFor()
    await page.getByRole('button', { name: 'Revoke the key' }).click()
    await page.getByText('Signed out:').waitFor()
  })

  test('a key that is kept in the tab outlives a page that is loaded while the server is busy', async () => {
    const page = await it.visit()
    await page.getByLabel('API key').fill(it.organization.secretKey)
    await page.getByLabel('Keep in this tab').check()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.shell').waitFor()
    const busy = JSON.stringify({ error: { code: 'overloaded', message: 'The server is busy.' } })
    for (const [status, body] of [
      [503, busy],
      [429, busy],
      [502, '<h1>Bad gateway</h1>'],
    ] as const) {
      await page.route('**/api/keys/self', (route) => route.fulfill({ status, body }))
      await page.reload()
      await page.getByText('Not signed in:').waitFor()
      await page.getByText('Load the page again to try again.').waitFor()
      await page.unroute('**/api/keys/self')
    }
    await page.reload()
    await page.locator('.shell').waitFor()
  })

  test('axe-core finds nothing, light and dark, and at 320 px nothing is wider than the page', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await it.visit('#/', { colorScheme, viewport: { width: 320, height: 640 } })
      await page.getByLabel('API key').fill('svc_live_x')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('Copy the whole key').waitFor()
      expect(await it.findings(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    }
  })

  // The last one: it sets the server's clock.
  test('an expired key is refused with the reason', async () => {
    const { key } = await createKey({ kind: 'secret', name: 'short', expiresAt: Date.now() + 3_600_000 })
    const page = await it.open('#/', {}, key)
    // A request of the page would be refused too, and sign it out before the click.
    await page.waitForLoadState('networkidle')
    it.server.setClock(3_600_001)
    while (await isAlive(key)) await Bun.sleep(50)
    await page.locator('.rail').getByRole('link', { name: 'Keys' }).click()
    await page.getByText('Signed out:').waitFor()
    expect(await page.locator('.message').innerText()).toContain('expired')
  })
}

describeConsole('signing in to the console', signingIn, { clock: true })
