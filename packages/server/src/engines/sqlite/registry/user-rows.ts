import { endEpochOf, stateOfToken } from '../../../core/tokens/token-state.ts'
import type { DumpedIssuer, UserEpochs } from '../../../store/transfer.ts'
import type { Issuer, TokenMark, TokenState } from '../../../store/users.ts'
import type { Connection } from '../connection.ts'

// Rows of revoked users and issuers as SQLite returns them.

export const issuerColumns = `org_id AS orgId, name, declaration, identity, created_at AS createdAtMs,
  updated_at AS updatedAtMs, epoch`

export const readIssuers = (db: Connection, orgId: number): DumpedIssuer[] =>
  db.all<DumpedIssuer>(`SELECT ${issuerColumns} FROM issuers WHERE org_id = ?1 ORDER BY name`, orgId)

export const readUserEpochs = (db: Connection): UserEpochs => {
  const value = (name: string): number =>
    db.one<{ value: number }>('SELECT value FROM meta WHERE name = ?1', name)!.value
  return { epoch: value('user_epoch'), sweptEpoch: value('swept_user_epoch'), sweptAtMs: value('swept_users_at') }
}

export const withoutIdentity = ({ identity: _, ...issuer }: DumpedIssuer): Issuer => issuer

/** The epoch below which tokens have ended, of a user and an issuer; and of all that are older than swept revocations. */
interface TokenEnds {
  endEpoch: number
  sweptEpoch: number
}

const endsSql = `SELECT coalesce((SELECT epoch FROM revoked_users WHERE org_id = ?1 AND user_hash = ?2), 0) AS revokedEpoch,
  ?3 IS NULL OR EXISTS (SELECT 1 FROM issuers WHERE org_id = ?1 AND epoch = ?3) AS issuerIsThere,
  (SELECT value FROM meta WHERE name = 'swept_user_epoch') AS sweptEpoch`

export const readTokenEnds = (db: Connection, orgId: number, { userHash, issuerEpoch }: TokenMark): TokenEnds => {
  const values = [orgId, userHash, issuerEpoch]
  const row = db.one<{ revokedEpoch: number; issuerIsThere: number; sweptEpoch: number }>(endsSql, ...values)!
  const facts = { revokedEpoch: row.revokedEpoch, issuerIsThere: row.issuerIsThere === 1 }
  return { endEpoch: endEpochOf(facts), sweptEpoch: row.sweptEpoch }
}

export const readTokenState = (db: Connection, orgId: number, mark: TokenMark): TokenState => {
  const { endEpoch, sweptEpoch } = readTokenEnds(db, orgId, mark)
  return stateOfToken(mark.madeAtEpoch, endEpoch, sweptEpoch)
}
