import type { Declaration } from '../../src/core/tasks/declaration.ts'
import { PushPositions } from '../../src/core/tasks/push-positions.ts'
import type { Finish, NewRun, Run } from '../../src/core/tasks/run.ts'
import { createRun, extendLease, finishAttempt, holdsLease, startAttempt } from '../../src/core/tasks/transitions.ts'
import type { DuePushes, Pushes, RunChange } from '../../src/store/runs.ts'
import type { Table } from '../../src/store/tables.ts'

// Runs in memory, by the rules of core/tasks/transitions.ts: for tests of what the dispatcher does with them.

export const declaration: Declaration = {
  ...{ url: 'https://example.com/hook', authorization: 'Bearer very-secret', leaseSeconds: 30, attempts: 3 },
  ...{ backoffSeconds: 1, concurrency: 1_000, keepSeconds: 604_800, paused: false, schedule: null, on: null },
}

interface FakeTask {
  table: Table
  declaration: Declaration
  runs: Run[]
}

export class FakeRuns {
  readonly tasks = new Map<number, FakeTask>()
  /** Added to the clock. */
  aheadMs = 0
  looks = 0
  /** The most tasks of one organization that a poll returns. */
  tasksOfPollMax = 1_000
  readonly #positions = new PushPositions()
  claims: { task: string; limit: number; got: number }[] = []
  finishes: { run: string; finish: Finish; refused: string | undefined }[] = []
  /** Thrown by the next calls, first in, first out; undefined for a call that works. */
  readonly failures: Record<'duePushes' | 'claimPushes' | 'get' | 'finish', (Error | undefined)[]> = {
    ...{ duePushes: [], claimPushes: [], get: [], finish: [] },
  }
  #seq = 0

  readonly #clock: () => number

  constructor(clock: () => number = Date.now) {
    this.#clock = clock
  }

  readonly now = (): number => this.#clock() + this.aheadMs

  declare(orgId: number, name: string, own: Partial<Declaration> = {}): Table {
    const table: Table = {
      ...{ id: this.tasks.size + 1, kind: 'task', publicId: null, orgId, db: 'app', name, indices: {} },
      ...{ createdAtMs: 0, deletedAtMs: null, changes: null, followers: [], epoch: 0 },
    }
    this.tasks.set(table.id, { table, declaration: { ...declaration, ...own }, runs: [] })
    return table
  }

  add(table: Table, count: number, own: Partial<NewRun> = {}): Run[] {
    const { runs } = this.tasks.get(table.id)!
    const added = Array.from({ length: count }, () => {
      const seq = ++this.#seq
      const run: NewRun = {
        ...{ id: `run_${seq}`, isNamed: false, key: null, payload: '{"card":"payload-secret"}' },
        ...{ at: { delayMs: 0 }, ...own },
      }
      return createRun(seq, table.id, run, false, this.now())
    })
    runs.push(...added)
    return added
  }

  find(id: string): Run {
    const run = [...this.tasks.values()].flatMap(({ runs }) => runs).find((one) => one.id === id)
    if (run === undefined) throw new Error(`no run ${id}`)
    return run
  }

  replace(run: Run): void {
    const { runs } = this.tasks.get(run.taskId)!
    runs[runs.findIndex(({ id }) => id === run.id)] = run
  }

  extend(id: string, leaseMs: number): void {
    this.replace(extendLease(this.find(id), leaseMs, undefined, this.now()))
  }

  count(status: Run['status']): number {
    return [...this.tasks.values()].flatMap(({ runs }) => runs).filter((run) => run.status === status).length
  }

  #mayFail(method: keyof FakeRuns['failures']): void {
    const error = this.failures[method].shift()
    if (error !== undefined) throw error
  }

  readonly duePushes = async (
    nowMs: number,
    without: { orgIds: number[]; taskIds: number[] } = { orgIds: [], taskIds: [] },
  ): Promise<DuePushes> => {
    this.looks++
    this.#mayFail('duePushes')
    const waiting = this.#ask(without.orgIds).map(({ table, runs }) => {
      const times = runs.filter(({ status }) => status === 'queued').map(({ runAtMs }) => runAtMs)
      return { table, atMs: Math.min(...times, Number.POSITIVE_INFINITY) }
    })
    const due = waiting
      .filter(({ atMs }) => atMs <= nowMs)
      .filter(({ table }) => !without.orgIds.includes(table.orgId) && !without.taskIds.includes(table.id))
      .sort((a, b) => a.atMs - b.atMs)
    const later = Math.min(...waiting.map(({ atMs }) => atMs).filter((atMs) => atMs > nowMs), Number.POSITIVE_INFINITY)
    return {
      tasks: due.map(({ table }) => table),
      nextAtMs: later === Number.POSITIVE_INFINITY ? undefined : later,
      isMore: this.#positions.end(),
    }
  }

  /** A look takes so many tasks of each organization, and the next one continues, as in the engines. */
  #ask(withoutOrgIds: number[]): FakeTask[] {
    const after = this.#positions.begin(withoutOrgIds)
    const all = [...this.tasks.values()].filter(({ table }) => !withoutOrgIds.includes(table.orgId))
    return [...Map.groupBy(all, ({ table }) => table.orgId)].flatMap(([orgId, tasks]) => {
      const asked = tasks.filter(({ table }) => table.id > (after.get(orgId) ?? 0)).slice(0, this.tasksOfPollMax)
      if (asked.length === this.tasksOfPollMax) this.#positions.stop(orgId, asked.at(-1)!.table.id)
      return asked
    })
  }

  readonly claimPushes = async ({ id, name }: Table, limit: number, nowMs: number): Promise<Pushes> => {
    this.#mayFail('claimPushes')
    await Bun.sleep(1)
    const task = this.tasks.get(id)!
    const running = task.runs.filter(({ status }) => status === 'running').length
    const due = task.runs.filter(({ status, runAtMs }) => status === 'queued' && runAtMs <= nowMs)
    const runs = due.slice(0, Math.max(0, Math.min(limit, task.declaration.concurrency! - running))).map((run) => {
      const leaseMs = task.declaration.leaseSeconds * 1000
      return startAttempt(run, `lease_${crypto.randomUUID()}`, leaseMs, this.now())
    })
    for (const run of runs) this.replace(run)
    this.claims.push({ task: name, limit, got: runs.length })
    return { runs, declaration: task.declaration, secrets: ['whsec_signing-secret'] }
  }

  readonly get = async (_task: Table, id: string): Promise<Run> => {
    this.#mayFail('get')
    return this.find(id)
  }

  readonly finish = async (
    { apiKey }: { orgId: number; apiKey: unknown },
    { id: taskId }: Table,
    id: string,
    finish: Finish,
    nowMs: number,
  ): Promise<RunChange> => {
    this.#mayFail('finish')
    if (apiKey !== undefined) throw new Error('the dispatcher has no API key')
    await Bun.sleep(1)
    const run = this.find(id)
    if (!holdsLease(run, finish.lease, nowMs)) {
      this.finishes.push({ run: id, finish, refused: 'lease_lost' })
      return { refused: 'lease_lost' }
    }
    const done = finishAttempt(run, finish, this.tasks.get(taskId)!.declaration, false, 0.5, nowMs)
    this.replace(done)
    this.finishes.push({ run: id, finish, refused: undefined })
    return { run: done }
  }
}
