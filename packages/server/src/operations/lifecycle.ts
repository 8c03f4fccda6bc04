import { type Awaitable, andThen } from '../core/awaitable.ts'
import { decodeListCursor, encodeListCursor } from '../core/cursor.ts'
import type { CursorSeal } from '../core/cursor-seal.ts'
import { describeValue } from '../core/describe-value.ts'
import { CubbyError } from '../core/errors.ts'
import { call, type Hint } from '../core/hint.ts'
import { followersOfTableMax, pageRowsDefault, recoveryMs } from '../core/limits.ts'
import { parseFlag, refuseUnknownMembers } from '../core/members.ts'
import { similarName } from '../core/similar-name.ts'
import type { RecordOperation, WriteResult } from '../store/records.ts'
import type { Table, TableKind } from '../store/tables.ts'
import { type Access, type AddressOf, callerOf, type TableAddress } from './access.ts'
import { type ListingInput, parseListing } from './listing.ts'
import { scopeOfTable, writeOnce } from './once.ts'
import type { Body } from './parse-input.ts'

// Tables, buckets and tasks are found, listed, deleted and restored by the same rules.

interface Words {
  readonly registry: 'tables' | 'buckets' | 'tasks'
  /** Names its listings: a cursor of another one is rejected. */
  readonly listing: string
  readonly deletedListing: string
  readonly operations: { create: string; restore: string; remove: string; list: string }
  /** The words of a hint for a new one. */
  readonly createIt: string
  readonly createNew: string
}

const wordsOf: Readonly<Record<TableKind, Words>> = {
  table: {
    registry: 'tables',
    listing: 'tables',
    deletedListing: 'deleted',
    operations: { create: 'createTable', restore: 'restoreTable', remove: 'deleteTable', list: 'listTables' },
    createIt: 'Create it with the indices that it needs, which cannot be changed later',
    createNew: 'create a new, empty table',
  },
  bucket: {
    registry: 'buckets',
    listing: 'buckets',
    deletedListing: 'deletedBuckets',
    operations: { create: 'createBucket', restore: 'restoreBucket', remove: 'deleteBucket', list: 'listBuckets' },
    createIt: 'Create it',
    createNew: 'create a new, empty bucket',
  },
  task: {
    registry: 'tasks',
    listing: 'tasks',
    deletedListing: 'deletedTasks',
    operations: { create: 'declareTask', restore: 'restoreTask', remove: 'deleteTask', list: 'listTasks' },
    createIt: 'Declare it',
    createNew: 'declare a new task without runs',
  },
}

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

// ── Finding ────────────────────────────────────────────────────────────────────────────────────────────────

/** No active one has the name: the error, with a hint that names the call to create or restore it. */
export const notFound = async <Kind extends TableKind>(
  kind: Kind,
  access: Access,
  address: AddressOf<Kind>,
  nowMs: number,
): Promise<CubbyError> => {
  const { registry, operations, createIt, createNew } = wordsOf[kind]
  const { orgId } = access.apiKey
  const db: string = address.db
  const name: string = address[kind]
  const input = { db, [kind]: name }
  const create = call(operations.create, input)
  const refusal = (message: string, hint?: Hint): CubbyError => new CubbyError(`${kind}_not_found`, message, { hint })
  const message = `There is no ${kind} ${name} in database ${db}.`
  // A user learns nothing of what was there, or is there beside it.
  if (access.apiKey.user !== undefined) return refusal(message)
  const deleted = await access.engine[registry].findDeleted(orgId, db, name, nowMs)
  if (deleted !== undefined) {
    const until = new Date(deleted.deletedAtMs! + recoveryMs).toISOString()
    const restore = call(operations.restore, input)
    return refusal(`The ${kind} ${name} in database ${db} was deleted.`, [
      `Restore it until ${until}: `,
      restore,
      `; or ${createNew}: `,
      create,
    ])
  }
  const similar = kind === 'table' ? await similarTable(access, db, name) : undefined
  if (similar === undefined) return refusal(message, [`${createIt}: `, create])
  return refusal(message, [
    `A similar name exists: ${similar}. See `,
    call('describeTable', { db, table: similar }),
    '. Or create it: ',
    create,
  ])
}

