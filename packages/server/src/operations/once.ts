import type { Caller } from '../store/api-keys.ts'
import type { Table } from '../store/tables.ts'
import { type Access, callerOf, type IdempotencyScope, type OperatorAccess } from './access.ts'

export const scopeOfTable = ({ id }: Pick<Table, 'id'>): IdempotencyScope => ({
  scopeId: id,
  scopeKind: 'table',
})

export const scopeOfOrganization = (orgId: number): IdempotencyScope => ({
  scopeId: orgId,
  scopeKind: 'organization',
})

export const scopeOfDatabase = (orgId: number, db: string): IdempotencyScope => ({
  scopeId: orgId,
  scopeKind: `organization/${db}`,
})

/** Writes under the idempotency key of the request, if it has one. `scope`: what the key belongs to. */
export const writeOnce = async <T extends object>(
  access: Access | OperatorAccess,
  scope: IdempotencyScope,
  write: (caller: Caller) => Promise<T>,
): Promise<T> => {
  const once = access.apiKey === undefined ? undefined : access.once
  if (once === undefined) return write(callerOf(access))
  if (once.kept !== undefined) {
    once.isReplayed = true
    return once.kept as T
  }
  const { orgId, apiKey } = callerOf(access)
  const { scopeId, scopeKind } = scope
  const userHash = apiKey?.user?.mark.userHash
  const token = { scopeId, scopeKind, keyHash: once.keyHashIn(scope), requestHash: once.requestHash, userHash }
  const result = await write({ orgId, apiKey, once: token })
  if ('isReplayed' in result) once.isReplayed = true
  return result
}

/** A secret that only the answer to the first request shows. */
export const shownOnce = (access: Access | OperatorAccess, secret: string): string =>
  access.apiKey !== undefined && access.once?.isReplayed ? '' : secret
