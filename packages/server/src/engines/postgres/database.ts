import type { PipelineFailure, Session, Step, StepResult } from './driver.ts'
import { isLost, isRaised, isRetryable, toCallersError } from './failure.ts'
import type { Pool } from './pool.ts'

const attemptsMax = 6
/** On how many connections a call is tried that found each of them broken. */
const connectionsMax = 3
const firstPauseMs = 4
/** What an answer may take beyond the statement's own time, before the connection counts as dead. */
const answerGraceMs = 2_000

const lookUpsTogetherMax = 8

interface LookUp {
  orgId: number
  step: Step
  resolve(result: StepResult | Promise<StepResult>): void
}

export interface Transaction {
  send(...steps: Step[]): Promise<StepResult[]>
  /** The last statements, and COMMIT in the same round trip. */
  commit(...steps: Step[]): Promise<StepResult[]>
}

const begin: Step = { statement: { name: 'begin', text: 'begin' }, values: [] }
const commit: Step = { statement: { name: 'commit', text: 'commit' }, values: [] }
const rollback: Step = { statement: { name: 'rollback', text: 'rollback' }, values: [] }

/** Upkeep and what is asked before the organization is known wait in a turn of their own. */
export const noOrg = 0

/** Runs pipelines on the pool. Tries again only what the server has rolled back, or never got, and only so often. */
export class Database {
  readonly #pool: Pool
  readonly #msMax: number
  readonly #pipelinesAreTransactions: boolean
  /** Those that wait, the longest first. */
  readonly #lookUps = new Set<LookUp>()

  constructor(pool: Pool, statementMsMax: number, pipelinesAreTransactions: boolean) {
    this.#pool = pool
    this.#pipelinesAreTransactions = pipelinesAreTransactions
    this.#msMax = statementMsMax + answerGraceMs
  }

  /** Reads may be repeated on another connection. */
  read(orgId: number, ...steps: Step[]): Promise<StepResult[]> {
    return this.#attempt(orgId, false, (session) => session.send(steps, this.#msMax))
  }

  /**
   * One row by its key. Those that wait for a connection go together when one comes free: of so small a statement
   * most of the cost is the way there and back. On their own again if that fails, so that each has its own error.
   */
  lookUp(orgId: number, step: Step): Promise<StepResult> {
    const { promise, resolve, reject } = Promise.withResolvers<StepResult>()
    const own: LookUp = { orgId, step, resolve }
    this.#lookUps.add(own)
    this.#pool
      .run(orgId, (session) => this.#answerLookUps(session, own))
      .catch((error: unknown) => {
        // No connection came free; otherwise others have taken it along, or it was asked again.
        if (this.#lookUps.delete(own)) reject(error)
      })
    return promise
  }

  async #answerLookUps(session: Session, first: LookUp): Promise<void> {
    if (!this.#lookUps.delete(first)) return
    const together = [first]
    for (const next of this.#lookUps) {
      if (together.length >= lookUpsTogetherMax) break
      this.#lookUps.delete(next)
      together.push(next)
    }
    const steps = together.map(({ step }) => step)
    try {
      const results = await session.send(steps, this.#msMax)
      for (const [i, { resolve }] of together.entries()) resolve(results[i]!)
    } catch (error) {
      for (const { orgId, step, resolve } of together) resolve(this.read(orgId, step).then(([result]) => result!))
      throw error
    }
  }

  /** One transaction in one round trip. A condition that a statement raised comes out as it is: see `isRaised`. */
  write(orgId: number, ...steps: Step[]): Promise<StepResult[]> {
    if (steps.length > 1 && !this.#pipelinesAreTransactions) {
      return this.transaction(orgId, ({ commit }) => commit(...steps))
    }
    return this.#attempt(orgId, true, (session) => session.send(steps, this.#msMax))
  }

  /** For what must look before it writes. Without `commit` nothing is kept. */
  async transaction<T>(orgId: number, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    let committing = false
    const run = async (session: Session): Promise<T> => {
      committing = false
      let open = true
      let first = true
      const transaction: Transaction = {
        send: async (...steps) => {
          const all = first ? [begin, ...steps] : steps
          const results = await session.send(all, this.#msMax)
          if (first) results.shift()
          first = false
          return results
        },
        commit: async (...steps) => {
          committing = true
          const all = first ? [begin, ...steps, commit] : [...steps, commit]
          const results = await session.send(all, this.#msMax)
          open = false
          return results.slice(first ? 1 : 0, -1)
        },
      }
      try {
        return await work(transaction)
      } finally {
        // Should this fail, the connection is broken and the server has rolled back already.
        if (open && !session.isGone) await session.send([rollback], this.#msMax).catch(() => session.destroy())
      }
    }
    return this.#attempt(orgId, () => committing, run)
  }

  async #attempt<T>(
    orgId: number,
    commits: boolean | (() => boolean),
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#pool.run(orgId, work)
      } catch (error) {
        if (isRaised(error)) throw error
        const mayCommit = typeof commits === 'boolean' ? commits : commits()
        const again = isRetryable(error) || (isLost(error) && (!(error as PipelineFailure).sent || !mayCommit))
        // Another connection may be there at once, if only this one was ended; a server that is gone is not waited for.
        const most = isLost(error) ? connectionsMax : attemptsMax
        if (!again || attempt >= most) throw toCallersError(error, mayCommit)
        if (!isLost(error)) await Bun.sleep(firstPauseMs * 2 ** attempt * (0.5 + Math.random()))
      }
    }
  }
}
