import { createAvatars } from '../buckets/examples.ts'
import type { Example, ExampleCall } from '../example.ts'
import { given, inAvatars, noFile, picture, thePicture } from './examples.ts'

export const base = 'http://127.0.0.1:4600/files/bkt_6Qm2sVx9LrT4nYc8WbKd1e'
export const expiresAt = 1767788100000
export const urlKeyId = 'key_4fTz9QmL2xVb7NcR'
export const urlSignature = 'W3Vd0xTq5m9nJcYkq2bq0bSx2o4o1mUu3C8h6y7rZtA'
/** `options`: what was asked for beside the name, as parameters that end with `&`. */
export const signedUrl = (url: string, options = ''): string =>
  `${url}?${options}expires=${expiresAt}&key=${urlKeyId}&signature=${urlSignature}`

export const publish: ExampleCall = { operation: 'changeFile', input: { ...thePicture, visibility: 'public' } }

export const getFileUrl: Example[] = [
  {
    name: 'private',
    summary: 'A private file for a quarter of an hour',
    given,
    input: thePicture,
    output: { url: signedUrl(`${base}/ada/small.png`), method: 'GET', expiresAt },
  },
  {
    name: 'permanent',
    summary: 'A public file, to be saved as a file',
    given: [...given, publish],
    input: { ...thePicture, download: true },
    output: { url: `${base}/ada/small.png?download`, method: 'GET', expiresAt: null },
  },
  {
    name: 'upload',
    summary: 'Let a browser upload a picture of at most 1 MB',
    given: [createAvatars],
    input: { ...thePicture, method: 'PUT', expiresIn: 300, contentType: picture.contentType, sizeMax: 1_000_000 },
    output: {
      url: signedUrl(`${base}/ada/small.png`, 'contentType=image%2Fpng&sizeMax=1000000&'),
      method: 'PUT',
      expiresAt,
    },
  },
  {
    name: 'missing',
    summary: 'No such file',
    given,
    input: { ...inAvatars, name: 'ada/large.png' },
    error: noFile,
  },
  {
    name: 'badName',
    summary: 'No file can have this name',
    given,
    input: { ...inAvatars, name: 'ada/../small.png' },
    error: {
      code: 'invalid_key',
      message: 'name has a segment "." or "..", which URL parsers drop from paths.',
      field: 'name',
      hint: 'Use another name.',
    },
  },
  {
    name: 'millisecondsAsTtl',
    summary: 'A ttl in milliseconds',
    given: [createAvatars],
    input: { ...thePicture, method: 'PUT', ttl: 4102444800000 },
    error: {
      code: 'invalid_ttl',
      message: 'ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.',
      field: 'ttl',
      hint: 'It looks like milliseconds; give seconds: 4102444800.',
    },
  },
]
