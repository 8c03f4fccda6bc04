import { expect, test } from 'bun:test'
import { RunSignals } from '../../src/core/tasks/run-signals.ts'
import type { Access } from '../../src/operations/access.ts'
import { applyTaskBatch } from '../../src/operations/runs/apply-task-batch.ts'
import { cancelRun } from '../../src/operations/runs/cancel-run.ts'
import { finishRun } from '../../src/operations/runs/finish-run.ts'
import { retryRun } from '../../src/operations/runs/retry-run.ts'
import { runTask } from '../../src/operations/runs/run-task.ts'

// The dispatcher and waiting requests hear of a change of their own process at once. Without the signal they find it by their
// next look, which no test of the server can tell from a slow machine.

const address = { db: 'app', task: 'mail' }
const ofRun = { ...address, run: 'a' }
const newRun = { id: 'a', isNamed: true, key: null, payload: '{}', at: { delayMs: 0 } }
const finish = { lease: 'l', result: null }

const signalsOf = async (work: (access: Access) => Promise<unknown>): Promise<number[]> => {
  const signals = new RunSignals()
  const heard: number[] = []
  signals.listen((taskId) => heard.push(taskId))
  const change = async () => ({ run: {}, created: true })
  const runs = { add: change, finish: change, cancel: change, retry: change }
  const applyBatch = async () => ({ applied: true, results: [], runIds: ['a', 'b'] })
  const engine = { tasks: { find: () => ({ id: 7, deletedAtMs: null }) }, runs: { ...runs, applyBatch } }
  await work({ engine, apiKey: { orgId: 1 }, tasks: { signals } } as unknown as Access)
  return heard
}

test('every change of a run is signalled once it is committed', async () => {
  expect(await signalsOf((access) => runTask(access, { ...address, newRun }, 0))).toEqual([7])
  expect(await signalsOf((access) => finishRun(access, { ...ofRun, finish }, 0))).toEqual([7])
  expect(await signalsOf((access) => cancelRun(access, ofRun, 0))).toEqual([7])
  expect(await signalsOf((access) => retryRun(access, ofRun, 0))).toEqual([7])
})

test('a batch signals each of its tasks once', async () => {
  const operations = [
    { op: 'run' as const, task: 'mail', newRun },
    { op: 'finish' as const, task: 'mail', run: 'b', finish },
  ]
  expect(await signalsOf((access) => applyTaskBatch(access, { ...address, operations }, 0))).toEqual([7])
})
