import { CubbyError } from '../core/errors.ts'
import { repeatLater } from '../core/hint.ts'
import { loadLineBytesMax, loadsMax, loadsOfOrganizationMax } from '../core/limits.ts'
import { StrictShares } from '../core/shares.ts'
import { splitLines } from '../core/text/lines.ts'
import { requireTable } from '../operations/lifecycle.ts'
import { type LoadOptions, type LoadOutput, type LoadSender, RecordLoad } from '../operations/records/record-load.ts'
import { cutShort, loadInterrupted, loadStalled } from './body-faults.ts'
import { unpackBody } from './unpack-body.ts'
import { UploadProgress } from './upload-body.ts'

/** A request whose body is a load. */
interface LoadRequest extends Omit<LoadSender, 'fault' | 'cut'> {
  readonly nowMs: number
  /** Aborted when the client closes the connection. */
  readonly signal: AbortSignal
  readLoad(progress: UploadProgress): AsyncIterable<Uint8Array>
  withoutIdleTimeout<T>(work: () => Promise<T>): Promise<T>
}

/** A load counts for its organization, whichever API key sends it. */
const anyKey = 0

/** Limits the loads in progress, of all organizations and of each, and counts their lines. */
export class Loads {
  readonly #shares = new StrictShares(loadsMax)
  readonly #progresses = new Set<UploadProgress>()
  /** The lines of all loads. */
  readonly lines = { stored: 0, skipped: 0, refused: 0 }
  #isStopping = false

  /** The number of loads. */
  get count(): number {
    return this.#progresses.size
  }

  /** Ends all loads: each is answered with the number of lines that it has stored. */
  stop(): void {
    this.#isStopping = true
    for (const progress of this.#progresses) progress.cut(loadInterrupted())
  }

  /** Answers everything that the head of the request decides before it takes a place among the loads. */
  async receive(request: LoadRequest, options: LoadOptions, isGzip: boolean): Promise<LoadOutput> {
    const table = await requireTable(request.access, options, request.nowMs)
    const { orgId } = request.access.apiKey
    const progress = new UploadProgress(loadStalled)
    this.#enter(orgId, progress)
    const sender: LoadSender = {
      authenticate: () => request.authenticate(),
      now: () => request.now(),
      async turn() {
        // The last commit is sent, and its answer taken, by the event loop.
        await new Promise<void>((resolve) => setImmediate(resolve))
        await request.turn()
      },
      cut: () => progress.cut(loadInterrupted()),
      get access() {
        return request.access
      },
      get fault() {
        return progress.fault
      },
    }
    // Nobody waits for the lines that have arrived: their place is for the next load.
    const onGone = (): void => progress.cut(cutShort())
    const { signal } = request
    signal.addEventListener('abort', onGone)
    const load = new RecordLoad(options, table, sender, (stored, skipped) => {
      this.lines.stored += stored
      this.lines.skipped += skipped
    })
    const body = request.readLoad(progress)
    const blocks = splitLines(isGzip ? unpackBody(body) : body, loadLineBytesMax)
    try {
      return await request.withoutIdleTimeout(() => load.run(blocks))
    } finally {
      signal.removeEventListener('abort', onGone)
      this.lines.refused += load.output.failed
      this.#shares.give(orgId, anyKey, 1)
      this.#progresses.delete(progress)
    }
  }

  #enter(orgId: number, progress: UploadProgress): void {
    if (this.#isStopping) throw loadInterrupted()
    const isFull = this.#shares.heldBy(orgId, anyKey) >= loadsOfOrganizationMax || this.#shares.roomOf(orgId) === 0
    if (isFull) {
      throw new CubbyError('unavailable', 'Too many loads are in progress; nothing was stored.', { hint: repeatLater })
    }
    this.#shares.take(orgId, anyKey, 1)
    this.#progresses.add(progress)
  }
}
