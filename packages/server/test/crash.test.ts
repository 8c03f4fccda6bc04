import { expect, test } from 'bun:test'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { planFaults } from '../src/engines/sqlite/disk/fault-point.ts'
import { readAll } from './crash/read-all.ts'
import { traceServer, whyNoTrace } from './crash/trace.ts'
import { indices, tablePath, Writers } from './crash/writers.ts'
import { eventually, isWhole, makeTempDir, removeTempDir, startServer, storeIsEmbedded } from './harness.ts'
import { Random, testSeed } from './model/random.ts'

// Without this, a write whose success a caller was told could be gone after a crash, or half of a batch be there:
// money taken from one account and never given to the other, and nobody the wiser.

const rounds = Number(process.env.CUBBY_TEST_CRASH_ROUNDS ?? (isWhole ? 20 : 2))
const writersMax = 32

/** Repeats the choices of a run, though not its moments: those are the machine's. */
const seededRandom = (): Random => {
  const seed = testSeed()
  console.log(`crash test: CUBBY_TEST_SEED=${seed}`)
  return new Random(seed)
}

test(
  `killed ${rounds} times under ${writersMax} writers: no acknowledged write is lost, no batch torn, indices equal records`,
  async () => {
    const random = seededRandom()
    const server = await startServer()
    try {
      const { secretKey } = await server.createOrganization()
      const api = server.as(secretKey)
      expect((await api.post(tablePath, { indices })).status).toBe(201)
      const writers = new Writers(writersMax, random)
      for (let round = 0; round < rounds; round++) {
        // A moment of no one's choosing: after some answers, and a little later.
        const answers = writers.acknowledged + random.int(40, random.chance(0.2) ? 3_000 : 800)
        const pauseMs = random.next() * 4
        let killed = false
        const running = writers.run(api, () => killed)
        const waiting = eventually('the writers’ answers', () => (writers.acknowledged >= answers ? true : undefined), {
          pauseMs: 1,
          waitMsMax: 30_000,
        })
        await Promise.race([waiting, running])
        await Bun.sleep(pauseMs)
        killed = true
        await server.kill()
        await running

        // Now on what the crash left as it lies, now beside the server that recovered it.
        const verifyFirst = round % 2 === 0
        const verified = verifyFirst ? await server.cubby('verify') : undefined
        await server.start()
        const { found, faults } = await readAll(api)
        faults.push(...writers.compare(found))
        expect({ round, faults }).toEqual({ round, faults: [] })
        expect(verified ?? (await server.cubby('verify'))).toMatchObject({ exitCode: 0, stderr: '' })
      }
      expect(writers.acknowledged).toBeGreaterThan(rounds * 40)
    } finally {
      await server.stop()
    }
  },
  60_000 + rounds * 5_000,
)

// The quick part has patches under kills in the next case.
test.skipIf(!isWhole)(
  `killed ${rounds} times under patches: each acknowledged one is there, and none is applied twice`,
  async () => {
    const random = seededRandom()
    const server = await startServer()
    try {
      const api = server.as((await server.createOrganization()).secretKey)
      expect((await api.post(tablePath)).status).toBe(201)
      const acknowledged = new Set<number>()
      let sent = 0
      for (let round = 0; round < rounds; round++) {
        let killed = false
        const writers = Array.from({ length: 16 }, async () => {
          while (!killed) {
            const number = sent++
            const change = { hashKey: 'counted', increment: { '/n': 1 }, append: { '/list': [number] } }
            const answer = await api.request('PATCH', tablePath, change).catch(() => undefined)
            if (answer?.status === 200) acknowledged.add(number)
            else if (!killed) throw new Error(`a patch was answered ${answer?.status}: ${answer?.text}`)
          }
        })
        const running = Promise.all(writers)
        const wanted = acknowledged.size + random.int(20, 150)
        const waiting = eventually('patches are answered', () => (acknowledged.size >= wanted ? true : undefined), {
          pauseMs: 1,
        })
        await Promise.race([waiting, running])
        killed = true
        await server.kill()
        await running
        await server.start()
        const { n, list } = (await api.get(`${tablePath}/counted`)).body.data
        const applied = new Set<number>(list)
        // The sum and the list are one write, and a patch whose answer was lost is there once or not at all.
        expect([list.length, applied.size]).toEqual([n, n])
        expect([...acknowledged].filter((number) => !applied.has(number))).toEqual([])
        expect(n).toBeLessThanOrEqual(sent)
      }
    } finally {
      await server.stop()
    }
  },
  60_000 + rounds * 5_000,
)

