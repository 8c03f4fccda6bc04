import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { dataDepthMax, fileBytesMax, fileMetadataBytesMax } from '../limits.ts'
import { readScalar, type Scalar, words } from '../scalar.ts'
import { checkJson, skipSpace } from '../text/json-scan.ts'
import { valueSpan, walkObject } from '../text/json-span.ts'
import type { Visibility } from './file-record.ts'

export const visibilityRule = {
  type: 'string',
  enum: ['private', 'public'],
  [words]: { hint: 'Leave it out for a private file.' },
} as const satisfies Scalar

/** `private` if it is absent. */
export const parseVisibility = (value: unknown): Visibility =>
  readScalar(visibilityRule, value, 'visibility') ?? 'private'

export const noMetadata = '{}'

const refuseMetadata = (message: string, hint?: string): never => {
  throw new CubbyError('invalid_request', `metadata ${message}`, { field: 'metadata', hint })
}

/** The text of a JSON object. It is kept as it was sent. */
export const parseMetadata = (text: string | undefined): string => {
  if (text === undefined) return noMetadata
  try {
    checkJson(text, 'metadata')
  } catch (error) {
    if (!(error instanceof CubbyError)) throw error
    return refuseMetadata('is not valid JSON.', 'Give a JSON object, such as {"owner":"ada"}, percent-encoded once.')
  }
  const start = skipSpace(text, 0)
  if (text[start] !== '{') return refuseMetadata('is not a JSON object.', 'Wrap it: {"value": …}.')
  const bytes = Buffer.byteLength(text)
  if (bytes > fileMetadataBytesMax) {
    return refuseMetadata(
      `has ${bytes} bytes of JSON; it takes at most ${fileMetadataBytesMax}.`,
      'Keep larger values in a record of a table.',
    )
  }
  const { depth } = valueSpan(text, start)
  if (depth > dataDepthMax) {
    return refuseMetadata(`is ${depth} levels deep; it takes at most ${dataDepthMax}.`, 'Flatten it.')
  }
  return text
}

/** The member `metadata` of a body: the text as it was sent. */
export const parseMetadataMember = (body: string, value: unknown): string => {
  if (value === undefined) return noMetadata
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuseMetadata(`is ${describeValue(value)}; it takes a JSON object.`, 'Give {} for none.')
  }
  let text: string | undefined
  walkObject(body, 0, '', (name, start) => {
    const span = valueSpan(body, start)
    if (name === 'metadata') text = body.slice(span.start, span.end)
    return span.end
  })
  return parseMetadata(text)
}

export const fileTooLarge = (bytesMax = fileBytesMax): CubbyError =>
  new CubbyError('file_too_large', `The file is larger than ${bytesMax} bytes.`, {
    hint:
      bytesMax === fileBytesMax
        ? 'Split it into several files.'
        : `This URL, or this user token, allows at most ${bytesMax.toLocaleString('en-US')} bytes.`,
  })
