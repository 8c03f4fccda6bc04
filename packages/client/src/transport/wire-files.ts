// The JSON bodies of the requests and responses about buckets and files, as in wire.ts.

// ── Buckets ──────────────────────────────────────────────────────────────────────────────────────────────────

/** `POST /v1/:db/_buckets/:bucket`. A bucket has no properties yet. */
export type CreateBucketRequest = Record<string, never>

export interface ActiveBucket {
  db: string
  bucket: string
  /** `bkt_…`, random. It is part of the URLs of the bucket's files. */
  id: string
  status: 'active'
  createdAt: number
}

/** A soft-deleted bucket: its files are kept until `recoverableUntil`. */
export interface DeletedBucket extends Omit<ActiveBucket, 'status'> {
  status: 'deleted'
  deletedAt: number
  recoverableUntil: number
}

/** A bucket's metadata, as create, describe, list, drop and restore return it. */
export type BucketMetadata = ActiveBucket | DeletedBucket

/** `POST /v1/:db/_buckets/:bucket/restore`. Without `deletedAt`: the bucket that was deleted last. */
export interface RestoreBucketRequest {
  deletedAt?: number
}

/** `GET /v1/:db/_buckets`. */
export interface ListBucketsResponse<B extends BucketMetadata = BucketMetadata> {
  buckets: B[]
  cursor: string | null
}

// ── Files ────────────────────────────────────────────────────────────────────────────────────────────────────

/** Public files have a permanent URL that needs no API key. */
export type Visibility = 'private' | 'public'

/** The stored record of a file: the response to an upload, a change and `?record=true`. */
export interface FileRecord<Metadata = Record<string, unknown>> {
  name: string
  /** Bytes. */
  size: number
  contentType: string
  visibility: Visibility
  /** Hex. */
  sha256: string
  /** `{}` by default. */
  metadata: Metadata
  ttl?: number
  /** The file's version. It increases with every write while the file exists. */
  updatedAt: number
  /** The permanent URL of a public file; null for a private one. */
  url: string | null
}

/** `PATCH /v1/:db/_buckets/:bucket/<name>`: at least one member. */
export interface ChangeFileRequest<Metadata = Record<string, unknown>> {
  visibility?: Visibility
  contentType?: string
  /** Replaces all of it. */
  metadata?: Metadata
  /** Null removes it. */
  ttl?: number | null
}

/** `DELETE` of a file. */
export interface DeleteFileResponse {
  /** False if there was no file. */
  deleted: boolean
}

/** Selects what a query returns of each file: its record, or only their number. */
export type FileSelect = 'data' | 'count'

/** `POST /v1/:db/_buckets/:bucket/query`. */
export interface FileQuery {
  /** Selects names that begin with it. It cannot be combined with `index`. */
  prefix?: string
  /** True: names with a `/` behind `prefix` are listed as `folders`. Not with `index` or `select: "count"`. */
  folders?: boolean
  /** `t`: by `updatedAt`, newest first. Absent: by name, in UTF-8 byte order. */
  index?: 't'
  /** Default `data`. */
  select?: FileSelect
  /** 1 to 1,000; 100 when absent. With `select: "count"` 1 to 10,000; 10,000 when absent. */
  limit?: number
  ascending?: boolean
  cursor?: string | null
  /** Seconds, 1 to 604,800: private files carry a signed `url` and `urlExpiresAt`. Needs a secret key. */
  expiresIn?: number
}

/** An item of a page of files. */
export interface FileItem<Metadata = Record<string, unknown>> extends FileRecord<Metadata> {
  /** The time at which the signed `url` expires, for private files of a query with `expiresIn`. */
  urlExpiresAt?: number
}

/** A page may be short, even empty, and still have a cursor. Only `cursor: null` means that it is the last page. */
export interface FileQueryResponse<Metadata = Record<string, unknown>> {
  /** Empty with `select: "count"`. */
  items: FileItem<Metadata>[]
  /**
   * Present with `folders: true`: the parts of names up to the first `/` behind `prefix`, each once, as prefixes of further
   * queries.
   */
  folders?: string[]
  /** The number of items and folders; with `select: "count"` the number of files that matched. */
  count: number
  cursor: string | null
}

// ── URLs ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** A URL to read a file with. */
export interface DownloadUrlRequest {
  name: string
  /** Default `GET`. */
  method?: 'GET'
  /** Seconds, 1 to 604,800; 900 for a private file when absent. A public file without it: its permanent URL. */
  expiresIn?: number
  /** Browsers save the file instead of showing it: true, or the name to save it as. */
  download?: boolean | string
}

/** A URL with which anybody who has it may upload this one file. Needs a secret key. */
export interface UploadUrlRequest<Metadata = Record<string, unknown>> {
  name: string
  method: 'PUT'
  /** Seconds, 1 to 604,800; 900 when absent. */
  expiresIn?: number
  /** Default `private`. */
  visibility?: Visibility
  /** Any other type is rejected; an upload without a type gets this one. */
  contentType?: string
  /** The upload has at most this many bytes, 0 to 5 GiB. */
  sizeMax?: number
  ttl?: number
  metadata?: Metadata
  /** Default false: the upload is rejected if a file has the name. */
  replace?: boolean
}

/** `POST /v1/:db/_buckets/:bucket/url`. */
export type FileUrlRequest = DownloadUrlRequest | UploadUrlRequest

export interface FileUrl {
  url: string
  method: 'GET' | 'PUT'
  /** Null for the permanent URL of a public file. */
  expiresAt: number | null
}
