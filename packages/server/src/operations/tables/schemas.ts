import type {
  ActiveTable,
  CreateTableRequest,
  DeletedTable,
  IndexDeclaration,
  ListDatabasesResponse,
  ListTablesResponse,
  RestoreTableRequest,
} from '@cubby/client'
import {
  cursorCharactersMax,
  indexFieldCharactersMax,
  pageRowsDefault,
  pageRowsMax,
  recoveryMs,
} from '../../core/limits.ts'
import { slots } from '../../core/tables/indices.ts'
import { closed, milliseconds, nextCursor, number, objectOf, ref, type Schema } from '../schema.ts'

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
  createdAt: milliseconds('When the table was made.'),
}

export const tableSchemas = {
  Name: {
    type: 'string',
    pattern: '^[a-z0-9-][a-z0-9_-]{0,63}$',
    minLength: 1,
    maxLength: 64,
    description: 'Matches `[a-z0-9_-]{1,64}`; names that start with `_` are reserved.',
  },
  IndexDeclaration: closed(
    objectOf<IndexDeclaration>('An index over top-level fields of `data`.', ['hashField'], {
      hashField: indexField('The field whose value a query gives as `hash`.'),
      rangeField: indexField('The field by which the records of one hash are ordered.'),
    }),
  ),
  Indices: {
    type: 'object',
    description: 'The declared indices by slot; `{}` when there are none. They are immutable.',
    properties: Object.fromEntries(slots.map((slot) => [slot, ref('IndexDeclaration')])),
    additionalProperties: false,
  },
  CreateTableRequest: closed(
    objectOf<CreateTableRequest>('What a table is created with.', [], { indices: ref('Indices') }),
  ),
  RestoreTableRequest: closed(
    objectOf<RestoreTableRequest>('Which table to restore, where several of one name were deleted.', [], {
      deletedAt: milliseconds('The `deletedAt` of the table; absent: the one deleted last.'),
    }),
  ),
  ActiveTable: objectOf<ActiveTable>('A table.', ['db', 'table', 'indices', 'status', 'createdAt'], {
    ...tableFields,
    status: { type: 'string', const: 'active' },
  }),
  DeletedTable: objectOf<DeletedTable>(
    'A soft-deleted table.',
    ['db', 'table', 'indices', 'status', 'createdAt', 'deletedAt', 'recoverableUntil'],
    {
      ...tableFields,
      status: { type: 'string', const: 'deleted' },
      deletedAt: milliseconds('When it was deleted.'),
      recoverableUntil: milliseconds(`Until when it can be restored: ${recoveryMs / 86_400_000} days later.`),
    },
  ),
  ListTablesResponse: objectOf<ListTablesResponse>('Tables by name.', ['tables', 'cursor'], {
    tables: { type: 'array', items: { oneOf: [ref('ActiveTable'), ref('DeletedTable')] } },
    cursor: nextCursor,
  }),
  ListDatabasesResponse: objectOf<ListDatabasesResponse>('Databases by name.', ['databases', 'cursor'], {
    databases: { type: 'array', items: ref('Name') },
    cursor: nextCursor,
  }),
} satisfies Record<string, Schema>

// ── Members of inputs ──────────────────────────────────────────────────────────────────────────────────────

export const dbMember = {
  db: { ...ref('Name'), description: 'The database, one for each application. It is there as soon as it has a table.' },
} satisfies Record<string, Schema>

export const addressMembers = {
  ...dbMember,
  table: { ...ref('Name'), description: 'The table, one for each kind of thing.' },
} satisfies Record<string, Schema>

export const addressRequired = ['db', 'table']

export const listingMembers = {
  limit: {
    type: 'integer',
    minimum: 1,
    default: pageRowsDefault,
    description: `How many entries a page has at the most. More than ${number(pageRowsMax)} is taken as ${number(pageRowsMax)}.`,
  },
  cursor: {
    type: 'string',
    pattern: '^[A-Za-z0-9_-]+$',
    maxLength: cursorCharactersMax,
    description: 'The `cursor` of the answer before.',
  },
} satisfies Record<string, Schema>
