import { servedAgentPages } from '../agents/served-pages.ts'
import { startChecksums } from '../background/checksums.ts'
import { startKeyUse } from '../background/key-use.ts'
import { startSweeps } from '../background/sweeps.ts'
import { stopMsMax } from '../core/limits.ts'
import { type HttpServer, startHttp } from '../http/server.ts'
import { descriptionPages } from '../openapi/pages.ts'
import type { TaskServices } from '../operations/tasks/task-services.ts'
import { bootstrap } from './bootstrap.ts'
import { checkConsole, consoleOptions } from './console.ts'
import { openFilePlace } from './file-place.ts'
import { listenFailure } from './listen.ts'
import { mcpOptions } from './mcp.ts'
import { makeMetrics } from './metrics.ts'
import { serveWithWorkers } from './owner.ts'
import type { ServeOptions } from './serve-options.ts'
import { stayUp, stopWithin, untilSignal } from './signals.ts'
import { makeTaskServices, startTaskWork, type TaskWork } from './tasks.ts'
import { isWorker, serveAsWorker } from './worker.ts'

/** Serves until a signal; resolves to the exit code. */
export const serve = (options: ServeOptions): Promise<number> => {
  if (isWorker()) return serveAsWorker(options)
  return options.workers > 1 ? serveWithWorkers(options) : serveAlone(options)
}

/** Time reserved for the rest of a stop, after HTTP: sweeps, tasks, key uses and the store. */
const restOfStopMs = 1_500

const serveAlone = async (options: ServeOptions): Promise<number> => {
  const { store, host, port, publicUrl, clock, log, logRequests, logSlowMs } = options
  let http: HttpServer | undefined
  let tasks: TaskServices | undefined
  let taskWork: TaskWork | undefined
  /** Requests that wait for a run are answered first: HTTP would wait for them. */
  const beginStop = (): void => {
    taskWork?.hold()
    tasks?.waits.stop()
  }
  const drain = async (): Promise<void> => {
    beginStop()
    await http?.stop()
  }
  const metrics = makeMetrics(options)
  const engine = await store.open({ role: 'owner', log, drain, observer: metrics?.observer })
  const closeAfter = async (error: unknown): Promise<never> => {
    await metrics?.stop()
    await engine.close()
    throw error
  }
  const files = await openFilePlace(options, engine, 'owner', metrics?.files).catch(closeAfter)
  metrics?.attach(engine, () => http, true, clock.now)
  const metricsUrl = await metrics?.listen(options).catch(closeAfter)
  const keyUse = startKeyUse(engine.apiKeys, log, clock.keyUseEveryMs)
  tasks = makeTaskServices({
    ...{ engine, now: clock.now, handsOut: options.handsOutTasks, pushAllow: options.pushAllow },
    onWaitRefused: metrics?.onWaitRefused,
  })
  try {
    http = startHttp({
      engine,
      place: files?.place,
      tasks,
      host,
      port,
      publicUrl,
      now: clock.now,
      log,
      logRequests,
      logSlowMs,
      answerCounter: metrics?.answers,
      fileCounter: metrics?.files,
      pages: descriptionPages(publicUrl),
      agentPages: servedAgentPages(options.hasMcp),
      console: consoleOptions(options),
      mcp: mcpOptions(options),
      onKeyUse: keyUse.note,
    })
  } catch (error) {
    return closeAfter(listenFailure(error, host, port))
  }
  const { now, jumpHoldMs, sweepEveryMs: everyMs } = clock
  const sweeps = startSweeps({ maintenance: engine.maintenance, runs: engine.runs, now, log, jumpHoldMs, everyMs })
  const blobs = files?.startSweep()
  const checksums = startChecksums({ maintenance: engine.maintenance, log, retryMs: everyMs })
  taskWork = startTaskWork(options, engine, { signals: tasks.signals, pushes: metrics?.pushes })
  stayUp(log)
  const signal = untilSignal()
  log('info', 'listening', {
    url: http.url,
    engine: engine.description,
    data: store.describe(),
    files: files?.shown,
    metrics: metricsUrl,
  })
  const hasConsole = await checkConsole(options)
  if (options.bootstrap) await bootstrap(engine, http.url, options, hasConsole)

  log('info', 'stopping', { signal: await signal })
  beginStop()
  await stopWithin(stopMsMax - restOfStopMs, http)
  await Promise.all([sweeps.stop(), blobs?.stop(), taskWork.stop()])
  await checksums.stop()
  await keyUse.stop()
  await files?.close()
  await metrics?.stop()
  await engine.close()
  log('info', 'stopped')
  return 0
}
