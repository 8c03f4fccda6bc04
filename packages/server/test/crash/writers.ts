import type { Api, ApiResponse } from '../harness.ts'
import type { Random } from '../model/random.ts'
import { type Change, type FoundRecords, OwnLedger, SharedLedger } from './ledger.ts'

export const tablePath = '/v1/app/ledger'

/** Declared so that every record is in two indices. Each write changes its place in one of them. */
export const indices = { i1: { hashField: 'owner', rangeField: 'mark' }, i3: { hashField: 'unit' } }

const singles = ['s0', 's1', 's2', 's3']
const groups = { g: ['g0', 'g1', 'g2', 'g3'], h: ['h0', 'h1'] }
const sharedGroup = ['r0', 'r1', 'r2', 'r3', 'r4']

/** Large enough at times that the log is copied into the database file while the writers run. */
const makePad = (random: Random): string =>
  '.'.repeat(random.chance(0.08) ? random.int(20_000, 60_000) : random.int(0, 500))

/** Thrown through when the server does not do what a server that runs does. */
export class WrongResponse extends Error {}

/** The shared records and every writer's own, with the ledgers of all of them. */
export class Writers {
  /** Success responses in all rounds. */
  acknowledged = 0
  readonly #owners: Owner[]
  readonly #group: SharedLedger
  readonly #hot: SharedLedger

  constructor(count: number, random: Random) {
    this.#group = new SharedLedger(
      'the shared batch',
      sharedGroup.map((rangeKey) => `shared/${rangeKey}`),
    )
    this.#hot = new SharedLedger('the shared record', ['shared/hot'])
    this.#owners = Array.from({ length: count }, (_, i) => new Owner(`w${i}`, random, this.#group, this.#hot))
  }

  /** Every writer continues until `stopped` is true. A request that fails after that counts as one without a response. */
  async run(api: Api, stopped: () => boolean): Promise<void> {
    const onAnswer = () => {
      this.acknowledged++
    }
    await Promise.all(this.#owners.map((owner) => owner.run(api, stopped, onAnswer)))
  }

  compare(found: FoundRecords): string[] {
    return [...this.#owners, this.#group, this.#hot].flatMap((ledger) => ledger.compare(found))
  }
}

class Owner {
  readonly #name: string
  readonly #random: Random
  readonly #group: SharedLedger
  readonly #hot: SharedLedger
  readonly #ledger: OwnLedger
  #count = 0

  constructor(name: string, random: Random, group: SharedLedger, hot: SharedLedger) {
    this.#name = name
    this.#random = random
    this.#group = group
    this.#hot = hot
    const units = [...singles.map((single) => [single, [single]] as const), ...Object.entries(groups)]
    this.#ledger = new OwnLedger(
      Object.fromEntries(units.map(([unit, ranges]) => [unit, ranges.map((rangeKey) => `${name}/${rangeKey}`)])),
    )
  }

  compare(found: FoundRecords): string[] {
    return this.#ledger.compare(found).map((fault) => `${this.#name}: ${fault}`)
  }

  async run(api: Api, stopped: () => boolean, onAnswer: () => void): Promise<void> {
    while (!stopped()) {
      try {
        await this.#step(api)
        onAnswer()
      } catch (error) {
        if (error instanceof WrongResponse || !stopped()) throw error
        return
      }
    }
  }

  #step(api: Api): Promise<void> {
    return this.#random.weighted<() => Promise<void>>([
      [8, () => this.#put(api)],
      [3, () => this.#delete(api)],
      [9, () => this.#batch(api)],
      [2, () => this.#sharedBatch(api)],
      [1, () => this.#sharedPut(api)],
    ])()
  }

  #mark(): string {
    return `${this.#name}.${String(++this.#count).padStart(8, '0')}`
  }

  #record(hashKey: string, rangeKey: string, unit: string, mark: string): object {
    return { hashKey, rangeKey, data: { owner: hashKey, unit, mark, pad: makePad(this.#random) } }
  }

  /** Any answer but this one is wrong: nothing here can be refused. */
  #expect(answer: ApiResponse, holds: boolean): void {
    if (answer.status !== 200 || !holds) throw new WrongResponse(`${this.#name} got ${answer.status} ${answer.text}`)
  }

  async #put(api: Api): Promise<void> {
    const unit = this.#random.pick(singles)
    const mark = this.#mark()
    const before = this.#ledger.version(unit) ?? 0
    this.#ledger.sent(new Map([[unit, mark]]))
    const answer = await api.put(tablePath, this.#record(this.#name, unit, unit, mark))
    this.#expect(answer, answer.body?.updatedAt > before)
    this.#ledger.acknowledged(answer.body.updatedAt)
  }

  async #delete(api: Api): Promise<void> {
    const unit = this.#random.pick(singles)
    const present = this.#ledger.holds(unit)
    this.#ledger.sent(new Map([[unit, undefined]]))
    const answer = await api.delete(`${tablePath}/${this.#name}/${unit}`)
    this.#expect(answer, answer.body?.deleted === present)
    this.#ledger.acknowledged()
  }

  /** A group or both, put or taken away, at times with a single record: all of it in one batch. */
  async #batch(api: Api): Promise<void> {
    const random = this.#random
    const mark = this.#mark()
    const change: Change = new Map()
    const operations: object[] = []
    const add = (unit: string, ranges: string[], remove: boolean): void => {
      change.set(unit, remove ? undefined : mark)
      for (const rangeKey of ranges) {
        operations.push(
          remove
            ? { op: 'delete', hashKey: this.#name, rangeKey }
            : { op: 'put', ...this.#record(this.#name, rangeKey, unit, mark) },
        )
      }
    }
    const which = random.pick([['g'], ['h'], ['g', 'h']] as const)
    for (const unit of which) add(unit, groups[unit], random.chance(0.2))
    if (random.chance(0.4)) {
      const single = random.pick(singles)
      add(single, [single], random.chance(0.3))
    }
    this.#ledger.sent(change)
    const answer = await api.post(`${tablePath}/batch`, { operations: random.shuffled(operations) })
    this.#expect(answer, answer.body?.count === operations.length)
    this.#ledger.acknowledged()
  }

  async #sharedBatch(api: Api): Promise<void> {
    const mark = this.#mark()
    const operations = sharedGroup.map((rangeKey) => ({ op: 'put', ...this.#record('shared', rangeKey, 'r', mark) }))
    const write = this.#group.sent(mark)
    const answer = await api.post(`${tablePath}/batch`, { operations: this.#random.shuffled(operations) })
    this.#expect(answer, answer.body?.count === operations.length)
    this.#group.acknowledged(write)
  }

  async #sharedPut(api: Api): Promise<void> {
    const mark = this.#mark()
    const write = this.#hot.sent(mark)
    const answer = await api.put(tablePath, this.#record('shared', 'hot', 'hot', mark))
    this.#expect(answer, answer.body?.updatedAt > 0)
    this.#hot.acknowledged(write, answer.body.updatedAt)
  }
}
