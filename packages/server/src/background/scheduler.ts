import { taskLookEveryMs } from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import type { RunSignals } from '../core/tasks/run-signals.ts'
import type { RunReference, Runs } from '../store/runs.ts'
import { PacedSteps } from './paced-steps.ts'
import { RareLog } from './rare-log.ts'
import type { Background } from './sweeps.ts'

export interface SchedulerOptions {
  runs: Pick<Runs, 'expireLeases' | 'fireSchedules'>
  /** False with --no-tasks: leases still expire, but schedules create no runs. */
  firesSchedules: boolean
  signals: RunSignals
  now(): number
  log: Log
  /** Called with runs whose leases have expired. */
  onExpired?(runs: RunReference[]): void
  /** How often to look for work. */
  everyMs?: number
}

/** Runs of one step: few, because the writes of a whole commit wait for it. */
const stepRowsMax = 50
const logEveryMs = 10_000
/** After failed looks the time between them doubles, so many times. */
const backoffsMax = 4

/** Applies expired leases, and creates the runs of schedules. Several processes may do it at once. */
export const startScheduler = (options: SchedulerOptions): Background => {
  const { runs, firesSchedules, signals, now, onExpired, everyMs = taskLookEveryMs } = options
  const steps = new PacedSteps()
  const rare = new RareLog(options.log, logEveryMs)
  const log = rare.about('tasks')

  const tell = (changed: RunReference[]): void => {
    for (const taskId of new Set(changed.map((run) => run.taskId))) signals.changed(taskId)
  }

  /** Both steps return 0 if nothing is left. A step may be short because its texts are long. */
  const expire = async (): Promise<number> => {
    const expired = await runs.expireLeases(now(), stepRowsMax)
    onExpired?.(expired)
    tell(expired)
    return expired.length
  }
  const fire = async (): Promise<number> => {
    const { due, created, unknown = 0 } = await runs.fireSchedules(now(), stepRowsMax)
    tell(created)
    if (unknown > 0) log('warn', 'schedules have a time zone that this server does not know', { tasks: unknown })
    return due < stepRowsMax ? 0 : due
  }

  const expireFailed = (cause: string): void =>
    log('warn', 'looking for expired leases failed; it is retried', { cause })
  const fireFailed = (cause: string): void => log('warn', 'looking for due schedules failed; it is retried', { cause })

  /**
   * Both in turns, until nothing is left or the time for the next look has come: a tenant decides how much there is, and could
   * keep one of them busy for ever. One that has failed must not keep the other from its work.
   */
  const round = async (): Promise<{ worked: boolean; isMore: boolean }> => {
    const left = new Map([[expire, expireFailed], ...(firesSchedules ? [[fire, fireFailed] as const] : [])])
    const endsAt = performance.now() + everyMs
    let worked = true
    await steps.drain(async () => {
      let done = 0
      if (performance.now() >= endsAt) return 0
      for (const [step, failed] of [...left]) {
        if (steps.isStopped) return 0
        try {
          const count = await step()
          if (count === 0) left.delete(step)
          done += count
        } catch (error) {
          left.delete(step)
          worked = false
          if (!steps.isStopped) failed(String(error))
        }
      }
      return done
    })
    return { worked, isMore: left.size > 0 }
  }

  const run = async (): Promise<void> => {
    let failures = 0
    while (!steps.isStopped) {
      const { worked, isMore } = await round()
      failures = worked ? 0 : failures + 1
      if (!steps.isStopped && (!worked || !isMore)) await steps.rest(everyMs * 2 ** Math.min(failures, backoffsMax))
    }
  }

  const running = run()
  return {
    async stop() {
      steps.stop()
      await running
      rare.flush()
    },
  }
}
