import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Fault, planFaults } from '../../src/engines/sqlite/disk/fault-point.ts'
import {
  type Api,
  eventually,
  makeTempDir,
  removeTempDir,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { ok, refused } from '../http/service.ts'
import { Random, testSeed } from '../model/random.ts'

// What adds to logs and removes them is killed in the middle. Without what is shown here a log could begin twice or have a gap,
// and what a table has left behind would stay in the store for ever.

setDefaultTimeout(180_000)

const hourMs = 60 * 60_000
const path = '/v1/app/orders'
const lineCount = 1_500

describe.skipIf(!storeIsEmbedded())('killed in the middle of', () => {
  let dir: string
  let faults: string
  let server: Server
  let api: Api
  let random: Random

  beforeEach(async () => {
    const seed = testSeed()
    console.log(`killed commands: CUBBY_TEST_SEED=${seed}`)
    random = new Random(seed)
    dir = makeTempDir()
    faults = join(dir, 'faults')
    const env = { NODE_ENV: 'test', CUBBY_TEST_FAULTS: faults }
    server = await startServer({ dataDir: join(dir, 'data'), clock: true, env })
    api = server.as((await server.createOrganization()).secretKey)
  })
  afterEach(async () => {
    rmSync(faults, { force: true })
    await server.stop()
    removeTempDir(dir)
  })

  /** Kills the server, and looks at what that leaves. */
  const kill = async (): Promise<void> => {
    await server.kill()
    // It may have been killed before it has removed the plan itself.
    for (const file of [faults, `${faults}.hit`]) rmSync(file, { force: true })
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
  }

  /** Kills the server in the commit after so many others. */
  const killAtCommit = async (others: number, begin: () => unknown): Promise<void> => {
    const at = random.pick(['statement', 'commit'] as const)
    const passed: Fault[] = Array.from({ length: others }, () => ({ at, waitMs: 0 }))
    planFaults(faults, [...passed, { at, waitMs: 60_000 }])
    begin()
    await eventually('the commit', () => (existsSync(`${faults}.hit`) ? true : undefined), { pauseMs: 1 })
    await kill()
  }

  /** Kills the server in a commit after the one that has made `isBegun` true. Each takes long enough to see what it did. */
  const killBetween = async (isBegun: () => boolean, begin: () => unknown): Promise<void> => {
    const at = random.pick(['statement', 'commit'] as const)
    planFaults(faults, Array<Fault>(10_000).fill({ at, waitMs: 50 }))
    begin()
    await eventually('the first steps', () => (isBegun() ? true : undefined), { pauseMs: 1 })
    await Bun.sleep(random.int(0, 60))
    await kill()
  }

  const inStore = <T>(look: (db: Database) => T): T => {
    const db = new Database(join(server.dataDir, 'cubby.db'), { readonly: true })
    try {
      return look(db)
    } finally {
      db.close()
    }
  }
  const countOf = (table: string): number =>
    inStore((db) => db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()!.n)

  const load = async (): Promise<void> => {
    const lines = Array.from({ length: lineCount }, (_, n) => `${JSON.stringify({ hashKey: `k${n}`, data: { n } })}\n`)
    const headers = { 'content-type': 'application/x-ndjson' }
    ok(await api.request('POST', `${path}/load`, lines.join(''), headers))
  }
  const read = (request: object) => api.post(`${path}/changes`, request)

  test('keepChanges: it has happened or not, and the log goes on', async () => {
    ok(await api.post(path), 201)
    let [isKept, writes] = [false, 0]
    const keep = (on: boolean) => api.put(`${path}/changes`, { keepHours: on ? 24 : null })
    const put = async () => ok(await api.put(path, { hashKey: `k${writes++}`, data: {} }))
    for (let round = 0; round < 5; round++) {
      const cursor = isKept ? ok(await read({ from: 'now' })).cursor : undefined
      let answered: number | undefined
      let isKilled = false
      let running: Promise<unknown> | undefined
      await killAtCommit(random.int(0, 3), () => {
        // Commits of writes come before it, with it and after it.
        const write = async () => {
          while (!isKilled) await put()
        }
        const keeping = keep(!isKept).then(({ status }) => {
          answered = status
        })
        running = Promise.allSettled([write(), keeping, write()])
      })
      isKilled = true
      await running
      await server.start()
      const { changes } = ok(await api.get(path))
      if (answered === 200) expect(changes !== undefined).toBe(!isKept)
      isKept = changes !== undefined
      if (cursor !== undefined && isKept) {
        await put()
        const key = `k${writes - 1}`
        expect(ok(await read({ cursor, limit: 1_000 })).items.at(-1)).toMatchObject({ op: 'put', hashKey: key })
      }
      // The other way, and back.
      ok(await keep(!isKept))
      isKept = !isKept
      if (isKept && cursor !== undefined) refused(await read({ cursor }), 410, 'cursor_expired')
      if (isKept) {
        const from = ok(await read({ from: 'now' })).cursor
        await put()
        expect(ok(await read({ cursor: from })).count).toBe(1)
      } else refused(await read({}), 409, 'changes_not_kept')
    }
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
  })

  test('a sweep of the log: readers who are up to date go on, others have expired, and the rest is swept later', async () => {
    ok(await api.post(path, { changes: { keepHours: 1 } }), 201)
    const old = ok(await read({ from: 'now' })).cursor
    let interrupted = 0
    for (let round = 0; round < 3; round++) {
      await load()
      await load()
      const head = ok(await read({ from: 'now' })).cursor
      const before = countOf('changes')
      await killBetween(
        () => countOf('changes') < before,
        () => server.setClock((round + 1) * 2 * hourMs),
      )
      const left = countOf('changes')
      expect(left).toBeGreaterThan(0)
      if (left > 1) interrupted++
      await server.start()
      expect(ok(await read({ cursor: head })).count).toBe(0)
      ok(await api.put(path, { hashKey: 'new', data: { round } }))
      expect(ok(await read({ cursor: head })).items).toMatchObject([{ op: 'put', hashKey: 'new' }])
      await eventually('the rest is swept', () => (countOf('changes') === 2 ? true : undefined))
      expect(ok(await read({ cursor: head })).count).toBe(1)
      refused(await read({ cursor: old }), 410, 'cursor_expired')
    }
    expect(interrupted).toBeGreaterThan(0)
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
  })

  test('a purge of a table with a log: it is not restored, and nothing of it is left', async () => {
    let interrupted = 0
    for (let round = 1; round <= 3; round++) {
      ok(await api.post(path, { changes: { keepHours: 168 } }), 201)
      await load()
      // Some of what it leaves is in the log only.
      for (let n = 0; n < 50; n++) ok(await api.delete(`${path}/k${n}`))
      ok(await api.delete(path))
      const before = countOf('changes')
      expect(before).toBe(lineCount + 51)
      // Records go first, then the log.
      const isBegun = () =>
        round === 1 ? countOf('records') < lineCount - 50 : countOf('changes') < before - random.int(0, 1_000)
      await killBetween(isBegun, () => server.setClock(round * 8 * 24 * hourMs))
      if (countOf('changes') > 0) interrupted++
      await server.start()
      refused(await api.post(`${path}/restore`), 404, 'table_not_found')
      await eventually('nothing of it is left', () =>
        ['changes', 'records', 'tables'].every((name) => countOf(name) === 0) ? true : undefined,
      )
    }
    expect(interrupted).toBeGreaterThan(0)
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
  })
})
