import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeConsole, until } from './console.ts'
import { type HostileFile, hostileDocuments, hostileScript, hostileSvg } from './hostile-files.ts'

// The risk without it: an SVG that somebody uploaded becomes a document of the console's origin, where its script
// reads the key of whoever looks at it.

setDefaultTimeout(120_000)

describeConsole('hostile files in the console', (it) => {
  const put = async (file: HostileFile, visibility: string): Promise<void> => {
    const url = `${it.server.url}/v1/app/_buckets/hostile/${file.name}?visibility=${visibility}`
    const headers = { authorization: `Bearer ${it.organization.secretKey}`, 'content-type': file.type }
    expect((await fetch(url, { method: 'PUT', headers, body: file.text })).status).toBe(200)
  }

  const makeFiles = async (): Promise<{ scriptUrl: string }> => {
    await it.request('POST', '/v1/app/_buckets/hostile')
    await put(hostileScript, 'public')
    const record = JSON.parse(await it.request('GET', `/v1/app/_buckets/hostile/${hostileScript.name}?record=true`))
    return { scriptUrl: record.url }
  }

  /** Signed in, with the key in the storage of the tab. */
  const openKept = async (hash: string): Promise<Page> => {
    const page = await it.visit(hash)
    await page.getByLabel('Keep in this tab').check()
    await it.signIn(page)
    expect(await page.evaluate(() => JSON.stringify(Object.values(sessionStorage)))).toContain('svc_')
    return page
  }

  /** Ends when the document has loaded, with its scripts, or the browser saves it. */
  const follow = async (page: Page, go: () => Promise<unknown>): Promise<'shown' | 'saved'> => {
    const saved = page.waitForEvent('download').then(() => 'saved' as const)
    const shown = page.waitForEvent('load').then(() => 'shown' as const)
    for (const promise of [saved, shown]) promise.catch(() => {})
    await go().catch((error: Error) => {
      if (!/Download is starting|ERR_ABORTED/.test(error.message)) throw error
    })
    return Promise.race([saved, shown])
  }

  /** Opens the file as the browser's menu does: the new tab has nothing of the page. */
  const inNewTab = async (page: Page, url: string): Promise<'shown' | 'saved'> => {
    const tab = await page.context().newPage()
    return follow(tab, () => tab.goto(url))
  }

  /** Opens the file from the page: the document has the storage of the tab, and one made of a blob inherits the policy of the page. */
  const inThisTab = (page: Page, url: string): Promise<'shown' | 'saved'> =>
    follow(page, () =>
      page.evaluate((to) => {
        location.href = to
      }, url),
    )

  /** The names that a script has left in the storage of the console's origin. */
  const stolen = async (page: Page): Promise<string[]> => {
    const other = await page.context().newPage()
    await other.goto(`${it.server.url}/console`)
    const names = await other.evaluate(() => Object.keys(localStorage))
    await other.close()
    return names.filter((name) => name.startsWith('stolen'))
  }

  const ways = [
    { visibility: 'private', where: 'in a new tab', open: inNewTab, query: 'expires=' },
    { visibility: 'private', where: 'in the same tab', open: inThisTab, query: 'expires=' },
    { visibility: 'public', where: 'in a new tab', open: inNewTab, query: 'v=' },
    { visibility: 'public', where: 'in the same tab', open: inThisTab, query: 'v=' },
  ]
  for (const { visibility, where, open, query } of ways) {
    test(`a ${visibility} SVG is shown as a picture; no script of it runs when the picture's address is opened ${where}`, async () => {
      const { scriptUrl } = await makeFiles()
      const name = `${visibility}.svg`
      await put(hostileSvg(name, scriptUrl), visibility)
      const page = await openKept(`#/app/_buckets/hostile/f/${name}`)
      const picture = page.locator('.file-picture img')
      await until(() => picture.evaluate((img) => (img as HTMLImageElement).naturalWidth), 9)
      const url = await picture.evaluate((img) => (img as HTMLImageElement).src)
      const opened = await open(page, url)
      expect(await stolen(page)).toEqual([])
      expect(opened).toBe('saved')
      expect(url).toMatch(new RegExp(`^${it.server.url}/files/bkt_[0-9A-Za-z]{22}/${name}\\?${query}`))
    })
  }

  test('no file that is opened by its link runs a script in the origin of the console', async () => {
    const { scriptUrl } = await makeFiles()
    const page = await openKept('#/app/_buckets/hostile')
    for (const file of [...hostileDocuments(scriptUrl), hostileSvg('linked.svg', scriptUrl)]) {
      await put(file, 'private')
      const body = { name: file.name, expiresIn: 60 }
      const { url } = JSON.parse(await it.request('POST', '/v1/app/_buckets/hostile/url', body))
      await inNewTab(page, url)
      expect([file.type, await stolen(page)]).toEqual([file.type, []])
    }
  })
})
