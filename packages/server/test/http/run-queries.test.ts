import { describe, expect, test } from 'bun:test'
import type { Json } from '../harness.ts'
import { ok, refused, useService } from './service.ts'
import { makeTask, type TestTask } from './task.ts'

const service = useService()

/** Runs `a0` to `a9`, in the order of their updatedAt; each has another one. */
const filled = async (): Promise<{ task: TestTask; runs: Json[] }> => {
  const task = await makeTask(service.api)
  const runs: Json[] = []
  for (let i = 0; i < 10; i++) {
    runs.push(await task.run({ id: `a${i}`, payload: { i } }))
    await Bun.sleep(2)
  }
  return { task, runs }
}

describe('a query', () => {
  test('lists whole runs, newest first, with an empty body too', async () => {
    const { task, runs } = await filled()
    const page = ok(await task.tryQuery(undefined))
    expect(page).toEqual({ items: runs.toReversed(), count: 10, cursor: null })
    expect(ok(await task.tryQuery({ ascending: true })).items).toEqual(runs)
  })

  test('pages in both directions meet each run once', async () => {
    const { task } = await filled()
    const all = Array.from({ length: 10 }, (_, i) => `a${i}`)
    for (const limit of [1, 3, 10, 5_000]) {
      expect(await task.ids({ limit, ascending: true })).toEqual(all)
      expect(await task.ids({ limit })).toEqual(all.toReversed())
    }
  })

  test('orders runs of one millisecond by their creation', async () => {
    const task = await makeTask(service.api)
    const operations = Array.from({ length: 20 }, (_, i) => ({ op: 'run', id: `b${String(i).padStart(2, '0')}` }))
    ok(await task.tryBatch(operations))
    const ids = operations.map(({ id }) => id)
    expect(await task.ids({ limit: 3, ascending: true })).toEqual(ids)
    expect(await task.ids({ limit: 3 })).toEqual(ids.toReversed())
  })

  test('selects by status, also with a range, and a change moves the run', async () => {
    const { task, runs } = await filled()
    const [claimed] = await task.claim()
    expect(await task.ids({ status: 'running' })).toEqual(['a0'])
    expect(await task.ids({ status: 'queued', ascending: true, limit: 4 })).toEqual(runs.slice(1).map(({ id }) => id))
    await task.finish(claimed!)
    expect(await task.ids({ status: 'running' })).toEqual([])
    expect((await task.ids({ limit: 1 }))[0]).toBe('a0')
    expect(await task.ids({ status: 'succeeded' })).toEqual(['a0'])
    expect(await task.ids({ status: 'queued', range: { gt: runs[7]!.updatedAt } })).toEqual(['a9', 'a8'])
  })

  test('takes the operators of t, and ISO date-times', async () => {
    const { task, runs } = await filled()
    const at = (i: number): number => runs[i]!.updatedAt
    const iso = (i: number): string => new Date(at(i)).toISOString()
    for (const [range, from, to] of [
      [{ eq: at(4) }, 4, 5],
      [{ gte: at(4) }, 4, 10],
      [{ gt: iso(4) }, 5, 10],
      [{ lt: at(4) }, 0, 4],
      [{ lte: iso(4) }, 0, 5],
      [{ between: [at(2), iso(5)] }, 2, 6],
      [{ gte: at(2), lt: at(5) }, 2, 5],
      [{ gte: at(2), lt: at(2) }, 0, 0],
    ] as [Json, number, number][]) {
      const ids = runs.slice(from, to).map(({ id }) => id)
      expect([range, await task.ids({ range, ascending: true })]).toEqual([range, ids])
      expect([range, await task.ids({ range, limit: 2 })]).toEqual([range, ids.toReversed()])
    }
    refused(await task.tryQuery({ range: { beginsWith: 'a' } }), 400, 'invalid_range', 'range.beginsWith')
    refused(await task.tryQuery({ range: { gte: 'x' } }), 400, 'invalid_range', 'range.gte')
  })

  test('counts, with a cursor to go on', async () => {
    const { task } = await filled()
    expect(await task.query({ select: 'count' })).toEqual({ items: [], count: 10, cursor: null })
    const first = await task.query({ select: 'count', limit: 4 })
    expect([first.count, typeof first.cursor]).toEqual([4, 'string'])
    expect((await task.query({ select: 'count', cursor: first.cursor })).count).toBe(6)
    expect((await task.query({ select: 'data', cursor: first.cursor })).items).toHaveLength(6)
    await task.claim({ limit: 3 })
    expect((await task.query({ select: 'count', status: 'running' })).count).toBe(3)
    refused(await task.tryQuery({ select: 'keys' }), 400, 'invalid_request', 'select')
  })

  test('refuses the cursor of another query', async () => {
    const { task } = await filled()
    const other = (await filled()).task
    const { cursor } = await task.query({ limit: 2, status: 'queued' })
    const wrong: [TestTask, Json][] = [
      [task, {}],
      [task, { status: 'running' }],
      [task, { status: 'queued', ascending: true }],
      [task, { status: 'queued', range: { gt: 5 } }],
      [other, { status: 'queued' }],
    ]
    for (const [one, query] of wrong) refused(await one.tryQuery({ ...query, cursor }), 400, 'invalid_cursor', 'cursor')
    refused(await task.tryQuery({ cursor: 'nonsense' }), 400, 'invalid_cursor', 'cursor')
    expect((await task.query({ status: 'queued', limit: 3, cursor })).items).toHaveLength(3)
  })

  test('ends a page before its items pass 1 MiB, all of a run included, and holds at least one', async () => {
    const task = await makeTask(service.api)
    const a = 'a'.repeat(1_048_576 / 4 - 400)
    for (let i = 0; i < 5; i++) await task.run({ id: `r${i}`, payload: { a } })
    const answer = await task.tryQuery()
    const items = JSON.stringify(ok(answer).items)
    expect(ok(answer).count).toBe(4)
    expect(Buffer.byteLength(items)).toBeLessThanOrEqual(1_048_576)
    expect(await task.ids()).toEqual(['r4', 'r3', 'r2', 'r1', 'r0'])
    const result = { a: 'a'.repeat(400_000) }
    const large = await makeTask(service.api)
    const claimed = await large.claimNew({ payload: result })
    await large.finish(claimed, { result })
    await large.run({ payload: result })
    expect((await large.query()).count).toBe(1)
    expect(await large.ids()).toHaveLength(2)
  })

  test('of 1,000 small runs is within the bound too, though each is more than its payload', async () => {
    const task = await makeTask(service.api)
    const payload = { a: 'a'.repeat(900) }
    const operations = Array.from({ length: 25 }, () => ({ op: 'run', payload }))
    for (let i = 0; i < 40; i++) ok(await task.tryBatch(operations))
    const answer = await task.tryQuery({ limit: 1_000 })
    expect(Buffer.byteLength(JSON.stringify(ok(answer).items))).toBeLessThanOrEqual(1_048_576)
    expect(ok(answer).count).toBeGreaterThan(800)
    expect(new Set(await task.ids({ limit: 1_000 })).size).toBe(1_000)
  })
})
