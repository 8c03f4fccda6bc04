import { CubbyError } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Holder } from '../../../core/shares.ts'
import { type Caller, shareOf } from '../../../store/api-keys.ts'
import type { Dialect } from '../dialect.ts'
import { Coalescer, type CoalescerOptions } from './coalescer.ts'
import type { BoundStatement, Session, StatementResult } from './driver.ts'
import { isDuplicate, isLost, isRaised, isRetryable, isUndone, ofWorker, toCallersError } from './failure.ts'
import { isUnreachable, LostPart } from './lost-part.ts'
import type { Pool } from './pool.ts'
import { requireToken, type TokenUse, tokenGuardStatement, tokenStateStatement } from './user-guard.ts'

const attemptsMax = 6
/** A call is tried on at most this many connections if each of them turns out to be broken. */
const connectionsMax = 3
const firstPauseMs = 4
/** A connection counts as dead if an answer takes this much longer than the statement timeout. */
const responseGraceMs = 2_000

const lookupsTogetherMax = 8

/** `readEach` has this many reads in flight and stops after this time. The others count as not read. */
const readsAtOnce = 4
const readEachMsMax = 2_000

/** Sends statements on one connection and returns their results. */
export type Read = (...bound: BoundStatement[]) => Promise<StatementResult[]>

export interface Transaction {
  send: Read
  /** Sends the last statements and COMMIT in one round trip. */
  commit: Read
}

const begin: BoundStatement = { statement: { name: 'begin', text: 'begin' }, values: [] }
const commit: BoundStatement = { statement: { name: 'commit', text: 'commit' }, values: [] }
const rollback: BoundStatement = { statement: { name: 'rollback', text: 'rollback' }, values: [] }

/** Maintenance, and queries that every request depends on, get a turn of their own: no organization has this id. */
export const noOrg: Holder = { orgId: 0, keySeq: 0 }
/** Requests with an unknown API key get another turn than `noOrg`: maintenance must not wait for them. */
export const anybody: Holder = { orgId: 0, keySeq: 1 }
/** Requests without an API key, to URLs of files, get another turn: keys must be found while somebody tries many URLs. */
export const visitor: Holder = { orgId: 0, keySeq: 2 }
/** Queries of the registry take turns by organization only, whichever API key asks. */
export const organization = (orgId: number): Holder => ({ orgId, keySeq: 0 })

/** A caller who writes. Nothing is written with a user token that is not valid. */
interface Writer extends Holder {
  token?: TokenUse
}

export const tokenOf = ({ orgId, apiKey }: Caller): TokenUse | undefined =>
  apiKey?.user && { orgId, mark: apiKey.user.mark }

export const holderOf = (caller: Caller): Writer => {
  const { orgId, apiKey } = caller
  return { orgId, keySeq: apiKey === undefined ? 0 : shareOf(apiKey), token: tokenOf(caller) }
}

/**
 * Runs pipelines on the pool. It retries, a bounded number of times, only pipelines that the server rolled back or never
 * received.
 */
export class Database {
  readonly #pool: Pool
  readonly #msMax: number
  readonly #dialect: Dialect
  readonly #lookups: Coalescer<BoundStatement>
  readonly lostPart: LostPart

  constructor(pool: Pool, statementMsMax: number, dialect: Dialect, log: Log) {
    this.#pool = pool
    this.lostPart = new LostPart(log)
    this.#dialect = dialect
    this.#msMax = statementMsMax + responseGraceMs
    const options = {
      callsMax: lookupsTogetherMax,
      groupOf: () => 0,
      fits: () => true,
      send: (session: Session, together: BoundStatement[]) => this.send(session, together),
    }
    this.#lookups = this.coalesce(options, (statement) => statement, false)
  }

