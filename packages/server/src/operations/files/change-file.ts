import { CubbyError } from '../../core/errors.ts'
import { parseContentType } from '../../core/files/content-type.ts'
import { parseMetadataMember, parseVisibility } from '../../core/files/file-options.ts'
import { type Members, refuseUnknownMembers } from '../../core/members.ts'
import { parseTtl } from '../../core/records/record-data.ts'
import type { FileChanges } from '../../store/files.ts'
import type { Condition } from '../../store/records.ts'
import { type Access, callerOf } from '../access.ts'
import { laterAt } from '../example.ts'
import { ofFile } from '../grant-rules.ts'
import { requireBucket, writeIn } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { fileOf, given, inMilliseconds, noFile, otherVersion, picture, thePicture } from './examples.ts'
import { type FileAddress, fileConditionFailed, fileNotFound, type StoredFile } from './file-access.ts'
import { presentFile } from './present-file.ts'
import { condition, fileAddressRequired, fileMembers, fileSchemas, oneOfThese } from './schemas.ts'

interface ChangeFileInput extends FileAddress {
  changes: FileChanges
  condition: Condition | undefined
}

const changeFields = ['visibility', 'contentType', 'metadata', 'ttl'] as const

/** `text` is the whole body, `members` those of the change. */
const parseChanges = (text: string, members: Members, nowMs: number): FileChanges => {
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

/** Changes what is stored about a file, not its bytes. */
const changeFile = async (access: Access, input: ChangeFileInput, nowMs: number): Promise<StoredFile> => {
  const { name, changes, condition } = input
  const bucket = await requireBucket(access, input, nowMs)
  const written = await writeIn('bucket', access, input, nowMs, () =>
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
  keyNeeded: 'write',
  grants: ofFile('write'),
  effect: 'writes',
  route: {
    method: 'PATCH',
    path: '/v1/:db/_buckets/:bucket/:name',
    body: { schema: 'ChangeFileRequest', required: true },
  },
  condition: 'change',
  version: ({ updatedAtMs }) => updatedAtMs,
  read: ({ members, text }, nowMs) => ({ changes: parseChanges(text, members, nowMs) }),
  run: changeFile,
  present: (file, _, caller) => presentFile(file, caller?.baseUrl),
  describe: () => ({
    title: 'Change a file',
    description:
      'Changes the visibility, the content type, the metadata or the ttl of a file, not its bytes. Members that are absent stay as they are; `metadata` is replaced as a whole; `ttl: null` removes the ttl. The file gets a new version.',
    returns: 'The record of the file.',
    codes: ['invalid_key', 'invalid_ttl', 'bucket_not_found', 'file_not_found', 'precondition_failed'],
    input: {
      ...inputOf(fileSchemas.ChangeFileRequest, { ...fileMembers, ...condition }, fileAddressRequired),
      ...oneOfThese(['visibility', 'contentType', 'metadata', 'ttl']),
    },
    output: ref('FileRecord'),
    client: {
      on: 'bucket',
      method: 'update',
      result: 'file',
      args: ({ name, ...changes }, options) => [name, changes, options],
    },
    examples: [
      {
        name: 'metadata',
        summary: 'Replace the metadata of a file',
        given,
        input: { ...thePicture, metadata: { owner: 'ada', width: 64 } },
        output: fileOf(picture.content, { metadata: { owner: 'ada', width: 64 } }, laterAt),
      },
      {
        name: 'changedMeanwhile',
        summary: 'The file is at another version',
        given,
        input: { ...thePicture, contentType: 'image/webp', ifUpdatedAt: 1 },
        error: otherVersion,
      },
      {
        name: 'missing',
        summary: 'No such file',
        given,
        input: { ...thePicture, name: 'ada/large.png', contentType: 'image/webp' },
        error: noFile,
      },
      {
        name: 'ttlInMilliseconds',
        summary: 'A ttl in milliseconds',
        given,
        input: { ...thePicture, ttl: 4102444800000 },
        error: inMilliseconds,
      },
    ],
  }),
})
