import { CubbyError } from '../../../core/errors.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { Table } from '../../../store/tables.ts'
import { type Database, holderOf } from '../connection/database.ts'
import type { BoundStatement, Row } from '../connection/driver.ts'
import type { RegistryCache } from '../registry/registry-cache.ts'
import { guardBatch, guardState } from './statements.ts'

// A write is not applied if its API key was revoked, or its table, bucket, task or organization deleted.

export const revokedApiKey = (): CubbyError => new CubbyError('revoked_api_key', 'The API key has been revoked.')

export const organizationDeleted = (): CubbyError =>
  new CubbyError('invalid_api_key', 'The organization has been deleted.')

export const tableGone = ({ kind }: Table): CubbyError =>
  new CubbyError(`${kind}_not_found`, `The ${kind} has been deleted.`)

/** Makes the step that asks whether they are active. */
export const stateStatement = (caller: Caller, table: Table): BoundStatement => ({
  statement: guardState,
  values: [table.id, caller.apiKey?.seq ?? null],
})

/** Tells whether the writes of the table are counted: they add to its log, or runs to the tasks that follow it. */
export const isLogged = ({ changes, followers }: Table): boolean =>
  followers.length > 0 || (changes !== null && changes.keepHours !== null)

/**
 * A write that is not counted was refused: the table has begun to keep its changes or to be followed. It must be written as
 * `table`.
 */
export class LogBegun extends Error {
  override readonly name = 'LogBegun'
  readonly table: Table

  constructor(table: Table) {
    super('the table has begun to keep its changes or to be followed')
    this.table = { ...table, changes: { keepHours: 1, sinceMs: 0 } }
  }
}

/** Takes the row that `stateStatement` returns. */
export const requireActive = (table: Table, state: Row): void => {
  const [tableIsActive, keyIsActive, organizationIsActive, isCounted] = state
  if (organizationIsActive === 'f') throw organizationDeleted()
  if (keyIsActive === 'f') throw revokedApiKey()
  if (tableIsActive === 'f') throw tableGone(table)
  if (isCounted === 't' && !isLogged(table)) throw new LogBegun(table)
}

/** Rejects writes whose API key was revoked, or whose table, bucket or organization was deleted. */
export class WriteGuard {
  /** The writes themselves check it: see `Dialect`. If not, `confirm` must be called before each. */
  readonly isInWrites: boolean
  readonly #db: Database
  readonly #cache: RegistryCache

  constructor(db: Database, cache: RegistryCache, guardsWrites: boolean) {
    this.isInWrites = guardsWrites
    this.#db = db
    this.#cache = cache
  }

  /** Checks that neither key nor table was revoked or deleted since it was read. */
  async confirm(caller: Caller, table: Table): Promise<void> {
    const epoch = Math.min(table.epoch, caller.apiKey?.epoch ?? table.epoch)
    if (!(await this.#cache.isCurrent(epoch))) await this.#requireActive(caller, table)
  }

  /**
   * Makes the step of a transaction that raises an error (`isRaised`) if either is gone, or none if `confirm` is called
   * instead.
   */
  statements(caller: Caller, table: Table): BoundStatement[] {
    return this.isInWrites ? [{ statement: guardBatch, values: [table.id, caller.apiKey?.seq ?? null] }] : []
  }

  /** Throws if one of the two was the cause of such an error. */
  async requireActive(caller: Caller, table: Table): Promise<void> {
    if (this.isInWrites) await this.#requireActive(caller, table)
  }

  async #requireActive(caller: Caller, table: Table): Promise<void> {
    const [state] = await this.#db.read(holderOf(caller), stateStatement(caller, table))
    requireActive(table, state!.rows[0]!)
  }
}
