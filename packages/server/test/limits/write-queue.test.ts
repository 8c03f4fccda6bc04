import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { commitBytesMax, writeQueueBytesMax } from '../../src/core/limits.ts'
import { endWait, planFaults } from '../../src/engines/sqlite/disk/fault-point.ts'
import {
  type ApiResponse,
  eventually,
  makeTempDir,
  removeTempDir,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { makeTable, ok, refused, type TestTable } from '../http/service.ts'

// Without a limit, writes that arrive faster than the disk commits them would fill the memory until the process is killed: one
// organization could cause an outage for all. The test lets the writer wait before a commit, as for a slow disk.

setDefaultTimeout(120_000)

describe.skipIf(!storeIsEmbedded())('a full write queue', () => {
  let server: Server
  let dir: string
  let faults: string
  let flooding: TestTable
  let other: TestTable
  beforeAll(async () => {
    dir = makeTempDir()
    faults = join(dir, 'faults')
    server = await startServer({
      dataDir: join(dir, 'data'),
      env: { NODE_ENV: 'test', CUBBY_TEST_FAULTS: faults },
    })
    flooding = await makeTable(server.as((await server.createOrganization()).secretKey), { i1: { hashField: 'batch' } })
    other = await makeTable(server.as((await server.createOrganization()).secretKey))
  })
  afterAll(async () => {
    await server?.stop()
    removeTempDir(dir)
  })

  /** Nothing can be committed while `work` runs. */
  const whileStoreIsBusy = async (work: () => Promise<void>): Promise<void> => {
    planFaults(faults, [{ at: 'commit', waitMs: 100_000 }])
    const waiting = other.tryPut({ hashKey: 'waits', data: {} })
    try {
      await eventually('the writer waits', () => (existsSync(`${faults}.hit`) ? true : undefined))
      await work()
    } finally {
      endWait(faults)
    }
    ok(await waiting)
  }

  const recordsEach = 4
  const bytesEach = 100_000
  const batchOf = (name: string) =>
    Array.from({ length: recordsEach }, (_, i) => ({
      op: 'put',
      hashKey: name,
      rangeKey: `r${i}`,
      data: { batch: name, text: 'x'.repeat(bytesEach) },
    }))

  test('answers 503 unavailable, another organization still gets through, and nothing is half applied', async () => {
    // One organization may use half of the queue; up to one commit more is in flight.
    const fit = Math.floor((writeQueueBytesMax / 2 + commitBytesMax) / (recordsEach * bytesEach))
    const floods = Math.ceil(fit * 1.4)
    const names = Array.from({ length: floods }, (_, i) => `batch ${i}`)
    const answers = new Map<string, ApiResponse>()
    let all: Promise<unknown> = Promise.resolve()
    let others: Promise<ApiResponse[]> = Promise.resolve([])
    await whileStoreIsBusy(async () => {
      all = Promise.all(
        names.map(async (name) => {
          answers.set(name, await flooding.tryBatch(batchOf(name)))
        }),
      )
      await eventually('the queue is full for one organization', () => (answers.size > 0 ? true : undefined))
      // A small write and some that are large: all of them find the other half free.
      others = Promise.all([
        other.tryPut({ hashKey: 'small', data: {} }),
        ...Array.from({ length: 10 }, (_, i) => other.tryBatch(batchOf(`other ${i}`))),
      ])
      // The writer waits for longer than this: what is refused is refused for want of room.
      await eventually(
        'no more than half of the queue is held',
        () => (answers.size >= floods - fit ? true : undefined),
        { waitMsMax: 40_000 },
      )
      for (const answer of answers.values()) refused(answer, 503, 'unavailable')
    })
    await all
    const refusedNames = names.filter((name) => answers.get(name)!.status !== 200)
    const acceptedNames = names.filter((name) => answers.get(name)!.status === 200)
    for (const name of refusedNames) refused(answers.get(name)!, 503, 'unavailable')
    expect(acceptedNames.length).toBeGreaterThan(0)
    for (const answer of await others) ok(answer)

    for (const name of acceptedNames) {
      expect(await flooding.ranges({ hash: name })).toEqual(['r0', 'r1', 'r2', 'r3'])
      expect((await flooding.hashes({ index: 'i1', hash: name })).length).toBe(recordsEach)
    }
    for (const name of refusedNames) expect(await flooding.hashes({ hash: name })).toEqual([])
    ok(await other.get('small'))

    // Repeated as Retry-After says, each is taken.
    for (const name of refusedNames.slice(0, 10))
      expect(ok(await flooding.tryBatch(batchOf(name)))).toEqual({ count: 4 })
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0 })
  })
})
