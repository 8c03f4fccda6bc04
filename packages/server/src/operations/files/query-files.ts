import type { Awaitable } from '../../core/awaitable.ts'
import { encodeScanCursor } from '../../core/cursor.ts'
import { CubbyError } from '../../core/errors.ts'
import {
  type FileQuery,
  folderOf,
  parseFileQuery,
  planFileQuery,
  positionAfter,
  resumeFiles,
} from '../../core/files/file-query.ts'
import { pageBytesMax } from '../../core/limits.ts'
import { countPageJson } from '../../core/records/record-json.ts'
import type { Scan } from '../../core/records/scan.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import { type ResponseRoom, type RunSlices, runThrough, type Slices } from '../../core/slices.ts'
import type { Keyring } from '../../core/store-secrets.ts'
import { shareOf } from '../../store/api-keys.ts'
import type { Page } from '../../store/records.ts'
import type { Table } from '../../store/tables.ts'
import type { Access, BucketAddress } from '../access.ts'
import { bucketMembers, bucketRequired } from '../buckets/schemas.ts'
import { requireBucket } from '../lifecycle.ts'
import { pagesNote } from '../listing.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { given, inAvatars, stored } from './examples.ts'
import { fileOf, type StoredFile } from './file-access.ts'
import { fileJson, permanentUrl } from './present-file.ts'
import { excludedInQuery, fileSchemas } from './schemas.ts'
import { refuseSigning, signUrl } from './sign-url.ts'

export interface QueryFilesInput extends BucketAddress {
  query: FileQuery
}

/** A file as it is sent in a page. */
type PresentFile = (file: StoredFile, query: FileQuery, keyring: Keyring) => string

interface FilePage {
  /** JSON texts. */
  items: string[]
  /** JSON texts, if the query asks for them. */
  folders: string[] | undefined
  count: number
  cursor: string | null
}

/** A page that has to be read. */
interface Listing {
  access: Access
  bucket: Table
  query: FileQuery
  page: Scan
  limit: number
  nowMs: number
  present: (record: StoredRecord) => string
}

interface ReadFiles {
  /** JSON texts. */
  items: string[]
  folders?: string[]
  next: Page['next']
}

/** A page of this size with its cursor is below what counts as a large response. */
const smallBytes = 24 * 1024

/** A signed URL takes about 10 µs, and a page may have a thousand of them. */
const filesPerStep = 50

/** A record and its text. */
interface Presented {
  record: StoredRecord
  text: string
}

/** Another reading of the same version has the same text. */
const isSame = (a: StoredRecord, b: StoredRecord): boolean =>
  a.rangeKey === b.rangeKey && a.updatedAtMs === b.updatedAtMs && a.data === b.data

/** The records that fit into a page: at least one. The brackets and the commas count. `known`: from an earlier reading. */
function* presentFitting(
  records: readonly StoredRecord[],
  present: (record: StoredRecord) => string,
  known: readonly Presented[],
): Slices<Presented[]> {
  const fitting: Presented[] = []
  let bytes = 1
  for (const [i, record] of records.entries()) {
    if (i % filesPerStep === filesPerStep - 1) yield
    const before = known[i]
    const text = before !== undefined && isSame(before.record, record) ? before.text : present(record)
    bytes += Buffer.byteLength(text) + 1
    if (bytes > pageBytesMax && i > 0) return fitting
    fitting.push({ record, text })
  }
  return fitting
}

/**
 * A page whose text is within the bound. The engine bounds what it reads, but the URL of a file may be several times as
 * long as its name: then the page is read again with fewer rows, since only the engine knows the position of a row.
 */
const readPage =
  (runSlices: RunSlices) =>
  async ({ access: { engine, apiKey }, bucket, page, limit, nowMs, present }: Listing): Promise<ReadFiles> => {
    let known: Presented[] = []
    for (let rows = limit; ; rows = known.length) {
      const { records, next } = await engine.records.scan(bucket, page, rows, nowMs, shareOf(apiKey))
      known = await runSlices(presentFitting(records, present, known))
      if (known.length === records.length) return { items: known.map(({ text }) => text), next }
    }
  }

/**
 * The page if it is small. It is read and made in one step and otherwise dropped in that step, so that no memory is held
 * between two turns.
 */
const readSmallPage = async (listing: Listing): Promise<ReadFiles | undefined> => {
  const { access, bucket, page, limit, nowMs, present } = listing
  const rows = Math.min(limit, filesPerStep)
  const { records, next } = await access.engine.records.scan(bucket, page, rows, nowMs, shareOf(access.apiKey))
  if (rows < limit && records.length === rows && next !== undefined) return undefined
  if (bytesOf(records.map(({ data }) => data)) > smallBytes) return undefined
  const items = records.map(present)
  return bytesOf(items) > smallBytes ? undefined : { items, next }
}

