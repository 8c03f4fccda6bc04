import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { descriptionPages } from '../../src/openapi/pages.ts'
import { startServer } from '../harness.ts'

// The descriptions take 100 ms or more. They are made in a thread of their own, so that other requests do not wait for them.

setDefaultTimeout(60_000)

const OriginalWorker = globalThis.Worker
afterEach(() => {
  globalThis.Worker = OriginalWorker
})

/** The time for which this thread has run. Unlike the time that passes, it does not depend on what else the machine does. */
const threadMs = (): number =>
  Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6

test.skipIf(process.platform !== 'linux')('they do not hold up the thread that serves', async () => {
  const turnsMs: number[] = []
  let last = threadMs()
  const timer = setInterval(() => {
    const now = threadMs()
    turnsMs.push(now - last)
    last = now
  }, 1)
  const pages = descriptionPages()
  const [document, docs] = await Promise.all([pages.document(), pages.docs()])
  await Bun.sleep(100)
  clearInterval(timer)
  expect(document.body.size).toBeGreaterThan(100_000)
  expect(docs.body.size).toBeGreaterThan(300_000)
  expect(turnsMs.length).toBeGreaterThan(5)
  // 1 to 2 ms are usual; made in this thread they take two turns of 50 ms.
  expect(Math.max(...turnsMs)).toBeLessThan(20)
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
