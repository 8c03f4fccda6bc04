import { dataBytesMax, dataDepthMax, keyBytesMax, ttlSecondsMax } from '../../core/limits.ts'
import { freeObject, milliseconds, number, ref, type Schema } from '../schema.ts'

export const recordKeyPart: Schema = {
  type: 'string',
  minLength: 1,
  maxLength: keyBytesMax,
  not: { enum: ['.', '..'] },
  description: `1 to ${number(keyBytesMax)} bytes of UTF-8, any character, no lone surrogates. Only \`.\` and \`..\` are rejected, because URL parsers drop such segments.`,
}

export const hashKey = ref('RecordKeyPart')
export const rangeKey: Schema = {
  ...ref('RecordKeyPart'),
  description:
    'Optional. A record without a range key is stored with `#`: `"rangeKey": "#"` and no range key address the same record.',
}

export const data = freeObject(
  `Any JSON object of at most ${number(dataBytesMax)} bytes, as it was sent, and ${dataDepthMax} levels. It is returned exactly as it was sent, with the same member order, number text and white space.`,
)

export const ttl: Schema = {
  type: 'integer',
  format: 'int64',
  minimum: 0,
  maximum: ttlSecondsMax,
  description:
    'When the record expires: epoch seconds, not a duration. The record no longer exists once this second begins. A time more than a day in the past is rejected. A put without `ttl` removes an earlier `ttl`.',
}

export const updatedAt = milliseconds(
  "The record's version, which is also its `ETag`. It strictly increases with every write while the record exists.",
)
