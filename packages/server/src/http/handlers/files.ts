import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { CubbyError } from '../../core/errors.ts'
import { parseContentDigest } from '../../core/files/content-digest.ts'
import { typeOfUpload } from '../../core/files/content-type.ts'
import { fileTooLarge, parseMetadata, parseVisibility } from '../../core/files/file-options.ts'
import { parseFileQuery } from '../../core/files/file-query.ts'
import { fileBytesMax, plainBodyBytesMax } from '../../core/limits.ts'
import { parseTtl } from '../../core/records/record-data.ts'
import { parseBucketAddress } from '../../operations/access.ts'
import { bytesGranted } from '../../operations/authorize.ts'
import { bytesSourceOf } from '../../operations/files/bytes-source.ts'
import { type FileAddress, requireBlobStore, requireFile, type StoredFile } from '../../operations/files/file-access.ts'
import { presentFile } from '../../operations/files/present-file.ts'
import { filePageJson, listFiles, queryFilesOperation } from '../../operations/files/query-files.ts'
import type { PutFileInput } from '../../operations/files/upload.ts'
import { readJson } from '../../operations/parse-input.ts'
import { type ApiKey, shareOf } from '../../store/api-keys.ts'
import { declaredLength } from '../body.ts'
import { matchesIfNoneMatch, parseWriteCondition, refuseIfMatchOnRead } from '../conditions.ts'
import type { Exchange } from '../exchange.ts'
import { fileNameOf, hasDecodableQuery, refuseExtras } from '../path-values.ts'
import { parseFlagParameter, parseParameters } from '../query-parameters.ts'
import { respondLongText, respondNotModified, respondVersion } from '../respond.ts'
import { respondFile } from '../respond-file.ts'

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

/** Reads the head of an upload. */
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

/** A grant may allow less than a bucket takes. */
const limitToGrants = (apiKey: ApiKey, input: PutFileInput): void => {
  const { db, bucket, name, bytes } = input
  input.bytesMax = bytesGranted(apiKey, { of: 'file', db, bucket, can: 'write', name }) ?? input.bytesMax
  if (bytes !== undefined && bytes > input.bytesMax) throw fileTooLarge(input.bytesMax)
}

export const respondRecordOf = (exchange: Exchange, file: StoredFile): Response =>
  respondVersion(exchange, presentFile(file, exchange.baseUrl), file.updatedAtMs)

export const fileHandlers = {
  async putFile(exchange: Exchange): Promise<Response> {
    const { headers, url } = exchange.request
    const input = exchange.permit(readUploadHead(headers, url, fileAddressOf(exchange), exchange.nowMs))
    limitToGrants(exchange.access.apiKey, input)
    return respondRecordOf(exchange, await exchange.uploads.receive(exchange, input))
  },

  /** The bytes, or with `record=true` the record. */
  getFile(exchange: Exchange): Awaitable<Response> {
    const address = fileAddressOf(exchange)
    const { headers, url } = exchange.request
    const { record } = parseParameters(url, ['record'])
    const isRecord = parseFlagParameter(record, 'record')
    if (isRecord) refuseIfMatchOnRead(headers)
    exchange.permit(address)
    const { access, nowMs } = exchange
    if (!isRecord) {
      const blobStore = requireBlobStore(access)
      return andThen(requireFile(access, address, nowMs), (file) =>
        respondFile(exchange, file, bytesSourceOf(access.engine, blobStore, file, shareOf(access.apiKey)), {
          cacheControl: 'private, no-cache',
        }),
      )
    }
    return andThen(requireFile(access, address, nowMs), (file) =>
      matchesIfNoneMatch(headers, file.updatedAtMs)
        ? respondNotModified(exchange.requestId, file.updatedAtMs)
        : respondRecordOf(exchange, file),
    )
  },

  async queryFiles(exchange: Exchange): Promise<Response> {
    const address = parseBucketAddress(exchange.params.db, exchange.params.bucket)
    const text = await exchange.readBody(plainBodyBytesMax)
    const query = parseFileQuery(readJson(queryFilesOperation, text, true).members)
    refuseExtras(exchange)
    const input = exchange.permit({ ...address, query })
    const page = await listFiles(exchange, input, exchange.baseUrl)
    return respondLongText(exchange, filePageJson(page))
  },
}