// Without this, a client that repeats a request whose answer was lost would count twice, or not at all.
test(
  'killed under writers with idempotency keys: each request, repeated until it has an answer, is applied once and whole',
  async () => {
    const random = seededRandom()
    const server = await startServer()
    try {
      const api = server.as((await server.createOrganization()).secretKey)
      const mirror = '/v1/app/mirror'
      for (const path of [tablePath, mirror]) expect((await api.post(path)).status).toBe(201)
      const table = tablePath.split('/').at(-1)
      const counters = 8
      let lost = 0
      let replayed = 0
      let requests = 0
      let answers = 0
      let ended = false
      let up = Promise.withResolvers<void>()
      up.resolve()
      // Half of the counters are one patch, the other half are in two tables, which a batch writes together.
      const send = (counter: number, headers: Record<string, string>) => {
        const change = { hashKey: `c${counter}`, increment: { '/n': 1 } }
        if (counter % 2 === 0) return api.request('PATCH', tablePath, change, headers)
        const operations = [table, 'mirror'].map((name) => ({ op: 'patch', table: name, ...change }))
        return api.request('POST', '/v1/app/_batch', { operations }, headers)
      }
      const write = async (counter: number): Promise<void> => {
        while (!ended) {
          const headers = { 'idempotency-key': `${requests++}` }
          for (;;) {
            await up.promise
            const answer = await send(counter, headers).catch(() => undefined)
            if (answer?.status === 200) {
              answers++
              if (answer.headers.has('idempotency-replayed')) replayed++
              break
            }
            lost++
          }
        }
      }
      const countIn = async (path: string, counter: number): Promise<number> =>
        (await api.get(`${path}/c${counter}`)).body.data?.n ?? 0
      const writers = Array.from({ length: writersMax }, (_, i) => write(i % counters))
      for (let round = 0; round < rounds; round++) {
        const until = answers + random.int(40, 800)
        await eventually('answers', () => (answers >= until ? true : undefined), { pauseMs: 1 })
        up = Promise.withResolvers<void>()
        await server.kill()
        await server.start()
        for (let i = 1; i < counters; i += 2) expect(await countIn(mirror, i)).toBe(await countIn(tablePath, i))
        up.resolve()
      }
      ended = true
      await Promise.all(writers)
      let count = 0
      for (let i = 0; i < counters; i++) count += await countIn(tablePath, i)
      console.log(`crash test: ${requests} requests, ${lost} answers lost, ${replayed} of them had been applied`)
      expect({ count, lost: lost > 0 }).toEqual({ count: requests, lost: true })
      expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
    } finally {
      await server.stop()
    }
  },
  60_000 + rounds * 5_000,
)

// The kills above seldom meet the moment between an answer and a COMMIT that follows it. This one waits there.
test.skipIf(!storeIsEmbedded())(
  'killed just before COMMIT: what was acknowledged by then is there',
  async () => {
    const dir = makeTempDir()
    const faults = join(dir, 'faults')
    const server = await startServer({ env: { NODE_ENV: 'test', CUBBY_TEST_FAULTS: faults } })
    try {
      const api = server.as((await server.createOrganization()).secretKey)
      expect((await api.post(tablePath)).status).toBe(201)
      for (let round = 0; round < 3; round++) {
        planFaults(faults, [{ at: 'commit', waitMs: 60_000 }])
        const acknowledged: string[] = []
        const puts = Array.from({ length: 10 }, async (_, i) => {
          const hashKey = `r${round}-${i}`
          const answer = await api.put(tablePath, { hashKey, data: {} }).catch(() => undefined)
          if (answer?.status === 200) acknowledged.push(hashKey)
        })
        await eventually('the writer waits before COMMIT', () => (existsSync(`${faults}.hit`) ? true : undefined))
        rmSync(`${faults}.hit`)
        // Time for an answer that does not wait for COMMIT.
        await Promise.race([Promise.all(puts), Bun.sleep(300)])
        await server.kill()
        await Promise.all(puts)
        await server.start()
        for (const key of acknowledged)
          expect({ key, ...(await api.get(`${tablePath}/${key}`)) }).toMatchObject({ status: 200 })
        expect((await api.put(tablePath, { hashKey: 'later', data: {} })).status).toBe(200)
      }
    } finally {
      await server.stop()
      removeTempDir(dir)
    }
  },
  60_000,
)

