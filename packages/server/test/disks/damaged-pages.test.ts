import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { registryLeaseMs } from '../../src/engines/sqlite/registry/registry-cache.ts'
import { type ApiResponse, makeTempDir, removeTempDir, type Server, startServer, storeIsEmbedded } from '../harness.ts'

// Somebody reads a record on a damaged page. Without this the next write of anybody was committed and never answered, and
// the next read of anybody failed as well.

setDefaultTimeout(120_000)

const pageBytes = 4_096
const damagedPages = 40
const tablePath = '/v1/app/notes'

/** Flips every bit of the first bytes of pages in the middle of the file. */
const damage = (path: string): void => {
  const file = openSync(path, 'r+')
  try {
    const first = Math.floor(statSync(path).size / pageBytes / 2) - damagedPages / 2
    const bytes = Buffer.alloc(64)
    for (let page = first; page < first + damagedPages; page++) {
      readSync(file, bytes, 0, bytes.length, page * pageBytes)
      writeSync(
        file,
        bytes.map((byte) => byte ^ 0xff),
        0,
        bytes.length,
        page * pageBytes,
      )
    }
  } finally {
    closeSync(file)
  }
}

describe.skipIf(!storeIsEmbedded())('a store with damaged pages', () => {
  for (const args of [[], ['--workers', '2']]) {
    test(`every request is answered, and those to undamaged records are served ${args.join(' ')}`, async () => {
      const dataDir = makeTempDir()
      let server: Server | undefined
      try {
        server = await startServer({ dataDir })
        const { secretKey } = await server.createOrganization()
        const api = server.as(secretKey)
        expect((await api.post(tablePath)).status).toBe(201)
        const keys = Array.from({ length: 1_000 }, (_, i) => `k${i}`)
        const data = { text: 'x'.repeat(1_500) }
        for (let i = 0; i < keys.length; i += 25) {
          const operations = keys.slice(i, i + 25).map((hashKey) => ({ op: 'put', hashKey, data }))
          expect((await api.post(`${tablePath}/batch`, { operations })).status).toBe(200)
        }
        await server.end('SIGTERM')
        damage(join(dataDir, 'cubby.db'))

        server = await startServer({ dataDir, args })
        const { url } = server
        const ask = async (method: string, path: string, body?: unknown): Promise<Pick<ApiResponse, 'status'>> => {
          const headers = { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' }
          const signal = AbortSignal.timeout(5_000)
          const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) ?? null, signal })
          await answer.arrayBuffer()
          return { status: answer.status }
        }
        const get = (key: string) => ask('GET', `${tablePath}/${key}`)
        const put = (hashKey: string) => ask('PUT', tablePath, { hashKey, data: { changed: true } })

        const statuses: number[] = []
        for (const key of keys) statuses.push((await get(key)).status)
        const damaged = keys.filter((_, i) => statuses[i] === 500)
        const innocent = keys.filter((_, i) => statuses[i] === 200)
        expect(damaged.length).toBeGreaterThan(10)
        expect(innocent.length).toBeGreaterThan(500)

        const writes: number[] = []
        for (let i = 0; i < 40; i++) {
          expect(await get(damaged[i % damaged.length]!)).toEqual({ status: 500 })
          expect(await get(innocent[i]!)).toEqual({ status: 200 })
          expect(await get(damaged[i % damaged.length]!)).toEqual({ status: 500 })
          writes.push((await put(innocent[i]!)).status)
          expect(await get(innocent[i]!)).toEqual({ status: 200 })
        }
        // One that meets a damaged page of an index is refused; the others are applied.
        expect(writes.filter((status) => status === 200).length).toBeGreaterThan(20)
        const all = await Promise.all([...damaged.map(get), ...innocent.slice(0, 100).map(put)])
        expect(all.map((answer) => answer.status).filter((status) => ![200, 500].includes(status))).toEqual([])
        for (const key of innocent) expect(await get(key)).toEqual({ status: 200 })
        // The first read after the lease of the registry is over begins a new transaction.
        for (let i = 0; i < 5; i++) {
          expect(await get(damaged[i]!)).toEqual({ status: 500 })
          await Bun.sleep(registryLeaseMs + 20)
          expect(await get(innocent[i]!)).toEqual({ status: 200 })
        }
        expect(server.log.filter((entry) => /^(uncaught|unhandled|the view)/.test(entry.message))).toEqual([])
      } finally {
        await server?.stop()
        removeTempDir(dataDir)
      }
    })
  }
})
