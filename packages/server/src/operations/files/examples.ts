import { createHash } from 'node:crypto'
import { call } from '../../core/hint.ts'
import { createAvatars } from '../buckets/examples.ts'
import { type Example, type ExampleCall, laterAt } from '../example.ts'

export const inAvatars = { db: 'app', bucket: 'avatars' }
/** A placeholder for the version of a real store. */
export const fileExampleAt = 1767787200000

/** The file that the examples use. A real one would hold the bytes of a picture. */
export const picture = { name: 'ada/small.png', content: 'the bytes of a picture', contentType: 'image/png' }
export const thePicture = { ...inAvatars, name: picture.name }

const fileOf = (content: string, more: object, updatedAt: number) => ({
  name: picture.name,
  size: content.length,
  contentType: picture.contentType,
  visibility: 'private',
  sha256: createHash('sha256').update(content).digest('hex'),
  metadata: {},
  ...more,
  updatedAt,
  url: null,
})

export const stored = fileOf(picture.content, {}, fileExampleAt)

const putPicture: ExampleCall = { operation: 'putFile', input: { ...inAvatars, ...picture }, output: stored }
export const given = [createAvatars, putPicture]

export const noFile = {
  code: 'file_not_found',
  message: 'There is no file "ada/large.png" in the bucket.',
  hint: ['List the files of the bucket: ', call('queryFiles', inAvatars)],
} as const

const otherVersion = {
  code: 'precondition_failed',
  message: `The file is at version ${fileExampleAt}; nothing was changed.`,
  hint: ['Write with that version, ', 'after you have read the record again: ', call('getFile', thePicture)],
} as const

const inMilliseconds = {
  code: 'invalid_ttl',
  message: 'ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.',
  field: 'ttl',
  hint: 'It looks like milliseconds; give seconds: 4102444800.',
} as const

export const putFile: Example[] = [
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
]

export const getFile: Example[] = [
  { name: 'record', summary: 'What is stored about a file', given, input: thePicture, output: stored },
  {
    name: 'missing',
    summary: 'No such file',
    given,
    input: { ...thePicture, name: 'ada/large.png' },
    error: noFile,
  },
]

export const changeFile: Example[] = [
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
]

export const deleteFile: Example[] = [
  { name: 'delete', summary: 'Delete a file', given, input: thePicture, output: { deleted: true } },
  {
    name: 'missing',
    summary: 'There is no such file',
    given,
    input: { ...thePicture, name: 'ada/large.png' },
    output: { deleted: false },
  },
  {
    name: 'changedMeanwhile',
    summary: 'The file is at another version',
    given,
    input: { ...thePicture, ifUpdatedAt: 1 },
    error: otherVersion,
  },
]

export const queryFiles: Example[] = [
  {
    name: 'byPrefix',
    summary: 'The files whose names begin with a prefix',
    given,
    input: { ...inAvatars, prefix: 'ada/' },
    output: { items: [stored], count: 1, cursor: null },
  },
  {
    name: 'newest',
    summary: 'The newest file',
    given,
    input: { ...inAvatars, index: 't', limit: 1 },
    output: { items: [stored], count: 1, cursor: null },
  },
  {
    name: 'count',
    summary: 'How many files there are',
    given,
    input: { ...inAvatars, select: 'count' },
    output: { items: [], count: 1, cursor: null },
  },
]
