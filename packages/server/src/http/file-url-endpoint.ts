import { type Awaitable, andThen } from '../core/awaitable.ts'
import { CubbyError } from '../core/errors.ts'
import { isBucketId } from '../core/files/bucket-id.ts'
import { isSameType, saysType } from '../core/files/content-type.ts'
import { fileTooLarge, noMetadata } from '../core/files/file-options.ts'
import type { Visibility } from '../core/files/file-record.ts'
import { isSigned, readSigned, type Signed, signedParameters } from '../core/files/signed-url.ts'
import { downloadNameCharactersMax, fileBytesMax } from '../core/limits.ts'
import { decodeMark, shareOfUser } from '../core/tokens/user-token.ts'
import { authorize } from '../operations/authorize.ts'
import { bytesSourceOf } from '../operations/files/bytes-source.ts'
import { readFile, requireBlobStore } from '../operations/files/file-access.ts'
import { markParameter } from '../operations/files/sign-url.ts'
import type { PutFileInput } from '../operations/files/upload.ts'
import type { TaskServices } from '../operations/tasks/task-services.ts'
import type { LoginServices } from '../operations/tokens/login-services.ts'
import type { ApiKey } from '../store/api-keys.ts'
import type { BlobStore } from '../store/blob-store.ts'
import type { Engine } from '../store/engine.ts'
import type { Table } from '../store/tables.ts'
import type { TokenMark } from '../store/users.ts'
import { revoked, revokedToken } from './authenticate.ts'
import type { Exchange } from './exchange.ts'
import { longNamePaths } from './file-paths.ts'
import { readUploadHead, respondRecordOf } from './handlers/files.ts'
import { refuseIdempotencyKey } from './idempotency.ts'
import { queryOf } from './observe.ts'
import { fileNameOf } from './path-values.ts'
import { RequestExchange, type Shared } from './request-exchange.ts'
import { respondFile } from './respond-file.ts'
import type { Route } from './routes.ts'

// `/files/<bucket id>/<name>`: files by their URLs, for everybody who has one. No API key is read here. A signed URL stands
// for the key that signed it, as long as that key is valid.

const bucketPath = '/files/:bucketId'

/** The path of a file as documents show it. */
export const fileUrlPath = `${bucketPath}/:name`

export const fileUrlPaths: readonly string[] = [fileUrlPath, ...longNamePaths(bucketPath)]

/** Unknown bucket, unknown file and private file: nobody can tell which. */
const noFile = (): CubbyError =>
  new CubbyError('file_not_found', 'There is no file at this URL.', {
    hint: 'A private file needs a signed URL, which a secret key of the service can make.',
  })

const invalid = (): CubbyError =>
  new CubbyError('invalid_signature', 'The signature is not valid for this request.', {
    hint: 'Use the URL exactly as it was given, with its method, without changed or added parameters.',
  })

const expired = (): CubbyError =>
  new CubbyError('expired_url', 'The URL has expired.', {
    hint: 'Ask for a new one where this one came from. New ones are made by POST /v1/:db/_buckets/:bucket/url.',
  })

/** Conditions are not allowed on a signed upload, so the hint of an upload with a key would lead nowhere. */
const nameTaken = ({ message }: CubbyError): CubbyError =>
  new CubbyError('precondition_failed', message, {
    hint: 'This URL creates a file and does not replace one. Ask for a URL of another name, or for one made with "replace": true.',
  })

/** The operations of the endpoint, for the log, the metrics and the description. */
export type FileUrlOperationId = 'readFileByUrl' | 'putFileByUrl'

export type FileUrlRoute = Route<FileUrlOperationId>

/** The parts of the store that the endpoint needs. */
export interface FileUrlOptions {
  engine: Engine
  blobStore?: BlobStore
  tasks: TaskServices
  logins: LoginServices
}

/** A request to a URL. Its turns and its bytes are charged to the bucket's organization, and to the key that signed. */
export class FileUrlExchange extends RequestExchange {
  readonly name: string
  readonly query: string
  bucket!: Table
  signed: Signed | undefined
  signature: string | undefined
  readonly blobStore: BlobStore | undefined
  readonly engine: Engine
  readonly #services: Pick<FileUrlOptions, 'tasks' | 'logins'>
  readonly #isSigned: boolean
  /** That of the user token, if one has signed. */
  #mark: TokenMark | undefined
  #apiKey: ApiKey | undefined

