import type { Caller } from '../../../store/api-keys.ts'
import type { Table } from '../../../store/tables.ts'
import { type Database, holderOf } from '../connection/database.ts'
import type { Step } from '../connection/driver.ts'
import type { Registry } from '../registry/registry.ts'
import { organizationDeleted, requireActive, revokedApiKey, stateStep, tableGone } from './refusals.ts'
import { guardBatch } from './statements.ts'

/** Keeps writes out whose API key was revoked, or whose table, bucket or organization was deleted. */
export class WriteGuard {
  /** Whether the writes themselves look: see `Dialect`. If not, `confirm` must be called before each. */
  readonly isInWrites: boolean
  readonly #db: Database
  readonly #registry: Registry

  constructor(db: Database, registry: Registry, guardsWrites: boolean) {
    this.isInWrites = guardsWrites
    this.#db = db
    this.#registry = registry
  }

  /** Checks that neither is gone since it was read. */
  async confirm(caller: Caller, table: Table): Promise<void> {
    const stamp = Math.min(table.stamp, caller.apiKey?.stamp ?? table.stamp)
    if (await this.#registry.cache.isCurrent(stamp)) return
    const active = await this.#registry.reader.areActive(caller.orgId, table.id, caller.apiKey?.seq ?? 0)
    if (!active.organization) throw organizationDeleted()
    if (caller.apiKey !== undefined && !active.apiKey) throw revokedApiKey()
    if (!active.table) throw tableGone(table)
  }

  /** A step of a transaction that raises an error (`isRaised`) if either is gone; none if `confirm` is called instead. */
  steps(caller: Caller, table: Table): Step[] {
    return this.isInWrites ? [{ statement: guardBatch, values: [table.id, caller.apiKey?.seq ?? null] }] : []
  }

  /** After such an error: throws if one of the two was its cause. */
  async requireActive(caller: Caller, table: Table): Promise<void> {
    if (!this.isInWrites) return
    const [state] = await this.#db.read(holderOf(caller), stateStep(caller, table))
    requireActive(table, state!.rows[0]!)
  }
}
