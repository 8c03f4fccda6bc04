import type { Stage } from '../changes/history-stage.ts'
import { outcomeOf } from '../changes/history-writers.ts'
import type { Api, ApiResponse, Json } from '../harness.ts'
import { Random } from '../model/random.ts'
import { type FollowedLedger, type Moment, nameOf, type SharedLedger } from './followed-ledger.ts'

export const followedPath = '/v1/app/followed'
/** Batches write it together with the other table. */
export const besidePath = '/v1/app/beside'
/** The hash keys of the records that all writers share, and of those that a worker writes where it finishes a run. */
export const [sharedHash, doneHash] = ['shared', 'done']

const rangeKeys = ['r0', 'r1', 'r2', 'r3', 'r4', 'r5']
const sharedKeys = ['h0', 'h1']

interface Ledgers {
  own: FollowedLedger
  shared: SharedLedger
}

/** Writes records of its own hash key in every way that there is, and counts in records that all writers share. */
export class FollowedWriter {
  readonly #hashKey: string
  readonly #stage: Stage
  readonly #ledgers: Ledgers
  readonly #random: Random
  #count = 0

  constructor(at: number, stage: Stage, ledgers: Ledgers, seed: number) {
    this.#hashKey = `w${at}`
    this.#stage = stage
    this.#ledgers = ledgers
    this.#random = new Random(seed)
  }

  /** Writes until a write has no outcome. */
  async run(isOver: () => boolean): Promise<void> {
    let isKnown = true
    while (isKnown && !isOver()) {
      const api = await this.#stage.api()
      isKnown = await (this.#random.chance(0.2) ? this.#countShared(api) : this.#writeOwn(api))
    }
  }

  async #countShared(api: Api): Promise<boolean> {
    const { shared } = this.#ledgers
    const key = { hashKey: sharedHash!, rangeKey: this.#random.pick(sharedKeys) }
    const change = { ...key, increment: { [`/${this.#hashKey}`]: 1 } }
    const answer = await api.request('PATCH', followedPath, change).catch(() => undefined)
    const outcome = answer === undefined ? 'unknown' : outcomeOf(answer)
    if (outcome === 'applied') shared.note(nameOf('followed', key), answer!.body.updatedAt)
    else if (outcome === 'unknown') shared.unknown++
    return outcome !== 'unknown'
  }

  async #writeOwn(api: Api): Promise<boolean> {
    const marks = new Map<string, string | undefined>()
    const send = this.#make(api, marks)
    const begun = this.#ledgers.own.begin(marks)
    const answer = await send().catch(() => undefined)
    const outcome = answer === undefined ? 'unknown' : outcomeOf(answer)
    this.#ledgers.own.end(begun, outcome, answer?.body?.updatedAt)
    return outcome !== 'unknown'
  }

