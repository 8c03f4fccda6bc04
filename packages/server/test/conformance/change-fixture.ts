import type { LogPlace } from '../../src/core/changes/log-entry.ts'
import type { Change, ChangesPage } from '../../src/store/changes.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Table } from '../../src/store/tables.ts'
import { type Fixture, fixtureOf, type makeFixture, makeTenant, startMs } from './fixture.ts'

export const hourMs = 60 * 60 * 1000

export interface Reading {
  nowMs?: number
  hash?: string
  withData?: boolean
  changesMax?: number
  seen?: LogPlace
}

export const readAfter = async (
  engine: Engine,
  table: Table,
  place: LogPlace,
  { nowMs = startMs, hash, withData = true, changesMax = 1_000, seen = place }: Reading = {},
): Promise<ChangesPage> => {
  const request = { after: place.seq, seen, hash, withData, changesMax }
  const page = await engine.changes.read(table, request, nowMs)
  if (page === undefined) throw new Error('the place is not in the log')
  return page
}

/** A change in a few words: `put a@0 {}`, with versions counted from the start. */
export const shown = (change: Change): string => {
  if (change.op === 'put') {
    const { hashKey, rangeKey, updatedAtMs } = change.record
    const data = 'data' in change.record ? ` ${change.record.data}` : ''
    return `put ${hashKey}${rangeKey === '#' ? '' : `/${rangeKey}`}@${updatedAtMs - startMs}${data}`
  }
  const { key, deletedAtMs, isExpired } = change
  return `${isExpired ? 'expire' : 'delete'} ${key.hashKey}${key.rangeKey === '#' ? '' : `/${key.rangeKey}`}@${deletedAtMs - startMs}`
}

/** A table that keeps its changes, and the beginning of its log. */
export const makeLog = async (
  engine: Engine,
  indices: Parameters<typeof makeFixture>[1] = {},
): Promise<Fixture & { start: LogPlace; changes(from?: LogPlace, how?: Reading): Promise<string[]> }> => {
  const tenant = await makeTenant(engine)
  const { table } = await engine.tables.create(tenant.caller, 'app', 'orders', indices, startMs, 24)
  const start = await engine.changes.head(table)
  return {
    ...fixtureOf(engine, tenant, table),
    start,
    changes: async (from = start, how) => (await readAfter(engine, table, from, how)).changes.map(shown),
  }
}

export const drainSweep = async (engine: Engine, nowMs: number): Promise<void> => {
  while ((await engine.maintenance.sweepChanges(nowMs, 7)) > 0) {
    // It goes on.
  }
}
