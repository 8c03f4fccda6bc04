import { type Dispatcher, startDispatcher } from '../background/dispatcher.ts'
import { startScheduler } from '../background/scheduler.ts'
import type { Background } from '../background/sweeps.ts'
import { RunSignals } from '../core/tasks/run-signals.ts'
import type { CountedPushes } from '../metrics/work-metrics.ts'
import { RunWaits } from '../operations/runs/run-waits.ts'
import type { TaskServices } from '../operations/tasks/task-services.ts'
import type { Allow } from '../push/allow.ts'
import { checkTarget } from '../push/check-target.ts'
import { pushRun } from '../push/push-run.ts'
import type { Engine } from '../store/engine.ts'
import type { ServeOptions } from './serve-options.ts'

// Tasks in a serving process. A process that serves requests has services for them; the one that sweeps also pushes runs and
// fires schedules. In a process that does both, they share signals.

export interface ServiceOptions {
  engine: Pick<Engine, 'runs'>
  now(): number
  /** False with --no-tasks. */
  handsOut: boolean
  pushAllow: Allow
  signals?: RunSignals
  /** For the metrics. */
  onWaitRefused?(): void
}

/** What requests need. `waits.stop()` comes before HTTP is stopped: it answers the requests that wait. */
export const makeTaskServices = ({
  engine,
  now,
  handsOut,
  pushAllow,
  signals = new RunSignals(),
  onWaitRefused,
}: ServiceOptions): TaskServices => ({
  handsOut,
  signals,
  waits: new RunWaits(engine.runs, signals, now, { onRefused: onWaitRefused }),
  checkTarget: (url) => checkTarget(url, pushAllow),
})

export interface TaskWork extends Background {
  /** From now on nothing new is pushed. Called when the stop begins; pushes in flight may finish while HTTP drains. */
  hold(): void
  /** Pushes still in flight are dropped and left to their leases. Called after HTTP, before the store is closed. */
  stop(): Promise<void>
}

export interface TaskWorkParts {
  /** Those of the requests, if this process serves any. */
  signals?: RunSignals
  /** For the metrics. */
  pushes?: CountedPushes
}

/** Starts the dispatcher and the scheduler. With --no-tasks only leases expire. */
export const startTaskWork = (
  { clock, log, handsOutTasks, pushAllow }: ServeOptions,
  engine: Pick<Engine, 'runs'>,
  { signals = new RunSignals(), pushes }: TaskWorkParts = {},
): TaskWork => {
  const { runs } = engine
  const { now, taskLookEveryMs: everyMs } = clock
  let dispatcher: Dispatcher | undefined
  if (handsOutTasks) {
    dispatcher = startDispatcher({
      ...{ runs, signals, now, log, everyMs },
      send: (push, options) => {
        const sent = pushRun(push, { allow: pushAllow, onCut: pushes?.cut, ...options })
        return pushes === undefined ? sent : pushes.count(sent)
      },
    })
  }
  const scheduler = startScheduler({
    ...{ runs, signals, now, log, everyMs, firesSchedules: handsOutTasks },
    onExpired: (expired) => dispatcher?.dropExpired(expired),
  })
  return {
    hold: () => dispatcher?.hold(),
    async stop() {
      await Promise.all([scheduler.stop(), dispatcher?.stop()])
    },
  }
}
