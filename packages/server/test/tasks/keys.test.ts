import { expect, setDefaultTimeout, test } from 'bun:test'
import { type Json, startServer } from '../harness.ts'
import { ok } from '../http/service.ts'

// Without this, a thing could be brought up to date by two workers at once, or stay out of date after the last request.

const requestsMax = process.env.CUBBY_TEST_TASKS === 'full' ? 6_000 : 1_200
const keysMax = 20
const claimersMax = 4
const requestersMax = 8

setDefaultTimeout(120_000)

test(`${requestsMax} requests for ${keysMax} keys against ${claimersMax} claimers: never two of a key at once, and a run after the last request of each`, async () => {
  const server = await startServer()
  try {
    const api = server.as((await server.createOrganization()).secretKey)
    ok(await api.put('/v1/app/_tasks/index', { backoffSeconds: 1 }), 201)
    let isOver = false
    const runningKeys = new Set<string>()
    /** The payload that the last claim has shown, by key. */
    const seen = new Map<string, number>()
    const last = new Map<string, number>()
    let runs = 0
    let failures = 0

    /** The requests for a key come from one requester, one after another: so the last one is known. */
    const request = async (requester: number): Promise<void> => {
      for (let n = 0; n < requestsMax; n++) {
        const key = n % keysMax
        if (key % requestersMax !== requester) continue
        const answer = await api.post('/v1/app/_tasks/index/run', { key: `k${key}`, payload: { n } })
        expect([200, 201]).toContain(answer.status)
        last.set(`k${key}`, n)
      }
    }

    const claim = async (): Promise<void> => {
      for (;;) {
        const { runs: claimed } = ok(await api.post('/v1/app/_tasks/index/claim', { limit: 3 }))
        for (const { key, payload } of claimed as Json[]) {
          expect({ key, isAlone: !runningKeys.has(key) }).toEqual({ key, isAlone: true })
          runningKeys.add(key)
          seen.set(key, payload.n)
        }
        for (const { id, key, lease } of claimed as Json[]) {
          runs++
          // Some fail and are repeated, or give way to the one behind them.
          const fails = runs % 7 === 0
          if (fails) failures++
          runningKeys.delete(key)
          const end = fails ? { error: { message: 'no' }, retryAfter: 0 } : { result: {} }
          ok(await api.post(`/v1/app/_tasks/index/runs/${id}/finish`, { lease, ...end }))
        }
        if (claimed.length > 0) continue
        if (isOver) return
        await Bun.sleep(2)
      }
    }

    const claiming = Promise.all(Array.from({ length: claimersMax }, claim))
    await Promise.all(Array.from({ length: requestersMax }, (_, requester) => request(requester)))
    const waiting = async (): Promise<number> => {
      const counts = await Promise.all(
        ['queued', 'running'].map((status) => api.post('/v1/app/_tasks/index/query', { status, select: 'count' })),
      )
      return counts.reduce((sum, answer) => sum + ok(answer).count, 0)
    }
    const endMs = Date.now() + 60_000
    while ((await waiting()) > 0 && Date.now() < endMs) await Bun.sleep(20)
    isOver = true
    await claiming
    expect(await waiting()).toBe(0)
    expect(seen).toEqual(last)
    expect(runs).toBeGreaterThan(keysMax)
    expect(runs).toBeLessThan(requestsMax)
    expect(failures).toBeGreaterThan(0)
  } finally {
    await server.stop()
  }
})