/** One bounded listing of the caller's own database. It runs only when a name is wrong. */
const similarTable = async ({ engine, apiKey }: Access, db: string, name: string): Promise<string | undefined> => {
  const listed = await engine.tables.list({ orgId: apiKey.orgId, db, after: undefined, limit: pageRowsDefault })
  return similarName(
    name,
    listed.map((table) => table.name),
  )
}

const refuseUnknown = async <Kind extends TableKind>(
  kind: Kind,
  access: Access,
  address: AddressOf<Kind>,
  nowMs: number,
): Promise<never> => {
  throw await notFound(kind, access, address, nowMs)
}

const requireActive =
  <Kind extends TableKind>(kind: Kind) =>
  (access: Access, address: AddressOf<Kind>, nowMs: number): Awaitable<Table> =>
    andThen(
      access.engine[wordsOf[kind].registry].find(access.apiKey.orgId, address.db, address[kind]),
      (found) => found ?? refuseUnknown(kind, access, address, nowMs),
    )

/** The active one. Otherwise each throws `notFound`. */
export const requireTable = requireActive('table')
export const requireBucket = requireActive('bucket')
export const requireTask = requireActive('task')

/**
 * The active task, or else the one deleted last: an attempt that was running when its task was deleted may still extend its
 * lease and finish.
 */
export const requireTaskOrDeleted = async (
  access: Access,
  address: AddressOf<'task'>,
  nowMs: number,
): Promise<Table> => {
  const { db, task } = address
  const { orgId } = access.apiKey
  const found =
    (await access.engine.tasks.find(orgId, db, task)) ?? (await access.engine.tasks.findDeleted(orgId, db, task, nowMs))
  return found ?? refuseUnknown('task', access, address, nowMs)
}

/** A write in one that was found before. If it was deleted since, the error is the same as if it had not been found. */
export const writeIn = async <Kind extends TableKind, T>(
  kind: Kind,
  access: Access,
  address: AddressOf<Kind>,
  nowMs: number,
  write: () => Promise<T>,
): Promise<T> => {
  try {
    return await write()
  } catch (error) {
    if (error instanceof CubbyError && error.code === `${kind}_not_found`) {
      throw await notFound(kind, access, address, nowMs)
    }
    throw error
  }
}

// ── Listing ────────────────────────────────────────────────────────────────────────────────────────────────

export interface ListOfDatabaseInput extends ListingInput {
  db: string
  /** List the deleted ones that can still be restored, instead of the active ones. */
  deleted: boolean
}

export const readListOfDatabase = ({ members }: Body): Omit<ListOfDatabaseInput, 'db'> => {
  refuseUnknownMembers(members, ['limit', 'cursor', 'deleted'])
  return { deleted: parseFlag(members.deleted, 'deleted'), ...parseListing(members) }
}

interface Page {
  rows: Table[]
  cursor: string | null
  /** A cursor to go on after this row, for a page that ends earlier. */
  cursorAfter(row: Table): string
}

const cursorAfter = (seal: CursorSeal, name: string, { db, name: last, deletedAtMs }: Table): string =>
  encodeListCursor(seal, `${name}:${db}`, [last, deletedAtMs ?? 0])

export const listOfDatabase =
  (kind: TableKind) =>
  async ({ engine, apiKey }: Access, input: ListOfDatabaseInput, nowMs: number): Promise<Page> => {
    const { db, deleted, limit, cursor } = input
    const words = wordsOf[kind]
    const name = deleted ? words.deletedListing : words.listing
    const { seal } = await engine.secrets.at(nowMs)
    const position =
      cursor === undefined ? undefined : decodeListCursor(seal, cursor, `${name}:${db}`, ['string', 'number'])
    const after = position && { name: position[0] as string, deletedAtMs: position[1] as number }
    // One row more than the page: if it is present, there is a next page.
    const request = { orgId: apiKey.orgId, db, after, limit: limit + 1 }
    const registry = engine[words.registry]
    const found = await (deleted ? registry.listDeleted(request, nowMs) : registry.list(request))
    const rows = found.slice(0, limit)
    const next = (row: Table): string => cursorAfter(seal, name, row)
    return { rows, cursor: found.length > limit ? next(rows.at(-1)!) : null, cursorAfter: next }
  }

