import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Fault, planFaults } from '../../src/engines/sqlite/disk/fault-point.ts'
import {
  eventually,
  makeTempDir,
  removeTempDir,
  runCubby,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { compactedBytes, dbBytes, eventuallySmall, FilledTable, freeShare, pragma } from './filled-table.ts'

// A store whose records were deleted kept their space for ever. Giving it back moves pages of records that stay, under the
// reads and writes of others: a fault here would lose or mix what nobody has touched.

setDefaultTimeout(60_000)

const records = 2_000
const isOld = (i: number): boolean => i < 0.9 * records

describe.skipIf(!storeIsEmbedded())('free pages', () => {
  let dir: string
  let faults: string
  let server: Server
  let filled: FilledTable

  beforeEach(async () => {
    dir = makeTempDir()
    faults = join(dir, 'faults')
    const env = { NODE_ENV: 'test', CUBBY_TEST_FAULTS: faults, CUBBY_TEST_IDLE_MS: '1000' }
    server = await startServer({ dataDir: join(dir, 'data'), env })
    filled = await FilledTable.make(server.as((await server.createOrganization()).secretKey), records)
  })
  afterEach(async () => {
    await server.stop()
    removeTempDir(dir)
  })

  /** True if the writer waits before the COMMIT of a step. */
  const waitsInStep = async (): Promise<boolean> => {
    planFaults(faults, [{ at: 'vacuum', waitMs: 60_000 }])
    try {
      await eventually('a step', () => (existsSync(`${faults}.hit`) ? true : undefined), { waitMsMax: 5_000 })
      return true
    } catch {
      return false
    } finally {
      for (const file of [faults, `${faults}.hit`]) rmSync(file, { force: true })
    }
  }

  test('are given back when the oldest 90 % were deleted, while others read and write', async () => {
    const before = pragma(server.dataDir, 'page_count')
    await filled.delete(isOld)
    const kept = filled.numbers
    let reads = 0
    let done = false
    const reading = (async () => {
      for (; !done; reads++) expect(await filled.faultOf(kept[reads % kept.length]!)).toBeUndefined()
    })()
    const small = eventually('few pages are free', () => (freeShare(server.dataDir) < 0.01 ? true : undefined), {
      waitMsMax: 30_000,
    })
    // One put at a time, with pauses: the steps come between them.
    let puts = 0
    const writing = (async () => {
      for (; !done; puts++) {
        await filled.add(records + puts, 1)
        await Bun.sleep(150)
      }
    })()
    await small
    done = true
    await Promise.all([reading, writing])
    expect([reads > 0, puts > 0]).toEqual([true, true])
    expect(pragma(server.dataDir, 'page_count')).toBeLessThan(before / 3)
    await eventuallySmall(server.dataDir)
    expect(dbBytes(server.dataDir)).toBeLessThan(1.25 * compactedBytes(server.dataDir))
    expect(await filled.faults()).toEqual([])
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
    expect(server.log.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('and a kill in a step, or after one: nothing is lost, and the rest is given back after the restart', async () => {
    for (let round = 0; round < 3; round++) {
      let limit = 0.3 * records * (round + 1)
      await filled.delete((i) => i < limit)
      if (round % 2 === 0) {
        // If this process was too slow, there is another chance.
        while (!(await waitsInStep())) {
          limit += 50
          await filled.delete((i) => i < limit)
        }
        expect(freeShare(server.dataDir)).toBeGreaterThan(0)
      } else {
        const share = freeShare(server.dataDir)
        const isLess = () => (share < 0.01 || freeShare(server.dataDir) < share ? true : undefined)
        await eventually('a step', isLess, { pauseMs: 1, waitMsMax: 30_000 })
      }
      await server.kill()
      // Now on what the kill left as it lies, now beside the server that recovered it.
      const verified = round < 2 ? await server.cubby('verify') : undefined
      await server.start()
      expect({ round, faults: await filled.faults() }).toEqual({ round, faults: [] })
      expect(verified ?? (await server.cubby('verify'))).toMatchObject({ exitCode: 0, stderr: '' })
    }
    await eventuallySmall(server.dataDir)
    expect(await filled.faults()).toEqual([])
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
  })
})

describe.skipIf(!storeIsEmbedded())('a step that fails', () => {
  test('on a full disk changes nothing, is logged once, and writes go on', async () => {
    const dir = makeTempDir()
    const faults = join(dir, 'faults')
    const server = await startServer({
      dataDir: join(dir, 'data'),
      env: { NODE_ENV: 'test', CUBBY_TEST_FAULTS: faults },
    })
    try {
      const filled = await FilledTable.make(server.as((await server.createOrganization()).secretKey), 500)
      const fault: Fault = { at: 'vacuum', code: 'SQLITE_FULL' }
      planFaults(faults, [fault, fault])
      await filled.delete((i) => i < 400)
      const failures = () => server.log.filter(({ message }) => message === 'write failed')
      await eventually('the step fails', () => (failures().length > 0 ? true : undefined))
      const free = freeShare(server.dataDir)
      expect(free).toBeGreaterThan(0.2)
      await filled.add(500, 25)
      // A step that were tried again would come within half a second, and fail too.
      await Bun.sleep(600)
      expect(failures()).toEqual([expect.objectContaining({ code: 'storage_full' })])
      expect(await filled.faults()).toEqual([])
      expect((await server.request('GET', '/readyz')).status).toBe(200)
      expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
    } finally {
      await server.stop()
      removeTempDir(dir)
    }
  })
})

describe.skipIf(!storeIsEmbedded())('a new store can give pages back', () => {
  const incremental = 2
  let dir: string
  beforeEach(() => {
    dir = makeTempDir()
  })
  afterEach(() => removeTempDir(dir))

  test('that a command made, that was copied, or restored from a backup', async () => {
    const [made, copied, restored] = ['made', 'copied', 'restored'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
    ]
    const cubby = async (...args: string[]) => expect(await runCubby(args)).toMatchObject({ exitCode: 0 })
    await cubby('orgs', 'create', 'acme', '--data', made)
    await cubby('copy', '--from', made, '--to', copied)
    await cubby('backup', 'create', join(dir, 'backup'), '--data', made)
    await cubby('backup', 'restore', join(dir, 'backup'), '--data', restored)
    expect([made, copied, restored].map((data) => pragma(data, 'auto_vacuum'))).toEqual(Array(3).fill(incremental))
  })
})
