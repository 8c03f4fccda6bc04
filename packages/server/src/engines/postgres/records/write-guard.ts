import { CubbyError } from '../../../core/errors.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { Table } from '../../../store/tables.ts'
import { type Database, holderOf } from '../connection/database.ts'
import type { Row, Step } from '../connection/driver.ts'
import type { RegistryCache } from '../registry/registry-cache.ts'
import { guardBatch, guardState } from './statements.ts'

// Why a write is not applied: its API key was revoked, or its table, bucket, task or organization deleted.

export const revokedApiKey = (): CubbyError => new CubbyError('revoked_api_key', 'The API key has been revoked.')

export const organizationDeleted = (): CubbyError =>
  new CubbyError('invalid_api_key', 'The organization has been deleted.')

export const tableGone = ({ kind }: Table): CubbyError =>
  new CubbyError(`${kind}_not_found`, `The ${kind} has been deleted.`)

/** Asks whether they are active. */
export const stateStep = (caller: Caller, table: Table): Step => ({
  statement: guardState,
  values: [table.id, caller.apiKey?.seq ?? null],
})

/** Takes the row that `stateStep` returns. */
export const requireActive = (table: Table, [tableIsActive, keyIsActive, organizationIsActive]: Row): void => {
  if (organizationIsActive === 'f') throw organizationDeleted()
  if (keyIsActive === 'f') throw revokedApiKey()
  if (tableIsActive === 'f') throw tableGone(table)
}

/** Keeps writes out whose API key was revoked, or whose table, bucket or organization was deleted. */
export class WriteGuard {
  /** Whether the writes themselves look: see `Dialect`. If not, `confirm` must be called before each. */
  readonly isInWrites: boolean
  readonly #db: Database
  readonly #cache: RegistryCache

  constructor(db: Database, cache: RegistryCache, guardsWrites: boolean) {
    this.isInWrites = guardsWrites
    this.#db = db
    this.#cache = cache
  }

  /** Checks that neither is gone since it was read. */
  async confirm(caller: Caller, table: Table): Promise<void> {
    const stamp = Math.min(table.stamp, caller.apiKey?.stamp ?? table.stamp)
    if (!(await this.#cache.isCurrent(stamp))) await this.#requireActive(caller, table)
  }

  /** A step of a transaction that raises an error (`isRaised`) if either is gone; none if `confirm` is called instead. */
  steps(caller: Caller, table: Table): Step[] {
    return this.isInWrites ? [{ statement: guardBatch, values: [table.id, caller.apiKey?.seq ?? null] }] : []
  }

  /** After such an error: throws if one of the two was its cause. */
  async requireActive(caller: Caller, table: Table): Promise<void> {
    if (this.isInWrites) await this.#requireActive(caller, table)
  }

  async #requireActive(caller: Caller, table: Table): Promise<void> {
    const [state] = await this.#db.read(holderOf(caller), stateStep(caller, table))
    requireActive(table, state!.rows[0]!)
  }
}