// Without this, a command that an operator runs beside the server could take the store for one that nobody has
// open, and set up anew what the server is working with.
test.skipIf(!isWhole)(
  `operator's commands beside ${writersMax} writers harm nothing`,
  async () => {
    const random = seededRandom()
    const server = await startServer()
    try {
      const { secretKey, name } = await server.createOrganization()
      const api = server.as(secretKey)
      expect((await api.post(tablePath, { indices })).status).toBe(201)
      const writers = new Writers(writersMax, random)
      let done = false
      const running = writers.run(api, () => done)
      const operator = async (): Promise<void> => {
        for (let i = 0; i < 8; i++) {
          for (const command of [['orgs', 'list'], ['keys', 'create', '--org', name, '--kind', 'public'], ['verify']]) {
            expect(await server.cubby(...command)).toMatchObject({ exitCode: 0, stderr: '' })
          }
        }
      }
      await Promise.race([operator().finally(() => (done = true)), running])
      await running
      const { found, faults } = await readAll(api)
      expect([...faults, ...writers.compare(found)]).toEqual([])
      expect((await api.get('/api/keys')).body.keys).toHaveLength(10)
      await server.restart()
      const again = await readAll(api)
      expect([...again.faults, ...writers.compare(again.found)]).toEqual([])
      expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
    } finally {
      await server.stop()
    }
  },
  120_000,
)

// A killed process leaves its writes with the operating system, which still brings them to the disk: what is lost
// when the power fails does not show above. It shows in the order of calls.
const noTrace = storeIsEmbedded() ? whyNoTrace() : 'the store is a server of its own'

test.skipIf(noTrace !== undefined || !isWhole)(
  `no success leaves before the log is synced${noTrace === undefined ? '' : ` (skipped: ${noTrace})`}`,
  async () => {
    const traced = await traceServer()
    try {
      const steps: [string, string, unknown?][] = [
        ['POST', '/v1/app/notes', { indices: { i1: { hashField: 'a' } } }],
        ['PUT', '/v1/app/notes', { hashKey: 'k', data: { a: 'one' } }],
        ['PUT', '/v1/app/notes', { hashKey: 'k', data: { a: 'two' } }],
        [
          'POST',
          '/v1/app/notes/batch',
          {
            operations: [
              { op: 'put', hashKey: 'l', data: {} },
              { op: 'delete', hashKey: 'k' },
            ],
          },
        ],
        ['DELETE', '/v1/app/notes/l'],
        ['POST', '/api/keys', { kind: 'public' }],
        ['DELETE', `/api/keys/${traced.spareKeyId}`],
        ['DELETE', '/v1/app/notes'],
        ['POST', '/v1/app/notes/restore'],
      ]
      for (const [i, [method, path, body]] of steps.entries()) {
        const status = await traced.request(`step-${i}`, method, path, body)
        expect({ method, path, ok: status < 300 }).toEqual({ method, path, ok: true })
      }
      const trace = await traced.end()
      const orders = steps.map(([method, path], i) => ({ method, path, ...trace.orderOf(`step-${i}`) }))
      expect(orders).toEqual(
        steps.map(([method, path]) => ({
          method,
          path,
          requestRead: true,
          logWritten: true,
          syncedBeforeAnswer: true,
        })),
      )
    } finally {
      await traced.remove()
    }
  },
  60_000,
)
