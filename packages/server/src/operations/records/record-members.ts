import { dataBytesMax, dataDepthMax, keyBytesMax, patchPointersMax, ttlSecondsMax } from '../../core/limits.ts'
import { freeObject, milliseconds, nullable, number, ref, type Schema, someOf } from '../schema.ts'

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

/** A JSON Pointer (RFC 6901) to a member or element. */
const pointer: Schema = { type: 'string', pattern: `^(/([^~/]|~[01])*){1,${dataDepthMax}}$` }

/** What a patch changes. */
export const patchMembers = {
  merge: freeObject(
    'A JSON Merge Patch (RFC 7396) for `data`: objects are merged, null removes, everything else replaces. A member twice in an object is rejected.',
  ),
  increment: {
    type: 'object',
    minProperties: 1,
    maxProperties: patchPointersMax,
    propertyNames: pointer,
    additionalProperties: {
      oneOf: [
        { type: 'number' },
        {
          type: 'object',
          properties: { by: { type: 'number' }, min: { type: 'number' }, max: { type: 'number' } },
          required: ['by'],
          additionalProperties: false,
        },
      ],
    },
    description:
      'Numbers to add, by JSON Pointer (`/total`, `/lines/0/count`), exactly, as decimals. A missing number counts as 0 and is made. With `min` or `max`, a sum outside is rejected.',
  },
  append: {
    type: 'object',
    minProperties: 1,
    maxProperties: patchPointersMax,
    propertyNames: pointer,
    additionalProperties: { type: 'array', items: {} },
    description: `Values to append to arrays, by JSON Pointer. A missing array is made. \`increment\` and \`append\` have at most ${patchPointersMax} pointers together, none of which is another or leads below it.`,
  },
  ttl: nullable('integer', {
    format: 'int64',
    minimum: 0,
    maximum: ttlSecondsMax,
    description: 'When the record expires, in epoch seconds; null: never. Without it the present `ttl` stays.',
  }),
} satisfies Record<string, Schema>

export const patchNeeds = someOf(Object.keys(patchMembers))