/** Rows that are read at once where folders may begin: those behind the first name of a folder are read in vain. */
const folderStepRowsMin = 8

/**
 * A page with folders. After the first name of a folder the scan is started anew behind its last one, so a folder costs one
 * look-up, however many names it has. While there are none, each step reads twice as many rows as the one before.
 */
const readFolders =
  (runSlices: RunSlices) =>
  async ({ access: { engine, apiKey }, bucket, query, page, limit, nowMs, present }: Listing): Promise<ReadFiles> => {
    const items: string[] = []
    const folders: string[] = []
    let bytes = 1
    let scan = page
    let last: Page['next']
    let folder: string | undefined

    /** Adds files and folders while they fit; false if one did not. */
    function* take(records: readonly StoredRecord[]): Slices<boolean> {
      for (const [i, record] of records.entries()) {
        if (i % filesPerStep === filesPerStep - 1) yield
        if (folder !== undefined && record.rangeKey.startsWith(folder)) continue
        const isFull = items.length + folders.length === limit
        folder = folderOf(record.rangeKey, query.prefix)
        const text = isFull ? '' : folder === undefined ? present(record) : JSON.stringify(folder)
        bytes += Buffer.byteLength(text) + 1
        if (isFull || (bytes > pageBytesMax && last !== undefined)) return false
        if (folder === undefined) items.push(text)
        else folders.push(text)
        last = positionAfter(page, folder ?? record.rangeKey)
      }
      return true
    }

    for (let rows = folderStepRowsMin; ; ) {
      const { records, next } = await engine.records.scan(bucket, scan, rows, nowMs, shareOf(apiKey))
      if (!(await runSlices(take(records)))) return { items, folders, next: last }
      if (next === undefined) return { items, folders, next: undefined }
      const position = folder === undefined ? next : last!
      // The engine has passed as many expired files as it may.
      if (records.length < rows) return { items, folders, next: position }
      scan = resumeFiles(scan, position)
      rows = folder === undefined ? Math.min(2 * rows, filesPerStep) : folderStepRowsMin
    }
  }

const bytesOf = (texts: string[]): number => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)

/** The text of each file. Private ones have a signed URL if the query asks for it. `base` as in `permanentUrl`. */
const presentListed =
  (access: Access, nowMs: number, base = ''): PresentFile =>
  (file, { expiresInSeconds }, keyring) => {
    if (expiresInSeconds === undefined || file.content.visibility === 'public') {
      return fileJson(file, permanentUrl(file, base))
    }
    const target = { method: 'GET', bucketId: file.bucketId, name: file.name } as const
    const { target: path, expiresAtMs } = signUrl(access, keyring, target, expiresInSeconds, new Map(), nowMs)
    return fileJson(file, base + path, { urlExpiresAtMs: expiresAtMs })
  }

/** The page of a query; `present` makes the text of each file, and `read` reads them. Undefined if `read` gives nothing. */
const queryWith = async <P extends ReadFiles | undefined>(
  access: Access,
  { query, ...address }: QueryFilesInput,
  nowMs: number,
  present: PresentFile,
  read: (listing: Listing) => Promise<P>,
): Promise<FilePage | (P & undefined)> => {
  const { engine, apiKey } = access
  const isPublic = apiKey.kind === 'public'
  if (isPublic && query.expiresInSeconds !== undefined) {
    throw new CubbyError('read_only_key', 'expiresIn asks for signed URLs; signing needs a secret key.', {
      field: 'expiresIn',
      hint: 'Leave expiresIn out, or send the request from your server with a secret key (svc_live_…).',
    })
  }
  if (query.expiresInSeconds !== undefined) refuseSigning(access, true)
  const bucket = await requireBucket(access, address, nowMs)
  const keyring = await engine.secrets.at(nowMs)
  const { whole, page, fingerprint } = planFileQuery(query, isPublic, bucket.id, keyring.seal)
  const cursorAt = (next: Page['next']): string | null =>
    next === undefined ? null : encodeScanCursor(keyring.seal, bucket.id, whole, next, fingerprint)
  if (query.select === 'count') {
    const { count, next } = await engine.records.count(bucket, page, query.limit, nowMs, shareOf(apiKey))
    return { items: [], folders: undefined, count, cursor: cursorAt(next) }
  }
  const presentRecord = (record: StoredRecord): string => present(fileOf(bucket, record), query, keyring)
  const found = await read({ access, bucket, query, page, limit: query.limit, nowMs, present: presentRecord })
  if (found === undefined) return undefined as P & undefined
  const { items, folders, next } = found
  return { items, folders, count: items.length + (folders?.length ?? 0), cursor: cursorAt(next) }
}

