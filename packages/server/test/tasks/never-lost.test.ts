import { expect, setDefaultTimeout, test } from 'bun:test'
import { type Json, startServer } from '../harness.ts'
import { Random, testSeed } from '../model/random.ts'

// Without this, work could be lost or done by two at once when a worker or the server dies.

const isFull = process.env.CUBBY_TEST_TASKS === 'full'
const runsMax = 200
const callersMax = 8
const kills = isFull ? 12 : 3
/** Short, because every dead caller's run waits for it. */
const leaseMs = 1_000

setDefaultTimeout(60_000 + kills * 20_000)

interface Held {
  run: string
  fromMs: number
  untilMs: number
}

test(`${runsMax} runs, ${callersMax} callers, ${kills} kills of the server: none is lost, none has two holders, each counts once`, async () => {
  const seed = testSeed()
  console.log(`crash of runs: CUBBY_TEST_SEED=${seed}`)
  const random = new Random(seed)
  const server = await startServer()
  try {
    const { secretKey } = await server.createOrganization()
    /** The body of a 2xx answer, or the status of another; undefined if the server is away. */
    const send = async (method: string, path: string, body?: unknown): Promise<Json | number | undefined> => {
      const response = await fetch(`${server.url}${path}`, {
        method,
        headers: { Authorization: `Bearer ${secretKey}`, 'Content-Type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
      }).catch(() => undefined)
      if (response === undefined) return undefined
      const json = await response.json().catch(() => undefined)
      return response.ok ? json : response.status
    }
    const isBody = (answer: Json | number | undefined): answer is Json => typeof answer === 'object'
    expect(isBody(await send('POST', '/v1/app/counts'))).toBe(true)
    const declaration = { leaseSeconds: 1, attempts: 50, backoffSeconds: 1 }
    expect(isBody(await send('PUT', '/v1/app/_tasks/count', declaration))).toBe(true)
    expect(isBody(await send('PUT', '/v1/app/counts', { hashKey: 'all', data: { n: 0 } }))).toBe(true)

    const held: Held[] = []
    const finishedLeases = new Map<string, number>()
    let isOver = false
    let died = 0
    let lost = 0

    const add = async (): Promise<void> => {
      for (let i = 0; i < runsMax; i++) {
        // Repeated with the same id until it is answered.
        while (!isBody(await send('POST', '/v1/app/_tasks/count/run', { id: `r${i}`, payload: { i } })))
          await Bun.sleep(20)
      }
    }

    /** Reads the counter and raises it in the batch that finishes the run, until that is applied or the lease is lost. */
    const countOnce = async (run: Json): Promise<void> => {
      while (!isOver) {
        const record = await send('GET', '/v1/app/counts/all')
        if (!isBody(record)) {
          await Bun.sleep(20)
          continue
        }
        const operations = [
          { op: 'put', hashKey: 'all', data: { n: record.data.n + 1 }, ifUpdatedAt: record.updatedAt },
          { op: 'finish', task: 'count', run: run.id, lease: run.lease, result: { by: record.data.n + 1 } },
        ]
        const answer = await send('POST', '/v1/app/counts/batch', { operations })
        if (isBody(answer)) {
          finishedLeases.set(run.lease, Date.now())
          return
        }
        if (answer === 409 || answer === 404) {
          lost++
          return
        }
        // 412: another was faster. Or the server died, and nobody knows whether it was applied: then the lease tells.
        await Bun.sleep(random.int(0, 10))
      }
    }

    const call = async (): Promise<void> => {
      while (!isOver) {
        const answer = await send('POST', '/v1/app/_tasks/count/claim', { limit: random.int(1, 3) })
        if (!isBody(answer)) {
          await Bun.sleep(20)
          continue
        }
        for (const run of answer.runs as Json[])
          held.push({ run: run.id, fromMs: run.leaseUntil - leaseMs, untilMs: run.leaseUntil })
        for (const run of answer.runs as Json[]) {
          if (random.chance(0.08)) {
            // This caller dies; another takes its place.
            died++
            continue
          }
          await countOnce(run)
        }
        if (answer.runs.length === 0) await Bun.sleep(20)
      }
    }

    const callers = Array.from({ length: callersMax }, call)
    const adding = add()
    for (let i = 0; i < kills; i++) {
      await Bun.sleep(random.int(100, 500))
      await server.kill()
      await server.start()
    }
    await adding
    const countOf = async (status: string): Promise<number> => {
      const answer = await send('POST', '/v1/app/_tasks/count/query', { status, select: 'count' })
      return isBody(answer) ? answer.count : -1
    }
    const endMs = Date.now() + 45_000 + kills * 5_000
    while ((await countOf('succeeded')) < runsMax && Date.now() < endMs) await Bun.sleep(100)
    isOver = true
    await Promise.all(callers)

    expect(await countOf('succeeded')).toBe(runsMax)
    for (const status of ['queued', 'running', 'failed', 'cancelled'])
      expect([status, await countOf(status)]).toEqual([status, 0])
    const counter = await send('GET', '/v1/app/counts/all')
    expect((counter as Json).data.n).toBe(runsMax)
    expect(died).toBeGreaterThan(0)
    // A later holder begins when the lease before it has ended. Every time is the server's.
    for (const run of new Set(held.map((one) => one.run))) {
      const leases = held.filter((one) => one.run === run).sort((a, b) => a.fromMs - b.fromMs)
      for (let i = 1; i < leases.length; i++)
        expect({ run, endsFirst: leases[i - 1]!.untilMs <= leases[i]!.fromMs }).toEqual({ run, endsFirst: true })
    }
    console.log(`crash of runs: ${held.length} attempts, ${died} callers died, ${lost} leases lost`)
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
  } finally {
    await server.stop()
  }
})
