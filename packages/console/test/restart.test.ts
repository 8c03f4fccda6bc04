import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Page, Route } from 'playwright-core'
import { describeOwnConsole, type Front, openFront } from './console.ts'

// A server that ends in the middle of long work. Without these, the page could show as done what was not, or keep a part of an
// export as if it were all of it.

setDefaultTimeout(180_000)

const isFull = process.env.CUBBY_TEST_CONSOLE === 'full'

describeOwnConsole('a server that restarts in the middle of', (it) => {
  let front: Front
  beforeAll(async () => {
    front = await openFront(it)
    it.address = front.url
  })
  afterAll(() => front?.close())

  const fill = async (table: string, records: number): Promise<void> => {
    await it.request('POST', `/v1/app/${table}`, {})
    for (let from = 0; from < records; from += 25) {
      const operations = Array.from({ length: Math.min(25, records - from) }, (_, i) => ({
        op: 'put',
        hashKey: `k${String(from + i).padStart(5, '0')}`,
        data: { n: from + i },
      }))
      await it.request('POST', `/v1/app/${table}/batch`, { operations })
    }
  }
  const count = async (table: string): Promise<number> => {
    let sum = 0
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = { index: 't', select: 'count', cursor }
      const page = JSON.parse(await it.request('POST', `/v1/app/${table}/query`, query))
      sum += page.count
      cursor = page.cursor
    }
    return sum
  }
  /** Calls `meet` instead of the nth request that matches. */
  const meetNth = async (page: Page, pattern: RegExp, nth: number, meet: (route: Route) => Promise<void>) => {
    let seen = 0
    await page.route(pattern, (route) => {
      seen++
      return seen === nth ? meet(route) : route.continue()
    })
  }
  const endBefore = async (route: Route): Promise<void> => {
    await it.server.kill()
    await route.continue()
  }
  /** The server does it, and ends before its answer arrives. */
  const endAfter = async (route: Route): Promise<void> => {
    await route.fetch()
    await it.server.kill()
    await route.abort()
  }

  const choose = async (page: Page, files: { name: string; mimeType: string; buffer: Buffer }[]): Promise<void> => {
    await page.locator('input[type=file]').first().setInputFiles(files)
    await page.locator('dialog').getByRole('button', { name: 'Upload', exact: true }).click()
  }

  test('an upload: it failed, no file is there, and it is sent again on demand', async () => {
    await it.request('POST', '/v1/app/_buckets/files')
    const page = await it.open('#/app/_buckets/files')
    const buffer = Buffer.alloc(8_000_000, 'cubby ')
    const killed = Promise.withResolvers<void>()
    let isEnding = false
    front.onBytes = (sum) => {
      if (isEnding || sum < 2_000_000) return
      isEnding = true
      it.server.kill().then(killed.resolve, killed.reject)
    }
    await choose(page, [{ name: 'big.txt', mimeType: 'text/plain', buffer }])
    const row = page.locator('.upload', { hasText: 'big.txt' })
    await row.getByText('The server did not answer.').waitFor()
    await killed.promise
    expect(await row.getByText('Done').count()).toBe(0)
    await it.server.restart()
    expect(JSON.parse(await it.request('POST', '/v1/app/_buckets/files/query', {})).items).toEqual([])
    await row.getByRole('button', { name: 'Try again' }).click()
    await row.getByText('Done').waitFor()
    expect(await it.request('GET', '/v1/app/_buckets/files/big.txt')).toBe(buffer.toString())
  })

  test('an upload that was stored without an answer: it is not called done, and sending again asks', async () => {
    await it.request('POST', '/v1/app/_buckets/unanswered')
    const page = await it.open('#/app/_buckets/unanswered')
    await meetNth(page, /unanswered\/note\.txt/, 1, endAfter)
    await choose(page, [{ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('text') }])
    const row = page.locator('.upload', { hasText: 'note.txt' })
    await row.getByText('The server did not answer.').waitFor()
    expect(await row.getByText('Done').count()).toBe(0)
    await it.server.restart()
    await row.getByRole('button', { name: 'Try again' }).click()
    await row.getByText('A file has this name: 4 bytes').waitFor()
    await row.getByRole('button', { name: 'Replace' }).click()
    await row.getByText('Done').waitFor()
    expect(await it.request('GET', '/v1/app/_buckets/unanswered/note.txt')).toBe('text')
  })

  test('the removal of files: it says what is not known, and then shows what is there', async () => {
    await it.request('POST', '/v1/app/_buckets/old')
    await fetch(`${it.server.url}/v1/app/_buckets/old/a.txt`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${it.organization.secretKey}` },
      body: 'a',
    })
    const page = await it.open('#/app/_buckets/old')
    await page.getByLabel('Select all shown files').check()
    await page.getByRole('button', { name: 'Remove 1 file' }).click()
    await meetNth(page, /old\/a\.txt/, 1, endAfter)
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Remove 1 file' }).click()
    await dialog.getByText('It may be removed all the same.').waitFor()
    expect(await dialog.getByText('Not confirmed:').locator('..').innerText()).toBe('Not confirmed: 1 of 1 file')
    await it.server.restart()
    await dialog.getByText('Close', { exact: true }).click()
    // The list is read again: the server had removed it.
    await page.getByText('This bucket has no files.').waitFor()
  })

  test('an export: no file is saved, and the next one is whole', async () => {
    const records = isFull ? 25_000 : 2_500
    await fill('exported', records)
    const page = await it.open('#/app/exported')
    const downloads: string[] = []
    page.on('download', (download) => downloads.push(download.suggestedFilename()))
    // The query of the screen, then pages of 1,000.
    await page.getByRole('grid').waitFor()
    await meetNth(page, /exported\/query/, 3, endBefore)
    await page.getByRole('button', { name: 'Export NDJSON' }).click()
    const job = page.locator('.job')
    await job.getByText('The export did not finish. No file was saved.').waitFor()
    expect(await job.innerText()).toContain('The server did not answer.')
    expect(downloads).toEqual([])
    await it.server.restart()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export NDJSON' }).click()
    const path = await (await download).path()
    const keys = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).hashKey)
    expect(new Set(keys).size).toBe(records)
    expect(keys).toHaveLength(records)
    expect(await job.innerText()).not.toContain('did not answer')
  })

  const importFile = async (page: Page, table: string, records: number): Promise<void> => {
    await page.getByLabel('Database', { exact: true }).fill('app')
    await page.getByLabel('Table', { exact: true }).fill(table)
    const lines = Array.from({ length: records }, (_, i) => `{"hashKey":"r${i}","data":{"n":${i}}}`)
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'r.ndjson', mimeType: 'application/x-ndjson', buffer: Buffer.from(lines.join('\n')) })
    await page.getByRole('button', { name: 'Import', exact: true }).click()
  }

  test('an import: it goes on when the server is back, and what it counts is stored', async () => {
    const records = isFull ? 50_000 : 2_000
    await it.request('POST', '/v1/app/imported', {})
    const page = await it.open('#/_import')
    const ended = Promise.withResolvers<void>()
    await meetNth(page, /imported\/batch/, 10, async (route) => {
      await endAfter(route)
      ended.resolve()
    })
    await importFile(page, 'imported', records)
    await ended.promise
    await page.getByRole('heading', { name: /^Importing: / }).waitFor()
    await it.server.restart()
    await page.getByRole('heading', { name: /^Imported: / }).waitFor({ timeout: 120_000 })
    expect(await page.locator('.facts').innerText()).toContain(`${records.toLocaleString('en')} imported`)
    expect(await count('imported')).toBe(records)
  })

  // It tries for about 16 seconds before it gives up.
  test.skipIf(!isFull)(
    'an import, for good: it says that it is not finished, and counts only what is stored',
    async () => {
      await it.request('POST', '/v1/app/cut', {})
      const page = await it.open('#/_import')
      await meetNth(page, /cut\/batch/, 10, endAfter)
      await importFile(page, 'cut', 2_000)
      await page.getByRole('heading', { name: /^Import failed: / }).waitFor({ timeout: 120_000 })
      const shown = await page.locator('main').innerText()
      expect(shown).toContain('The server did not answer.')
      expect(shown).toContain('Records whose answer did not come may be imported too.')
      const imported = Number(/([\d,]+) imported/.exec(shown)![1]!.replace(',', ''))
      await it.server.restart()
      const stored = await count('cut')
      expect(imported).toBeGreaterThan(0)
      expect(stored).toBeGreaterThanOrEqual(imported)
      expect(stored).toBeLessThan(2_000)
      await importFile(page, 'cut', 2_000)
      await page.getByRole('heading', { name: /^Imported: / }).waitFor()
      expect(await count('cut')).toBe(2_000)
    },
  )

  for (const [how, meet, isApplied] of [
    ['before the server did it', endBefore, false],
    ['after the server did it', endAfter, true],
  ] as const) {
    test(`a delete of many records, ${how}: the page says what was deleted and what is not known`, async () => {
      const records = isFull ? 1_000 : 100
      const table = isApplied ? 'done' : 'undone'
      await fill(table, records)
      const page = await it.open(`#/app/${table}`)
      await page.getByLabel('limit').fill('1000')
      await page.keyboard.press('Enter')
      const rows = page.locator('.grid tbody tr')
      await page.waitForFunction((wanted) => document.querySelectorAll('.grid tbody tr').length === wanted, records)
      await meetNth(page, new RegExp(`${table}/batch`), 3, meet)
      await page.getByLabel('Select all shown records').check()
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      const job = page.locator('.job')
      await job.getByText('50 records deleted before the error.').waitFor()
      expect(await job.innerText()).toContain('The next ones, 25 at most, may be deleted too.')
      expect(await job.innerText()).toContain('The server did not answer.')
      expect(await rows.count()).toBe(records - 50)
      await it.server.restart()
      expect(await count(table)).toBe(records - (isApplied ? 75 : 50))
      // Deleting the same selection again tells the two apart.
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await job.getByText(`${(records - (isApplied ? 75 : 50)).toLocaleString('en')} records deleted.`).waitFor()
      expect((await job.innerText()).includes('25 records were already deleted.')).toBe(isApplied)
      expect(await count(table)).toBe(0)
    })
  }
})
