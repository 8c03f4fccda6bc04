import type { Awaitable } from '../../../core/awaitable.ts'
import { changeIssuers } from '../../../core/tokens/put-issuer.ts'
import { refusedUntilMs } from '../../../core/tokens/token-state.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { Issuer, IssuerToPut, PutIssuerResult, TokenMark, TokenState, Users } from '../../../store/users.ts'
import { holderOf, organization } from '../connection/database.ts'
import { bind, type Statement } from '../connection/driver.ts'
import { changeRegistry, openings, type Registry, refusingGone } from './registry.ts'
import {
  epochColumns,
  issuerColumns,
  issuerValues,
  toIssuer,
  toUserEpochs,
  withoutIdentity,
  writeIssuer,
  writeRevocation,
} from './user-rows.ts'

/** $1 the time: see `nextUserEpoch` in core/tokens/token-state.ts. */
const moveUserEpoch: Statement = {
  name: 'move_user_epoch',
  text: `update cubby_store as s set user_epoch = greatest(s.user_epoch + 1, $1::bigint) returning s.user_epoch`,
}

const readEpochs: Statement = { name: 'user_epochs', text: `select ${epochColumns} from cubby_store s` }

const revokedAt: Statement = {
  name: 'user_revoked_at',
  text: 'select u.revoked_at from cubby_revoked_user u where u.org_id = $1::bigint and u.user_hash = $2',
}

const listIssuers: Statement = {
  name: 'list_issuers',
  text: `select ${issuerColumns} from cubby_issuer i where i.org_id = $1::bigint order by i.org_id, i.name`,
}

const deleteIssuer: Statement = {
  name: 'delete_issuer',
  text: 'delete from cubby_issuer as i where i.org_id = $1::bigint and i.name = $2',
}

const firstNumber = (rows: { rows: (string | null)[][] } | undefined): number => Number(rows?.rows[0]?.[0] ?? 0)

export class PostgresUsers implements Users {
  readonly #registry: Registry

  constructor(registry: Registry) {
    this.#registry = registry
  }

  epoch(): Awaitable<number> {
    return this.#registry.users.epoch()
  }

  stateOf(orgId: number, mark: TokenMark): Awaitable<TokenState> {
    return this.#registry.users.stateOf(orgId, mark)
  }

  async revoke(caller: Caller, userHash: string, nowMs: number): Promise<number> {
    const write = bind(writeRevocation, caller.orgId, userHash, null, nowMs)
    const [moved, revoked] = await changeRegistry(this.#registry.db, caller, bind(moveUserEpoch, nowMs), write)
    await this.#everywhere(firstNumber(moved))
    return firstNumber(revoked)
  }

  async refusedUntilMs(orgId: number, userHash: string, nowMs: number): Promise<number | undefined> {
    const bound = [bind(revokedAt, orgId, userHash), bind(readEpochs)]
    const [own, epochs] = await this.#registry.db.read(organization(orgId), ...bound)
    return refusedUntilMs(firstNumber(own), toUserEpochs(epochs!.rows[0]!).sweptAtMs, nowMs)
  }

  async listIssuers(orgId: number): Promise<Issuer[]> {
    const [listed] = await this.#registry.db.read(organization(orgId), bind(listIssuers, orgId))
    return listed!.rows.map((row) => withoutIdentity(toIssuer(row)))
  }

  /** Changes of one organization run one after another, so that no other put comes between the decision and the write. */
  async putIssuer(caller: Caller, issuer: IssuerToPut, nowMs: number): Promise<PutIssuerResult> {
    const { db } = this.#registry
    const { orgId } = caller
    const putting = db.transaction(holderOf(caller), async ({ send, commit }): Promise<PutIssuerResult> => {
      const listed = (await send(...openings(caller), bind(listIssuers, orgId))).at(-1)!
      const change = changeIssuers(listed.rows.map(toIssuer), issuer)
      if (change.outcome === 'same')
        return { outcome: 'stored', issuer: withoutIdentity(change.present), created: false }
      if (change.outcome !== 'write') return change
      const epoch = firstNumber((await send(bind(moveUserEpoch, nowMs)))[0])
      const createdAtMs = change.present?.createdAtMs ?? nowMs
      const written = { orgId, ...issuer, createdAtMs, updatedAtMs: nowMs, epoch }
      await commit(bind(writeIssuer, ...issuerValues(written)))
      return { outcome: 'stored', issuer: withoutIdentity(written), created: change.present === undefined }
    })
    const result = await refusingGone(db, caller, putting)
    // A new issuer has no tokens to end. Otherwise it waits even if nothing was written: the put that wrote it may still be waiting.
    if (result.outcome === 'stored' && !result.created) await this.#everywhere(result.issuer.epoch)
    return result
  }

  async deleteIssuer(caller: Caller, name: string): Promise<boolean> {
    const { db } = this.#registry
    const deleting = db.transaction(holderOf(caller), async ({ send, commit }): Promise<number | undefined> => {
      const deleted = (await send(...openings(caller), bind(deleteIssuer, caller.orgId, name))).at(-1)!
      if (deleted.count === 0) return undefined
      return firstNumber((await commit(bind(moveUserEpoch, 0)))[0])
    })
    const epoch = await refusingGone(db, caller, deleting)
    // It waits even if there was none: the deletion before this one may still be waiting.
    await this.#everywhere(epoch ?? 0)
    return epoch !== undefined
  }

  /** Resolves when no process uses what it knew before the epoch. */
  async #everywhere(epoch: number): Promise<void> {
    this.#registry.users.moveTo(epoch)
    await this.#registry.awaitLeaseExpiry()
  }
}
