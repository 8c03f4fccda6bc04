import { Turns } from '../core/fair-queue.ts'
import { claimBytesMax, dataBytesMax, pushesMax, taskPollEveryMs } from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import { StrictShares } from '../core/shares.ts'
import type { RunSignals } from '../core/tasks/run-signals.ts'
import type { Pushes, RunReference, Runs } from '../store/runs.ts'
import type { Table } from '../store/tables.ts'
import { Alarm } from './alarm.ts'
import type { Background } from './paced-steps.ts'
import { type AttemptParts, PushAttempt, type SendPush } from './push-attempt.ts'
import { ThrottledLog } from './throttled-log.ts'

interface DispatcherOptions {
  runs: Pick<Runs, 'duePushes' | 'claimPushes' | 'get' | 'finish'>
  send: SendPush
  signals: RunSignals
  now(): number
  log: Log
  /** The time between two polls for work that no signal has told of. */
  everyMs?: number
  pushesMax?: number
}

export interface Dispatcher extends Background {
  /** Nothing new is pushed from now on. Pushes in flight go on. */
  hold(): void
  /** The leases of these runs have expired: their pushes are dropped. */
  dropExpired(runs: RunReference[]): void
  /** Drops the pushes in flight: they are left to their leases. Resolves when no outcome is being written any more. */
  stop(): Promise<void>
}

/** Claims at once: a slow one must not delay other tasks, and requests need the store too. */
const claimsMax = 4
/** Signals come with every run. Between two looks is at least this time, and so many times the duration of a look. */
const pollGapMs = 20
const pollGapFactor = 20
/** A task that reached its concurrency is tried again when one of its pushes ends, or after this time. */
const saturatedMs = 1_000
/** The time between failed polls doubles this many times. */
const backoffsMax = 4
const logEveryMs = 10_000

/**
 * Pushes due runs. A look finds the tasks that have some; then claims take runs in turns, only as many as can be pushed at
 * once. Whatever ends, a push or a claim, makes room for the next turn.
 */
export const startDispatcher = (options: DispatcherOptions): Dispatcher => new PushDispatcher(options)

class PushDispatcher implements Dispatcher {
  readonly #options: DispatcherOptions
  readonly #parts: AttemptParts
  readonly #throttledLog: ThrottledLog
  readonly #alarm = new Alarm()
  /** The tasks that may have runs to push. */
  readonly #turns = new Turns<Table>()
  readonly #shares: StrictShares
  /** Tasks of which a claim is in flight. */
  readonly #claims = new Map<number, Promise<void>>()
  /** Attempts by task and id. */
  readonly #attempts = new Map<string, PushAttempt>()
  readonly #making = new Set<Promise<void>>()
  /** Tasks that hold as many pushes as they declare, and since when. */
  readonly #saturated = new Map<number, number>()
  readonly #endSignals: () => void
  readonly #polling: Promise<void>

  constructor(options: DispatcherOptions) {
    const { runs, send, signals, now, log } = options
    this.#options = options
    this.#throttledLog = new ThrottledLog(log, logEveryMs)
    this.#parts = { runs, send, signals, now, throttledLog: this.#throttledLog }
    this.#shares = new StrictShares(options.pushesMax ?? pushesMax)
    this.#endSignals = signals.listen(() => this.#alarm.ring())
    this.#polling = this.#poll()
  }

  hold(): void {
    this.#endSignals()
    this.#alarm.turnOff()
  }

  dropExpired(runs: RunReference[]): void {
    for (const { taskId, id } of runs) this.#attempts.get(nameOf(taskId, id))?.drop()
  }

