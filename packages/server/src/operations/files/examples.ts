import { createHash } from 'node:crypto'
import { call } from '../../core/hint.ts'
import { createAvatars } from '../buckets/examples.ts'
import type { ExampleCall } from '../example.ts'

export const inAvatars = { db: 'app', bucket: 'avatars' }
/** A placeholder for the version of a real store. */
export const fileExampleAt = 1767787200000

/** The file that the examples use. A real one would hold the bytes of a picture. */
export const picture = { name: 'ada/small.png', content: 'the bytes of a picture', contentType: 'image/png' }
export const thePicture = { ...inAvatars, name: picture.name }

export const fileOf = (content: string, more: object, updatedAt: number) => ({
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

export const otherVersion = {
  code: 'precondition_failed',
  message: `The file is at version ${fileExampleAt}; nothing was changed.`,
  hint: ['Write with that version, ', 'after you have read the record again: ', call('getFile', thePicture)],
} as const

export const inMilliseconds = {
  code: 'invalid_ttl',
  message: 'ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.',
  field: 'ttl',
  hint: 'It looks like milliseconds; give seconds: 4102444800.',
} as const
