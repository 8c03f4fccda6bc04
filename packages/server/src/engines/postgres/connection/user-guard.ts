import { requireValidToken } from '../../../core/tokens/token-state.ts'
import type { TokenMark, TokenState } from '../../../store/users.ts'
import { type BoundStatement, bind, type Row, type Statement } from './driver.ts'

/** The user token of a caller. */
export interface TokenUse {
  orgId: number
  mark: TokenMark
}

/** $1 organization, $2 user. The epoch of the user's last revocation; 0 without one. */
const revokedEpoch = `coalesce((select u.epoch from cubby_revoked_user u
  where u.org_id = $1::bigint and u.user_hash = $2), 0)`

/** $3 the epoch of the issuer, if there is one. */
const issuerIsThere = `($3::bigint is null or exists (select 1 from cubby_issuer i
  where i.org_id = $1::bigint and i.epoch = $3::bigint))`

const sweptEpoch = '(select s.swept_user_epoch from cubby_store s)'

/** Reads what `stateOfToken` needs, and the user epoch, at one moment. */
export const tokenFacts: Statement = {
  name: 'token_facts',
  text: `select ${revokedEpoch}, ${issuerIsThere}, ${sweptEpoch}, (select s.user_epoch from cubby_store s)`,
}

// `stateOfToken` in core/tokens/token-state.ts in SQL. $4 the epoch at which the token was made.
const state = `case when ${revokedEpoch} > $4::bigint or not ${issuerIsThere} then 'revoked'
  when $4::bigint < ${sweptEpoch} then 'forgotten' else 'valid' end`

const tokenState: Statement = { name: 'token_state', text: `select ${state}` }

/** Raises an error unless the token is valid: see `raising` in records/statements.ts. */
const tokenGuard: Statement = {
  name: 'token_guard',
  text: `select 1 / (case when (${state}) = 'valid' then 1 else 0 end)`,
}

const bindMark = (statement: Statement, { orgId, mark }: TokenUse): BoundStatement =>
  bind(statement, orgId, mark.userHash, mark.issuerEpoch, mark.madeAtEpoch)

export const tokenStateStatement = (use: TokenUse): BoundStatement => bindMark(tokenState, use)

/**
 * The last statement of a write. By then the write holds the locks by which `awaitLeaseExpiry` finds it: it sees the revocation, or
 * the revocation waits for it.
 */
export const tokenGuardStatement = (use: TokenUse): BoundStatement => bindMark(tokenGuard, use)

/** Takes the row of `tokenStateStatement`. */
export const requireToken = (row: Row): void => requireValidToken(row[0] as TokenState)