  async stop(): Promise<void> {
    this.hold()
    await this.#polling
    await Promise.all(this.#claims.values())
    for (const attempt of this.#attempts.values()) attempt.drop()
    await Promise.all(this.#making)
    this.#throttledLog.flush()
  }

  async #poll(): Promise<void> {
    const { runs, now, everyMs = taskPollEveryMs } = this.#options
    let failures = 0
    while (!this.#alarm.isOff) {
      const startedAt = performance.now()
      let restMs = everyMs
      let isWhole = true
      try {
        const without = { orgIds: this.#shares.fullOrgIds, taskIds: this.#saturatedNow() }
        const nowMs = now()
        const { tasks, nextAtMs, isMore } = await runs.duePushes(nowMs, without)
        failures = 0
        for (const task of tasks) if (!this.#saturated.has(task.id)) this.#turns.set(task.orgId, task.id, task)
        this.#fill()
        isWhole = !isMore
        // One that was past by our clock before the look is not due yet by the clock of the store.
        if (nextAtMs !== undefined && nextAtMs > nowMs) restMs = Math.min(restMs, nextAtMs - nowMs)
      } catch (error) {
        restMs = everyMs * 2 ** Math.min(++failures, backoffsMax)
        const log = this.#throttledLog.about('look')
        log('warn', 'looking for runs to push failed; it is retried', { cause: String(error) })
      }
      const gapMs = failures > 0 ? restMs : Math.max(pollGapMs, (performance.now() - startedAt) * pollGapFactor)
      await this.#alarm.sleep(isWhole ? restMs : Math.min(restMs, gapMs), gapMs)
    }
  }

  #saturatedNow(): number[] {
    const at = performance.now()
    for (const [taskId, since] of this.#saturated) if (at - since >= saturatedMs) this.#saturated.delete(taskId)
    return [...this.#saturated.keys()]
  }

  /** Starts claims while there is room. */
  #fill(): void {
    const shares = this.#shares
    while (!this.#alarm.isOff && this.#claims.size < claimsMax && shares.free > 0) {
      const task = this.#turns.next(
        (orgId) => shares.roomOf(orgId) > 0,
        ({ orgId, id }) => !this.#claims.has(id) && shares.room(orgId, id) > 0,
      )
      if (task === undefined) return
      this.#claims.set(task.id, this.#claim(task, this.#portion(task)))
    }
  }

  /** Divides the free pushes among the tasks that wait, so that the first in turn does not take all of them. */
  #portion({ orgId, id }: Table): number {
    const portion = Math.floor(this.#shares.free / this.#turns.orgCount / this.#turns.memberCount(orgId))
    return Math.min(this.#shares.room(orgId, id), Math.max(1, portion))
  }

  async #claim(task: Table, limit: number): Promise<void> {
    const { runs, now } = this.#options
    this.#shares.take(task.orgId, task.id, limit)
    let claimed: Pushes | undefined
    try {
      claimed = await runs.claimPushes(task, limit, now())
    } catch (error) {
      const { id, db, name } = task
      const log = this.#throttledLog.about(`task ${id}`)
      log('warn', 'runs to push could not be claimed; it is retried', { db, task: name, cause: String(error) })
    }
    const leasedAt = performance.now()
    const count = claimed?.runs.length ?? 0
    this.#shares.give(task.orgId, task.id, limit - count)
    this.#claims.delete(task.id)
    if (claimed === undefined || !mayHaveMore(claimed, limit)) this.#turns.remove(task.orgId, task.id)
    if (claimed !== undefined) {
      const { concurrency } = claimed.declaration
      if (concurrency !== null && this.#shares.heldBy(task.orgId, task.id) >= concurrency) {
        this.#turns.remove(task.orgId, task.id)
        this.#saturated.set(task.id, leasedAt)
      }
      // A run that was claimed while the process began to stop is left to its lease.
      if (!this.#alarm.isOff) for (const run of claimed.runs) this.#push(task, run, claimed, leasedAt)
    }
    this.#fill()
  }

  #push(task: Table, run: Pushes['runs'][number], claimed: Pushes, leasedAt: number): void {
    const name = nameOf(task.id, run.id)
    const attempt = new PushAttempt(this.#parts, task, run, claimed.declaration.leaseSeconds * 1000, leasedAt)
    const making = attempt.make(claimed).then(() => {
      this.#making.delete(making)
      if (this.#attempts.get(name) === attempt) this.#attempts.delete(name)
      this.#shares.give(task.orgId, task.id, 1)
      if (this.#saturated.delete(task.id)) this.#turns.set(task.orgId, task.id, task)
      this.#fill()
    })
    this.#making.add(making)
    this.#attempts.set(name, attempt)
  }
}

const nameOf = (taskId: number, id: string): string => `${taskId}/${id}`

/** A claim is cut by its limit, or by the bytes of its payloads: then one more payload may not have fitted. */
const mayHaveMore = ({ runs }: Pushes, limit: number): boolean =>
  runs.length === limit ||
  runs.reduce((bytes, { payload }) => bytes + Buffer.byteLength(payload), 0) + dataBytesMax > claimBytesMax
