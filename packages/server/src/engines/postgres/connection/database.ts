import type { Log } from '../../../core/log.ts'
import type { Holder } from '../../../core/shares.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { Dialect } from '../dialect.ts'
import { Coalescer, type CoalescerOptions } from './coalescer.ts'
import type { Session, Step, StepResult } from './driver.ts'
import { isDuplicate, isLost, isRaised, isRetryable, isUndone, ofWorker, toCallersError } from './failure.ts'
import { isUnreachable, LostPart } from './lost-part.ts'
import type { Pool } from './pool.ts'

const attemptsMax = 6
/** How many connections a call is tried on if each of them turns out to be broken. */
const connectionsMax = 3
const firstPauseMs = 4
/** How much longer than the statement timeout an answer may take before the connection counts as dead. */
const answerGraceMs = 2_000

const lookUpsTogetherMax = 8

/** Reads that are sent one by one: so many at once, and for so long. The rest then counts as not read. */
const readsAtOnce = 4
const readEachMsMax = 2_000

/** Sends statements on one connection, and takes what they return. */
export type Read = (...steps: Step[]) => Promise<StepResult[]>

export interface Transaction {
  send: Read
  /** Sends the last statements and COMMIT in one round trip. */
  commit: Read
}

const begin: Step = { statement: { name: 'begin', text: 'begin' }, values: [] }
const commit: Step = { statement: { name: 'commit', text: 'commit' }, values: [] }
const rollback: Step = { statement: { name: 'rollback', text: 'rollback' }, values: [] }

/** No organization has this id: maintenance, and queries that every request depends on, get their own turn. */
export const noOrg: Holder = { orgId: 0, keySeq: 0 }
/** Requests with an API key that is not known yet. Not `noOrg`: maintenance must not wait for them. */
export const anybody: Holder = { orgId: 0, keySeq: 1 }
/** Requests without an API key, to URLs of files. Keys must be found while somebody tries many URLs. */
export const visitor: Holder = { orgId: 0, keySeq: 2 }
/** For queries of the registry, whichever API key asks. */
export const organization = (orgId: number): Holder => ({ orgId, keySeq: 0 })
export const holderOf = ({ orgId, apiKey }: Caller): Holder => ({ orgId, keySeq: apiKey?.seq ?? 0 })

/** Runs pipelines on the pool. Retries, a bounded number of times, only what the server rolled back or never received. */
export class Database {
  readonly #pool: Pool
  readonly #msMax: number
  readonly #dialect: Dialect
  readonly #lookUps: Coalescer<Step>
  readonly lostPart: LostPart

  constructor(pool: Pool, statementMsMax: number, dialect: Dialect, log: Log) {
    this.#pool = pool
    this.lostPart = new LostPart(log)
    this.#dialect = dialect
    this.#msMax = statementMsMax + answerGraceMs
    const options = {
      callsMax: lookUpsTogetherMax,
      groupOf: () => 0,
      fits: () => true,
      send: (session: Session, together: Step[]) => this.send(session, together),
    }
    this.#lookUps = this.coalesce(options, (step) => step, false)
  }

