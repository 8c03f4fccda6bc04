import { describe, expect, test } from 'bun:test'
import type { Engine } from '../src/store/engine.ts'
import { apiKeyCases } from './conformance/api-keys.ts'
import { backlogCases } from './conformance/backlogs.ts'
import { batchCases } from './conformance/batches.ts'
import { besideCases } from './conformance/beside.ts'
import { changeSweepCases } from './conformance/change-sweeps.ts'
import { changeCases } from './conformance/changes.ts'
import { concurrencyCases } from './conformance/concurrency.ts'
import { conditionCases } from './conformance/conditions.ts'
import { databaseBatchCases } from './conformance/database-batches.ts'
import { deletedOrganizationCases } from './conformance/deleted-organizations.ts'
import { expiryCases } from './conformance/expiry.ts'
import { fileCases } from './conformance/files.ts'
import { findCases } from './conformance/finds.ts'
import { followingCases } from './conformance/following.ts'
import { idempotencyCases } from './conformance/idempotency.ts'
import { idempotencyKeyCases } from './conformance/idempotency-keys.ts'
import { loadCases } from './conformance/loads.ts'
import { orderCases } from './conformance/order.ts'
import { organizationCases } from './conformance/organizations.ts'
import { pageCases } from './conformance/pages.ts'
import { patchCases } from './conformance/patches.ts'
import { purgeCases } from './conformance/purge.ts'
import { recordCases } from './conformance/records.ts'
import { reopenCases } from './conformance/reopen.ts'
import { runCases } from './conformance/runs.ts'
import { scanCases } from './conformance/scans.ts'
import { secretCases } from './conformance/secrets.ts'
import { selectionCases } from './conformance/selections.ts'
import { staleCases } from './conformance/stale.ts'
import { statisticsCases } from './conformance/statistics.ts'
import { tableCases } from './conformance/tables.ts'
import { taskCases } from './conformance/tasks.ts'
import { userCases } from './conformance/users.ts'

/** The suite opens an engine with this. Tests run one after another, each on a store of its own. */
export interface EnginePort {
  /** A fresh, empty store. */
  open(): Promise<Engine>
  /** The store of the last `open`, once more. The suite has closed the engine before. */
  reopen(): Promise<Engine>
  /** A second engine on the store of the last `open`, beside the first, as another process would have. */
  openBeside(): Promise<Engine>
  /** Removes the store of the last `open`. Its engines are closed. */
  remove?(): Promise<void>
  /** Cases that this engine does not pass, by name, each with a reason that a user would accept. */
  skips?: Record<string, string>
}

/** The store that a case works with. `engine` changes with `reopen`. */
export interface Store {
  readonly engine: Engine
  reopen(): Promise<Engine>
  openBeside(): Promise<Engine>
}

export type Case = (name: string, run: (store: Store) => Promise<void>, timeoutMs?: number) => void

export const expectSound = async (engine: Engine): Promise<void> => {
  const findings: string[] = []
  for await (const finding of engine.maintenance.check()) findings.push(finding)
  expect(findings).toEqual([])
}

const openStore = async (port: EnginePort) => {
  let engine = await port.open()
  let open = true
  const others: Engine[] = []
  return {
    get engine() {
      return engine
    },
    async reopen() {
      await engine.close()
      open = false
      engine = await port.reopen()
      open = true
      return engine
    },
    async openBeside() {
      const other = await port.openBeside()
      others.push(other)
      return other
    },
    async close() {
      for (const other of others) await other.close()
      if (open) await engine.close()
      await port.remove?.()
    },
  }
}

/** The suite of the promises that every engine must keep. Each case ends with a check of the whole store. */
export const describeEngine = (name: string, port: EnginePort): void => {
  const names = new Set<string>()

  const it: Case = (caseName, run, timeoutMs = 20_000) => {
    if (names.has(caseName)) throw new Error(`Two cases are named "${caseName}".`)
    names.add(caseName)
    const reason = port.skips?.[caseName]
    if (reason !== undefined) {
      test.skip(`${caseName} (skipped: ${reason})`, () => {})
      return
    }
    test(
      caseName,
      async () => {
        const store = await openStore(port)
        try {
          await run(store)
          await expectSound(store.engine)
        } finally {
          await store.close()
        }
      },
      timeoutMs,
    )
  }

  describe(`${name} engine`, () => {
    describe('organizations', () => organizationCases(it))
    describe('API keys', () => apiKeyCases(it))
    describe('secrets', () => secretCases(it))
    describe('users', () => userCases(it))
    describe('tables', () => tableCases(it))
    describe('records', () => recordCases(it))
    describe('conditions', () => conditionCases(it))
    describe('batches', () => batchCases(it))
    describe('patches', () => patchCases(it))
    describe('idempotency keys', () => idempotencyCases(it))
    describe('batches over tables', () => databaseBatchCases(it))
    describe('loads', () => loadCases(it))
    describe('changes', () => changeCases(it))
    describe('sweeps of changes', () => changeSweepCases(it))
    describe('tasks that follow a table', () => followingCases(it))
    describe('creation order', () => orderCases(it))
    describe('finds', () => findCases(it))
    describe('scans', () => scanCases(it))
    describe('pages', () => pageCases(it))
    describe('pages of keys, and counts', () => selectionCases(it))
    describe('ttl', () => expiryCases(it))
    describe('purge', () => purgeCases(it))
    describe('idempotency keys', () => idempotencyKeyCases(it))
    describe('buckets and files', () => fileCases(it))
    describe('tasks', () => taskCases(it))
    describe('runs', () => runCases(it))
    describe('backlogs of runs', () => backlogCases(it))
    describe('statistics and measures', () => statisticsCases(it))
    describe('keys and tables that are gone', () => staleCases(it))
    describe('organizations that are gone', () => deletedOrganizationCases(it))
    describe('concurrency', () => concurrencyCases(it))
    describe('several processes', () => besideCases(it))
    describe('closing and opening', () => reopenCases(it))

    test('every skip names a case', () => {
      expect(Object.keys(port.skips ?? {}).filter((skipped) => !names.has(skipped))).toEqual([])
    })
  })
}
