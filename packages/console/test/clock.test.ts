import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeConsole } from './console.ts'

// A reader whose clock is wrong must not make keys and records that expire early, late or at once.

setDefaultTimeout(120_000)

const hourMs = 3_600_000
const dayMs = 24 * hourMs

describeConsole('a browser whose clock is an hour off', (it) => {
  const openAt = async (offMs: number, hash: string): Promise<Page> => {
    const page = await it.visit(hash)
    await page.addInitScript(`{
      const RightDate = Date
      const now = () => RightDate.now() + ${offMs}
      globalThis.Date = class extends RightDate {
        constructor(...given) { super(...(given.length === 0 ? [now()] : given)) }
        static now() { return now() }
      }
    }`)
    await page.reload()
    const offMinutes = ((await page.evaluate('Date.now()')) as number) / 60_000 - Date.now() / 60_000
    expect(Math.round(offMinutes / 60)).toBe(offMs / hourMs)
    return page
  }

  /** Half an hour is more than a busy machine takes, and less than the clock is off. */
  const expectSpan = (endMs: number, spanMs: number): void =>
    expect(Math.abs(endMs - spanMs - Date.now())).toBeLessThan(hourMs / 2)

  for (const [words, offMs] of [
    ['fast', hourMs],
    ['slow', -hourMs],
  ] as const) {
    test(`${words}: keys, sessions and records expire by the server's clock, and ages are right`, async () => {
      const page = await openAt(offMs, '#/_keys')
      const signIn = async (forHours: boolean): Promise<void> => {
        await page.getByLabel('API key').fill(it.organization.secretKey)
        if (forHours) await page.getByLabel('Sign in for 12 hours').check()
        await page.getByRole('button', { name: 'Sign in' }).click()
      }
      const createKey = async (name: string, expires: string): Promise<void> => {
        await page.getByRole('button', { name: 'Create a key' }).first().click()
        await page.getByLabel('Name').fill(name)
        await page.getByLabel('Expires').selectOption(expires)
        await page.getByRole('button', { name: 'Create', exact: true }).click()
        await page.getByText('It expires').waitFor()
        await page.getByRole('button', { name: 'Done' }).click()
      }
      const keyCalled = async (name: string): Promise<{ expiresAt: number }> => {
        const { keys } = JSON.parse(await it.request('GET', '/api/keys'))
        return keys.find((key: { name: string; status: string }) => key.name === name && key.status === 'active')
      }
      await signIn(false)
      await createKey(`a day, ${words}`, 'In a day')
      expectSpan((await keyCalled(`a day, ${words}`)).expiresAt, dayMs)
      await page.locator('.account summary').click()
      await page.getByRole('button', { name: 'Sign out' }).click()

      await signIn(true)
      await createKey(`as long as the session, ${words}`, 'When your own key expires')
      const session = await keyCalled('console, 12 hours')
      expectSpan(session.expiresAt, 12 * hourMs)
      expect((await keyCalled(`as long as the session, ${words}`)).expiresAt).toBe(session.expiresAt)
      const created = page
        .getByRole('row', { name: `a day, ${words}` })
        .locator('time')
        .last()
      expect(await created.innerText()).toMatch(/^(just now|\d+ (s|min) ago)$/)

      await it.request('POST', `/v1/app/${words}`, {})
      await page.goto(`${it.server.url}/console#/app/${words}/_new`)
      await page.getByLabel('Hash key').fill('a')
      await page.getByLabel('Expires (ttl)').fill('in 30 minutes')
      await page.getByLabel('Data as JSON text').fill('{}')
      await page.keyboard.press('Control+s')
      await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor({ state: 'attached' })
      expectSpan(JSON.parse(await it.request('GET', `/v1/app/${words}/a`)).ttl * 1000, hourMs / 2)

      await page.locator('.account summary').click()
      const revoked = page.waitForResponse((response) => response.request().method() === 'DELETE')
      await page.getByRole('button', { name: 'Sign out' }).click()
      await revoked
    })
  }

  test("the import leaves out what has expired by the server's clock, and nothing else", async () => {
    const page = await openAt(hourMs, '#/_import')
    await page.getByLabel('API key').fill(it.organization.secretKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByLabel('Database', { exact: true }).fill('app')
    await page.getByLabel('Table', { exact: true }).fill('imported')
    await page.getByLabel(/Create missing tables/).check()
    const seconds = Math.floor(Date.now() / 1000)
    const lines = [
      `{"hashKey":"gone","data":{},"ttl":${seconds - 60}}`,
      `{"hashKey":"live","data":{},"ttl":${seconds + 1_800}}`,
    ]
    await page
      .getByLabel('File')
      .setInputFiles({ name: 'lines.ndjson', mimeType: 'application/x-ndjson', buffer: Buffer.from(lines.join('\n')) })
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('1 imported').waitFor()
    const { items } = JSON.parse(await it.request('POST', '/v1/app/imported/query', { index: 't' }))
    expect(items.map(({ hashKey }: { hashKey: string }) => hashKey)).toEqual(['live'])
  })
})
