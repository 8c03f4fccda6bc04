import { type Awaitable, andThen } from '../core/awaitable.ts'
import { CubbyError } from '../core/errors.ts'
import { call, type SuggestedCall } from '../core/hint.ts'
import { pageRowsDefault, recoveryMs } from '../core/limits.ts'
import { refuseUnknownMembers } from '../core/members.ts'
import { parseName } from '../core/names.ts'
import { similarName } from '../core/similar-name.ts'
import { parsePlainBody } from '../core/text/plain-body.ts'
import type { ApiKey, Caller } from '../store/api-keys.ts'
import type { BlobPlace } from '../store/blob-place.ts'
import type { Engine } from '../store/engine.ts'
import type { RecordOperation, WriteResult } from '../store/records.ts'
import type { Table, TableKind } from '../store/tables.ts'
import type { TaskServices } from './tasks/task-services.ts'

/** The caller and the store. The organization is the one of the API key: a request cannot name another. */
export interface Access {
  engine: Engine
  apiKey: ApiKey
  /** Where the bytes of files are; undefined without --files. */
  place: BlobPlace | undefined
  tasks: TaskServices
  /** The way on which the caller came is restricted to reading: no URL is signed, whatever the key may do. */
  signsNothing?: true
}

/** An operator opens the store directly, names the organization and needs no API key. */
export interface OperatorAccess {
  engine: Engine
  orgId: number
  apiKey?: undefined
}

export const callerOf = (access: Access | OperatorAccess): Caller =>
  access.apiKey === undefined
    ? { orgId: access.orgId, apiKey: undefined }
    : { orgId: access.apiKey.orgId, apiKey: access.apiKey }

export interface TableAddress {
  db: string
  table: string
}

/** How a caller that left a name out finds it. Over HTTP names are in the path, so none is missing. */
const listings = {
  db: ['Give db: ', call('listDatabases'), ' lists the databases.'],
  table: ['Give table: ', call('listTables'), ' lists the tables.'],
  bucket: ['Give bucket: ', call('listBuckets'), ' lists the buckets.'],
  task: ['Give task: ', call('listTasks'), ' lists the tasks.'],
} as const

export const parseNameOf = (value: unknown, field: keyof typeof listings): string => {
  if (value !== undefined) return parseName(value, field)
  throw new CubbyError('invalid_name', `${field} is missing; it takes a name.`, { field, hint: listings[field] })
}

export const parseAddress = (db: unknown, table: unknown): TableAddress => ({
  db: parseNameOf(db, 'db'),
  table: parseNameOf(table, 'table'),
})

/** For operations whose input is only the address of a table. */
export const parseAddressAlone = (text: string): TableAddress => {
  const members = parsePlainBody(text)
  refuseUnknownMembers(members, ['db', 'table'])
  return parseAddress(members.db, members.table)
}

/** The active table. Otherwise throws `table_not_found` with a hint that names the call to create or restore it. */
export const requireTable = (access: Access, address: TableAddress, nowMs: number): Awaitable<Table> =>
  andThen(
    access.engine.tables.find(access.apiKey.orgId, address.db, address.table),
    (table) => table ?? refuseUnknownTable(access, address, nowMs),
  )

const refuseUnknownTable = async (access: Access, address: TableAddress, nowMs: number): Promise<never> => {
  throw await tableNotFound(access, address, nowMs)
}

export const tableNotFound = async (access: Access, address: TableAddress, nowMs: number): Promise<CubbyError> => {
  const { db, table } = address
  const deleted = await access.engine.tables.findDeleted(access.apiKey.orgId, db, table, nowMs)
  const calls = { create: call('createTable', { db, table }), restore: call('restoreTable', { db, table }) }
  const what = `table ${table} in database ${db}`
  if (deleted !== undefined) return notFound('table', what, calls, deleted)
  const { tables } = access.engine
  // One bounded listing of the caller's own database. It runs only when a name is wrong.
  const listed = await tables.list({ orgId: access.apiKey.orgId, db, after: undefined, limit: pageRowsDefault })
  const similar = similarName(
    table,
    listed.map(({ name }) => name),
  )
  const other = notFound('table', what, calls, undefined)
  if (similar === undefined) return other
  return new CubbyError(other.code, other.message, {
    hint: [
      `A similar name exists: ${similar}. See `,
      call('describeTable', { db, table: similar }),
      '. Or create it: ',
      calls.create,
    ],
  })
}

/** How a hint speaks of a new one. */
const wordsOfNew: Record<TableKind, { it: string; anew: string }> = {
  table: { it: 'Create it', anew: 'create a new, empty table' },
  bucket: { it: 'Create it', anew: 'create a new, empty bucket' },
  task: { it: 'Declare it', anew: 'declare a new task without runs' },
}

/** No active table, bucket or task has the name. `deleted`: the one with that name that can still be restored. */
export const notFound = (
  kind: TableKind,
  what: string,
  { create, restore }: { create: SuggestedCall; restore: SuggestedCall },
  deleted: Table | undefined,
): CubbyError => {
  const code = `${kind}_not_found` as const
  const { it, anew } = wordsOfNew[kind]
  if (deleted === undefined) return new CubbyError(code, `There is no ${what}.`, { hint: [`${it}: `, create] })
  const until = new Date(deleted.deletedAtMs! + recoveryMs).toISOString()
  return new CubbyError(code, `The ${what} was deleted.`, {
    hint: [`Restore it until ${until}: `, restore, `; or ${anew}: `, create],
  })
}

/** All operations write records with this. A table deleted since it was looked up is also reported as not found. */
export const writeRecords = async (
  access: Access,
  address: TableAddress,
  table: Table,
  operations: RecordOperation[],
  nowMs: number,
): Promise<WriteResult> => {
  try {
    return await access.engine.records.write(callerOf(access), table, operations, nowMs)
  } catch (error) {
    if (error instanceof CubbyError && error.code === 'table_not_found')
      throw await tableNotFound(access, address, nowMs)
    throw error
  }
}
