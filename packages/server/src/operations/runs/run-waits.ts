import { CubbyError } from '../../core/errors.ts'
import { repeatLater } from '../../core/hint.ts'
import { taskPollEveryMs, waitsMax } from '../../core/limits.ts'
import { StrictShares } from '../../core/shares.ts'
import type { RunSignals } from '../../core/tasks/run-signals.ts'
import { type ApiKey, shareOf } from '../../store/api-keys.ts'
import type { RunReference, Runs } from '../../store/runs.ts'

/** Changes of this process that come at once are answered with one look. */
const pollSoonMs = 5
/** The pause between two polls is at least this many times as long as the last one took. */
const pollRest = 10

/** The end of a wait: the run that it waits for may have come, or there is nothing more to wait for. */
export type WaitEnd = 'maybe' | 'over'

/** The API key of the request that waits. */
type Waiter = Pick<ApiKey, 'orgId' | 'seq' | 'kind' | 'user'>

type WatchedRuns = Pick<Runs, 'finishedAmong' | 'dueAmong' | 'goneAmong'>

interface RunWaitsOptions {
  pollEveryMs?: number
  /** Called when a request may not wait, for the metrics. */
  onRefused?(): void
}

interface Wait {
  end(why: WaitEnd): void
}

/** The requests that wait for one task. */
class TaskWaits {
  /** Waits for a run to claim. The longest is first. */
  readonly due = new Set<Wait>()
  /** Waits for the end of a run, by its id. */
  readonly finished = new Map<string, Set<Wait>>()
  /** The number of waits that the next poll wakes if it finds a due run: it doubles with each poll that still finds one. */
  wakes = 1
  /** Runs are due, but a claim got none: most likely the concurrency holds them back. Until then nobody is woken. */
  pausedUntilMs = 0
}

const tooMany = (): CubbyError =>
  new CubbyError('unavailable', 'Too many requests wait for runs; nothing was applied.', { hint: repeatLater })

/**
 * Requests of this process that wait for runs. One look for all of them every `taskPollEveryMs`, and one for a task soon
 * after this process has changed a run of it. A look that finds a due run wakes one wait, the longest, and the next looks
 * wake more: otherwise a single new run would make thousands of requests try to claim it.
 *
 * Organizations and their keys have shares of `waitsMax`. A public key, which anybody may have, gets half of what a secret
 * one gets, so that web pages do not lock out the workers of their organization. So does a user.
 */
export class RunWaits {
  readonly #runs: WatchedRuns
  readonly #now: () => number
  readonly #pollEveryMs: number
  readonly #stopListening: () => void
  readonly #tasks = new Map<number, TaskWaits>()
  readonly #waits = new Set<Wait>()
  readonly #shares = new StrictShares(waitsMax)
  readonly #onRefused: () => void
  /** Tasks to look at before the next look at all. */
  readonly #soon = new Set<number>()
  #timer: Timer | undefined
  #timerAtMs = Number.POSITIVE_INFINITY
  #pollAllAtMs = 0
  #restUntilMs = 0
  #isPolling = false
  #isStopped = false

  constructor(
    runs: WatchedRuns,
    signals: RunSignals,
    now: () => number,
    { pollEveryMs = taskPollEveryMs, onRefused = () => {} }: RunWaitsOptions = {},
  ) {
    this.#runs = runs
    this.#onRefused = onRefused
    this.#pollEveryMs = pollEveryMs
    this.#now = now
    this.#stopListening = signals.listen((taskId) => this.#changed(taskId))
  }

  /** The number of requests that wait. */
  get size(): number {
    return this.#waits.size
  }

