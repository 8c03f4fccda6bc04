import { startChecksums } from '../background/checksums.ts'
import { type Dispatcher, startDispatcher } from '../background/dispatcher.ts'
import { startScheduler } from '../background/scheduler.ts'
import { startSweeps } from '../background/sweeps.ts'
import { RunSignals } from '../core/tasks/run-signals.ts'
import type { CountedPushes } from '../metrics/work-metrics.ts'
import { pushRun } from '../push/push-run.ts'
import type { Engine } from '../store/engine.ts'
import type { ServeOptions } from './serve-options.ts'
import type { ServedBlobStore } from './served-blob-store.ts'

/** Work without a request, in the process that owns the store. */
export interface Work {
  /** Stops pushing anything new. Called when the stop begins; pushes in flight may finish while HTTP drains. */
  hold(): void
  /** Pushes still in flight are dropped and left to their leases. Called after HTTP, before the store is closed. */
  stop(): Promise<void>
}

interface WorkParts {
  engine: Engine
  files: ServedBlobStore | undefined
  /** Those of the requests, if this process serves any. */
  signals?: RunSignals
  /** Counts pushes for the metrics. */
  pushes?: CountedPushes
}

/** Starts sweeps, checksums of old rows, the dispatcher and the scheduler. With --no-tasks leases expire, and no task runs. */
export const startWork = (
  { clock, log, handsOutTasks, pushAllow }: ServeOptions,
  { engine: { maintenance, runs }, files, signals = new RunSignals(), pushes }: WorkParts,
): Work => {
  const { now, jumpHoldMs, sweepEveryMs, taskPollEveryMs: everyMs } = clock
  const sweeps = startSweeps({ maintenance, runs, now, log, jumpHoldMs, everyMs: sweepEveryMs })
  const blobs = files?.startSweep()
  const checksums = startChecksums({ maintenance, log, retryMs: sweepEveryMs })
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
      await Promise.all([sweeps.stop(), blobs?.stop(), scheduler.stop(), dispatcher?.stop()])
      await checksums.stop()
    },
  }
}