  /** `marks` takes what the write leaves of each record. */
  #make(api: Api, marks: Map<string, string | undefined>): () => Promise<ApiResponse> {
    const random = this.#random
    const put = (rangeKey: string): Json => ({ ...this.#key(rangeKey), data: { mark: this.#mark(rangeKey, marks) } })
    const patch = (rangeKey: string): Json => ({ ...this.#key(rangeKey), merge: { mark: this.#mark(rangeKey, marks) } })
    const remove = (rangeKey: string): Json => {
      marks.set(nameOf('followed', this.#key(rangeKey)), undefined)
      return this.#key(rangeKey)
    }
    const some = (atLeast: number): string[] => random.shuffled(rangeKeys).slice(0, random.int(atLeast, 4))
    const operations = (): Json[] =>
      some(2).map((rangeKey): Json => {
        const op = random.pick(['put', 'put', 'delete', 'patch'])
        return { op, ...(op === 'put' ? put : op === 'patch' ? patch : remove)(rangeKey) }
      })
    const makes: [number, () => () => Promise<ApiResponse>][] = [
      [
        5,
        () =>
          (
            (record) => () =>
              api.put(followedPath, record)
          )(put(random.pick(rangeKeys))),
      ],
      [
        4,
        () =>
          (
            (change) => () =>
              api.request('PATCH', followedPath, change)
          )(patch(random.pick(rangeKeys))),
      ],
      [
        4,
        () => {
          const { hashKey, rangeKey } = remove(random.pick(rangeKeys))
          return () => api.delete(`${followedPath}/${hashKey}/${rangeKey}`)
        },
      ],
      [
        4,
        () =>
          (
            (all) => () =>
              api.post(`${followedPath}/batch`, { operations: all })
          )(operations()),
      ],
      [
        3,
        () =>
          (
            (all) => () =>
              api.post('/v1/app/_batch', { operations: all })
          )(this.#overTwo(operations(), marks)),
      ],
      [
        2,
        () => {
          const body = some(1).map((rangeKey) => `${JSON.stringify(put(rangeKey))}\n`)
          const headers = { 'content-type': 'application/x-ndjson' }
          return () => api.request('POST', `${followedPath}/load`, body.join(''), headers)
        },
      ],
    ]
    return random.weighted(makes)()
  }

  #overTwo(operations: Json[], marks: Map<string, string | undefined>): Json[] {
    const beside = { hashKey: this.#hashKey }
    const mark = `${this.#hashKey}.${++this.#count}`
    marks.set(nameOf('beside', beside), mark)
    const first = { op: 'put', table: 'beside', ...beside, data: { mark } }
    return this.#random.shuffled([first, ...operations.map((one) => ({ ...one, table: 'followed' }))])
  }

  #key(rangeKey: string): { hashKey: string; rangeKey: string } {
    return { hashKey: this.#hashKey, rangeKey }
  }

  #mark(rangeKey: string, marks: Map<string, string | undefined>): string {
    const mark = `${this.#hashKey}.${++this.#count}`
    marks.set(nameOf('followed', this.#key(rangeKey)), mark)
    return mark
  }
}

/** What a worker has claimed, and what was known of the records before it asked. */
interface Claimed {
  payload: Json
  own: Moment
  shared: Moment
}

/** Claims runs of the task, and finishes them in every way, some in a batch with a write. */
export class FollowingWorker {
  readonly #stage: Stage
  readonly #ledgers: Ledgers
  readonly #random: Random
  claimed: Claimed[] = []
  finishedInBatches = 0

  constructor(stage: Stage, ledgers: Ledgers, seed: number) {
    this.#stage = stage
    this.#ledgers = ledgers
    this.#random = new Random(seed)
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const api = await this.#stage.api()
      const [own, shared] = [this.#ledgers.own.now(), this.#ledgers.shared.now()]
      const limit = this.#random.int(1, 5)
      const answer = await api.post('/v1/app/_tasks/index/claim', { limit }).catch(() => undefined)
      const runs: Json[] = answer?.body?.runs ?? []
      this.claimed.push(...runs.map(({ payload }) => ({ payload, own, shared })))
      for (const run of runs) await this.#finish(run).catch(() => undefined)
      if (runs.length === 0) await Bun.sleep(10)
    }
  }

  async #finish({ id, lease }: Json): Promise<void> {
    const api = await this.#stage.api()
    const path = `/v1/app/_tasks/index/runs/${id}/finish`
    const finish = { op: 'finish', task: 'index', run: id, lease, result: { by: 'batch' } }
    const put = { op: 'put', hashKey: doneHash, rangeKey: id, data: { mark: id } }
    const failure = { lease, error: { message: 'not now' }, retryAfter: 0 }
    await this.#random.weighted<() => Promise<unknown>>([
      [4, () => api.post(path, { lease })],
      [1, () => api.post(path, failure)],
      // This worker dies.
      [1, () => Promise.resolve()],
      [
        4,
        async () => {
          const { status } = await api.post(`${followedPath}/batch`, { operations: [put, finish] })
          if (status === 200) this.finishedInBatches++
        },
      ],
    ])()
  }
}
