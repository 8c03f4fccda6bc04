import { CubbyError } from '../core/errors.ts'
import { parseFileName } from '../core/files/file-name.ts'
import { fileNameSegmentsMax } from '../core/limits.ts'
import { noRangeKey, parseKeyPart } from '../core/records/record-key.ts'
import { refuseConditions } from './conditions.ts'
import type { Exchange } from './exchange.ts'
import { parseParameters } from './query-parameters.ts'

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

/** The name is all that follows the bucket in the path: see `longNameParameters`. */
export const fileNameOf = ({ params, request }: Pick<Exchange, 'params' | 'request'>): string => {
  const { name } = params
  if (name === undefined) {
    throw new CubbyError('invalid_key', `name has more than ${fileNameSegmentsMax} segments.`, {
      field: 'name',
      hint: 'Use fewer "/".',
    })
  }
  refuseBadEscapes(request.url, name, 'name')
  return parseFileName(name)
}

/** Refuses parameters and conditions of requests that take neither. */
export const refuseExtras = ({ request }: Exchange): void => {
  parseParameters(request.url, [])
  refuseConditions(request.headers)
}
