import { expect, test } from 'bun:test'
import type { CubbyError } from '../../src/core/errors.ts'
import { loadsMax, loadsOfOrganizationMax } from '../../src/core/limits.ts'
import { Loads } from '../../src/http/loads.ts'
import type { Access } from '../../src/operations/access.ts'

// The places of loads, without a server. An organization with many must leave some to those that come later.

const options = { db: 'app', table: 'orders', onError: 'stop', ifAbsent: false } as const

/** Loads of many organizations, whose bodies arrive when the test says so. */
const openLoads = () => {
  const loads = new Loads()
  const arrived = Promise.withResolvers<void>()
  /** Bodies that were read, and those of them whose connection would be closed if it were idle. */
  const seen = { bodies: 0, closable: 0 }
  let isClosable = true
  const table = { id: 1, indices: {}, followers: [] }
  /** Gives the later answer of a load that gets a place; undefined if it gets none. */
  const begin = async (orgId: number): Promise<{ answer: Promise<unknown> } | undefined> => {
    const before = loads.count
    const answer = loads.receive(
      {
        access: { apiKey: { orgId }, engine: { tables: { find: () => table } } } as unknown as Access,
        nowMs: 0,
        signal: new AbortController().signal,
        authenticate() {},
        now: () => 0,
        turn: async () => {},
        async *readLoad() {
          seen.bodies++
          if (isClosable) seen.closable++
          await arrived.promise
          yield new Uint8Array()
        },
        async withoutIdleTimeout(work) {
          isClosable = false
          try {
            return await work()
          } finally {
            isClosable = true
          }
        },
      },
      options,
      false,
    )
    const refused = answer.then(
      () => undefined,
      (error: CubbyError) => error,
    )
    // The table is found without a wait, so it has its place or its refusal by then.
    await new Promise((resolve) => setImmediate(resolve))
    if (loads.count > before) return { answer }
    expect((await refused)?.code).toBe('unavailable')
    return undefined
  }
  return { loads, begin, seen, arrive: arrived.resolve }
}

test('an organization has at most four, whoever comes later finds a place, and all together never have more than 32', async () => {
  const { loads, begin, arrive } = openLoads()
  const held: number[] = []
  const open: Promise<unknown>[] = []
  for (let orgId = 1; orgId <= loadsMax + 8; orgId++) {
    let places = 0
    for (;;) {
      const load = await begin(orgId)
      if (load === undefined) break
      open.push(load.answer)
      places++
    }
    held.push(places)
  }
  expect(held.slice(0, 7)).toEqual(Array(7).fill(loadsOfOrganizationMax))
  // Half of the four that are left, half of the two, and the last ones.
  expect(held.slice(7, 10)).toEqual([2, 1, 1])
  expect(held.slice(10)).toEqual(held.slice(10).map(() => 0))
  expect(loads.count).toBe(loadsMax)
  arrive()
  for (const answer of open) expect(await answer).toEqual({ count: 0, skipped: 0, failed: 0, errors: [] })
  expect(loads.count).toBe(0)
})

test('a connection may be idle while its load works: unpacking may take longer than an idle connection is kept', async () => {
  const { begin, seen, arrive } = openLoads()
  const load = await begin(1)
  arrive()
  await load!.answer
  expect(seen).toEqual({ bodies: 1, closable: 0 })
})

test('a server that stops gives no more places', async () => {
  const { loads, begin } = openLoads()
  loads.stop()
  expect(await begin(1)).toBeUndefined()
})
