import packageJson from '../../package.json' with { type: 'json' }
import { observedOperations } from '../http/observed-operations.ts'
import type { HttpServer } from '../http/server.ts'
import type { Format } from '../metrics/exposition.ts'
import type { Family } from '../metrics/family.ts'
import { countResponses, measureHttp, type ResponseCounter } from '../metrics/http-metrics.ts'
import { countRefusedScrapes, listenForScrapes, type Refusal } from '../metrics/listener.ts'
import { measureProcess } from '../metrics/process-metrics.ts'
import { Registry, type Snapshot } from '../metrics/registry.ts'
import { type Member, Scraper } from '../metrics/scrape.ts'
import { countStore, measureEngine } from '../metrics/store-metrics.ts'
import {
  type CountedFiles,
  type CountedPushes,
  countFiles,
  countPushes,
  countRefusedWaits,
} from '../metrics/work-metrics.ts'
import type { Engine } from '../store/engine.ts'
import type { StoreObserver } from '../store/observer.ts'
import { listenFailure, urlOf } from './listen.ts'
import type { ServeOptions } from './serve-options.ts'

/** `--metrics` in a serving process: what counts, and in the owner the listener. All processes declare the same metrics. */
export class ServerMetrics {
  readonly #registry = new Registry()
  readonly #scraper = new Scraper(this.#registry)
  readonly #stopTimer: () => void
  readonly answers: ResponseCounter
  readonly observer: StoreObserver
  readonly pushes: CountedPushes
  readonly files: CountedFiles
  readonly onWaitRefused: () => void
  readonly #onRefused: (reason: Refusal) => void
  #close: () => Promise<void> = async () => {}

  readonly #keepDeadBlobsMs: number

  constructor(startedAtMs: number, keepDeadBlobsMs: number) {
    this.#keepDeadBlobsMs = keepDeadBlobsMs
    this.answers = countResponses(this.#registry, observedOperations)
    this.observer = countStore(this.#registry)
    this.pushes = countPushes(this.#registry)
    this.onWaitRefused = countRefusedWaits(this.#registry)
    this.files = countFiles(this.#registry)
    this.#onRefused = countRefusedScrapes(this.#registry)
    this.#stopTimer = measureProcess(this.#registry, { startedAtMs })
  }

  /** Called when the store is open. `http`: undefined in an owner that serves no requests itself. */
  attach(engine: Engine, http: () => HttpServer | undefined, isOwner: boolean, now: () => number): void {
    measureHttp(this.#registry, http)
    const keepDeadBlobsMs = this.#keepDeadBlobsMs
    measureEngine(this.#registry, { measures: engine.measures, isOwner, keepDeadBlobsMs, now })
    const help = 'The version of Cubby, of the runtime and of the engine.'
    const labels = { version: packageJson.version, bun: Bun.version, engine: engine.description }
    this.#registry.info({ name: 'cubby_build_info', help }, labels)
  }

  /** All that are declared. */
  get families(): readonly Family[] {
    return this.#registry.families
  }

  snapshot(): Promise<Snapshot> {
    return this.#registry.snapshot()
  }

  // ── The owner ────────────────────────────────────────────────────────────────────────────────────────────

  /** The URL of the metrics. Throws OperatorError if it cannot listen there. */
  async listen({ metrics }: ServeOptions): Promise<string> {
    const { host, port } = metrics!
    try {
      const scrape = (format: Format): Promise<string> => this.#scraper.scrape(format)
      const listener = await listenForScrapes({ host, port }, scrape, { onRefused: this.#onRefused })
      this.#close = () => listener.close()
      return `${urlOf(host, listener.port)}/metrics`
    } catch (error) {
      throw listenFailure(error, host, port, { host: '--metrics', port: '--metrics' })
    }
  }

  join(member: Member): void {
    this.#scraper.join(member)
  }

  answer(member: Member, snapshot: Snapshot): void {
    this.#scraper.answer(member, snapshot)
  }

  leave(member: Member): void {
    this.#scraper.leave(member)
  }

  async stop(): Promise<void> {
    this.#stopTimer()
    await this.#close()
  }
}

/** Undefined without --metrics: then nothing is counted. */
export const makeMetrics = ({ metrics, keepDeadBlobsMs, clock }: ServeOptions): ServerMetrics | undefined =>
  metrics === undefined ? undefined : new ServerMetrics(clock.now(), keepDeadBlobsMs)
