import { decodeListCursor, encodeListCursor } from '../../core/cursor.ts'
import type { CursorSeal } from '../../core/cursor-seal.ts'
import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { call, type SuggestedCall } from '../../core/hint.ts'
import { recoveryMs } from '../../core/limits.ts'
import { type Members, parseFlag, refuseUnknownMembers } from '../../core/members.ts'
import { parseName } from '../../core/names.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Secrets } from '../../store/secrets.ts'
import type { RestoreResult, Table, TableKind, Tables } from '../../store/tables.ts'
import { type ListingInput, parseListing } from '../listing.ts'

// What tables, buckets and tasks have in common: they are listed, deleted and restored by the same rules.

// ── Presentation ───────────────────────────────────────────────────────────────────────────────────────────

type Life =
  | { status: 'active'; createdAt: number }
  | { status: 'deleted'; createdAt: number; deletedAt: number; recoverableUntil: number }

export const presentLife = ({ createdAtMs, deletedAtMs }: Pick<Table, 'createdAtMs' | 'deletedAtMs'>): Life =>
  deletedAtMs === null
    ? { status: 'active', createdAt: createdAtMs }
    : {
        status: 'deleted',
        createdAt: createdAtMs,
        deletedAt: deletedAtMs,
        recoverableUntil: deletedAtMs + recoveryMs,
      }

// ── Listing ────────────────────────────────────────────────────────────────────────────────────────────────

export interface ListOfDatabaseInput extends ListingInput {
  db: string
  /** List the deleted ones that can still be restored, instead of the active ones. */
  deleted: boolean
}

export const parseListOfDatabase = (text: string): ListOfDatabaseInput => {
  const { db, ...members } = parsePlainBody(text)
  refuseUnknownMembers(members, ['limit', 'cursor', 'deleted'])
  return { db: parseName(db, 'db'), deleted: parseFlag(members.deleted, 'deleted'), ...parseListing(members) }
}

export interface Page {
  rows: Table[]
  cursor: string | null
}

/** A cursor to go on after this row. */
export const cursorAfter = (seal: CursorSeal, name: string, { db, name: last, deletedAtMs }: Table): string =>
  encodeListCursor(seal, `${name}:${db}`, [last, deletedAtMs ?? 0])

/** `name` is the name of the listing: a cursor of another one is rejected. */
export const listOfDatabase = async (
  registry: Pick<Tables, 'list' | 'listDeleted'>,
  secrets: Secrets,
  orgId: number,
  name: string,
  { db, deleted, limit, cursor }: ListOfDatabaseInput,
  nowMs: number,
): Promise<Page> => {
  const { seal } = await secrets.at(nowMs)
  const place = cursor === undefined ? undefined : decodeListCursor(seal, cursor, `${name}:${db}`, ['string', 'number'])
  const after = place && { name: place[0] as string, deletedAtMs: place[1] as number }
  // One row more than the page: if it is present, there is a next page.
  const request = { orgId, db, after, limit: limit + 1 }
  const found = await (deleted ? registry.listDeleted(request, nowMs) : registry.list(request))
  const rows = found.slice(0, limit)
  return { rows, cursor: found.length > limit ? cursorAfter(seal, name, rows.at(-1)!) : null }
}

// ── Restoring ──────────────────────────────────────────────────────────────────────────────────────────────

/** `deletedAt` of a restore: undefined for the one deleted last. */
export const parseDeletedAt = (members: Members, kind: TableKind, listed: string): number | undefined => {
  refuseUnknownMembers(members, ['deletedAt'])
  const { deletedAt } = members
  if (deletedAt === undefined || Number.isSafeInteger(deletedAt)) return deletedAt as number | undefined
  throw new CubbyError('invalid_request', `deletedAt is ${describeValue(deletedAt)}; it takes epoch milliseconds.`, {
    field: 'deletedAt',
    hint: [`Leave it out for the ${kind} deleted last, or take it from `, call(listed, { deleted: true }), '.'],
  })
}

export interface Restore {
  kind: TableKind
  name: string
  deletedAtMs: number | undefined
  /** The calls that remove the one in the way, and that list the deleted ones. */
  calls: { remove: SuggestedCall; list: SuggestedCall }
  /** The error for a name that neither an active nor a deleted one has. */
  notFound(): Promise<CubbyError>
}

/** The restored one, or the error that says what is in the way. */
export const restored = async (
  result: RestoreResult,
  { kind, name, deletedAtMs, calls, notFound }: Restore,
): Promise<Table> => {
  switch (result.outcome) {
    case 'restored':
    case 'active':
      return result.table
    case 'taken':
      throw new CubbyError(`${kind}_exists`, `An active ${kind} has the name ${name}.`, {
        hint: [
          'Delete it first (',
          calls.remove,
          '), then restore with ',
          { send: { deletedAt: result.deletedAtMs } },
          '.',
        ],
      })
    case 'missing':
      if (deletedAtMs === undefined) throw await notFound()
      throw new CubbyError(`${kind}_not_found`, `No recoverable ${kind} ${name} was deleted at ${deletedAtMs}.`, {
        field: 'deletedAt',
        hint: ['See ', calls.list, ', or leave deletedAt out for the newest.'],
      })
  }
}