  /**
   * Resolves when the run may be finished, after `ms`, when `signal` aborts, or when the process stops, whatever comes
   * first. The caller looks again. Rejects with `unavailable` if too many requests wait.
   */
  untilFinished(
    waiter: Waiter,
    { taskId, id }: RunReference,
    ms: number,
    signal: AbortSignal | undefined,
  ): Promise<WaitEnd> {
    return this.#wait(waiter, ms, signal, (wait) => {
      const { finished } = this.#taskWaits(taskId)
      // A change since the caller's last read was not signalled here.
      this.#soon.add(taskId)
      const waits = finished.get(id) ?? new Set()
      finished.set(id, waits.add(wait))
      return () => {
        waits.delete(wait)
        if (waits.size === 0 && finished.get(id) === waits) finished.delete(id)
        this.#forgetIfEmpty(taskId)
      }
    })
  }

  /**
   * The same for a task that may have a run to claim. `isAgain`: the wait before ended with `maybe`, but nothing was claimed.
   */
  untilDue(
    waiter: Waiter,
    taskId: number,
    ms: number,
    signal: AbortSignal | undefined,
    isAgain = false,
  ): Promise<WaitEnd> {
    return this.#wait(waiter, ms, signal, (wait) => {
      const task = this.#taskWaits(taskId)
      task.due.add(wait)
      if (isAgain) {
        task.wakes = 1
        task.pausedUntilMs = performance.now() + this.#pollEveryMs
      } else this.#soon.add(taskId)
      return () => {
        task.due.delete(wait)
        this.#forgetIfEmpty(taskId)
      }
    })
  }

  /** Resolves after `ms`, when `signal` aborts, or when the process stops: for claims while nothing is handed out. */
  untilOver(waiter: Waiter, ms: number, signal: AbortSignal | undefined): Promise<WaitEnd> {
    return this.#wait(waiter, ms, signal, () => () => {})
  }

  /** Answers all waits; later ones do not wait. */
  stop(): void {
    this.#isStopped = true
    this.#stopListening()
    clearTimeout(this.#timer)
    for (const wait of [...this.#waits]) wait.end('over')
  }

  #taskWaits(taskId: number): TaskWaits {
    const known = this.#tasks.get(taskId)
    if (known !== undefined) return known
    const waits = new TaskWaits()
    this.#tasks.set(taskId, waits)
    return waits
  }

  #forgetIfEmpty(taskId: number): void {
    const task = this.#tasks.get(taskId)
    if (task?.due.size === 0 && task.finished.size === 0) this.#tasks.delete(taskId)
  }

  #wait(
    waiter: Waiter,
    ms: number,
    signal: AbortSignal | undefined,
    join: (wait: Wait) => () => void,
  ): Promise<WaitEnd> {
    if (this.#isStopped || ms <= 0 || signal?.aborted === true) return Promise.resolve('over')
    const { orgId, kind, user } = waiter
    const seq = shareOf(waiter)
    if (this.#shares.room(orgId, seq, kind === 'public' || user !== undefined) === 0) {
      this.#onRefused()
      return Promise.reject(tooMany())
    }
    this.#shares.take(orgId, seq, 1)
    return new Promise((resolve) => {
      const onOver = (): void => wait.end('over')
      const wait: Wait = {
        end: (why) => {
          if (!this.#waits.delete(wait)) return
          clearTimeout(timer)
          signal?.removeEventListener('abort', onOver)
          leave()
          this.#shares.give(orgId, seq, 1)
          resolve(why)
        },
      }
      this.#waits.add(wait)
      const timer = setTimeout(onOver, ms)
      signal?.addEventListener('abort', onOver)
      const leave = join(wait)
      this.#plan()
    })
  }

  #changed(taskId: number): void {
    const task = this.#tasks.get(taskId)
    if (task === undefined) return
    task.pausedUntilMs = 0
    this.#soon.add(taskId)
    this.#plan()
  }

  /** Sets the timer of the next look. A look that is running does that at its end. */
  #plan(): void {
    if (this.#isStopped || this.#isPolling || this.#tasks.size === 0) return
    const nowMs = performance.now()
    const soonMs = this.#soon.size > 0 ? Math.max(nowMs + pollSoonMs, this.#restUntilMs) : Number.POSITIVE_INFINITY
    // Nothing postpones the look at all: on a busy process only it sees what other tasks and processes have become due.
    const atMs = Math.min(soonMs, Math.max(nowMs, this.#pollAllAtMs))
    if (atMs >= this.#timerAtMs) return
    this.#timerAtMs = atMs
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#poll(), atMs - nowMs)
  }

  async #poll(): Promise<void> {
    this.#timerAtMs = Number.POSITIVE_INFINITY
    this.#isPolling = true
    const startedMs = performance.now()
    const isForAll = startedMs >= this.#pollAllAtMs - 1
    if (isForAll) this.#pollAllAtMs = startedMs + this.#pollEveryMs
    const taskIds = (isForAll ? [...this.#tasks.keys()] : [...this.#soon]).filter((id) => this.#tasks.has(id))
    this.#soon.clear()
    try {
      await this.#wakeFinished(taskIds)
      await this.#wakeDue(taskIds)
      if (isForAll) await this.#wakeGone(taskIds)
    } catch {
      // Waits go on. When they end, their requests meet the fault themselves.
    }
    this.#isPolling = false
    const endedMs = performance.now()
    this.#restUntilMs = endedMs + (endedMs - startedMs) * pollRest
    this.#pollAllAtMs = Math.max(this.#pollAllAtMs, endedMs + (endedMs - startedMs))
    this.#plan()
  }

  async #wakeFinished(taskIds: number[]): Promise<void> {
    const runs = taskIds.flatMap((taskId) =>
      Array.from(this.#tasks.get(taskId)!.finished.keys(), (id) => ({ taskId, id })),
    )
    if (runs.length === 0) return
    for (const { taskId, id } of await this.#runs.finishedAmong(runs, this.#now())) {
      for (const wait of [...(this.#tasks.get(taskId)?.finished.get(id) ?? [])]) wait.end('maybe')
    }
  }

  async #wakeDue(taskIds: number[]): Promise<void> {
    const nowMs = performance.now()
    const awake = taskIds.filter((taskId) => {
      const task = this.#tasks.get(taskId)
      return task !== undefined && task.due.size > 0 && task.pausedUntilMs <= nowMs
    })
    if (awake.length === 0) return
    const due = new Set(await this.#runs.dueAmong(awake, this.#now()))
    for (const taskId of awake) {
      const task = this.#tasks.get(taskId)
      if (task === undefined) continue
      if (!due.has(taskId)) {
        task.wakes = 1
        continue
      }
      // The waits that are left are woken by the next poll, if a run is still due then.
      this.#soon.add(taskId)
      const woken = [...task.due].slice(0, task.wakes)
      task.wakes *= 2
      for (const wait of woken) wait.end('maybe')
    }
  }

  /** Tells the waits for a task that it was deleted, or that its organization was. */
  async #wakeGone(taskIds: number[]): Promise<void> {
    for (const taskId of await this.#runs.goneAmong(taskIds)) {
      const task = this.#tasks.get(taskId)
      if (task === undefined) continue
      for (const wait of [...task.due, ...[...task.finished.values()].flatMap((waits) => [...waits])]) wait.end('maybe')
    }
  }
}
