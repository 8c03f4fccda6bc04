import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { descriptionPages } from '../../src/openapi/pages.ts'
import { startServer } from '../harness.ts'

// The descriptions take 100 ms or more. They are made in a thread of their own, so that other requests do not wait for them.

setDefaultTimeout(120_000)

const OriginalWorker = globalThis.Worker
afterEach(() => {
  globalThis.Worker = OriginalWorker
})

test('the thread that serves does not even load what makes them', async () => {
  const fileOf = (path: string): string => fileURLToPath(new URL(`../../src/${path}`, import.meta.url))
  const loadedBy = async (path: string): Promise<string[]> => {
    const { metafile } = await Bun.build({
      entrypoints: [fileOf(path)],
      target: 'bun',
      packages: 'external',
      metafile: true,
    })
    return Object.keys(metafile!.inputs).map((input) => resolve(input))
  }
  const makers = ['openapi/document.ts', 'openapi/page/render.ts'].map(fileOf)
  expect(await loadedBy('openapi/pages-thread.ts')).toContainValues(makers)
  for (const path of ['process/serve.ts', 'process/worker.ts']) {
    const loaded = await loadedBy(path)
    expect(loaded).toContain(fileOf('openapi/pages.ts'))
    for (const maker of makers) expect(loaded).not.toContain(maker)
  }
})

test('they are made once, whichever is asked for first and however often', async () => {
  let started = 0
  globalThis.Worker = class extends OriginalWorker {
    constructor(url: string) {
      super(url)
      started++
    }
  } as typeof Worker
  const pages = descriptionPages()
  const made = await Promise.all([pages.docs(), pages.document(), pages.docs(), pages.document()])
  expect(made[2]).toBe(made[0])
  expect(made[3]).toBe(made[1])
  expect(await pages.docs()).toBe(made[0])
  expect(started).toBe(1)
})

test('if the thread fails, the request fails and the next one starts another', async () => {
  globalThis.Worker = class extends OriginalWorker {
    constructor() {
      super('data:text/javascript,throw new Error("no memory")')
    }
  } as typeof Worker
  const pages = descriptionPages()
  await expect(pages.docs()).rejects.toThrow('the descriptions of the API could not be made')
  globalThis.Worker = OriginalWorker
  expect((await pages.docs()).body.size).toBeGreaterThan(300_000)
})

test('the document names the address at which callers reach the server', async () => {
  const serversOf = async (args: string[]) => {
    const server = await startServer({ args })
    try {
      const { body } = await server.request('GET', '/openapi.json')
      return body.servers.map(({ url }: { url: string }) => url)
    } finally {
      await server.stop()
    }
  }
  // Relative: the server that sent the document.
  expect(await serversOf([])).toEqual(['/'])
  // A path that a proxy adds is known from the flag alone.
  expect(await serversOf(['--public-url', 'https://example.com/store/'])).toEqual(['https://example.com/store'])
  expect(await serversOf(['--workers', '2', '--public-url', 'https://example.com'])).toEqual(['https://example.com'])
})
