import { startKeyUse } from '../background/key-use.ts'
import { stopMsMax } from '../core/limits.ts'
import type { HttpServer } from '../http/server.ts'
import type { TaskServices } from '../operations/tasks/task-services.ts'
import { bootstrap } from './bootstrap.ts'
import { announce, listenFailure } from './listen.ts'
import { makeMetrics } from './metrics.ts'
import { serveWithWorkers } from './owner.ts'
import { makeTaskServices, serveHttp } from './serve-http.ts'
import type { ServeOptions } from './serve-options.ts'
import { openServedBlobStore } from './served-blob-store.ts'
import { stayUp, stopWithin, untilSignal } from './signals.ts'
import { startWork, type Work } from './work.ts'
import { isWorker, serveAsWorker } from './worker.ts'

/** Serves until a signal; resolves to the exit code. */
export const serve = (options: ServeOptions): Promise<number> => {
  if (isWorker()) return serveAsWorker(options)
  return options.workers > 1 ? serveWithWorkers(options) : serveAlone(options)
}

/** Time reserved for the rest of a stop, after HTTP: sweeps, tasks, key uses and the store. */
const restOfStopMs = 1_500

const serveAlone = async (options: ServeOptions): Promise<number> => {
  const { store, host, port, clock, log } = options
  let http: HttpServer | undefined
  let tasks: TaskServices | undefined
  let work: Work | undefined
  /** Requests that wait for a run are answered first: HTTP would wait for them. */
  const beginStop = (): void => {
    work?.hold()
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
  const files = await openServedBlobStore(options, engine, 'owner', metrics?.files).catch(closeAfter)
  metrics?.attach(engine, () => http, true, clock.now)
  const metricsUrl = await metrics?.listen(options).catch(closeAfter)
  const keyUse = startKeyUse(engine.apiKeys, log, clock.keyUseEveryMs)
  tasks = makeTaskServices(options, engine, metrics?.onWaitRefused)
  try {
    http = serveHttp(options, { engine, files, tasks, metrics, keyUse }, { port })
  } catch (error) {
    return closeAfter(listenFailure(error, host, port))
  }
  work = startWork(options, { engine, files, signals: tasks.signals, pushes: metrics?.pushes })
  stayUp(log)
  const signal = untilSignal()
  announce(options, engine, { url: http.url, files: files?.shown, metrics: metricsUrl })
  await bootstrap(engine, http.url, options)

  log('info', 'stopping', { signal: await signal })
  beginStop()
  await stopWithin(stopMsMax - restOfStopMs, http)
  await work.stop()
  await keyUse.stop()
  await files?.close()
  await metrics?.stop()
  await engine.close()
  log('info', 'stopped')
  return 0
}
