import { changeIssuers } from '../../../core/tokens/put-issuer.ts'
import { nextUserEpoch } from '../../../core/tokens/token-state.ts'
import type { DumpedIssuer, DumpedRevocation, UserEpochs } from '../../../store/transfer.ts'
import type { IssuerToPut, PutIssuerResult } from '../../../store/users.ts'
import type { Connection } from '../connection.ts'
import type { Fence } from './registry-writes.ts'
import { readIssuers, readUserEpochs, withoutIdentity } from './user-rows.ts'

interface Writers {
  db: Connection
}

interface OfCaller {
  fence: Fence
  nowMs: number
}

/** No number becomes lower. */
const raiseUserEpochs = (db: Connection, { epoch, sweptEpoch, sweptAtMs }: UserEpochs): void => {
  const raise = 'UPDATE meta SET value = max(value, ?2) WHERE name = ?1'
  db.change(raise, 'user_epoch', epoch)
  db.change(raise, 'swept_user_epoch', sweptEpoch)
  db.change(raise, 'swept_users_at', sweptAtMs)
}

const moveUserEpoch = (db: Connection, nowMs = 0): number => {
  const epochs = readUserEpochs(db)
  const epoch = nextUserEpoch(epochs.epoch, nowMs)
  raiseUserEpochs(db, { ...epochs, epoch })
  return epoch
}

const writeRevocation = (db: Connection, { orgId, userHash, epoch, revokedAtMs }: DumpedRevocation): void => {
  db.change(
    `INSERT INTO revoked_users VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET
       epoch = max(epoch, excluded.epoch), revoked_at = max(revoked_at, excluded.revoked_at)`,
    ...[orgId, userHash, epoch, revokedAtMs],
  )
}

const writeIssuer = (db: Connection, issuer: DumpedIssuer): void => {
  const { orgId, name, declaration, identity, createdAtMs, updatedAtMs, epoch } = issuer
  const values = [orgId, name, declaration, identity, createdAtMs, updatedAtMs, epoch]
  db.change('INSERT OR REPLACE INTO issuers VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)', ...values)
}

export const userCommands = {
  revokeUser({ db }: Writers, { fence: { orgId }, userHash, nowMs }: OfCaller & { userHash: string }): number {
    writeRevocation(db, { orgId, userHash, epoch: moveUserEpoch(db, nowMs), revokedAtMs: nowMs })
    const sql = 'SELECT revoked_at AS atMs FROM revoked_users WHERE org_id = ?1 AND user_hash = ?2'
    return db.one<{ atMs: number }>(sql, orgId, userHash)!.atMs
  },

  putIssuer({ db }: Writers, { fence: { orgId }, issuer, nowMs }: OfCaller & { issuer: IssuerToPut }): PutIssuerResult {
    const change = changeIssuers(readIssuers(db, orgId), issuer)
    if (change.outcome === 'same') return { outcome: 'stored', issuer: withoutIdentity(change.present), created: false }
    if (change.outcome !== 'write') return change
    const createdAtMs = change.present?.createdAtMs ?? nowMs
    const written = { orgId, ...issuer, createdAtMs, updatedAtMs: nowMs, epoch: moveUserEpoch(db, nowMs) }
    writeIssuer(db, written)
    return { outcome: 'stored', issuer: withoutIdentity(written), created: change.present === undefined }
  },

  deleteIssuer({ db }: Writers, { fence: { orgId }, name }: { fence: Fence; name: string }): boolean {
    const deleted = db.change('DELETE FROM issuers WHERE org_id = ?1 AND name = ?2', orgId, name) > 0
    if (deleted) moveUserEpoch(db)
    return deleted
  },

  sweepRevocations({ db }: Writers, { beforeMs, rowsMax }: { beforeMs: number; rowsMax: number }): number {
    const found = db.all<{ orgId: number; userHash: string; epoch: number; atMs: number }>(
      `SELECT org_id AS orgId, user_hash AS userHash, epoch, revoked_at AS atMs FROM revoked_users
       WHERE revoked_at <= ?1 ORDER BY revoked_at LIMIT ?2`,
      ...[beforeMs, rowsMax],
    )
    for (const { orgId, userHash, epoch, atMs } of found) {
      raiseUserEpochs(db, { epoch: 0, sweptEpoch: epoch, sweptAtMs: atMs })
      db.change('DELETE FROM revoked_users WHERE org_id = ?1 AND user_hash = ?2', orgId, userHash)
    }
    return found.length
  },

  /** A part of a copy. */
  loadUsers(
    { db }: Writers,
    { epochs, revocations, issuers }: { epochs?: UserEpochs; revocations: DumpedRevocation[]; issuers: DumpedIssuer[] },
  ): void {
    if (epochs !== undefined) raiseUserEpochs(db, epochs)
    for (const revocation of revocations) writeRevocation(db, revocation)
    for (const issuer of issuers) writeIssuer(db, issuer)
  },
}
