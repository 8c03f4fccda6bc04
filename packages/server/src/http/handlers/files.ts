import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { CubbyError } from '../../core/errors.ts'
import { parseContentDigest } from '../../core/files/content-digest.ts'
import { typeOfUpload } from '../../core/files/content-type.ts'
import { parseFileName } from '../../core/files/file-name.ts'
import { fileTooLarge, parseMetadata, parseVisibility } from '../../core/files/file-options.ts'
import { parseFileQuery } from '../../core/files/file-query.ts'
import { fileBytesMax, fileNameSegmentsMax, plainBodyBytesMax } from '../../core/limits.ts'
import { parseTtl } from '../../core/records/record-data.ts'
import { parseBucketAddress, requirePlace } from '../../operations/buckets/bucket-access.ts'
import { bytesSourceOf } from '../../operations/files/bytes-source.ts'
import { changeFile, parseChangeBody } from '../../operations/files/change-file.ts'
import { deleteFile } from '../../operations/files/delete-file.ts'
import { type FileAddress, requireFile, type StoredFile } from '../../operations/files/file-access.ts'
import { fileUrlJson, getFileUrl, parseFileUrl } from '../../operations/files/get-file-url.ts'
import { fileJson, permanentUrl } from '../../operations/files/present-file.ts'
import { filePageJson, listFiles } from '../../operations/files/query-files.ts'
import type { PutFileInput } from '../../operations/files/upload.ts'
import { declaredLength, refuseBody } from '../body.ts'
import { matchesIfNoneMatch, parseWriteCondition, refuseIfMatchOnRead } from '../conditions.ts'
import type { Exchange } from '../exchange.ts'
import { parseFlagParameter, parseParameters } from '../query-parameters.ts'
import { respondLongText, respondNotModified, respondText, respondVersion } from '../respond.ts'
import { respondFile } from '../respond-file.ts'
import { hasDecodableQuery, readMembers, refuseBadEscapes, refuseExtras } from './gather.ts'

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

const fileAddressOf = (exchange: Exchange): FileAddress => {
  const { db, bucket } = exchange.params
  return { ...parseBucketAddress(db, bucket), name: fileNameOf(exchange) }
}

/** `Content-Encoding` would have to be kept and sent again: bytes are stored as they are. */
const refuseEncoding = (headers: Headers): void => {
  if (!headers.has('content-encoding')) return
  throw new CubbyError('unsupported_media_type', 'Content-Encoding is not allowed on a file.', {
    field: 'Content-Encoding',
    hint: 'Send the bytes as they are; for a compressed file give its own Content-Type, such as application/gzip.',
  })
}

const parseTtlParameter = (value: string | undefined, nowMs: number): number | null =>
  parseTtl(value !== undefined && /^-?[0-9]+$/.test(value) ? Number(value) : value, 'ttl', nowMs)

const parseMetadataParameter = (url: string, metadata: string | undefined): string => {
  // An escape that is not UTF-8 was replaced; only the raw query shows whether U+FFFD was really sent.
  if (metadata?.includes('\ufffd') && !hasDecodableQuery(url)) {
    throw new CubbyError('invalid_request', 'metadata has a percent-escape that is malformed or not UTF-8.', {
      field: 'metadata',
      hint: 'Percent-encode the UTF-8 bytes of the JSON text once, as encodeURIComponent does.',
    })
  }
  return parseMetadata(metadata)
}

/** What the head of an upload says. */
export const readUploadHead = (headers: Headers, url: string, address: FileAddress, nowMs: number): PutFileInput => {
  const contentType = typeOfUpload(headers.get('content-type'), address.name)
  refuseEncoding(headers)
  const bytes = declaredLength(headers)
  if (bytes !== undefined && bytes > fileBytesMax) throw fileTooLarge()
  const sha256 = parseContentDigest(headers.get('content-digest'))
  const { visibility, ttl, metadata } = parseParameters(url, ['visibility', 'ttl', 'metadata'])
  return {
    ...address,
    contentType,
    visibility: parseVisibility(visibility),
    metadata: parseMetadataParameter(url, metadata),
    ttlSeconds: parseTtlParameter(ttl, nowMs),
    condition: parseWriteCondition(headers, 'PUT'),
    sha256,
    bytes,
    bytesMax: fileBytesMax,
  }
}

export const respondRecordOf = (exchange: Exchange, file: StoredFile): Response =>
  respondVersion(exchange, fileJson(file, permanentUrl(file, exchange.baseUrl)), file.updatedAtMs)

export const fileHandlers = {
  async putFile(exchange: Exchange): Promise<Response> {
    const { headers, url } = exchange.request
    const input = readUploadHead(headers, url, fileAddressOf(exchange), exchange.nowMs)
    return respondRecordOf(exchange, await exchange.uploads.receive(exchange, input))
  },

  /** The bytes, or with `record=true` the record. */
  getFile(exchange: Exchange): Awaitable<Response> {
    const address = fileAddressOf(exchange)
    const { headers, url } = exchange.request
    const { record } = parseParameters(url, ['record'])
    const { access, nowMs } = exchange
    if (!parseFlagParameter(record, 'record')) {
      const place = requirePlace(access)
      return andThen(requireFile(access, address, nowMs), (file) =>
        respondFile(exchange, file, bytesSourceOf(access.engine, place, file, access.apiKey.seq), {
          cacheControl: 'private, no-cache',
        }),
      )
    }
    refuseIfMatchOnRead(headers)
    return andThen(requireFile(access, address, nowMs), (file) =>
      matchesIfNoneMatch(headers, file.updatedAtMs)
        ? respondNotModified(exchange.requestId, file.updatedAtMs)
        : respondRecordOf(exchange, file),
    )
  },

  async changeFile(exchange: Exchange): Promise<Response> {
    const address = fileAddressOf(exchange)
    const { headers, url } = exchange.request
    const text = await exchange.readBody(plainBodyBytesMax)
    const changes = parseChangeBody(text, exchange.nowMs)
    parseParameters(url, [])
    const input = { ...address, changes, condition: parseWriteCondition(headers, 'PATCH') }
    return respondRecordOf(exchange, await changeFile(exchange.access, input, exchange.nowMs))
  },

  async deleteFile(exchange: Exchange): Promise<Response> {
    const address = fileAddressOf(exchange)
    const { headers, url } = exchange.request
    refuseBody(headers)
    parseParameters(url, [])
    const input = { ...address, condition: parseWriteCondition(headers, 'DELETE') }
    const deleted = await deleteFile(exchange.access, input, exchange.nowMs)
    return respondText(exchange.requestId, JSON.stringify({ deleted }))
  },

  async getFileUrl(exchange: Exchange): Promise<Response> {
    const { db, bucket } = parseBucketAddress(exchange.params.db, exchange.params.bucket)
    const text = await exchange.readBody(plainBodyBytesMax)
    const input = parseFileUrl(text, db, bucket, exchange.nowMs)
    refuseExtras(exchange)
    const url = await getFileUrl(exchange.access, input, exchange.nowMs)
    return respondText(exchange.requestId, fileUrlJson(url, exchange.baseUrl))
  },

  async queryFiles(exchange: Exchange): Promise<Response> {
    const address = parseBucketAddress(exchange.params.db, exchange.params.bucket)
    const query = parseFileQuery(await readMembers(exchange, true))
    refuseExtras(exchange)
    const page = await listFiles(exchange, { ...address, query }, exchange.baseUrl)
    return respondLongText(exchange, filePageJson(page))
  },
}