  async send(session: Session, bound: BoundStatement[]): Promise<StatementResult[]> {
    try {
      return await session.send(bound, this.#msMax)
    } catch (error) {
      throw this.#dialect.distributesRecords ? ofWorker(error) : error
    }
  }

  /** A read may be repeated on another connection. */
  read(holder: Holder, ...bound: BoundStatement[]): Promise<StatementResult[]> {
    return this.#attempt(holder, false, (session) => this.send(session, bound))
  }

  /**
   * Runs work on one of many tables or tasks. It returns undefined if the server with that table cannot be reached, so that the
   * work on the others continues. Only a database with several servers has that case.
   */
  async reach<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      this.requirePart(error)
      return undefined
    }
  }

  /** Throws the error again, unless one of several servers cannot be reached and may have caused it. */
  requirePart(error: unknown): void {
    if (!this.#dialect.distributesRecords || !isUnreachable(error)) throw error
    this.lostPart.lost(error)
  }

  /** Reads one by one, in any order. The result is undefined if its server cannot be reached, or if the time is over. */
  async readEach(holder: Holder, bound: BoundStatement[]): Promise<(StatementResult | undefined)[]> {
    const endsAt = performance.now() + readEachMsMax
    const results: (StatementResult | undefined)[] = bound.map(() => undefined)
    const left = [...bound.keys()].sort(() => Math.random() - 0.5)
    const readOn = async (): Promise<void> => {
      for (let i = left.pop(); i !== undefined && performance.now() < endsAt; i = left.pop()) {
        results[i] = (await this.reach(() => this.read(holder, bound[i!]!)))?.[0]
      }
    }
    await Promise.all(Array.from({ length: readsAtOnce }, readOn))
    return results
  }

  /**
   * Reads all in one round trip. While a server cannot be reached, it reads `registry` first, and then `each` with `readEach`.
   */
  async readParts(
    holder: Holder,
    registry: BoundStatement[],
    each: BoundStatement[],
  ): Promise<(StatementResult | undefined)[]> {
    try {
      return await this.read(holder, ...registry, ...each)
    } catch (error) {
      if (!this.#dialect.distributesRecords || !isUnreachable(error)) throw error
      return [...(await this.read(holder, ...registry)), ...(await this.readEach(holder, each))]
    }
  }

  /** Reads one row by its key, together with other look-ups that wait: see coalescer.ts. */
  lookup(holder: Holder, statement: BoundStatement): Promise<StatementResult> {
    return this.#lookups.run(holder, statement)
  }

  /** Sends calls of one kind together when they have to wait. `stepOf` makes the step of a call that is sent alone. */
  coalesce<Call>(
    options: Omit<CoalescerOptions<Call>, 'recover'>,
    stepOf: (call: Call) => BoundStatement,
    commits: boolean,
  ): Coalescer<Call> {
    const recover = async (holder: Holder, call: Call, error: unknown, alone: boolean): Promise<StatementResult> => {
      // One failing call rolls back the whole group, so each is retried alone, if the rollback is certain.
      const again = alone ? isRetryable(error) || isLost(error) || isRaised(error) : true
      if (!again || !isUndone(error, commits)) throw toCallersError(error, commits)
      const [result] = await (commits ? this.write(holder, stepOf(call)) : this.read(holder, stepOf(call)))
      return result!
    }
    return new Coalescer(this.#pool, { ...options, recover })
  }

  /**
   * Runs one transaction in one round trip. An error that a statement raised on purpose, or a duplicate, is thrown as it is:
   * see `isRaised` and `isDuplicate`.
   */
  async write(writer: Writer, ...bound: BoundStatement[]): Promise<StatementResult[]> {
    const { token } = writer
    if ((bound.length > 1 || token !== undefined) && !this.#dialect.pipelinesAreTransactions) {
      return this.transaction(writer, ({ commit }) => commit(...bound))
    }
    if (token === undefined) return this.#attempt(writer, true, (session) => this.send(session, bound))
    const guarded = [...bound, tokenGuardStatement(token)]
    const sending = this.#attempt(writer, true, (session) => this.send(session, guarded))
    return (await this.#explainRefusal(writer, token, sending)).slice(0, -1)
  }

  /** Runs a change that must read before it writes. Without `commit`, the transaction is rolled back. */
  async transaction<T>(writer: Writer, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { token } = writer
    if (token === undefined) return this.#transaction(writer, work)
    let isWritten = false
    const running = this.#transaction(writer, ({ send, commit }) => {
      isWritten = false
      const commitGuarded: Read = async (...bound) => {
        const results = await commit(...bound, tokenGuardStatement(token))
        isWritten = true
        return results.slice(0, -1)
      }
      return work({ send, commit: commitGuarded })
    })
    const result = await this.#explainRefusal(writer, token, running)
    if (!isWritten) await this.#requireToken(writer, token)
    return result
  }

  /** A refusal tells of what is stored, so it needs a valid token too. */
  async #explainRefusal<T>(holder: Holder, token: TokenUse, change: Promise<T>): Promise<T> {
    try {
      return await change
    } catch (error) {
      if (isRaised(error) || isRefusal(error)) await this.#requireToken(holder, token)
      throw error
    }
  }

  async #requireToken(holder: Holder, token: TokenUse): Promise<void> {
    const [state] = await this.read(holder, tokenStateStatement(token))
    requireToken(state!.rows[0]!)
  }

  async #transaction<T>(holder: Holder, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    let committing = false
    const run = async (session: Session): Promise<T> => {
      committing = false
      let open = true
      let first = true
      const transaction: Transaction = {
        send: async (...bound) => {
          const all = first ? [begin, ...bound] : bound
          const results = await this.send(session, all)
          if (first) results.shift()
          first = false
          return results
        },
        commit: async (...bound) => {
          committing = true
          const all = first ? [begin, ...bound, commit] : [...bound, commit]
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

/** The database has answered, and what is stored does not allow the change. */
const isRefusal = (error: unknown): boolean =>
  error instanceof CubbyError && !['unavailable', 'outcome_unknown', 'storage_full'].includes(error.code)
