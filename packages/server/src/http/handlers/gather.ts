import { CubbyError } from '../../core/errors.ts'
import { plainBodyBytesMax } from '../../core/limits.ts'
import type { Members } from '../../core/members.ts'
import { parseName } from '../../core/names.ts'
import { noRangeKey, parseKeyPart } from '../../core/records/record-key.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { parseAddress, type TableAddress } from '../../operations/access.ts'
import { type BucketAddress, parseBucketAddress } from '../../operations/buckets/bucket-access.ts'
import type { ListingInput } from '../../operations/listing.ts'
import type { ListOfDatabaseInput } from '../../operations/tables/lifecycle.ts'
import { parseTaskAddress, type TaskAddress } from '../../operations/tasks/task-access.ts'
import { refuseConditions } from '../conditions.ts'
import type { Exchange } from '../exchange.ts'
import { parseFlagParameter, parseLimitParameter, parseParameters } from '../query-parameters.ts'

// Collects the input of operations from path, query string, headers and body.

export const addressOf = ({ params }: Exchange): TableAddress => parseAddress(params.db, params.table)

export const bucketAddressOf = ({ params }: Exchange): BucketAddress => parseBucketAddress(params.db, params.bucket)

export const taskAddressOf = ({ params }: Exchange): TaskAddress => parseTaskAddress(params.db, params.task)

const isDecodable = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** Bun replaces a path that it cannot decode with U+FFFD. Only the raw target shows whether U+FFFD was really sent. */
export const refuseBadEscapes = (url: string, segment: string, field: string): void => {
  if (segment.includes('\ufffd') && !isDecodable(url.split('?', 1)[0]!)) throw badEscape(field)
}

const badEscape = (field: string): CubbyError =>
  new CubbyError('invalid_key', `${field} has a percent-escape that is malformed or not UTF-8.`, {
    field,
    hint: 'Percent-encode the UTF-8 bytes of the key once, as encodeURIComponent does.',
  })

/** A segment of the path that is a key. */
export const keyOf = ({ params, request }: Exchange, name: 'hashKey' | 'rangeKey' | 'id'): string => {
  refuseBadEscapes(request.url, params[name]!, name)
  return parseKeyPart(params[name], name)
}

/** URLSearchParams replaces an escape that it cannot decode. */
export const hasDecodableQuery = (url: string): boolean => isDecodable(url.slice(url.indexOf('?')))

/**
 * The range key from the query string, in which `+` is a space. If an escape were replaced, the request would be about another
 * record.
 */
export const rangeKeyIn = (url: string, rangeKey: string | undefined): string => {
  if (rangeKey === undefined) return noRangeKey
  if (!hasDecodableQuery(url)) throw badEscape('rangeKey')
  return parseKeyPart(rangeKey, 'rangeKey')
}

/** A JSON object without `data`. If `optional`, an empty body counts as `{}`. */
export const readMembers = async (exchange: Exchange, optional = false): Promise<Members> => {
  const text = await exchange.readBody(plainBodyBytesMax)
  return text === '' && optional ? {} : parsePlainBody(text)
}

export const refuseExtras = ({ request }: Exchange): void => {
  parseParameters(request.url, [])
  refuseConditions(request.headers)
}

export const readListing = ({ request }: Exchange): ListingInput => {
  const { limit, cursor } = parseParameters(request.url, ['limit', 'cursor'])
  refuseConditions(request.headers)
  return { limit: parseLimitParameter(limit), cursor }
}

/** The input of a listing of tables, buckets or tasks. */
export const readListOfDatabase = ({ params, request }: Exchange): ListOfDatabaseInput => {
  const db = parseName(params.db, 'db')
  const { limit, cursor, deleted } = parseParameters(request.url, ['limit', 'cursor', 'deleted'])
  refuseConditions(request.headers)
  return { db, deleted: parseFlagParameter(deleted, 'deleted'), limit: parseLimitParameter(limit), cursor }
}