  constructor(
    request: Request,
    params: Exchange['params'],
    requestId: string,
    route: FileUrlRoute,
    shared: Shared,
    { engine, blobStore, tasks, logins }: FileUrlOptions,
  ) {
    super(request, params, requestId, route, shared)
    this.engine = engine
    this.blobStore = blobStore
    this.#services = { tasks, logins }
    this.name = fileNameOf(this)
    this.query = queryOf(request.url)
    this.#isSigned = isSigned(this.query)
  }

  /** A bucket or a signature must be looked at first. */
  override isKnown(): boolean {
    return false
  }

  override get orgId(): number {
    return this.bucket.orgId
  }

  override get keySeq(): number {
    if (this.#mark !== undefined) return shareOfUser(this.orgId, this.#mark.userHash)
    return this.#apiKey?.seq ?? 0
  }

  override get identity(): RequestExchange['identity'] {
    // The bucket is not set before it was found.
    const bucket = this.bucket as Table | undefined
    return bucket && { orgId: bucket.orgId, keyId: this.#apiKey?.id }
  }

  /** Called again after every wait: the key may have been revoked meanwhile. The URL's own time counts at the head only. */
  override authenticate(): Awaitable<void> {
    const isHead = this.nowMs === 0
    this.nowMs = this.now()
    if (!this.#isSigned) {
      // No bucket is looked up: without a signature nobody puts a file.
      if (this.route.keyNeeded !== 'read') throw noFile()
      return this.#findBucket()
    }
    return andThen(this.signed ?? this.#checkSignature(), (signed) => this.#admitSigned(signed, isHead))
  }

  #admitSigned(signed: Signed, isHead: boolean): Awaitable<void> {
    this.signed = signed
    return andThen(this.engine.apiKeys.findById(signed.keyId), (apiKey) => {
      // It was there when it signed: its organization is deleted, and everything of it with it.
      if (apiKey === undefined) throw noFile()
      if (apiKey.revokedAtMs !== null) throw revoked()
      const isOver = (ms: number | null): boolean => ms !== null && ms <= this.nowMs
      if (isOver(apiKey.expiresAtMs) || (isHead && isOver(signed.expiresAtMs))) throw expired()
      this.#apiKey = apiKey
      this.access = { engine: this.engine, apiKey, blobStore: this.blobStore, ...this.#services }
      return andThen(this.#refuseRevokedUser(apiKey), () =>
        andThen(this.#findBucket(), () => {
          if (this.bucket.orgId !== apiKey.orgId) throw noFile()
          authorize(apiKey, this.route, { db: this.bucket.db })
        }),
      )
    })
  }

  /** A URL that a user has signed ends when the user is revoked. */
  #refuseRevokedUser({ orgId }: ApiKey): Awaitable<void> {
    if (this.#mark === undefined) return
    return andThen(this.engine.users.stateOf(orgId, this.#mark), (state) => {
      if (state === 'revoked') throw revokedToken()
      if (state === 'forgotten') throw expired()
    })
  }

  #checkSignature(): Awaitable<Signed> {
    const method = this.request.method === 'PUT' ? 'PUT' : 'GET'
    const target = { method, bucketId: this.params.bucketId!, name: this.name } as const
    const parameters = signedParameters(this.query)
    if (parameters === undefined) throw invalid()
    return andThen(this.engine.secrets.at(this.nowMs), ({ urlKeys, tokenSeal }) => {
      const signed = readSigned(urlKeys, target, parameters, this.nowMs)
      if (signed === undefined) throw invalid()
      const mark = signed.options.get(markParameter)
      this.#mark = mark === undefined ? undefined : decodeMark(tokenSeal, mark)
      if (mark !== undefined && this.#mark === undefined) throw invalid()
      this.signature = parameters.find(([name]) => name === 'signature')![1]
      return signed
    })
  }

  #findBucket(): Awaitable<void> {
    const { bucketId } = this.params
    if (!isBucketId(bucketId!)) throw noFile()
    return andThen(this.engine.buckets.findById(bucketId!), (bucket) => {
      if (bucket === undefined) throw noFile()
      this.bucket = bucket
    })
  }
}

/** The parameters that a permanent URL knows. Others are skipped, not decoded: there may be thousands. */
const known = {
  v: /(?:^|&)v(?:=([^&]*))?(?=&|$)/,
  download: /(?:^|&)download(?:=([^&]*))?(?=&|$)/,
}

const parameter = (query: string, name: keyof typeof known): string | undefined => {
  const found = known[name].exec(query)
  return found === null ? undefined : new URLSearchParams(`v=${found[1] ?? ''}`).get('v')!
}

/**
 * `?download` or `?download=name`. A name that cannot be one is ignored, as everything is that a permanent URL has too much.
 */
const downloadOf = ({ query, signed }: FileUrlExchange): true | string | undefined => {
  const value = signed === undefined ? parameter(query, 'download') : signed.options.get('download')
  if (value === undefined) return undefined
  return value === '' || [...value].length > downloadNameCharactersMax ? true : value
}

const readByUrl = async (exchange: FileUrlExchange): Promise<Response> => {
  const { engine, bucket, name, nowMs, keySeq, query, signed } = exchange
  const blobStore = requireBlobStore(exchange)
  const file = await readFile({ engine, apiKey: { seq: keySeq } }, bucket, name, nowMs)
  if (file === undefined || (signed === undefined && file.content.visibility === 'private')) throw noFile()
  const isCurrent = parameter(query, 'v') === String(file.updatedAtMs)
  const permanent = isCurrent ? 'public, max-age=31536000, immutable' : 'public, no-cache'
  const cacheControl = signed === undefined ? permanent : 'private, no-cache'
  const source = bytesSourceOf(engine, blobStore, file, keySeq)
  return respondFile(exchange, file, source, { cacheControl, download: downloadOf(exchange) })
}

const refuseConditions = (headers: Headers): void => {
  for (const header of ['If-Match', 'If-None-Match']) {
    if (!headers.has(header)) continue
    throw new CubbyError('invalid_request', `${header} is not allowed on a signed upload.`, {
      field: header,
      hint: 'The URL itself says whether it may replace a file: "replace" when it is made.',
    })
  }
}

const isOther = (header: string | null, contentType: string): boolean =>
  saysType(header) && !isSameType(header, contentType)

/** Reads the head of the request and the options of the URL. */
const readSignedUpload = ({ request, bucket, name, nowMs, signed }: FileUrlExchange): PutFileInput => {
  const { headers } = request
  refuseConditions(headers)
  refuseIdempotencyKey(headers)
  const { options } = signed!
  // No URL: its parameters are options of the signature, not of the upload.
  const head = readUploadHead(headers, '', { db: bucket.db, bucket: bucket.name, name }, nowMs)
  const contentType = options.get('contentType')
  if (contentType !== undefined && isOther(headers.get('content-type'), contentType)) {
    throw new CubbyError('unsupported_media_type', `This URL takes files of the type ${contentType} only.`, {
      field: 'Content-Type',
      hint: `Send "Content-Type: ${contentType}".`,
    })
  }
  const bytesMax = Number(options.get('sizeMax') ?? fileBytesMax)
  if (head.bytes !== undefined && head.bytes > bytesMax) throw fileTooLarge(bytesMax)
  const ttl = options.get('ttl')
  return {
    ...head,
    bucketId: bucket.publicId!,
    contentType: contentType ?? head.contentType,
    visibility: (options.get('visibility') ?? 'private') as Visibility,
    metadata: options.get('metadata') ?? noMetadata,
    ttlSeconds: ttl === undefined ? null : Number(ttl),
    condition: options.get('replace') === 'true' ? undefined : 'absent',
    bytesMax,
  }
}

const putByUrl = async (exchange: FileUrlExchange): Promise<Response> => {
  try {
    const stored = await exchange.uploads.receive(exchange, readSignedUpload(exchange))
    return respondRecordOf(exchange, stored)
  } catch (error) {
    // The error names the bucket; a URL does not.
    if (error instanceof CubbyError && error.code === 'bucket_not_found') throw noFile()
    if (error instanceof CubbyError && error.code === 'precondition_failed') throw nameTaken(error)
    throw error
  }
}

export const fileUrlRoutes = {
  GET: {
    operationId: 'readFileByUrl',
    keyNeeded: 'read',
    waits: true,
    handler: (exchange) => readByUrl(exchange as FileUrlExchange),
  },
  PUT: {
    operationId: 'putFileByUrl',
    keyNeeded: 'write',
    body: 'upload',
    handler: (exchange) => putByUrl(exchange as FileUrlExchange),
  },
} satisfies Record<string, FileUrlRoute>
