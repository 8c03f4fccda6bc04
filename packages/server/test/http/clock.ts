import type { Server } from '../harness.ts'
import type { TestTable } from './service.ts'

// The clock of the process keeps running during a test. So an instant is tested between two readings of that clock, and the
// result must not contradict either of them.

export const secondMs = 1000
export const minuteMs = 60 * secondMs
export const dayMs = 24 * 60 * minuteMs
/** Sweeps wait this long after every deadline. */
export const graceMs = 5 * minuteMs

/** Sets the server's clock so that it shows `instantMs` just now. */
export const setNow = (server: Server, instantMs: number): void => server.setClock(instantMs - Date.now())

let probes = 0
/** Returns the time of the server's clock: the version of a record that was not there before. */
export const readClock = async (table: TestTable): Promise<number> =>
  (await table.put(`probe-${process.pid}-${++probes}`)).updatedAt

/** Returns what `look` found, and the server's clock before and after it. */
export const between = async <T>(
  clock: TestTable,
  poll: () => Promise<T>,
): Promise<{ before: number; found: T; after: number }> => {
  const before = await readClock(clock)
  const found = await poll()
  return { before, found, after: await readClock(clock) }
}
