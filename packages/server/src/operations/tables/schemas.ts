import type {
  ActiveTable,
  CreateTableRequest,
  DeletedTable,
  IndexDeclaration,
  ListDatabasesResponse,
  ListTablesResponse,
  RestoreTableRequest,
} from '@cubbydb/client'
import { indexFieldCharactersMax, pageRowsDefault, pageRowsMax, recoveryMs } from '../../core/limits.ts'
import { slots } from '../../core/tables/indices.ts'
import {
  closed,
  cursorText,
  exactIntegers,
  inputOf,
  milliseconds,
  nextCursor,
  number,
  objectOf,
  ref,
  type Schema,
} from '../schema.ts'

const indexField = (description: string): Schema => ({
  type: 'string',
  minLength: 1,
  maxLength: indexFieldCharactersMax,
  description,
})

const tableFields = {
  db: ref('Name'),
  table: ref('Name'),
  indices: ref('Indices'),
  createdAt: milliseconds('When the table was created.'),
  changes: ref('TableChanges'),
}

export const tableSchemas = {
  Name: {
    type: 'string',
    pattern: '^[a-z0-9-][a-z0-9_-]{0,63}$',
    minLength: 1,
    maxLength: 64,
    description: 'A name matches `[a-z0-9_-]{1,64}`; names that start with `_` are reserved.',
  },
  IndexDeclaration: closed(
    objectOf<IndexDeclaration>('An index over top-level fields of `data`.', ['hashField'], {
      hashField: indexField('The field that a query compares with `hash`.'),
      rangeField: indexField('The field that orders the records with the same hash.'),
    }),
  ),
  Indices: {
    type: 'object',
    description: 'The declared indices by slot; `{}` if there are none. They cannot be changed later.',
    properties: Object.fromEntries(slots.map((slot) => [slot, ref('IndexDeclaration')])),
    additionalProperties: false,
  },
  CreateTableRequest: closed(
    objectOf<CreateTableRequest>('The properties of the new table.', [], {
      indices: ref('Indices'),
      changes: ref('CreateTableChanges'),
    }),
  ),
  RestoreTableRequest: closed(
    objectOf<RestoreTableRequest>('Which table to restore, if several with the same name were deleted.', [], {
      // No table was deleted before 1970, but it is not an error to ask for one.
      deletedAt: {
        ...milliseconds('The `deletedAt` of the table; absent: the table deleted last.'),
        ...exactIntegers,
      },
    }),
  ),
  ActiveTable: objectOf<ActiveTable>('A table.', ['db', 'table', 'indices', 'status', 'createdAt'], {
    ...tableFields,
    status: { type: 'string', const: 'active' },
  }),
  DeletedTable: objectOf<DeletedTable>(
    'A deleted table that can be restored.',
    ['db', 'table', 'indices', 'status', 'createdAt', 'deletedAt', 'recoverableUntil'],
    {
      ...tableFields,
      status: { type: 'string', const: 'deleted' },
      deletedAt: milliseconds('When it was deleted.'),
      recoverableUntil: milliseconds(
        `It can be restored until this time, ${recoveryMs / 86_400_000} days after \`deletedAt\`.`,
      ),
    },
  ),
  TableList: objectOf<ListTablesResponse>('Tables by name.', ['tables', 'cursor'], {
    tables: { type: 'array', items: { oneOf: [ref('ActiveTable'), ref('DeletedTable')] } },
    cursor: nextCursor,
  }),
  DatabaseList: objectOf<ListDatabasesResponse>('Databases by name.', ['databases', 'cursor'], {
    databases: { type: 'array', items: ref('Name') },
    cursor: nextCursor,
  }),
} satisfies Record<string, Schema>

// ── Members of inputs ──────────────────────────────────────────────────────────────────────────────────────

export const dbMember = {
  db: {
    ...ref('Name'),
    description:
      'The database, for example one per application. A database exists while it has a table, a bucket or a task.',
  },
} satisfies Record<string, Schema>

export const addressMembers = {
  ...dbMember,
  table: { ...ref('Name'), description: 'The table, for example one per kind of record.' },
} satisfies Record<string, Schema>

export const addressRequired = ['db', 'table']

export const listingMembers = {
  limit: {
    type: 'integer',
    minimum: 1,
    default: pageRowsDefault,
    description: `The maximum number of entries in a page. A value above ${number(pageRowsMax)} counts as ${number(pageRowsMax)}.`,
  },
  cursor: {
    type: 'string',
    ...cursorText,
    description: 'The `cursor` of the previous page.',
  },
} satisfies Record<string, Schema>

/** The input of an operation that takes nothing but the address. */
export const addressAlone = inputOf({}, addressMembers, addressRequired)
