import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Background } from '../../src/background/paced-steps.ts'
import { startSweeps } from '../../src/background/sweeps.ts'
import { sweepRowsMax } from '../../src/core/limits.ts'
import { eventually } from '../harness.ts'

// A tenant decides how much one kind of sweep has to do: records that expire as fast as they are removed, or a row on a damaged
// page. The other kinds must go on beside it, otherwise nothing is removed for anybody.

type Kind = 'expired' | 'changes' | 'revocations' | 'runs' | 'keys' | 'tables' | 'organizations'

let steps: Kind[]
/** The result, or the error, of each step of a kind. */
let outcome: Record<Kind, () => number>
let warnings: string[]
let sweeps: Background

beforeEach(() => {
  steps = []
  warnings = []
  outcome = {
    expired: () => 0,
    changes: () => 0,
    revocations: () => 0,
    runs: () => 0,
    keys: () => 0,
    tables: () => 0,
    organizations: () => 0,
  }
})
afterEach(() => sweeps.stop())

const start = (everyMs: number): void => {
  const step = (kind: Kind) => async () => {
    steps.push(kind)
    return outcome[kind]()
  }
  sweeps = startSweeps({
    maintenance: {
      sweepExpired: step('expired'),
      sweepIdempotencyKeys: step('keys'),
      sweepChanges: step('changes'),
      sweepRevocations: step('revocations'),
      purgeTables: step('tables'),
      purgeOrganizations: step('organizations'),
    },
    runs: { sweepFinished: step('runs') },
    ...{ now: () => 1_000_000, jumpHoldMs: 0, everyMs },
    log: (level, message) => void warnings.push(`${level}: ${message}`),
  })
}

const until = (what: string, holds: () => boolean): Promise<true> =>
  eventually(what, () => (holds() ? true : undefined), { waitMsMax: 30_000, pauseMs: 2 })

const countOf = (kind: Kind): number => steps.filter((one) => one === kind).length

test('an engine says how many expired records a step removes, if it is not the usual number', async () => {
  const rows: number[] = []
  const none = async (): Promise<number> => 0
  const sweepExpired = async (_: number, rowsMax: number): Promise<number> => {
    rows.push(rowsMax)
    return 0
  }
  const others = {
    sweepIdempotencyKeys: none,
    sweepChanges: none,
    sweepRevocations: none,
    purgeTables: none,
    purgeOrganizations: none,
  }
  for (const own of [{}, { sweepStepRows: 1_000 }]) {
    const count = rows.length
    sweeps = startSweeps({
      maintenance: { sweepExpired, ...others, ...own },
      runs: { sweepFinished: none },
      ...{ now: () => 1_000_000, jumpHoldMs: 0, everyMs: 60_000, log: () => {} },
    })
    await until('a step', () => rows.length > count)
    await sweeps.stop()
  }
  expect(rows).toEqual([sweepRowsMax, 1_000])
})

test('a sweep that never comes to an end keeps no other from its work', async () => {
  outcome.expired = () => 50
  let tables = 3
  outcome.tables = () => (tables > 0 ? tables-- : 0)
  start(60_000)
  await until('several steps', () => countOf('expired') >= 9)
  expect(tables).toBe(0)
  expect(countOf('organizations')).toBeGreaterThan(0)
  // Each that has something left has a step before the first has its next one.
  expect(steps.slice(0, 9)).toEqual([
    'expired',
    'changes',
    'runs',
    'keys',
    'revocations',
    'tables',
    'organizations',
    'expired',
    'tables',
  ])
})

test('a sweep that had nothing left is asked again, also while another never comes to an end', async () => {
  outcome.expired = () => 50
  start(20)
  await until('several sweeps', () => countOf('tables') >= 3)
})

test('a sweep that fails keeps no other from its work, and is retried', async () => {
  let failures = 2
  outcome.expired = () => {
    if (failures-- > 0) throw new Error('a damaged page')
    return 0
  }
  start(1)
  await until('it is retried', () => countOf('expired') >= 3 && countOf('organizations') >= 3)
  expect(steps.slice(0, 7)).toEqual(['expired', 'changes', 'runs', 'keys', 'revocations', 'tables', 'organizations'])
  expect(warnings).toEqual(Array(2).fill('warn: sweep failed; it is retried later'))
})