/** The page of a query; `present` makes the text of each file, and `runSlices` runs that in parts. */
export const queryFiles = (
  access: Access,
  input: QueryFilesInput,
  nowMs: number,
  present: PresentFile,
  runSlices: RunSlices = runThrough,
): Promise<FilePage> =>
  queryWith(access, input, nowMs, present, (input.query.folders ? readFolders : readPage)(runSlices))

/** The request that a listing is for. Time and access are read when they are needed: a wait checks the key again. */
export interface ListingCall extends ResponseRoom {
  readonly access: Access
  readonly nowMs: number
  runSlices<T>(slices: Slices<T>): Awaitable<T>
}

/** The page of a query for a caller among many. A small page waits for nobody; a large one until there is room for it. */
export const listFiles = async (call: ListingCall, input: QueryFilesInput, base: string): Promise<FilePage> => {
  const present = (): PresentFile => presentListed(call.access, call.nowMs, base)
  if (input.query.select !== 'count' && !call.tryTakeRoom('listing')) {
    const small = input.query.folders
      ? undefined
      : await queryWith(call.access, input, call.nowMs, present(), readSmallPage)
    if (small !== undefined) return small
    await call.takeRoom('listing')
  }
  return queryFiles(call.access, input, call.nowMs, present(), (slices) => call.runSlices(slices))
}

export const filePageJson = ({ items, folders, count, cursor }: FilePage): string => {
  if (items.length === 0 && folders === undefined) return countPageJson(count, cursor)
  const listed = folders === undefined ? '' : `"folders":[${folders.join(',')}],`
  return `{"items":[${items.join(',')}],${listed}"count":${count},"cursor":${JSON.stringify(cursor)}}`
}

export const queryFilesOperation = defineOperation({
  id: 'queryFiles',
  area: 'files',
  summary: 'List the files of a bucket',
  keyNeeded: 'read',
  grants: {
    of: 'bucket',
    can: 'read',
    needs: ({ db, bucket, query: { prefix } }) => ({ of: 'file', db, bucket, can: 'read', name: prefix }),
  },
  effect: 'reads',
  route: { method: 'POST', path: '/v1/:db/_buckets/:bucket/query', body: { schema: 'FileQuery' } },
  command: 'files list {bucket} --db {db}',
  tool: 'list_files',
  read: ({ members }) => ({ query: parseFileQuery(members) }),
  run: (access, input: QueryFilesInput, nowMs) => queryFiles(access, input, nowMs, presentListed(access, nowMs)),
  present: filePageJson,
  describe: () => ({
    title: 'List files',
    description: `Files by name, in the order of their UTF-8 bytes; \`prefix\` selects the names that begin with it. With \`folders\`, names that have a \`/\` behind the prefix are no items: the part of each name up to that \`/\` is in \`folders\`, once, and counts in \`limit\`; as \`prefix\` of another query it lists what is in it. A folder costs the same however many files it has. With \`index: "t"\` by \`updatedAt\`, newest first unless \`ascending\` is true. ${pagesNote} A cursor is valid only with the same bucket, prefix, \`folders\`, index, direction and kind of key; \`limit\`, \`select\` and \`expiresIn\` may change.

A public key lists the public files, as if there were no others. With \`select: "count"\` there are no items, and \`count\` is the number of files that matched. With \`expiresIn\`, which needs a secret key, private files have a signed \`url\` that is valid until \`urlExpiresAt\`.`,
    returns: 'A page of files.',
    codes: ['invalid_cursor', 'read_only_key', 'bucket_not_found'],
    input: { ...inputOf(fileSchemas.FileQuery, bucketMembers, bucketRequired), ...excludedInQuery },
    output: ref('FilePage'),
    client: { on: 'bucket', method: 'query', result: 'page', counts: true },
    examples: [
      {
        name: 'byPrefix',
        summary: 'The files whose names begin with a prefix',
        given,
        input: { ...inAvatars, prefix: 'ada/' },
        output: { items: [stored], count: 1, cursor: null },
      },
      {
        name: 'folders',
        summary: 'The files and folders of the first level',
        given,
        input: { ...inAvatars, folders: true },
        output: { items: [], folders: ['ada/'], count: 1, cursor: null },
      },
      {
        name: 'newest',
        summary: 'The newest file',
        given,
        input: { ...inAvatars, index: 't', limit: 1 },
        output: { items: [stored], count: 1, cursor: null },
      },
      {
        name: 'count',
        summary: 'How many files there are',
        given,
        input: { ...inAvatars, select: 'count' },
        output: { items: [], count: 1, cursor: null },
      },
    ],
  }),
})
