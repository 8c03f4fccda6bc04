import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { newBlobId } from '../../core/files/blob-id.ts'
import { refuseOtherDigest, sha256Of } from '../../core/files/content-digest.ts'
import { parseContentType, typeOfName } from '../../core/files/content-type.ts'
import { fileTooLarge, parseMetadataMember, parseVisibility } from '../../core/files/file-options.ts'
import type { FileContent } from '../../core/files/file-record.ts'
import { freeChunk } from '../../core/free-chunk.ts'
import { fileBytesMax, smallUploadBytesMax } from '../../core/limits.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { parseTtl } from '../../core/records/record-data.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { BlobWriter } from '../../store/blob-store.ts'
import { type Access, callerOf } from '../access.ts'
import { createAvatars } from '../buckets/examples.ts'
import { ofFile } from '../grant-rules.ts'
import { notFound, requireBucket, writeIn } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { parseCondition } from '../records/condition.ts'
import { binaryBytes, inputOf, ref } from '../schema.ts'
import { fileExampleAt, fileOf, given, inAvatars, picture, stored } from './examples.ts'
import {
  fileConditionFailed,
  holds,
  parseFileAddress,
  readFile,
  requireBlobStore,
  type StoredFile,
} from './file-access.ts'
import { presentFile } from './present-file.ts'
import { condition, fileAddressRequired, fileMembers, putMembers } from './schemas.ts'
import { storeInStore } from './store-small-file.ts'
import type { AcceptedUpload, PutFileInput, UploadBytes } from './upload.ts'

/** Makes the checks that need no bytes. */
export const acceptUpload = async (access: Access, input: PutFileInput, nowMs: number): Promise<AcceptedUpload> => {
  const blobStore = requireBlobStore(access)
  const bucket = await requireBucket(access, input, nowMs)
  const { condition, bucketId = bucket.publicId } = input
  if (bucket.publicId !== bucketId) throw await notFound('bucket', access, input, nowMs)
  if (condition !== undefined) {
    const current = (await readFile(access, bucket, input.name, nowMs))?.updatedAtMs
    if (!holds(condition, current)) throw fileConditionFailed(input, condition, current)
  }
  return { blobStore, bucket }
}

type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/** The bytes go to their place: while they arrive, or all at once. */
const writeBytes = async (
  writer: BlobWriter,
  chunks: Chunks,
  { sha256: declared, bytesMax }: PutFileInput,
): Promise<{ size: number; sha256: string; crc32: number }> => {
  const hasher = new Bun.CryptoHasher('sha256')
  let size = 0
  let crc32 = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > bytesMax) throw fileTooLarge(bytesMax)
    hasher.update(chunk)
    crc32 = Bun.hash.crc32(chunk, crc32)
    await writer.write(chunk)
  }
  const sha256 = hasher.digest('hex')
  if (declared !== undefined) refuseOtherDigest(declared, sha256)
  return { size, sha256, crc32 }
}

/**
 * Stores the bytes and the record: together if the store keeps the bytes, otherwise the bytes first. `now` is the time when the
 * bytes have arrived; bucket and condition are judged again then. If anything fails, the file with this name stays as it was.
 */
export const storeUpload = async (
  access: Access,
  accepted: AcceptedUpload,
  input: PutFileInput,
  source: UploadBytes,
  now: () => number,
): Promise<StoredFile> => {
  const { bytes } = input
  // An upload without a declared length goes to the blob store, whatever the length turns out to be.
  if (bytes === undefined || bytes > smallUploadBytesMax) {
    return putInBlobStore(access, accepted, input, source.chunks(), now)
  }
  const { inStore } = accepted.blobStore
  const isKept = inStore !== undefined && bytes <= inStore.bytesMax
  if (isKept) await inStore.prepare()
  const whole = await source.whole(bytes)
  try {
    if (input.sha256 !== undefined) refuseOtherDigest(input.sha256, sha256Of(whole))
    return isKept
      ? await storeInStore(access, accepted.bucket, whole, input, now)
      : await putInBlobStore(access, accepted, input, [whole], now)
  } finally {
    freeChunk(whole)
  }
}

const putInBlobStore = async (
  access: Access,
  { blobStore, bucket }: AcceptedUpload,
  input: PutFileInput,
  chunks: Chunks,
  now: () => number,
): Promise<StoredFile> => {
  const { engine } = access
  const caller = callerOf(access)
  const { name, contentType, visibility, metadata, ttlSeconds, condition } = input
  const startedAtMs = now()
  const blob = newBlobId(startedAtMs)
  await writeIn('bucket', access, input, startedAtMs, () => engine.files.begin(caller, bucket, blob, startedAtMs))
  let writer: BlobWriter | undefined
  let mayArriveLater = false
  try {
    writer = await blobStore.write(blob, input.bytes)
    const { size, sha256, crc32 } = await writeBytes(writer, chunks, input)
    const finishing = writer
    // Once it is finished, the blob may only be removed by way of its row: a commit whose outcome is unknown may refer to it.
    writer = undefined
    mayArriveLater = true
    await finishing.finish(sha256)
    mayArriveLater = false
    const content: FileContent = { size, contentType, visibility, sha256, crc32, blob, metadata }
    const nowMs = now()
    const written = await writeIn('bucket', access, input, nowMs, () =>
      engine.files.commit(caller, bucket, { name, content, ttlSeconds, condition }, nowMs),
    )
    if (!written.applied) throw fileConditionFailed(input, condition, written.current)
    const { updatedAtMs } = written.results[0] as { updatedAtMs: number }
    return { name, content, ttlSeconds, updatedAtMs, bucketId: bucket.publicId!, bucket }
  } catch (error) {
    await writer?.abort()
    // Bytes that S3 has received without an answer may appear there later, after a sweep that came at once. Then, and if
    // this fails, the sweep finds the blob a day later.
    if (!(mayArriveLater && blobStore.mayWriteLate())) await engine.files.abandon(blob, now()).catch(() => {})
    throw error
  }
}

