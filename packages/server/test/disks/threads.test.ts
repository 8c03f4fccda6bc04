import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type FaultPoint, planFaults } from '../../src/engines/sqlite/disk/fault-point.ts'
import { eventually, makeTempDir, removeTempDir, type Server, startServer, storeIsEmbedded } from '../harness.ts'

// A thread that cannot be started is tried again every second, for as long as it fails. If each try left its
// threads behind, a night would leave tens of thousands.

setDefaultTimeout(120_000)

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
        // So many writes are checkpointed when writes pause.
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

// A load balancer that asks the workers sends writes to a server that accepts none, if they do not know it.
describe.skipIf(!storeIsEmbedded())('with workers, while the writer thread of the owner cannot be started', () => {
  test('every worker is unready, one that is started meanwhile too; reads are served; then all are ready again', async () => {
    const dir = makeTempDir()
    const faults = join(dir, 'faults')
    let server: Server | undefined
    try {
      server = await startServer({
        dataDir: join(dir, 'data'),
        args: ['--workers', '2'],
        env: { NODE_ENV: 'test', CUBBY_TEST_FAULTS: faults },
      })
      const running = server
      const api = server.as((await server.createOrganization()).secretKey)
      const put = (hashKey: string) => api.put(tablePath, { hashKey, data: {} })
      await api.post(tablePath)
      expect((await put('a')).status).toBe(200)
      const readiness = async (): Promise<Set<number>> => {
        const asked = Array.from({ length: 20 }, () =>
          running.request('GET', '/readyz', { headers: { connection: 'close' } }).then(({ status }) => status),
        )
        return new Set(await Promise.all(asked))
      }
      const all = (status: number): Promise<unknown> =>
        eventually(`readyz to be ${status} in every worker`, async () => {
          const seen = await readiness().catch(() => new Set())
          return seen.size === 1 && seen.has(status) ? true : undefined
        })
      planFaults(
        faults,
        (['begun', ...Array<FaultPoint>(1_000).fill('open')] as const).map((at) => ({ at, code: 'SQLITE_MISUSE' })),
      )
      expect((await put('b')).status).toBe(500)
      await all(503)
      expect((await api.get(`${tablePath}/a`)).status).toBe(200)
      if (process.platform === 'linux') {
        const children = await Bun.file(`/proc/${running.pid}/task/${running.pid}/children`).text()
        const pids = children.trim().split(' ')
        for (const pid of pids) process.kill(Number(pid), 'SIGKILL')
        await eventually('the port to be served again', () => readiness().catch(() => undefined))
        await all(503)
      }
      await eventually('the writer thread to run', async () => {
        // The thread may have read the file before it was removed, and write it again.
        rmSync(faults, { force: true })
        return (await readiness().catch(() => new Set())).has(200) ? true : undefined
      })
      await all(200)
      expect((await put('b')).status).toBe(200)
    } finally {
      await server?.stop()
      removeTempDir(dir)
    }
  })
})
