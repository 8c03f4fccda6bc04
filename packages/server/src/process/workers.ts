import { resolve } from 'node:path'
import type { Subprocess } from 'bun'
import { startKeyUse } from '../background/key-use.ts'
import { startSweeps } from '../background/sweeps.ts'
import { CommandFailed } from '../cli/command.ts'
import { stopMsMax } from '../core/limits.ts'
import { describeLocation } from '../engines/open-engine.ts'
import { endProcess } from '../engines/sqlite/disk/end-process.ts'
import { type EmbeddedEngine, openSqliteEngine } from '../engines/sqlite/engine.ts'
import type { Channel, WorkerCommands, WorkerOutcomes } from '../engines/sqlite/write/process-write-channel.ts'
import { startHttp } from '../http/server.ts'
import { descriptionPages } from '../openapi/pages.ts'
import type { Engine } from '../store/engine.ts'
import {
  bootstrap,
  listenFailure,
  openServingEngine,
  type ServeOptions,
  stayUp,
  stopWithin,
  untilSignal,
} from './serving.ts'

// `--workers N`: this process keeps the store and its writer, sweeps and supervises; N others serve requests on one
// port, which the system shares out among them, and write through this one.

const portVariable = 'CUBBY_WORKER_PORT'
const startMsMax = 10_000
const respawnAfterMs = 1_000

type FromWorker = { ready: true } | WorkerCommands
type ToWorker = { stop: true } | WorkerOutcomes

/** Whether this process was started by another of ours to serve its port. */
export const isWorker = (): boolean => process.env[portVariable] !== undefined && process.send !== undefined

// ── The worker ─────────────────────────────────────────────────────────────────────────────────────────────

const channelToOwner = (): Channel<WorkerCommands, WorkerOutcomes> => ({
  send: (message) => void process.send!(message),
  onMessage: (receive) => process.on('message', (message: ToWorker) => 'outcomes' in message && receive(message)),
  onClose: (closed) => process.on('disconnect', closed),
})

export const serveAsWorker = async (options: ServeOptions): Promise<number> => {
  const { location, host, noMmap, clock, log, logRequests } = options
  // The owner says when to stop; a signal to the whole group must not overtake it.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => {})
  const told = new Promise<void>((stop) => process.on('message', (message: ToWorker) => 'stop' in message && stop()))
  // Without the owner nothing can be written, and another may take the store. The owner may have ended because the disk
  // failed: then the WAL must stay as it is.
  process.on('disconnect', () => endProcess(1))
  stayUp(log)
  const engine: Engine =
    location.store === undefined
      ? await openSqliteEngine({
          dataDir: resolve(location.data),
          role: 'worker',
          channel: channelToOwner(),
          noMmap,
          log,
        })
      : await openServingEngine(options)
  const keyUse = startKeyUse(engine.apiKeys, log, clock.keyUseEveryMs)
  const port = Number(process.env[portVariable])
  const http = startHttp({
    pages: descriptionPages,
    engine,
    host,
    port,
    reusePort: true,
    now: clock.now,
    log,
    logRequests,
    onKeyUse: keyUse.note,
  })
  process.send!({ ready: true } satisfies FromWorker)

  await told
  await stopWithin(stopMsMax - 2_500, http)
  await keyUse.stop()
  await engine.close()
  return 0
}

// ── The owner ──────────────────────────────────────────────────────────────────────────────────────────────

/** Finds the port taken or free before the workers open it together, since those who share a port take no notice. */
const reservePort = (host: string, port: number): number => {
  try {
    const probe = Bun.listen({ hostname: host, port, socket: { data() {} } })
    const taken = probe.port
    probe.stop(true)
    return taken
  } catch (error) {
    throw listenFailure(error, host, port)
  }
}

class Workers {
  readonly #options: ServeOptions
  readonly #port: number
  readonly #engine: Engine
  readonly #running = new Set<Subprocess>()
  #stopping = false

  constructor(options: ServeOptions, port: number, engine: Engine) {
    this.#options = options
    this.#port = port
    this.#engine = engine
  }

  get url(): string {
    const { host } = this.#options
    return `http://${host.includes(':') ? `[${host}]` : host}:${this.#port}`
  }

  async start(): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.workers }, () => this.#spawn()))
  }

  #spawn(): Promise<void> {
    return new Promise((ready, failed) => {
      // Killed, it is replaced like any other that ends.
      const timer = setTimeout(() => worker.kill('SIGKILL'), startMsMax)
      let receive: (message: WorkerCommands) => void = () => {}
      const worker = Bun.spawn([process.execPath, ...process.execArgv, Bun.main, ...process.argv.slice(2)], {
        env: { ...process.env, [portVariable]: String(this.#port) },
        stdio: ['ignore', 'inherit', 'inherit'],
        ipc: (message: FromWorker) => {
          if ('group' in message) return receive(message)
          clearTimeout(timer)
          ready()
        },
        onExit: (_, code, signal) => {
          clearTimeout(timer)
          failed(new CommandFailed('a worker could not be started'))
          this.#onExit(worker, code ?? signal)
        },
      })
      this.#running.add(worker)
      if ('serveWorker' in this.#engine) {
        ;(this.#engine as EmbeddedEngine).serveWorker({
          // It may have gone away while its writes were committed; nobody is left to be told.
          send: (message) => this.#running.has(worker) && worker.send(message),
          onMessage: (use) => {
            receive = use
          },
          onClose: () => {},
        })
      }
    })
  }

  #onExit(worker: Subprocess, reason: unknown): void {
    this.#running.delete(worker)
    if (this.#stopping) return
    const { log } = this.#options
    const hint = reason === 'SIGBUS' ? 'a page of cubby.db could not be read: see --no-mmap' : undefined
    log('error', 'a worker ended; starting another', { reason, hint })
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
    }, stopMsMax - 1_500)
    await Promise.all(workers.map((worker) => worker.exited))
    clearTimeout(timer)
  }
}

export const serveWithWorkers = async (options: ServeOptions): Promise<number> => {
  const { location, clock, log } = options
  let workers: Workers | undefined
  const engine = await openServingEngine(options, async () => workers?.stop())
  try {
    workers = new Workers(options, reservePort(options.host, options.port), engine)
  } catch (error) {
    await engine.close()
    throw error
  }
  stayUp(log)
  const signal = untilSignal()
  try {
    await workers.start()
  } catch (error) {
    await workers.stop()
    await engine.close()
    throw error
  }
  const { now, leapHoldMs, sweepEveryMs: everyMs } = clock
  const sweeps = startSweeps({ maintenance: engine.maintenance, now, log, leapHoldMs, everyMs })
  const url = workers.url
  log('info', 'listening', {
    url,
    engine: engine.description,
    data: describeLocation(location),
    workers: options.workers,
  })
  if (options.bootstrap) await bootstrap(engine, url, clock.now())

  log('info', 'stopping', { signal: await signal })
  await workers.stop()
  await sweeps.stop()
  await engine.close()
  log('info', 'stopped')
  return 0
}
