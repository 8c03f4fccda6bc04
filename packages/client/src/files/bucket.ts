import { conditionHeaders, effectOf, parseCondition } from '../records/condition.ts'
import { checkPart, encodePath } from '../records/record-key.ts'
import { ttlSeconds } from '../records/ttl.ts'
import type { Condition } from '../records/typed-table.ts'
import { absentIf, refusal } from '../transport/errors.ts'
import { listPath } from '../transport/list-path.ts'
import { countAll, type Pages, queryPages } from '../transport/pages.ts'
import type { RequestOptions, Send } from '../transport/transport.ts'
import type {
  ChangeFileRequest,
  DeleteFileResponse,
  DownloadUrlRequest,
  FileItem,
  FileQuery,
  FileQueryResponse,
  FileRecord,
  FileUrl,
  UploadUrlRequest,
  Visibility,
} from '../transport/wire-files.ts'
import { type ByteRange, FileDownload, rangeHeader } from './download.ts'
import { type FileBody, type UploadOptions, upload } from './upload.ts'

const refused = /^\/|\/\/|\/$|[\u0000-\u001f\u007f-\u009f]/

/** `/name`, each segment encoded. What a URL parser drops from a path is refused: `a/../b` would be another file. */
const filePath = (name: string): string => {
  checkPart(name, 'name')
  if (refused.test(name))
    throw refusal('invalid_key', 'name', 'begins or ends with "/", or has "//" or a control character.')
  const segments = name.split('/')
  for (const segment of segments) checkPart(segment, 'name')
  return encodePath(segments, 'name')
}

export interface PutFileOptions<Metadata> extends UploadOptions, Condition {
  /** Default `private`, also when a public file is replaced. */
  visibility?: Visibility
  /** The time at which the file expires: epoch seconds (not a duration) or a `Date`. */
  ttl?: number | Date
  /** Metadata, at most 2,048 bytes of JSON. */
  metadata?: Metadata
}

export interface GetFileOptions extends RequestOptions {
  range?: ByteRange
}

export interface GetChangedOptions extends GetFileOptions {
  /** The `sha256` of the bytes that you have. */
  ifNoneMatch: string
}

export type ChangeFileOptions = RequestOptions & Pick<Condition, 'ifMatch'>

/** A request without the name. Its `ttl` may be a `Date`. */
type Options<Request extends { ttl?: unknown }> = Omit<Request, 'name' | 'ttl'> & { ttl?: Request['ttl'] | Date }

export class Bucket<Metadata extends object = Record<string, unknown>> {
  /** @internal */
  static readonly name: string = 'Bucket'
  readonly #send: Send
  readonly #path: string

  /** Call `db('app').bucket('avatars')` instead. */
  constructor(send: Send, path: string) {
    this.#send = send
    this.#path = path
  }

  /**
   * Uploads a file: creates it or replaces it as a whole. A stream is sent as it is read, and never retried; in browsers
   * it is read into memory first. There is no time limit unless the call has `timeoutMs`.
   */
  async put(name: string, body: FileBody, options: PutFileOptions<Metadata> = {}): Promise<FileRecord<Metadata>> {
    const { visibility, ttl, metadata, ifMatch, ifAbsent, ...rest } = options
    const condition = parseCondition(options)
    const path = listPath(this.#path + filePath(name), {
      visibility,
      ttl: ttlSeconds(ttl),
      metadata: metadata && JSON.stringify(metadata),
    })
    const effect = effectOf(typeof condition === 'number')
    return upload(this.#send, { path, effect, headers: conditionHeaders(condition) }, body, rest)
  }

  /**
   * Resolves when the bytes begin to arrive: undefined if there is no such file, null if its bytes are those that
   * `ifNoneMatch` names. `timeoutMs` limits the time until then.
   */
  get(name: string, options: GetChangedOptions): Promise<FileDownload | null | undefined>
  get(name: string, options?: GetFileOptions): Promise<FileDownload | undefined>
  async get(
    name: string,
    options: GetFileOptions & Partial<GetChangedOptions> = {},
  ): Promise<FileDownload | null | undefined> {
    const { range, ifNoneMatch, signal } = options
    const headers = {
      ...(range && { range: rangeHeader(range) }),
      ...(ifNoneMatch && { 'if-none-match': `"${ifNoneMatch}"` }),
    }
    const response = await absentIf(
      'file_not_found',
      this.#send<Response>(
        { method: 'GET', path: this.#path + filePath(name), effect: 'read', headers, raw: true },
        options,
      ),
    )
    return response && (response.status === 304 ? null : new FileDownload(response, signal))
  }

  /** The file's record, without its bytes; undefined if there is no such file. */
  async describe(name: string, options?: RequestOptions): Promise<FileRecord<Metadata> | undefined> {
    const path = `${this.#path + filePath(name)}?record=true`
    return absentIf('file_not_found', this.#send({ method: 'GET', path, effect: 'read' }, options))
  }

  /** Changes what is given and keeps the bytes. `metadata` is replaced as a whole; `ttl: null` removes the ttl. */
  async update(
    name: string,
    change: Options<ChangeFileRequest<Metadata>>,
    options: ChangeFileOptions = {},
  ): Promise<FileRecord<Metadata>> {
    return this.#write('PATCH', name, options, JSON.stringify({ ...change, ttl: ttlSeconds(change.ttl) }))
  }

  /** `deleted` is false if there was no file. */
  async remove(name: string, options: ChangeFileOptions = {}): Promise<DeleteFileResponse> {
    return this.#write('DELETE', name, options)
  }

  #write<T>(method: 'PATCH' | 'DELETE', name: string, options: ChangeFileOptions, body?: string): Promise<T> {
    const condition = parseCondition(options)
    return this.#send(
      {
        method,
        path: this.#path + filePath(name),
        effect: effectOf(typeof condition === 'number'),
        body,
        headers: conditionHeaders(condition),
      },
      options,
    )
  }

  /**
   * Queries by name, or with `index: 't'` newest first. Await it to get one page, or use `for await` for the files of all
   * pages; `pages()` has the folders too.
   */
  query(
    query: FileQuery & { select?: 'data'; folders: true },
    options?: RequestOptions,
  ): Pages<FileQueryResponse<Metadata> & { folders: string[] }, FileItem<Metadata>>
  query(
    query?: FileQuery & { select?: 'data' },
    options?: RequestOptions,
  ): Pages<FileQueryResponse<Metadata>, FileItem<Metadata>>
  query(query: FileQuery & { select?: 'data' } = {}, options?: RequestOptions): unknown {
    return queryPages(this.#send, this.#path, query, options)
  }

  /** The number of files that the query finds, in all its pages. */
  async count(
    query: Omit<FileQuery, 'expiresIn' | 'folders'> & { select?: 'count'; limit?: never } = {},
    options?: RequestOptions,
  ): Promise<number> {
    return countAll(this.#send, this.#path, query, options)
  }

  /**
   * A URL that needs no API key: the permanent one of a public file, otherwise a signed one that expires. With
   * `method: 'PUT'`, everybody who has the URL may upload this one file, with `uploadTo`.
   */
  async getUrl(
    name: string,
    url: Omit<DownloadUrlRequest, 'name'> | Options<UploadUrlRequest<Metadata>> = {},
    options?: RequestOptions,
  ): Promise<FileUrl> {
    filePath(name)
    const body = JSON.stringify({ ...url, name, ttl: ttlSeconds((url as UploadUrlRequest).ttl) })
    return this.#send({ method: 'POST', path: `${this.#path}/url`, effect: 'read', body }, options)
  }
}