  async send(session: Session, steps: Step[]): Promise<StepResult[]> {
    try {
      return await session.send(steps, this.#msMax)
    } catch (error) {
      throw this.#dialect.distributesRecords ? ofWorker(error) : error
    }
  }

  /** A read may be repeated on another connection. */
  read(holder: Holder, ...steps: Step[]): Promise<StepResult[]> {
    return this.#attempt(holder, false, (session) => this.send(session, steps))
  }

  /**
   * For work on one of many tables or tasks. Undefined if its part of the database is lost: that must not end the work on the
   * others. Only where records are on several servers.
   */
  async reach<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      this.requirePart(error)
      return undefined
    }
  }

  /** Throws the error, unless it can be that of a lost part, and others can be reached. */
  requirePart(error: unknown): void {
    if (!this.#dialect.distributesRecords || !isUnreachable(error)) throw error
    this.lostPart.lost(error)
  }

  /** One by one, in any order. Undefined for those of a lost part, and for all that could not be asked in time. */
  async readEach(holder: Holder, steps: Step[]): Promise<(StepResult | undefined)[]> {
    const endsAt = performance.now() + readEachMsMax
    const results: (StepResult | undefined)[] = steps.map(() => undefined)
    const left = [...steps.keys()].sort(() => Math.random() - 0.5)
    const readOn = async (): Promise<void> => {
      for (let i = left.pop(); i !== undefined && performance.now() < endsAt; i = left.pop()) {
        results[i] = (await this.reach(() => this.read(holder, steps[i!]!)))?.[0]
      }
    }
    await Promise.all(Array.from({ length: readsAtOnce }, readOn))
    return results
  }

  /** All in one round trip; while a part is lost, `registry` first, and then `each` as `readEach` has it. */
  async readParts(holder: Holder, registry: Step[], each: Step[]): Promise<(StepResult | undefined)[]> {
    try {
      return await this.read(holder, ...registry, ...each)
    } catch (error) {
      if (!this.#dialect.distributesRecords || !isUnreachable(error)) throw error
      return [...(await this.read(holder, ...registry)), ...(await this.readEach(holder, each))]
    }
  }

  /** One row by its key, together with other look-ups that wait: see coalescer.ts. */
  lookUp(holder: Holder, step: Step): Promise<StepResult> {
    return this.#lookUps.run(holder, step)
  }

  /** Calls of one kind, sent together when they have to wait. `stepOf` is a call that is sent alone. */
  coalesce<Call>(
    options: Omit<CoalescerOptions<Call>, 'recover'>,
    stepOf: (call: Call) => Step,
    commits: boolean,
  ): Coalescer<Call> {
    const recover = async (holder: Holder, call: Call, error: unknown, alone: boolean): Promise<StepResult> => {
      // One failing call rolls back the whole group, so each is retried alone; unless the rollback is not certain.
      const again = alone ? isRetryable(error) || isLost(error) : true
      if (!again || !isUndone(error, commits)) throw toCallersError(error, commits)
      const [result] = await (commits ? this.write(holder, stepOf(call)) : this.read(holder, stepOf(call)))
      return result!
    }
    return new Coalescer(this.#pool, { ...options, recover })
  }

  /**
   * One transaction in one round trip. An error that a statement raised on purpose, or a duplicate, is thrown as it is: see
   * `isRaised` and `isDuplicate`.
   */
  write(holder: Holder, ...steps: Step[]): Promise<StepResult[]> {
    if (steps.length > 1 && !this.#dialect.pipelinesAreTransactions) {
      return this.transaction(holder, ({ commit }) => commit(...steps))
    }
    return this.#attempt(holder, true, (session) => this.send(session, steps))
  }

  /** For changes that must read before they write. Without `commit`, the transaction is rolled back. */
  async transaction<T>(holder: Holder, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    let committing = false
    const run = async (session: Session): Promise<T> => {
      committing = false
      let open = true
      let first = true
      const transaction: Transaction = {
        send: async (...steps) => {
          const all = first ? [begin, ...steps] : steps
          const results = await this.send(session, all)
          if (first) results.shift()
          first = false
          return results
        },
        commit: async (...steps) => {
          committing = true
          const all = first ? [begin, ...steps, commit] : [...steps, commit]
          const results = await this.send(session, all)
          open = false
          return results.slice(first ? 1 : 0, -1)
        },
      }
      try {
        return await work(transaction)
      } finally {
        // If this fails, the connection is broken and the server has rolled back already.
        if (open && !session.isGone) await session.send([rollback], this.#msMax).catch(() => session.destroy())
      }
    }
    return this.#attempt(holder, () => committing, run)
  }

  async #attempt<T>(
    holder: Holder,
    commits: boolean | (() => boolean),
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#pool.run(holder, work)
      } catch (error) {
        if (isRaised(error) || isDuplicate(error)) throw error
        const mayCommit = typeof commits === 'boolean' ? commits : commits()
        const again = isRetryable(error) || (isLost(error) && isUndone(error, mayCommit))
        // If only this connection broke, another one is there at once. Nothing waits for a server that is gone.
        const most = isLost(error) ? connectionsMax : attemptsMax
        if (!again || attempt >= most) throw toCallersError(error, mayCommit)
        if (!isLost(error)) await Bun.sleep(firstPauseMs * 2 ** attempt * (0.5 + Math.random()))
      }
    }
  }
}
