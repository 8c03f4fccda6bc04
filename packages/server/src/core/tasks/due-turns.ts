import type { Awaitable } from '../awaitable.ts'

/**
 * Those that wait, in turns of their holders: the first of every holder, then the second of every holder. Otherwise they keep
 * their order. So what one holder has waiting, however much, comes behind the first of every other one.
 */
export const takeTurns = <T>(waiting: readonly T[], holderOf: (one: T) => number): T[] => {
  const counts = new Map<number, number>()
  const placed = waiting.map((one) => {
    const holder = holderOf(one)
    const turn = counts.get(holder) ?? 0
    counts.set(holder, turn + 1)
    return { one, turn }
  })
  return placed.sort((a, b) => a.turn - b.turn).map(({ one }) => one)
}

/** A schedule or a lease whose time has come. */
export interface Due {
  id: number | string
  /** 0 if it is not known. */
  orgId: number
  /** Bytes that a step reads, and mostly writes, for it. */
  bytes: number
}

/** Finds what is due. None of these queries reads more rows than it may return, however much is due. */
export interface DueQueries<T extends Due> {
  /** Returns at most this many, those that are due longest first. */
  first(rowsMax: number): Awaitable<T[]>
  /**
   * Organizations with ids above `afterId`, by id, at most so many, each with whether something of it is due. One that
   * has nothing that can become due may be missing.
   */
  organizations(afterId: number, rowsMax: number): Awaitable<DueOrganization[]>
  /** The number of organizations that one poll reads. */
  organizationsMax: number
  /**
   * Returns at most this many of each organization, those that are due longest first, organization by organization in this
   * order.
   */
  firstOf(orgIds: number[], rowsMax: number): Awaitable<T[]>
}

export interface DueOrganization {
  id: number
  isDue: boolean
}

export interface ChosenStep<T> {
  chosen: T[]
  /** True if some that are due are left for the next step. */
  isMore: boolean
}

/** Rows that a look reads in the order of their times. If that is all that is due, nothing else has to be read. */
export const firstRowsMax = 500

/** Organization ids begin with 1, and 0 stands for an unknown one. */
const beforeAll = -1

/**
 * Chooses what one step does. Organizations take turns: none waits behind all that another has due. If more is due than
 * `firstRowsMax`, the rows that are due longest may all be of one organization. Then a look asks the organizations
 * themselves, and the next look begins where this one ended. So its cost does not depend on how much one of them has due.
 */
export class DueTurns {
  #lastOrgId = beforeAll

  /** Chooses at least one, if there is one. */
  async choose<T extends Due>(
    queries: DueQueries<T>,
    rowsMax: number,
    bytesMax = Number.POSITIVE_INFINITY,
  ): Promise<ChosenStep<T>> {
    const first = await queries.first(firstRowsMax)
    if (first.length < firstRowsMax) {
      const chosen = cut(first, rowsMax, bytesMax)
      return { chosen, isMore: chosen.length < first.length }
    }
    const organizations = await this.#next(queries)
    const due = organizations.flatMap(({ id, isDue }) => (isDue ? [id] : [])).slice(0, rowsMax)
    const found = due.length === 0 ? [] : await queries.firstOf(due, Math.ceil(rowsMax / due.length))
    const foundIds = new Set(found.map(({ id }) => id))
    const chosen = cut([...found, ...first.filter(({ id }) => !foundIds.has(id))], rowsMax, bytesMax)
    this.#lastOrgId = lastServed(organizations, due, chosen) ?? this.#lastOrgId
    return { chosen, isMore: true }
  }

  /** Those after the last one, and then those from the beginning. */
  async #next({ organizations, organizationsMax }: DueQueries<Due>): Promise<DueOrganization[]> {
    const after = await organizations(this.#lastOrgId, organizationsMax)
    if (after.length === organizationsMax || this.#lastOrgId === beforeAll) return after
    const before = await organizations(beforeAll, organizationsMax - after.length)
    return [...after, ...before.filter(({ id }) => id <= this.#lastOrgId)]
  }
}

const cut = <T extends Due>(due: T[], rowsMax: number, bytesMax: number): T[] => {
  const chosen: T[] = []
  let bytes = 0
  for (const one of takeTurns(due, ({ orgId }) => orgId)) {
    bytes += one.bytes
    if (chosen.length === rowsMax || (chosen.length > 0 && bytes > bytesMax)) break
    chosen.push(one)
  }
  return chosen
}

/**
 * The next look begins after this one: after the last that was asked, unless one of those that have something due got no turn.
 */
const lastServed = (organizations: DueOrganization[], due: number[], chosen: Due[]): number | undefined => {
  const served = new Set(chosen.map(({ orgId }) => orgId))
  const missed = due.findIndex((id) => !served.has(id))
  if (missed > 0) return due[missed - 1]
  const isAll = organizations.filter(({ isDue }) => isDue).length === due.length
  return isAll ? organizations.at(-1)?.id : due.at(-1)
}

const everyMs = 60_000

/**
 * Decides when to look for runs or schedules that a clock which was set back has left in the future (see `wakeRun`): at the
 * start, whenever the clock has jumped, and every minute. Each check costs a seek for every task, so it is not made every time.
 */
export class WakeChecks {
  #lastMs: number | undefined

  isDue(nowMs: number): boolean {
    return this.#lastMs === undefined || Math.abs(nowMs - this.#lastMs) >= everyMs
  }

  /** Notes that nothing was found. */
  foundNone(nowMs: number): void {
    if (this.isDue(nowMs)) this.#lastMs = nowMs
  }
}
