import { call } from '../../core/hint.ts'
import {
  deletedOrders,
  deleteOrders,
  type Example,
  indices,
  inOrders,
  laterAt,
  orders,
  tableDeletedAt,
} from '../example.ts'

export const listDatabases: Example[] = [
  { name: 'all', summary: 'All databases', input: {}, output: { databases: ['app'], cursor: null } },
  {
    name: 'onePage',
    summary: 'The first of several pages',
    given: [{ operation: 'createTable', input: { db: 'blog', table: 'posts' } }],
    input: { limit: 1 },
    output: { databases: ['app'], cursor: 'AjnWL1ysTG7OgIijV-gOTYoW9kLfm3-R7-mIQd-E7J95o744' },
  },
]

export const listTables: Example[] = [
  { name: 'all', summary: 'All tables', input: { db: 'app' }, output: { tables: [orders], cursor: null } },
  {
    name: 'deletedOnes',
    summary: 'The deleted tables that can be restored',
    given: [deleteOrders],
    input: { db: 'app', deleted: true },
    output: { tables: [deletedOrders], cursor: null },
  },
]

export const createTable: Example[] = [
  {
    name: 'plain',
    summary: 'A table without indices',
    input: { db: 'app', table: 'customers' },
    output: { db: 'app', table: 'customers', indices: {}, status: 'active', createdAt: laterAt },
  },
  {
    name: 'withIndices',
    summary: 'A table with two indices',
    input: {
      ...inOrders,
      table: 'invoices',
      indices: { i1: { hashField: 'status', rangeField: 'dueAt' }, i2: { hashField: 'customer' } },
    },
    output: {
      db: 'app',
      table: 'invoices',
      indices: { i1: { hashField: 'status', rangeField: 'dueAt' }, i2: { hashField: 'customer' } },
      status: 'active',
      createdAt: laterAt,
    },
  },
  {
    name: 'again',
    summary: 'A table that already exists',
    input: { ...inOrders, indices },
    output: orders,
    unchanged: true,
  },
  {
    name: 'otherIndices',
    summary: 'A table that already exists with other indices',
    input: { ...inOrders, indices: { i1: { hashField: 'customer' } } },
    error: {
      code: 'table_exists',
      message: 'The table orders exists with other indices, and indices are immutable.',
      field: 'indices',
      hint: `It declares ${JSON.stringify(indices)}. Use those, or create a table with another name.`,
    },
  },
  {
    name: 'noSuchSlot',
    summary: 'An unknown slot',
    input: { db: 'app', table: 'customers', indices: { email: { hashField: 'email' } } },
    error: {
      code: 'invalid_index',
      message: 'indices.email is not a slot.',
      field: 'indices.email',
      hint: 'Slots are i1, i2, i3, i4 and i5; write it as "i1".',
    },
  },
]

export const describeTable: Example[] = [
  { name: 'describe', summary: 'A table', input: inOrders, output: orders },
  {
    name: 'deleted',
    summary: 'A table that was deleted',
    given: [deleteOrders],
    input: inOrders,
    error: {
      code: 'table_not_found',
      message: 'The table orders in database app was deleted.',
      hint: [
        'Restore it until 2026-01-09T00:00:00.000Z: ',
        call('restoreTable', inOrders),
        '; or create a new, empty table: ',
        call('createTable', inOrders),
      ],
    },
  },
]

export const deleteTable: Example[] = [
  { name: 'delete', summary: 'Delete a table', input: inOrders, output: deletedOrders },
]

export const restoreTable: Example[] = [
  { name: 'newest', summary: 'The table deleted last', given: [deleteOrders], input: inOrders, output: orders },
  {
    name: 'byTime',
    summary: 'The table deleted at this time',
    given: [deleteOrders],
    input: { ...inOrders, deletedAt: tableDeletedAt },
    output: orders,
  },
  {
    name: 'nameTaken',
    summary: 'The name is taken by a new table',
    given: [deleteOrders, { operation: 'createTable', input: inOrders }],
    input: inOrders,
    error: {
      code: 'table_exists',
      message: 'An active table has the name orders.',
      hint: [
        'Delete it first (',
        call('deleteTable', inOrders),
        '), then restore with ',
        { send: { deletedAt: tableDeletedAt } },
        '.',
      ],
    },
  },
  {
    name: 'noSuchDeletion',
    summary: 'No table was deleted at this time',
    given: [deleteOrders],
    input: { ...inOrders, deletedAt: 1 },
    error: {
      code: 'table_not_found',
      message: 'No recoverable table orders was deleted at 1.',
      field: 'deletedAt',
      hint: ['See ', call('listTables', { db: 'app', deleted: true }), ', or leave deletedAt out for the newest.'],
    },
  },
]
