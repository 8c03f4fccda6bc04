import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { CubbyError } from '../../core/errors.ts'
import { parseFileName } from '../../core/files/file-name.ts'
import { type FileContent, fileKey, readFileContent } from '../../core/files/file-record.ts'
import { call } from '../../core/hint.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import { shareOf } from '../../store/api-keys.ts'
import type { BlobStore } from '../../store/blob-store.ts'
import type { Condition } from '../../store/records.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, type BucketAddress, parseBucketAddress } from '../access.ts'
import { requireBucket } from '../lifecycle.ts'

export interface FileAddress extends BucketAddress {
  name: string
}

export const parseFileAddress = (db: unknown, bucket: unknown, name: unknown): FileAddress => ({
  ...parseBucketAddress(db, bucket),
  name: parseFileName(name),
})

/** A file as the store has it. */
export interface StoredFile {
  name: string
  content: FileContent
  ttlSeconds: number | null
  updatedAtMs: number
  /** Names the bucket in URLs. */
  bucketId: string
  /** The bucket in the store. */
  bucket: Table
}

export const fileOf = (bucket: Table, { rangeKey, data, ttlSeconds, updatedAtMs }: StoredRecord): StoredFile => ({
  name: rangeKey,
  content: readFileContent(data),
  ttlSeconds,
  updatedAtMs,
  bucketId: bucket.publicId!,
  bucket,
})

export const readFile = (
  { engine, apiKey }: Pick<Access, 'engine'> & { apiKey: Pick<Access['apiKey'], 'seq' | 'user'> },
  bucket: Table,
  name: string,
  nowMs: number,
): Awaitable<StoredFile | undefined> =>
  andThen(engine.records.get(bucket, fileKey(name), nowMs, shareOf(apiKey)), (record) =>
    record === undefined ? undefined : fileOf(bucket, record),
  )

/** The file; undefined if there is none. A public key reads public files only. */
const findFile = (access: Access, address: FileAddress, nowMs: number): Awaitable<StoredFile | undefined> =>
  andThen(requireBucket(access, address, nowMs), (bucket) =>
    andThen(readFile(access, bucket, address.name, nowMs), (file) => {
      if (file !== undefined) refusePrivate(access, file)
      return file
    }),
  )

export const requireFile = (access: Access, address: FileAddress, nowMs: number): Awaitable<StoredFile> =>
  andThen(findFile(access, address, nowMs), (file) => {
    if (file === undefined) throw fileNotFound(address)
    return file
  })

export const refusePrivate = ({ apiKey }: Pick<Access, 'apiKey'>, { content }: Pick<StoredFile, 'content'>): void => {
  if (apiKey.kind === 'secret' || content.visibility === 'public') return
  throw new CubbyError('private_file', 'The file is private; a public key reads public files only.', {
    hint: 'Read it on your server with a secret key (svc_live_…), or give the caller a signed URL.',
  })
}

export const fileNotFound = ({ db, bucket, name }: FileAddress): CubbyError =>
  new CubbyError('file_not_found', `There is no file ${JSON.stringify(name)} in the bucket.`, {
    hint: ['List the files of the bucket: ', call('queryFiles', { db, bucket })],
  })

/** `current` is the version that was found instead; undefined when there is no file. */
export const fileConditionFailed = (
  { db, bucket, name }: FileAddress,
  condition: Condition | undefined,
  current: number | undefined,
): CubbyError => {
  if (current === undefined) {
    return new CubbyError('precondition_failed', 'The file does not exist; nothing was changed.', {
      hint: 'Write without the condition, or with one that holds for an absent file, to create it.',
    })
  }
  const message = `The file is at version ${current}; nothing was changed.`
  if (condition === 'absent') {
    return new CubbyError('precondition_failed', message, {
      hint: 'Use another name, or replace the file: write with its version, or without a condition.',
    })
  }
  // A version that no file has: the caller sent another kind of tag, most likely that of the bytes.
  const isOther = typeof condition === 'object' && condition.version < 0
  return new CubbyError('precondition_failed', message, {
    hint: [
      isOther ? 'A condition takes the version of the record, not the tag of the bytes. ' : 'Write with that version, ',
      isOther ? 'Read the record: ' : 'after you have read the record again: ',
      call('getFile', { db, bucket, name }),
    ],
  })
}

/** Tells whether the condition holds for the version found; undefined: there is no file. */
export const holds = (condition: Condition | undefined, current: number | undefined): boolean => {
  if (condition === undefined) return true
  if (condition === 'absent') return current === undefined
  return current !== undefined && (condition === 'exists' || condition.version === current)
}

/** Returns the blob store of files. Throws `unavailable` if this process was started without one. */
export const requireBlobStore = ({ blobStore }: Pick<Access, 'blobStore'>): BlobStore => {
  if (blobStore !== undefined) return blobStore
  throw new CubbyError('unavailable', 'This server has no place for the bytes of files.', {
    hint: 'The operator starts it with --files: a directory, or s3://BUCKET/PREFIX.',
  })
}
