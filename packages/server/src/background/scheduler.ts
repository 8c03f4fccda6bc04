import { taskPollEveryMs } from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import type { RunSignals } from '../core/tasks/run-signals.ts'
import type { RunReference, Runs } from '../store/runs.ts'
import { type Background, inBackground, type Job } from './paced-steps.ts'
import { ThrottledLog } from './throttled-log.ts'

interface SchedulerOptions {
  runs: Pick<Runs, 'expireLeases' | 'fireSchedules'>
  /** False with --no-tasks: leases still expire, but schedules create no runs. */
  firesSchedules: boolean
  signals: RunSignals
  now(): number
  log: Log
  /** Called with runs whose leases have expired. */
  onExpired?(runs: RunReference[]): void
  /** The time between two polls for work. */
  everyMs?: number
}

/** Runs of one step: few, because the writes of a whole commit wait for it. */
const stepRowsMax = 50
const logEveryMs = 10_000
/** The time between failed polls doubles this many times. */
const backoffsMax = 4

/** Applies expired leases, and creates the runs of schedules. Several processes may do it at once. */
export const startScheduler = (options: SchedulerOptions): Background => {
  const { runs, firesSchedules, signals, now, onExpired, everyMs = taskPollEveryMs } = options
  const throttled = new ThrottledLog(options.log, logEveryMs)
  const log = throttled.about('tasks')

  const tell = (changed: RunReference[]): void => {
    for (const taskId of new Set(changed.map((run) => run.taskId))) signals.changed(taskId)
  }

  /** A step may be short because its texts are long. */
  const expire: Job = {
    async step() {
      const expired = await runs.expireLeases(now(), stepRowsMax)
      onExpired?.(expired)
      tell(expired)
      return expired.length
    },
    failed: (error) => log('warn', 'looking for expired leases failed; it is retried', { cause: String(error) }),
  }
  const fire: Job = {
    async step() {
      const { due, created, unknown = 0 } = await runs.fireSchedules(now(), stepRowsMax)
      tell(created)
      if (unknown > 0) log('warn', 'schedules have a time zone that this server does not know', { tasks: unknown })
      return due < stepRowsMax ? 0 : due
    },
    failed: (error) => log('warn', 'looking for due schedules failed; it is retried', { cause: String(error) }),
  }
  const jobs = firesSchedules ? [expire, fire] : [expire]

  return inBackground(async (steps) => {
    let failures = 0
    while (!steps.isStopped) {
      const { worked, isMore } = await steps.drainInTurns(jobs, performance.now() + everyMs)
      failures = worked ? 0 : failures + 1
      if (!steps.isStopped && (!worked || !isMore)) await steps.rest(everyMs * 2 ** Math.min(failures, backoffsMax))
    }
    throttled.flush()
  })
}
