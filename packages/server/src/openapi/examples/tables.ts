import { errorBody } from '../errors.ts'
import { deletedOrders, deleteOrders, type Example, indices, laterAt, orders, tableDeletedAt } from './example.ts'

export const listDatabases: Example[] = [
  { name: 'all', summary: 'All databases', status: 200, answer: { databases: ['app'], cursor: null } },
  {
    name: 'onePage',
    summary: 'The first of several pages',
    given: [{ method: 'POST', path: '/v1/blog/posts' }],
    parameters: { limit: 1 },
    status: 200,
    answer: { databases: ['app'], cursor: 'WzEsImRhdGFiYXNlcyIsImFwcCJd' },
  },
]

export const listTables: Example[] = [
  { name: 'all', summary: 'All tables', status: 200, answer: { tables: [orders], cursor: null } },
  {
    name: 'deletedOnes',
    summary: 'The tables that can be restored',
    given: [deleteOrders],
    parameters: { deleted: true },
    status: 200,
    answer: { tables: [deletedOrders], cursor: null },
  },
]

export const createTable: Example[] = [
  {
    name: 'plain',
    summary: 'A table without indices',
    parameters: { table: 'customers' },
    status: 201,
    answer: { db: 'app', table: 'customers', indices: {}, status: 'active', createdAt: laterAt },
  },
  {
    name: 'withIndices',
    summary: 'A table with two indices',
    parameters: { table: 'invoices' },
    body: { indices: { i1: { hashField: 'status', rangeField: 'dueAt' }, i2: { hashField: 'customer' } } },
    status: 201,
    answer: {
      db: 'app',
      table: 'invoices',
      indices: { i1: { hashField: 'status', rangeField: 'dueAt' }, i2: { hashField: 'customer' } },
      status: 'active',
      createdAt: laterAt,
    },
  },
  { name: 'again', summary: 'A table that is there already', body: { indices }, status: 200, answer: orders },
  {
    name: 'otherIndices',
    summary: 'A table that is there with other indices',
    body: { indices: { i1: { hashField: 'customer' } } },
    status: 409,
    answer: errorBody('table_exists', {
      message: 'The table orders exists with other indices, and indices are immutable.',
      field: 'indices',
      hint: `It declares ${JSON.stringify(indices)}. Use those, or create a table of another name.`,
    }),
  },
  {
    name: 'noSuchSlot',
    summary: 'A slot that there is not',
    parameters: { table: 'customers' },
    body: { indices: { email: { hashField: 'email' } } },
    status: 400,
    answer: errorBody('invalid_index', {
      message: 'indices.email is not a slot.',
      field: 'indices.email',
      hint: 'Slots are i1, i2, i3, i4 and i5.',
    }),
  },
]

export const describeTable: Example[] = [
  { name: 'describe', summary: 'A table', status: 200, answer: orders },
  {
    name: 'deleted',
    summary: 'A table that was deleted',
    given: [deleteOrders],
    status: 404,
    answer: errorBody('table_not_found', {
      message: 'The table orders in database app was deleted.',
      hint: 'Restore it until 2026-01-09T00:00:00.000Z: POST /v1/app/orders/restore; or create it anew, empty: POST /v1/app/orders',
    }),
  },
]

export const deleteTable: Example[] = [
  { name: 'delete', summary: 'Delete a table', status: 200, answer: deletedOrders },
]

export const restoreTable: Example[] = [
  { name: 'newest', summary: 'The one deleted last', given: [deleteOrders], status: 200, answer: orders },
  {
    name: 'byTime',
    summary: 'The one deleted at that time',
    given: [deleteOrders],
    body: { deletedAt: tableDeletedAt },
    status: 200,
    answer: orders,
  },
  {
    name: 'nameTaken',
    summary: 'A new table has the name',
    given: [deleteOrders, { method: 'POST', path: '/v1/app/orders' }],
    status: 409,
    answer: errorBody('table_exists', {
      message: 'An active table has the name orders.',
      hint: `Delete it first (DELETE /v1/app/orders), then restore with { "deletedAt": ${tableDeletedAt} }.`,
    }),
  },
  {
    name: 'noSuchDeletion',
    summary: 'Nothing was deleted at that time',
    given: [deleteOrders],
    body: { deletedAt: 1 },
    status: 404,
    answer: errorBody('table_not_found', {
      message: 'No recoverable table orders was deleted at 1.',
      field: 'deletedAt',
      hint: 'See GET /v1/app?deleted=true, or leave deletedAt out for the newest.',
    }),
  },
]
