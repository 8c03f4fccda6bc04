import { CubbyError } from '../core/errors.ts'
import { call } from '../core/hint.ts'
import { parseName } from '../core/names.ts'
import type { ApiKey, Caller } from '../store/api-keys.ts'
import type { BlobStore } from '../store/blob-store.ts'
import type { Engine } from '../store/engine.ts'
import type { Once } from '../store/idempotency.ts'
import type { TaskServices } from './tasks/task-services.ts'
import type { LoginServices } from './tokens/login-services.ts'

export type IdempotencyScope = Pick<Once, 'scopeId' | 'scopeKind'>

/** The idempotency key of a request. */
export interface OnceRequest {
  /** See `IdempotencyKey`. */
  keyHashIn(scope: IdempotencyScope): string
  /** Known when the body has arrived. */
  requestHash: string
  /** True if the result is that of an earlier request. */
  isReplayed: boolean
  /** The result of the earlier request, if the request is repeated only to answer it. */
  kept?: object
}

/** The caller and the store. The organization is the one of the API key: a request cannot name another. */
export interface Access {
  engine: Engine
  apiKey: ApiKey
  /** The blob store of files; undefined without --files. */
  blobStore: BlobStore | undefined
  tasks: TaskServices
  logins: LoginServices
  /** The idempotency key of the request, if it has one. */
  once?: OnceRequest | undefined
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

/** The address of a table, a bucket or a task. */
export type AddressOf<Kind extends string> = { db: string } & Record<Kind, string>
export type TableAddress = AddressOf<'table'>
export type BucketAddress = AddressOf<'bucket'>
export type TaskAddress = AddressOf<'task'>

/** Says how a caller that left a name out finds it. Over HTTP names are in the path, so none is missing. */
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

export const parseBucketAddress = (db: unknown, bucket: unknown): BucketAddress => ({
  db: parseNameOf(db, 'db'),
  bucket: parseNameOf(bucket, 'bucket'),
})

export const parseTaskAddress = (db: unknown, task: unknown): TaskAddress => ({
  db: parseNameOf(db, 'db'),
  task: parseNameOf(task, 'task'),
})