// Puts a file for adapters that have it as text.

interface PutTextInput extends PutFileInput {
  content: string
}

const parseContent = (value: unknown): string => {
  if (typeof value === 'string' && value.isWellFormed()) return value
  const found = typeof value === 'string' ? 'has a lone surrogate' : `is ${describeValue(value)}`
  throw new CubbyError('invalid_request', `content ${found}; it takes the bytes of the file as text.`, {
    field: 'content',
  })
}

const parseInput = (text: string, nowMs: number): PutTextInput => {
  const { db, bucket, name, ...members } = parsePlainBody(text)
  const address = parseFileAddress(db, bucket, name)
  refuseUnknownMembers(members, ['content', 'contentType', 'visibility', 'ttl', 'metadata', 'ifUpdatedAt'])
  const { contentType, visibility, ttl, metadata, ifUpdatedAt } = members
  const content = parseContent(members.content)
  return {
    ...address,
    content,
    contentType: contentType === undefined ? typeOfName(address.name) : parseContentType(contentType),
    visibility: parseVisibility(visibility),
    metadata: parseMetadataMember(text, metadata),
    ttlSeconds: parseTtl(ttl, 'ttl', nowMs),
    condition: parseCondition(ifUpdatedAt),
    sha256: undefined,
    bytes: Buffer.byteLength(content),
    bytesMax: fileBytesMax,
  }
}

const bytesOf = (text: string): UploadBytes => ({
  async *chunks() {
    yield Buffer.from(text)
  },
  whole: async () => Buffer.from(text),
})

export const putFileOperation = defineOperation({
  id: 'putFile',
  area: 'files',
  summary: 'Put a file: create it or replace it',
  keyNeeded: 'write',
  grants: ofFile('write'),
  effect: 'writes',
  route: {
    method: 'PUT',
    path: '/v1/:db/_buckets/:bucket/:name',
    query: ['visibility', 'ttl', 'metadata'],
    bytes: 'content',
  },
  command: 'files put {bucket} {name} FILE --db {db}',
  condition: 'put',
  version: ({ updatedAtMs }) => updatedAtMs,
  parse: parseInput,
  async run(access, input, nowMs) {
    const accepted = await acceptUpload(access, input, nowMs)
    return storeUpload(access, accepted, input, bytesOf(input.content), () => nowMs)
  },
  present: (file: StoredFile) => presentFile(file),
  describe: () => ({
    title: 'Put a file',
    description:
      'Creates a file or replaces the existing one as a whole, with its visibility, metadata and ttl: without `visibility` the file is private, also if it was public before. When the answer is sent, the file is on disk. An upload that is interrupted leaves the previous file as it was, and no reader sees bytes of two versions.\n\nThe content type is kept as it was sent. Without one it follows the extension of the name; the server never guesses from the bytes. With a condition, the file is written only if the condition holds, when the bytes begin to arrive and when all have arrived.',
    returns: 'The record of the file.',
    codes: [
      'invalid_key',
      'invalid_ttl',
      'digest_mismatch',
      'bucket_not_found',
      'precondition_failed',
      'file_too_large',
      'unsupported_media_type',
    ],
    note: `The body is the bytes of the file, with a \`Content-Length\` or chunked, at most ${binaryBytes(fileBytesMax)}; it may be empty. Send the condition as \`If-Match\` or \`If-None-Match\`. \`Content-Type\` is the type of the file; \`application/x-www-form-urlencoded\`, which some tools add, counts as none, and \`multipart/form-data\` is rejected. What the head of the request decides is answered without waiting for the body.`,
    input: inputOf({}, { ...fileMembers, ...putMembers, ...condition }, [...fileAddressRequired, 'content']),
    output: ref('FileRecord'),
    client: {
      on: 'bucket',
      method: 'put',
      result: 'file',
      args: ({ name, content, ...members }, options) => [name, content, { ...members, ...options }],
    },
    examples: [
      {
        name: 'upload',
        summary: 'Upload a file',
        given: [createAvatars],
        input: { ...inAvatars, ...picture },
        output: stored,
      },
      {
        name: 'withMetadata',
        summary: 'With metadata, and only if the name is free',
        given: [createAvatars],
        input: { ...inAvatars, ...picture, ttl: 4102444800, metadata: { owner: 'ada' }, ifUpdatedAt: null },
        output: fileOf(picture.content, { metadata: { owner: 'ada' }, ttl: 4102444800 }, fileExampleAt),
      },
      {
        name: 'taken',
        summary: 'A file has the name already',
        given,
        input: { ...inAvatars, ...picture, ifUpdatedAt: null },
        error: {
          code: 'precondition_failed',
          message: `The file is at version ${fileExampleAt}; nothing was changed.`,
          hint: 'Use another name, or replace the file: write with its version, or without a condition.',
        },
      },
    ],
  }),
})
