import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { endWait, planFaults } from '../../src/engines/sqlite/disk/fault-point.ts'
import { eventually, makeTempDir, removeTempDir, type Server, startServer, storeIsEmbedded } from '../harness.ts'
import { makeTable, ok, refused, type TestTable } from '../http/service.ts'
import { Random, testSeed } from '../model/random.ts'
import { bodyKinds, countFirstLines, linesOf, makeLoadTable, SentLoad, storedUpTo } from './load-body.ts'

// A load that was interrupted is sent again. That is right only if the lines that are stored are the first ones, and a line that
// was counted is never lost.

setDefaultTimeout(300_000)

const rounds = Number(process.env.CUBBY_TEST_CRASH_ROUNDS ?? 20)
const lineCount = 20_000

test(`killed ${rounds} times in the middle of a load: the stored lines are the first ones, and the same load again completes it`, async () => {
  const seed = testSeed()
  console.log(`load crash test: CUBBY_TEST_SEED=${seed}`)
  const random = new Random(seed)
  const server = await startServer()
  let interrupted = 0
  try {
    const key = (await server.createOrganization()).secretKey
    const text = linesOf(0, lineCount)
    for (let round = 0; round < rounds; round++) {
      const table = await makeLoadTable(server, key)
      const kind = bodyKinds[round % bodyKinds.length]!
      const sent = await SentLoad.begin(server, table, kind, Buffer.byteLength(text))
      const answered = sent.answer().catch(() => undefined)
      sent.send(text)
      sent.end()
      const wanted = random.int(0, lineCount * 0.9)
      const known = await eventually(
        'lines are stored',
        async () => {
          const count = await storedUpTo(table)
          return count >= wanted ? count : undefined
        },
        { pauseMs: 1 },
      )
      await Bun.sleep(random.next() * 10)
      await server.kill()
      sent.close()
      const isWhole = (await answered)?.status === 200
      const verified = round % 5 === 0 ? await server.cubby('verify') : undefined
      await server.start()
      const found = await countFirstLines(table)
      expect(found).toBeGreaterThanOrEqual(isWhole ? lineCount : known)
      // Whole commits, of which none is torn.
      expect(found === lineCount ? 0 : found % 1_000).toBe(0)
      if (found < lineCount) interrupted++
      const again = await SentLoad.begin(server, table, kind, Buffer.byteLength(text))
      again.send(text)
      again.end()
      expect(ok(await again.answer())).toEqual({ count: lineCount, skipped: 0, failed: 0, errors: [] })
      again.close()
      expect(await countFirstLines(table)).toBe(lineCount)
      expect(verified ?? { exitCode: 0, stderr: '' }).toMatchObject({ exitCode: 0, stderr: '' })
    }
    expect(interrupted).toBeGreaterThan(rounds / 4)
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
  } finally {
    await server.stop()
  }
})

describe.skipIf(!storeIsEmbedded())('a writer that', () => {
  const withFaults = async (
    work: (server: Server, table: TestTable, faults: string) => Promise<void>,
  ): Promise<void> => {
    const dir = makeTempDir()
    const faults = join(dir, 'faults')
    const server = await startServer({
      dataDir: join(dir, 'data'),
      env: { NODE_ENV: 'test', CUBBY_TEST_FAULTS: faults },
    })
    try {
      await work(server, await makeLoadTable(server, (await server.createOrganization()).secretKey), faults)
    } finally {
      await server.stop()
      removeTempDir(dir)
    }
  }
  const loadAll = async (server: Server, table: TestTable, count = 5_000) => {
    const text = linesOf(0, count)
    const sent = await SentLoad.begin(server, table, 'of a length', Buffer.byteLength(text))
    sent.send(text)
    const answer = await sent.answer()
    sent.close()
    return answer
  }

  test('fails in a commit: the outcome of that one is unknown, and the lines before it are counted', () =>
    withFaults(async (server, table, faults) => {
      const sent = await SentLoad.begin(server, table, 'chunked')
      sent.send(linesOf(0, 2_001))
      await eventually('two commits', async () => ((await storedUpTo(table)) === 2_000 ? true : undefined))
      planFaults(faults, [{ at: 'begun', code: 'SQLITE_TEST' }])
      sent.send(linesOf(2_001, 6_000))
      const { count } = refused(await sent.answer(), 500, 'outcome_unknown')
      expect(count).toBe(2_000)
      sent.close()
      // The planned fault is before anything is written.
      await eventually('a writer', async () =>
        (await table.tryPut({ hashKey: 'x', data: {} })).status === 200 ? true : undefined,
      )
      expect(await countFirstLines(table)).toBe(count)
      expect(ok(await loadAll(server, table)).count).toBe(5_000)
    }))

  test('takes no writes for a moment is waited for, and the load completes', () =>
    withFaults(async (server, table, faults) => {
      // A write of another organization ends the writer. The next one cannot open the store three times.
      const other = await makeTable(server.as((await server.createOrganization()).secretKey))
      const open = { at: 'open' as const, code: 'SQLITE_TEST' }
      planFaults(faults, [{ at: 'begun', code: 'SQLITE_TEST' }, open, open])
      refused(await other.tryPut({ hashKey: 'x', data: {} }), 500, 'outcome_unknown')
      refused(await other.tryPut({ hashKey: 'x', data: {} }), 503, 'unavailable')
      expect(ok(await loadAll(server, table)).count).toBe(5_000)
      expect(await countFirstLines(table)).toBe(5_000)
    }))

  test('is busy while the queue is full: the load waits, and the others are refused', () =>
    withFaults(async (server, table, faults) => {
      const { api, path } = await makeTable(table.api)
      planFaults(faults, [{ at: 'commit', waitMs: 100_000 }])
      const waiting = api.put(path, { hashKey: 'waits', data: {} })
      await eventually('the writer waits', () => (existsSync(`${faults}.hit`) ? true : undefined))
      let refusals = 0
      let floods = 0
      const text = 'x'.repeat(390_000)
      const answers: Promise<unknown>[] = []
      await eventually(
        'the queue is full',
        async () => {
          for (let n = 0; n < 20; n++) {
            const hashKey = `flood ${floods++}`
            answers.push(api.put(path, { hashKey, data: { text } }).then(({ status }) => status === 503 && refusals++))
          }
          await Bun.sleep(20)
          return refusals > 0 ? true : undefined
        },
        { waitMsMax: 60_000 },
      )
      const sent = await SentLoad.begin(server, table, 'chunked')
      sent.send(linesOf(0, 5_000))
      sent.end()
      refused(await api.put(path, { hashKey: 'late', data: { text } }), 503, 'unavailable')
      endWait(faults)
      expect(ok(await sent.answer())).toMatchObject({ count: 5_000, failed: 0 })
      sent.close()
      ok(await waiting)
      await Promise.all(answers)
      expect(await countFirstLines(table)).toBe(5_000)
    }))
})
