import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type FaultPoint, planFaults } from '../../src/engines/sqlite/disk/fault-point.ts'
import { eventually, makeTempDir, removeTempDir, type Server, startServer, storeIsEmbedded } from '../harness.ts'

// A thread that cannot be started is tried again every second, for as long as it fails. If each try left its
// threads behind, a night would leave tens of thousands.

setDefaultTimeout(60_000)

const tablePath = '/v1/app/notes'

const retries = (server: Server, message: string): number =>
  server.log.filter((entry) => entry.message === message).length

describe.skipIf(process.platform !== 'linux' || !storeIsEmbedded())('a thread that cannot be started', () => {
  const cases: [string, FaultPoint, string][] = [
    ['the writer', 'begun', 'the writer thread could not be started'],
    ['the checkpoint thread', 'copy', 'the checkpoint thread failed; starting another'],
  ]
  for (const [what, at, message] of cases) {
    test(`${what}: failed tries leave no threads behind, and then it runs`, async () => {
      const dir = makeTempDir()
      const faults = join(dir, 'faults')
      let server: Server | undefined
      try {
        server = await startServer({ dataDir: join(dir, 'data'), env: { NODE_ENV: 'test', CUBBY_TEST_FAULTS: faults } })
        const running = server
        const api = server.as((await server.createOrganization()).secretKey)
        const put = (hashKey: string) => api.put(tablePath, { hashKey, data: { text: 'x'.repeat(20_000) } })
        await api.post(tablePath)
        const threads = () => readdirSync(`/proc/${running.pid}/task`).length
        const tries = (count: number) =>
          eventually(`${count} tries`, () => (retries(running, message) >= count ? true : undefined), {
            waitMsMax: 30_000,
          })
        planFaults(
          faults,
          [at, ...Array<FaultPoint>(8).fill('open')].map((at) => ({ at, code: 'SQLITE_MISUSE' })),
        )
        // Enough to be checkpointed when writes pause.
        await Promise.all(Array.from({ length: 300 }, (_, i) => put(`k${i}`)))
        await tries(2)
        const before = threads()
        await tries(7)
        expect(threads() - before).toBeLessThan(4)
        await eventually('the last fault', () => (existsSync(`${faults}.hit`) ? true : undefined))
        await eventually('a put is applied', async () => ((await put('b')).status === 200 ? true : undefined))
      } finally {
        await server?.stop()
        removeTempDir(dir)
      }
    })
  }
})
