import { readAgentPage } from '../agents/pages.ts'
import { servedAgentPages } from '../agents/served-pages.ts'
import type { KeyUseLog } from '../background/key-use.ts'
import { servedConsole } from '../console/served-console.ts'
import { RunSignals } from '../core/tasks/run-signals.ts'
import { type HttpServer, startHttp } from '../http/server.ts'
import { Logins } from '../logins/logins.ts'
import { descriptionPages } from '../openapi/pages.ts'
import { RunWaits } from '../operations/runs/run-waits.ts'
import type { TaskServices } from '../operations/tasks/task-services.ts'
import { checkTarget } from '../push/target.ts'
import type { Engine } from '../store/engine.ts'
import type { Clock } from './clock.ts'
import type { ServerMetrics } from './metrics.ts'
import type { ServeOptions } from './serve-options.ts'
import type { ServedBlobStore } from './served-blob-store.ts'

/**
 * Makes the services of tasks that requests need. `waits.stop()` comes before HTTP is stopped: it answers the requests that
 * wait.
 */
export const makeTaskServices = (
  {
    clock,
    handsOutTasks,
    pushAllow,
  }: Pick<ServeOptions, 'handsOutTasks' | 'pushAllow'> & { clock: Pick<Clock, 'now'> },
  { runs }: Pick<Engine, 'runs'>,
  /** Counts refused waits for the metrics. */
  onWaitRefused?: () => void,
): TaskServices => {
  const signals = new RunSignals()
  return {
    handsOut: handsOutTasks,
    signals,
    waits: new RunWaits(runs, signals, clock.now, { onRefused: onWaitRefused }),
    checkTarget: (url) => checkTarget(url, pushAllow),
  }
}

interface ServedParts {
  engine: Engine
  files: ServedBlobStore | undefined
  tasks: TaskServices
  metrics: ServerMetrics | undefined
  keyUse: KeyUseLog
}

/** Serves requests, as every process that does so. `port`: may be another than that of the options. */
export const serveHttp = (
  options: ServeOptions,
  { engine, files, tasks, metrics, keyUse }: ServedParts,
  { port, reusePort }: { port: number; reusePort?: boolean },
): HttpServer => {
  const { host, publicUrl, clock, log, logRequests, logSlowMs, hasConsole, hasMcp, allowedOrigins, pushAllow } = options
  return startHttp({
    engine,
    blobStore: files?.blobStore,
    tasks,
    logins: new Logins({ allow: pushAllow }),
    host,
    port,
    publicUrl,
    reusePort,
    now: clock.now,
    log,
    logRequests,
    logSlowMs,
    responseCounter: metrics?.answers,
    fileCounter: metrics?.files,
    pages: descriptionPages(publicUrl),
    agentPages: servedAgentPages(hasMcp),
    console: hasConsole ? servedConsole() : undefined,
    mcp: hasMcp ? { readPage: readAgentPage, allowedOrigins } : undefined,
    onKeyUse: keyUse.note,
  })
}
