import type { ApiResponse, Json } from '../harness.ts'
import { Random } from '../model/random.ts'
import type { Expected, HistoryLedger } from './history-ledger.ts'
import type { Stage } from './history-stage.ts'

export const tablePath = '/v1/app/followed'
/** Batches write it together with the other table. It keeps changes too. */
export const besidePath = '/v1/app/beside'

const rangeKeys = ['r0', 'r1', 'r2', 'r3', 'r4', 'r5']
const sharedKeys = ['h0', 'h1', 'h2']

/** A write of a history: what is sent, and the states of the records if it is applied. */
interface Write {
  send(): Promise<ApiResponse>
  changes: Map<string, Expected>
  /** Completes the states with what the response tells. */
  take?(body: Json): void
}

export const outcomeOf = ({ status, body, text }: ApiResponse): 'applied' | 'refused' | 'unknown' => {
  if (status === 200) return 'applied'
  const code = body?.error?.code
  if (code === 'unavailable') return 'refused'
  if (code === 'outcome_unknown') return 'unknown'
  throw new Error(`a write was answered ${status}: ${text}`)
}

/** Writes records of its own hash key in every way that there is, and counts in records that all writers share. */
export class HistoryWriter {
  readonly hashKey: string
  readonly #at: number
  readonly #stage: Stage
  readonly #ledger: HistoryLedger
  readonly #random: Random
  #count = 0

  constructor(at: number, stage: Stage, ledger: HistoryLedger, seed: number) {
    this.hashKey = `w${at}`
    this.#at = at
    this.#stage = stage
    this.#ledger = ledger
    this.#random = new Random(seed)
    ledger.sent[at] = 0
    ledger.acknowledged[at] = 0
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await (this.#random.chance(0.2) ? this.#countShared() : this.#writeOwn())
      if (this.#random.chance(0.1)) await Bun.sleep(this.#random.int(1, 30))
    }
  }

  async #countShared(): Promise<void> {
    const change = { hashKey: 'hot', rangeKey: this.#random.pick(sharedKeys), increment: { [`/w${this.#at}`]: 1 } }
    const api = await this.#stage.api()
    this.#ledger.sent[this.#at]!++
    const answer = await api.request('PATCH', tablePath, change).catch(() => undefined)
    const outcome = answer === undefined ? 'unknown' : outcomeOf(answer)
    if (outcome === 'applied') this.#ledger.acknowledged[this.#at]!++
    if (outcome === 'refused') this.#ledger.sent[this.#at]!--
    this.#ledger.end(new Map(), outcome)
    if (answer === undefined) await Bun.sleep(50)
  }

  async #writeOwn(): Promise<void> {
    const write = await this.#make()
    this.#ledger.begin(write.changes.keys())
    const answer = await write.send().catch(() => undefined)
    const outcome = answer === undefined ? 'unknown' : outcomeOf(answer)
    if (outcome === 'applied') write.take?.(answer!.body)
    this.#ledger.end(write.changes, outcome)
    // The process is gone, or just being started.
    if (answer === undefined) await Bun.sleep(50)
  }

  async #make(): Promise<Write> {
    const api = await this.#stage.api()
    const random = this.#random
    const changes = new Map<string, Expected>()
    const makes: [number, () => Write][] = [
      [
        6,
        () => {
          const record = this.#record(random.pick(rangeKeys), changes)
          const take = ({ updatedAt }: Json) => {
            this.#stateOf(record, changes).version = updatedAt
          }
          return { send: () => api.put(tablePath, record), changes, take }
        },
      ],
      [
        4,
        () => {
          const { hashKey, rangeKey, mark } = this.#marked(random.pick(rangeKeys), changes)
          const patch = { hashKey, rangeKey, merge: { mark } }
          const take = ({ updatedAt, ttl }: Json) => {
            Object.assign(this.#stateOf(patch, changes), { version: updatedAt, ttl })
          }
          return { send: () => api.request('PATCH', tablePath, patch), changes, take }
        },
      ],
      [
        3,
        () => {
          const rangeKey = random.pick(rangeKeys)
          changes.set(`${this.hashKey}/${rangeKey}`, { mark: undefined })
          return { send: () => api.delete(`${tablePath}/${this.hashKey}/${rangeKey}`), changes }
        },
      ],
      [
        4,
        () => {
          const operations = this.#operations(changes)
          return { send: () => api.post(`${tablePath}/batch`, { operations }), changes }
        },
      ],
      [
        2,
        () => {
          const operations = this.#operations(changes).map((operation) => ({ ...operation, table: 'followed' }))
          const beside = { op: 'put', table: 'beside', hashKey: this.hashKey, data: { n: this.#count } }
          const all = random.chance(0.5) ? [beside, ...operations] : [...operations, beside]
          return { send: () => api.post('/v1/app/_batch', { operations: all }), changes }
        },
      ],
      [
        2,
        () => {
          const lines = random.shuffled(rangeKeys).slice(0, random.int(1, 6))
          const body = lines.map((rangeKey) => `${JSON.stringify(this.#record(rangeKey, changes))}\n`).join('')
          const headers = { 'content-type': 'application/x-ndjson' }
          return { send: () => api.request('POST', `${tablePath}/load`, body, headers), changes }
        },
      ],
    ]
    return random.weighted(makes)()
  }

  #stateOf({ rangeKey }: { rangeKey: string }, changes: Map<string, Expected>): Expected {
    return changes.get(`${this.hashKey}/${rangeKey}`)!
  }

  #marked(rangeKey: string, changes: Map<string, Expected>): { hashKey: string; rangeKey: string; mark: string } {
    const mark = `${this.hashKey}.${++this.#count}`
    // A patch keeps the ttl, which its response tells.
    changes.set(`${this.hashKey}/${rangeKey}`, { mark, ttl: null })
    return { hashKey: this.hashKey, rangeKey, mark }
  }

  #record(
    rangeKey: string,
    changes: Map<string, Expected>,
  ): { hashKey: string; rangeKey: string; data: Json; ttl?: number } {
    const { hashKey, mark } = this.#marked(rangeKey, changes)
    const seconds = this.#random.weighted<number | undefined>([
      [6, undefined],
      [2, this.#random.int(1, 3)],
      [1, 1_000_000],
    ])
    const ttl = seconds === undefined ? undefined : Math.floor(this.#stage.now() / 1000) + seconds
    this.#stateOf({ rangeKey }, changes).ttl = ttl
    const data = { mark, pad: '.'.repeat(this.#random.int(0, 300)) }
    return { hashKey, rangeKey, data, ...(ttl === undefined ? {} : { ttl }) }
  }

  #operations(changes: Map<string, Expected>): Json[] {
    const { hashKey } = this
    return this.#random
      .shuffled(rangeKeys)
      .slice(0, this.#random.int(2, 4))
      .map((rangeKey): Json => {
        const op = this.#random.pick(['put', 'put', 'delete', 'patch'])
        if (op === 'put') return { op, ...this.#record(rangeKey, changes) }
        if (op === 'patch') {
          const { mark } = this.#marked(rangeKey, changes)
          return { op, hashKey, rangeKey, merge: { mark } }
        }
        changes.set(`${hashKey}/${rangeKey}`, { mark: undefined })
        return { op, hashKey, rangeKey }
      })
  }
}
