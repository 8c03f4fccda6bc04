import { CubbyError } from '../../core/errors.ts'
import { parseContentType } from '../../core/files/content-type.ts'
import { parseMetadataMember, parseVisibility } from '../../core/files/file-options.ts'
import { type Members, refuseUnknownMembers } from '../../core/members.ts'
import { parseTtl } from '../../core/records/record-data.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { FileChanges } from '../../store/files.ts'
import type { Condition } from '../../store/records.ts'
import { type Access, callerOf } from '../access.ts'
import { requireBucket, writeInBucket } from '../buckets/bucket-access.ts'
import { defineOperation } from '../operation.ts'
import { parseCondition } from '../records/condition.ts'
import {
  type FileAddress,
  fileConditionFailed,
  fileNotFound,
  parseFileAddress,
  type StoredFile,
} from './file-access.ts'
import { presentFile } from './present-file.ts'

export interface ChangeFileInput extends FileAddress {
  changes: FileChanges
  condition: Condition | undefined
}

const changeFields = ['visibility', 'contentType', 'metadata', 'ttl'] as const

/** `text` is the whole body, `members` those of the change. */
export const parseChanges = (text: string, members: Members, nowMs: number): FileChanges => {
  refuseUnknownMembers(members, changeFields)
  const { visibility, contentType, metadata, ttl } = members
  if (changeFields.every((field) => members[field] === undefined)) {
    throw new CubbyError('invalid_request', 'The change is empty.', {
      hint: `Give at least one of ${changeFields.join(', ')}.`,
    })
  }
  return {
    ...(visibility !== undefined && { visibility: parseVisibility(visibility) }),
    ...(contentType !== undefined && { contentType: parseContentType(contentType) }),
    ...(metadata !== undefined && { metadata: parseMetadataMember(text, metadata) }),
    ...(ttl !== undefined && { ttlSeconds: ttl === null ? null : parseTtl(ttl, 'ttl', nowMs) }),
  }
}

export const parseChangeBody = (text: string, nowMs: number): FileChanges =>
  parseChanges(text, parsePlainBody(text), nowMs)

/** Changes what is stored about a file, not its bytes. */
export const changeFile = async (access: Access, input: ChangeFileInput, nowMs: number): Promise<StoredFile> => {
  const { name, changes, condition } = input
  const bucket = await requireBucket(access, input, nowMs)
  const written = await writeInBucket(access, input, nowMs, () =>
    access.engine.files.change(callerOf(access), bucket, name, changes, condition, nowMs),
  )
  if (!written.applied) {
    throw condition === undefined ? fileNotFound(input) : fileConditionFailed(input, condition, written.current)
  }
  const { content, ttlSeconds, results } = written
  const { updatedAtMs } = results[0] as { updatedAtMs: number }
  return { name, content, ttlSeconds, updatedAtMs, bucketId: bucket.publicId!, bucket }
}

export const changeFileOperation = defineOperation({
  id: 'changeFile',
  area: 'files',
  summary: 'Change the record of a file',
  description:
    'Changes the visibility, the content type, the metadata or the ttl of a file, not its bytes. Members that are absent stay as they are; `metadata` is replaced as a whole; `ttl: null` removes the ttl. The file gets a new version.',
  keyNeeded: 'write',
  effect: 'writes',
  returns: 'The record of the file.',
  codes: ['invalid_key', 'invalid_ttl', 'bucket_not_found', 'file_not_found', 'precondition_failed'],
  parse(text, nowMs): ChangeFileInput {
    const { db, bucket, name, ifUpdatedAt, ...members } = parsePlainBody(text)
    const address = parseFileAddress(db, bucket, name)
    return { ...address, changes: parseChanges(text, members, nowMs), condition: parseCondition(ifUpdatedAt) }
  },
  run: changeFile,
  present: presentFile,
})
