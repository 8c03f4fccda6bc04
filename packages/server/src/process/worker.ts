import { startKeyUse } from '../background/key-use.ts'
import { stopMsMax } from '../core/limits.ts'
import type { Snapshot } from '../metrics/registry.ts'
import type { WorkerChannel } from '../store/engine.ts'
import { makeMetrics } from './metrics.ts'
import { makeTaskServices, serveHttp } from './serve-http.ts'
import type { ServeOptions } from './serve-options.ts'
import { openServedBlobStore } from './served-blob-store.ts'
import { ignoreSignals, stayUp, stopWithin } from './signals.ts'

// The messages between the owner process and its workers. `engine` contains a message from engine to engine.

export type FromWorker = { ready: true } | { engine: unknown } | { metrics: Snapshot }
/** `metrics`: asks for the values of the worker's metrics. */
export type ToWorker = { stop: true } | { engine: unknown } | { metrics: true }

/** Set in a worker's environment: the port that the workers share. */
export const portVariable = 'CUBBY_WORKER_PORT'

/** Tells whether this process was started by an owner (owner.ts) to serve its port. */
export const isWorker = (): boolean => process.env[portVariable] !== undefined && process.send !== undefined

const send = (message: FromWorker): void => void process.send!(message)

const channelToOwner: WorkerChannel = {
  send: (message) => send({ engine: message }),
  onMessage: (receive) => process.on('message', (message: ToWorker) => 'engine' in message && receive(message.engine)),
  onClose: (closed) => process.on('disconnect', closed),
}

/** Time reserved for the rest of a stop, after HTTP: key uses, the store, and then the owner's own stop. */
const restOfStopMs = 2_500

export const serveAsWorker = async (options: ServeOptions): Promise<number> => {
  const { store, clock, log } = options
  ignoreSignals()
  const stopped = new Promise<void>((stop) => process.on('message', (message: ToWorker) => 'stop' in message && stop()))
  stayUp(log)
  const metrics = makeMetrics(options)
  const engine = await store.openWorker(channelToOwner, log, metrics?.observer)
  const files = await openServedBlobStore(options, engine, 'worker', metrics?.files)
  const keyUse = startKeyUse(engine.apiKeys, log, clock.keyUseEveryMs)
  const tasks = makeTaskServices(options, engine, metrics?.onWaitRefused)
  const port = Number(process.env[portVariable])
  const http = serveHttp(options, { engine, files, tasks, metrics, keyUse }, { port, reusePort: true })
  metrics?.attach(engine, () => http, false, clock.now)
  process.on('message', (message: ToWorker) => {
    if ('metrics' in message) void metrics?.snapshot().then((snapshot) => send({ metrics: snapshot }))
  })
  send({ ready: true })

  await stopped
  tasks.waits.stop()
  await stopWithin(stopMsMax - restOfStopMs, http)
  await keyUse.stop()
  await files?.close()
  await metrics?.stop()
  await engine.close()
  return 0
}
