import type { ExampleCall } from '../example.ts'
import { thePicture } from './examples.ts'

export const base = 'http://127.0.0.1:4600/files/bkt_6Qm2sVx9LrT4nYc8WbKd1e'
export const expiresAt = 1767788100000
export const urlKeyId = 'key_4fTz9QmL2xVb7NcR'
export const urlSignature = 'W3Vd0xTq5m9nJcYkq2bq0bSx2o4o1mUu3C8h6y7rZtA'
/** `options`: what was asked for beside the name, as parameters that end with `&`. */
export const signedUrl = (url: string, options = ''): string =>
  `${url}?${options}expires=${expiresAt}&key=${urlKeyId}&signature=${urlSignature}`

export const publish: ExampleCall = { operation: 'changeFile', input: { ...thePicture, visibility: 'public' } }