// ── Deleting and restoring ─────────────────────────────────────────────────────────────────────────────────

export const deleteNamed =
  <Kind extends 'table' | 'bucket'>(kind: Kind) =>
  async (access: Access, address: AddressOf<Kind>, nowMs: number): Promise<Table> => {
    const registry = access.engine[wordsOf[kind].registry as 'tables' | 'buckets']
    const deleted = await registry.delete(callerOf(access), address.db, address[kind], nowMs)
    if (deleted === undefined) throw await notFound(kind, access, address, nowMs)
    return deleted
  }

export type RestoreInput<Kind extends TableKind> = AddressOf<Kind> & {
  /** undefined: the one deleted last. */
  deletedAtMs: number | undefined
}

export const readDeletedAt =
  (kind: TableKind) =>
  ({ members }: Body): { deletedAtMs: number | undefined } => {
    refuseUnknownMembers(members, ['deletedAt'])
    const { deletedAt } = members
    if (deletedAt === undefined || Number.isSafeInteger(deletedAt)) {
      return { deletedAtMs: deletedAt as number | undefined }
    }
    const list = call(wordsOf[kind].operations.list, { deleted: true })
    throw new CubbyError('invalid_request', `deletedAt is ${describeValue(deletedAt)}; it takes epoch milliseconds.`, {
      field: 'deletedAt',
      hint: [`Leave it out for the ${kind} deleted last, or take it from `, list, '.'],
    })
  }

/** The restored one, or the error that says what is in the way. */
export const restoreNamed =
  <Kind extends TableKind>(kind: Kind) =>
  async (access: Access, input: RestoreInput<Kind>, nowMs: number): Promise<Table> => {
    const { registry, operations } = wordsOf[kind]
    const { db, deletedAtMs }: { db: string; deletedAtMs: number | undefined } = input
    const name: string = input[kind]
    const result = await access.engine[registry].restore(callerOf(access), db, name, deletedAtMs, nowMs)
    switch (result.outcome) {
      case 'restored':
      case 'active':
        return result.table
      case 'tooMany':
        throw tooManyTasks(db, result)
      case 'taken':
        throw new CubbyError(`${kind}_exists`, `An active ${kind} has the name ${name}.`, {
          hint: [
            'Delete it first (',
            call(operations.remove, { db, [kind]: name }),
            '), then restore with ',
            { send: { deletedAt: result.deletedAtMs } },
            '.',
          ],
        })
      case 'missing':
        if (deletedAtMs === undefined) throw await notFound(kind, access, input, nowMs)
        throw new CubbyError(`${kind}_not_found`, `No recoverable ${kind} ${name} was deleted at ${deletedAtMs}.`, {
          field: 'deletedAt',
          hint: ['See ', call(operations.list, { db, deleted: true }), ', or leave deletedAt out for the newest.'],
        })
    }
  }

// ── Following ──────────────────────────────────────────────────────────────────────────────────────────────

/** A task cannot follow the table, because so many others do. */
export const tooManyTasks = (db: string, { table, tasks }: { table: string; tasks: string[] }): CubbyError =>
  new CubbyError(
    'too_many_tasks',
    `${followersOfTableMax} tasks follow the table ${table}: ${tasks.join(', ')}; it takes no more.`,
    {
      field: 'on.table',
      hint: [
        'End one of them: declare it without on, or delete it (',
        call('deleteTask', { db, task: tasks[0]! }),
        ').',
      ],
    },
  )

/** Call it after a write in the table: the tasks that follow it may have a run now. */
export const signalFollowers = ({ tasks }: Access, { followers }: Table): void => {
  for (const { taskId } of followers) tasks.signals.changed(taskId)
}

/** All operations write records with this. A table deleted since it was looked up is also reported as not found. */
export const writeRecords = (
  access: Access,
  address: TableAddress,
  table: Table,
  operations: RecordOperation[],
  nowMs: number,
): Promise<WriteResult> =>
  writeIn('table', access, address, nowMs, async () => {
    const result = await writeOnce(access, scopeOfTable(table), (caller) =>
      access.engine.records.write(caller, table, operations, nowMs),
    )
    if (result.applied) signalFollowers(access, table)
    return result
  })
