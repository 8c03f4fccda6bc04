import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeOwnConsole, type Front, openFront, until } from './console.ts'

// The live view of a table when its server ends and comes back. Without it, a page would go on to look live while it misses writes.

setDefaultTimeout(180_000)

const stateIs = (page: Page, word: string) => page.locator(`.live-state[data-state="${word}"]`).waitFor()
const keysShown = (page: Page): Promise<string[]> => page.locator('.grid tbody th a').allTextContents()

describeOwnConsole('the live view of a table', (it) => {
  let front: Front
  beforeAll(async () => {
    front = await openFront(it)
    it.address = front.url
  })
  afterAll(() => front?.close())

  test('a killed server: the dot says reconnecting, then live again, with what was written meanwhile', async () => {
    await it.request('POST', '/v1/app/orders', { changes: {} })
    await it.request('PUT', '/v1/app/orders', { hashKey: 'a', data: { n: 1 } })
    const page = await it.open('#/app/orders')
    await stateIs(page, 'live')
    for (const round of [1, 2]) {
      await it.server.kill()
      await stateIs(page, 'reconnecting')
      // What was shown stays, and nothing asks for anything.
      expect(await page.locator('.message').count()).toBe(0)
      expect((await keysShown(page)).length).toBe(round)
      await it.server.restart()
      await it.request('PUT', '/v1/app/orders', { hashKey: `while-away-${round}`, data: { n: 1 } })
      await stateIs(page, 'live')
      await until(async () => (await keysShown(page))[0], `while-away-${round}`)
    }
    expect(await page.locator('.row-mark').count()).toBeGreaterThan(0)
  })

  test('the dot says so as soon as the stream breaks, before anything is asked again', async () => {
    await it.request('POST', '/v1/app/broken', { changes: {} })
    const page = await it.open('#/app/broken')
    await stateIs(page, 'live')
    const states: (string | null)[] = []
    await page.route('**/broken/changes', async (route) => {
      states.push(await page.locator('.live-state').getAttribute('data-state'))
      await route.continue()
    })
    await it.server.kill()
    await it.server.restart()
    await until(() => states.length > 0, true)
    expect(states[0]).toBe('reconnecting')
    await stateIs(page, 'live')
  })

  test('a paused view stays paused while the server restarts', async () => {
    await it.request('POST', '/v1/app/paused', { changes: {} })
    await it.request('PUT', '/v1/app/paused', { hashKey: 'a', data: { n: 1 } })
    const page = await it.open('#/app/paused')
    await stateIs(page, 'live')
    await page.locator('.live-state').click()
    await stateIs(page, 'stopped')
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await it.server.kill()
    await it.server.restart()
    await it.request('PUT', '/v1/app/paused', { hashKey: 'b', data: { n: 1 } })
    expect(await keysShown(page)).toEqual(['a'])
    expect(asked).toEqual([])
    await page.locator('.live-state').click()
    await stateIs(page, 'live')
    await until(() => keysShown(page), ['b', 'a'])
  })
})
