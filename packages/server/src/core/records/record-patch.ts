import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { batchBodyBytesMax } from '../limits.ts'
import { type Members, refuseUnknownMembers } from '../members.ts'
import { type IndexEntries, type Indices, readIndexEntries } from '../tables/indices.ts'
import { type Span, valueSpan } from '../text/json-span.ts'
import { applyPatch, type Patch, parsePatchMembers } from './patch.ts'
import { parseData, parseTtl } from './record-data.ts'
import { parseRecordKey, type RecordKey } from './record-key.ts'

/** The checked content of a patch of a record. */
export interface RecordToPatch extends RecordKey {
  patch: Patch
}

const changes = ['merge', 'increment', 'append'] as const

const changeText = (
  name: string,
  members: Members,
  text: string,
  spans: Map<string, Span> | undefined,
  prefix: string,
): string | undefined => {
  const value = members[name]
  if (value === undefined) return undefined
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const { start, end } = spans!.get(name)!
    return text.slice(start, end)
  }
  const field = `${prefix}${name}`
  throw new CubbyError('invalid_request', `${field} is ${describeValue(value)}; it takes a JSON object.`, { field })
}

/** `members` have shallow values, `text` is the whole body and `spans` the places of its objects, as in `parseRecordToPut`. */
export const parseRecordToPatch = (
  members: Members,
  text: string,
  spans: Map<string, Span> | undefined,
  nowMs: number,
  prefix = '',
  alsoKnown: readonly string[] = [],
): RecordToPatch => {
  if (members.data !== undefined) {
    throw new CubbyError('invalid_request', `${prefix}data is not a field of a patch.`, {
      field: `${prefix}data`,
      hint: 'Write it as "merge": the members in it are changed, and all others stay.',
    })
  }
  refuseUnknownMembers(members, ['hashKey', 'rangeKey', ...changes, 'ttl', ...alsoKnown], prefix)
  const key = parseRecordKey(members.hashKey, members.rangeKey, prefix)
  const [merge, increment, append] = changes.map((name) => changeText(name, members, text, spans, prefix))
  const { ttl } = members
  if (merge === undefined && increment === undefined && append === undefined && ttl === undefined) {
    throw new CubbyError(
      'invalid_request',
      `${prefix}merge is missing; a patch takes merge, increment, append or ttl.`,
      {
        field: `${prefix}merge`,
        hint: 'Give what changes: { "merge": { "status": "paid" } }.',
      },
    )
  }
  const patch: Patch = parsePatchMembers({ merge, increment, append }, prefix)
  if (ttl !== undefined) patch.ttl = ttl === null ? null : parseTtl(ttl, `${prefix}ttl`, nowMs)
  return { ...key, patch }
}

export interface PatchToApply {
  patch: Patch
  indices: Indices
  /** Names the operation in errors: `operations[2].`, or nothing. */
  prefix: string
  /** The most bytes of the result, if a user token limits them. */
  sizeMax?: number | undefined
}

interface PatchedRecord {
  data: string
  ttlSeconds: number | null
  entries: IndexEntries
}

/** What a patch makes of a record. One that does not exist is as one with the data `{}`. */
export const patchRecord = (
  { patch, indices, prefix, sizeMax }: PatchToApply,
  current: { data: string; ttlSeconds: number | null } | undefined,
): PatchedRecord => {
  const patched = applyPatch(current?.data ?? '{}', patch, prefix)
  const data = parseData({}, patched, valueSpan(patched, 0), `${prefix}data`, sizeMax)
  const ttlSeconds = patch.ttl === undefined ? (current?.ttlSeconds ?? null) : patch.ttl
  return { data, ttlSeconds, entries: entriesOf(indices, data, prefix) }
}

const entriesOf = (indices: Indices, data: string, prefix: string): IndexEntries => {
  try {
    return readIndexEntries(indices, { data })
  } catch (error) {
    throw error instanceof CubbyError && prefix !== '' ? error.within(prefix.slice(0, -1)) : error
  }
}

/** The results of all patches of a batch have a limit, as the body of a batch of puts has. */
export class PatchResults {
  #bytes = 0

  add(data: string): void {
    this.#bytes += Buffer.byteLength(data)
    if (this.#bytes <= batchBodyBytesMax) return
    throw new CubbyError(
      'record_too_large',
      `The results of the patches have more than ${batchBodyBytesMax} bytes of JSON, which a batch takes at most.`,
      { field: 'operations', hint: 'Send the patches in several batches.' },
    )
  }
}

/** The characters that a patch brings. */
export const lengthOf = ({ merge = '', increments = [], appends = [] }: Patch): number => {
  let length = merge.length
  for (const { pointer } of increments) length += pointer.length
  for (const { pointer, values } of appends) length += pointer.length + values.length
  return length
}
