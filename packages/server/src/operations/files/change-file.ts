import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { parseContentType } from '../../core/files/content-type.ts'
import { parseMetadata, parseVisibility } from '../../core/files/file-options.ts'
import { type Members, refuseUnknownMembers } from '../../core/members.ts'
import { parseTtl } from '../../core/records/record-data.ts'
import { valueSpan, walkObject } from '../../core/text/json-span.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { FileChanges } from '../../store/files.ts'
import type { Condition } from '../../store/records.ts'
import { type Access, callerOf } from '../access.ts'
import { requireBucket, writeInBucket } from '../buckets/bucket-access.ts'
import { type FileAddress, fileConditionFailed, fileNotFound, readFile, type StoredFile } from './file-access.ts'

export interface ChangeFileInput extends FileAddress {
  changes: FileChanges
  condition: Condition | undefined
}

const changeFields = ['visibility', 'contentType', 'metadata', 'ttl'] as const

/** The text of the member `metadata`, as it was sent. */
const metadataText = (text: string): string | undefined => {
  let found: string | undefined
  walkObject(text, 0, '', (name, start) => {
    const value = valueSpan(text, start)
    if (name === 'metadata') found = text.slice(value.start, value.end)
    return value.end
  })
  return found
}

/** `text` is the whole body, `members` those of the change. */
export const parseChanges = (text: string, members: Members, nowMs: number): FileChanges => {
  refuseUnknownMembers(members, changeFields)
  const { visibility, contentType, metadata, ttl } = members
  if (changeFields.every((field) => members[field] === undefined)) {
    throw new CubbyError('invalid_request', 'The change is empty.', {
      hint: `Give at least one of ${changeFields.join(', ')}.`,
    })
  }
  if (metadata !== undefined && (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))) {
    throw new CubbyError('invalid_request', `metadata is ${describeValue(metadata)}; it takes a JSON object.`, {
      field: 'metadata',
      hint: 'Give {} to remove all of it.',
    })
  }
  return {
    ...(visibility !== undefined && { visibility: parseVisibility(visibility) }),
    ...(contentType !== undefined && { contentType: parseContentType(contentType) }),
    ...(metadata !== undefined && { metadata: parseMetadata(metadataText(text)) }),
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
  // If somebody has written since, the answer is their version, with its tag.
  const file = await readFile(access, bucket, name, nowMs)
  if (file === undefined) throw fileNotFound(input)
  return file
}
