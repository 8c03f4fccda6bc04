import { call } from '../../core/hint.ts'
import { type Example, type ExampleCall, laterAt, tableDeletedAt } from '../example.ts'

const bucketCreatedAt = 1767225700000
const inAvatars = { db: 'app', bucket: 'avatars' }

/** The bucket that the examples of files use too. */
export const avatars = {
  ...inAvatars,
  id: 'bkt_6Qm2sVx9LrT4nYc8WbKd1e',
  status: 'active',
  createdAt: bucketCreatedAt,
}

const deletedAvatars = {
  ...avatars,
  status: 'deleted',
  deletedAt: tableDeletedAt,
  recoverableUntil: tableDeletedAt + 7 * 24 * 60 * 60 * 1000,
}

export const createAvatars: ExampleCall = { operation: 'createBucket', input: inAvatars, output: avatars }
const deleteAvatars: ExampleCall = { operation: 'deleteBucket', input: inAvatars, output: deletedAvatars }

export const listBuckets: Example[] = [
  {
    name: 'all',
    summary: 'All buckets',
    given: [createAvatars],
    input: { db: 'app' },
    output: { buckets: [avatars], cursor: null },
  },
  {
    name: 'deletedOnes',
    summary: 'The deleted buckets that can be restored',
    given: [createAvatars, deleteAvatars],
    input: { db: 'app', deleted: true },
    output: { buckets: [deletedAvatars], cursor: null },
  },
]

export const createBucket: Example[] = [
  {
    name: 'plain',
    summary: 'A new bucket',
    input: { db: 'app', bucket: 'invoices' },
    output: {
      db: 'app',
      bucket: 'invoices',
      id: 'bkt_0Zr7HdPq3JtXn5Ua9GvKf2',
      status: 'active',
      createdAt: laterAt,
    },
  },
  {
    name: 'again',
    summary: 'A bucket that already exists',
    given: [createAvatars],
    input: inAvatars,
    output: avatars,
    unchanged: true,
  },
]

export const describeBucket: Example[] = [
  { name: 'describe', summary: 'A bucket', given: [createAvatars], input: inAvatars, output: avatars },
  {
    name: 'deleted',
    summary: 'A bucket that was deleted',
    given: [createAvatars, deleteAvatars],
    input: inAvatars,
    error: {
      code: 'bucket_not_found',
      message: 'The bucket avatars in database app was deleted.',
      hint: [
        'Restore it until 2026-01-09T00:00:00.000Z: ',
        call('restoreBucket', inAvatars),
        '; or create a new, empty bucket: ',
        call('createBucket', inAvatars),
      ],
    },
  },
]

export const deleteBucket: Example[] = [
  { name: 'delete', summary: 'Delete a bucket', given: [createAvatars], input: inAvatars, output: deletedAvatars },
]

export const restoreBucket: Example[] = [
  {
    name: 'newest',
    summary: 'The bucket deleted last',
    given: [createAvatars, deleteAvatars],
    input: inAvatars,
    output: avatars,
  },
  {
    name: 'byTime',
    summary: 'The bucket deleted at this time',
    given: [createAvatars, deleteAvatars],
    input: { ...inAvatars, deletedAt: tableDeletedAt },
    output: avatars,
  },
  {
    name: 'nameTaken',
    summary: 'The name is taken by a new bucket',
    given: [createAvatars, deleteAvatars, { operation: 'createBucket', input: inAvatars }],
    input: inAvatars,
    error: {
      code: 'bucket_exists',
      message: 'An active bucket has the name avatars.',
      hint: [
        'Delete it first (',
        call('deleteBucket', inAvatars),
        '), then restore with ',
        { send: { deletedAt: tableDeletedAt } },
        '.',
      ],
    },
  },
  {
    name: 'noSuchDeletion',
    summary: 'No bucket was deleted at this time',
    given: [createAvatars, deleteAvatars],
    input: { ...inAvatars, deletedAt: 1 },
    error: {
      code: 'bucket_not_found',
      message: 'No recoverable bucket avatars was deleted at 1.',
      field: 'deletedAt',
      hint: ['See ', call('listBuckets', { db: 'app', deleted: true }), ', or leave deletedAt out for the newest.'],
    },
  },
]
