import type { DumpedIssuer, DumpedRevocation, UserEpochs } from '../../../store/transfer.ts'
import type { Issuer } from '../../../store/users.ts'
import { fromHex, toBytes } from '../connection/bytes.ts'
import type { Row, Statement, Value } from '../connection/driver.ts'

// Rows of revoked users and issuers, their decoding, and the statements that write them.

export const epochColumns = 's.user_epoch, s.swept_user_epoch, s.swept_users_at'

export const toUserEpochs = ([epoch, sweptEpoch, sweptAtMs]: Row): UserEpochs => ({
  ...{ epoch: Number(epoch), sweptEpoch: Number(sweptEpoch), sweptAtMs: Number(sweptAtMs) },
})

export const epochValues = ({ epoch, sweptEpoch, sweptAtMs }: UserEpochs): Value[] => [epoch, sweptEpoch, sweptAtMs]

/** No number becomes lower. */
export const raiseUserEpochs: Statement = {
  name: 'raise_user_epochs',
  text: `update cubby_store as s set user_epoch = greatest(s.user_epoch, $1::bigint),
    swept_user_epoch = greatest(s.swept_user_epoch, $2::bigint), swept_users_at = greatest(s.swept_users_at, $3::bigint)`,
}

export const revocationColumns = 'u.org_id, u.user_hash, u.epoch, u.revoked_at'

export const toRevocation = ([orgId, userHash, epoch, revokedAt]: Row): DumpedRevocation => ({
  ...{ orgId: Number(orgId), userHash: userHash!, epoch: Number(epoch), revokedAtMs: Number(revokedAt) },
})

/** $1 organization, $2 user, $3 epoch, or null for that of the store, $4 time. */
export const writeRevocation: Statement = {
  name: 'write_revocation',
  text: `insert into cubby_revoked_user as u (org_id, user_hash, epoch, revoked_at)
    values ($1::bigint, $2, coalesce($3::bigint, (select s.user_epoch from cubby_store s)), $4::bigint)
    on conflict (org_id, user_hash) do update set epoch = greatest(u.epoch, excluded.epoch),
      revoked_at = greatest(u.revoked_at, excluded.revoked_at)
    returning u.revoked_at`,
}

export const issuerColumns = 'i.org_id, i.name, i.declaration, i.identity, i.created_at, i.updated_at, i.epoch'

export const toIssuer = (row: Row): DumpedIssuer => ({
  orgId: Number(row[0]),
  name: row[1]!,
  declaration: row[2]!,
  identity: fromHex(row[3]!),
  createdAtMs: Number(row[4]),
  updatedAtMs: Number(row[5]),
  epoch: Number(row[6]),
})

export const withoutIdentity = ({ identity: _, ...issuer }: DumpedIssuer): Issuer => issuer

export const issuerValues = (issuer: DumpedIssuer): Value[] => [
  ...[issuer.orgId, issuer.name, issuer.declaration, toBytes(issuer.identity)],
  ...[issuer.createdAtMs, issuer.updatedAtMs, issuer.epoch],
]

/** $1 to $7 the columns. */
export const writeIssuer: Statement = {
  name: 'write_issuer',
  text: `insert into cubby_issuer as i (org_id, name, declaration, identity, created_at, updated_at, epoch)
    values ($1::bigint, $2, $3, $4::bytea, $5::bigint, $6::bigint, $7::bigint)
    on conflict (org_id, name) do update set declaration = excluded.declaration, identity = excluded.identity,
      created_at = excluded.created_at, updated_at = excluded.updated_at, epoch = excluded.epoch`,
}
