import type { Subprocess } from 'bun'
import { stopMsMax } from '../core/limits.ts'
import { OperatorError } from '../core/operator-error.ts'
import type { Engine } from '../store/engine.ts'
import { bootstrap } from './bootstrap.ts'
import { announce, reservePort, urlOf } from './listen.ts'
import { makeMetrics, type ServerMetrics } from './metrics.ts'
import { ownCommand } from './own-program.ts'
import type { ServeOptions } from './serve-options.ts'
import { openServedBlobStore, type ServedBlobStore } from './served-blob-store.ts'
import { stayUp, untilSignal } from './signals.ts'
import { startWork, type Work } from './work.ts'
import { type FromWorker, portVariable, type ToWorker } from './worker.ts'

// `--workers N`: this process owns the store and its writer, sweeps, and supervises. N worker processes (worker.ts) serve
// requests on one port, which the system distributes among them, and write through this process.

const startMsMax = 10_000
const respawnAfterMs = 1_000
/** Time reserved for the rest of a stop, after the workers have ended: sweeps, tasks and the store. */
const restOfStopMs = 1_500

class Workers {
  readonly #options: ServeOptions
  readonly #port: number
  readonly #engine: Engine
  readonly #metrics: ServerMetrics | undefined
  readonly #running = new Set<Subprocess>()
  #stopping = false

  constructor(options: ServeOptions, port: number, engine: Engine, metrics: ServerMetrics | undefined) {
    this.#options = options
    this.#port = port
    this.#engine = engine
    this.#metrics = metrics
  }

  async start(): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.workers }, () => this.#spawn()))
  }

  #spawn(): Promise<void> {
    return new Promise((ready, failed) => {
      // A killed worker is replaced, like one that ends by itself.
      const timer = setTimeout(() => worker.kill('SIGKILL'), startMsMax)
      let receive: (message: unknown) => void = () => {}
      const member = { ask: () => worker.send({ metrics: true } satisfies ToWorker) }
      const worker = Bun.spawn([...ownCommand(), ...process.argv.slice(2)], {
        env: { ...process.env, [portVariable]: String(this.#port) },
        stdio: ['ignore', 'inherit', 'inherit'],
        ipc: (message: FromWorker) => {
          if ('engine' in message) return receive(message.engine)
          if ('metrics' in message) return this.#metrics?.answer(member, message.metrics)
          clearTimeout(timer)
          this.#metrics?.join(member)
          ready()
        },
        onExit: (_, code, signal) => {
          clearTimeout(timer)
          this.#metrics?.leave(member)
          failed(new OperatorError('a worker could not be started'))
          this.#onExit(worker, code ?? signal)
        },
      })
      this.#running.add(worker)
      this.#engine.serveWorker?.({
        send: (message) => {
          // The worker may have ended while its writes were committed. Then the answer is dropped.
          if (this.#running.has(worker)) worker.send({ engine: message } satisfies ToWorker)
        },
        onMessage: (use) => {
          receive = use
        },
        onClose: () => {},
      })
    })
  }

  #onExit(worker: Subprocess, reason: unknown): void {
    this.#running.delete(worker)
    if (this.#stopping) return
    const { store, log } = this.#options
    log('error', 'a worker ended; starting another', { reason, hint: store.workerExitHint(reason) })
    setTimeout(() => {
      if (this.#stopping) return
      this.#spawn().catch((error) => log('error', 'a worker could not be started', { cause: String(error) }))
    }, respawnAfterMs)
  }

  async stop(): Promise<void> {
    this.#stopping = true
    const workers = [...this.#running]
    for (const worker of workers) worker.send({ stop: true } satisfies ToWorker)
    const timer = setTimeout(() => {
      for (const worker of workers) worker.kill('SIGKILL')
    }, stopMsMax - restOfStopMs)
    await Promise.all(workers.map((worker) => worker.exited))
    clearTimeout(timer)
  }
}

export const serveWithWorkers = async (options: ServeOptions): Promise<number> => {
  const { store, host, clock, log } = options
  let workers: Workers | undefined
  let work: Work | undefined
  /** The workers answer the requests that wait for runs. */
  const stopWorkers = async (): Promise<void> => {
    work?.hold()
    await workers?.stop()
  }
  const metrics = makeMetrics(options)
  const engine = await store.open({ role: 'owner', log, drain: stopWorkers, observer: metrics?.observer })
  let port: number
  let metricsUrl: string | undefined
  let files: ServedBlobStore | undefined
  try {
    files = await openServedBlobStore(options, engine, 'owner')
    port = reservePort(host, options.port)
    metrics?.attach(engine, () => undefined, true, clock.now)
    metricsUrl = await metrics?.listen(options)
  } catch (error) {
    await metrics?.stop()
    await engine.close()
    throw error
  }
  workers = new Workers(options, port, engine, metrics)
  stayUp(log)
  const signal = untilSignal()
  try {
    await workers.start()
  } catch (error) {
    await workers.stop()
    await metrics?.stop()
    await engine.close()
    throw error
  }
  work = startWork(options, { engine, files, pushes: metrics?.pushes })
  const url = urlOf(host, port)
  announce(options, engine, { url, files: files?.shown, metrics: metricsUrl, workers: options.workers })
  await bootstrap(engine, url, options)

  log('info', 'stopping', { signal: await signal })
  await stopWorkers()
  await work.stop()
  await files?.close()
  await metrics?.stop()
  await engine.close()
  log('info', 'stopped')
  return 0
}
