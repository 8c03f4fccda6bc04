import { cursorExpired, type FeedPlace } from '../../core/changes/changes-cursor.ts'
import type { LogPlace } from '../../core/changes/log-entry.ts'
import { pageBytesMax, pageRowsMax } from '../../core/limits.ts'
import { primaryBounds } from '../../core/records/range.ts'
import { headJson, recordJson } from '../../core/records/record-json.ts'
import { noRangeKey, type RecordKey } from '../../core/records/record-key.ts'
import { resumeScan, type Scan, walkAfter } from '../../core/records/scan.ts'
import type { RecordHead, StoredRecord } from '../../core/records/stored-record.ts'
import type { Change } from '../../store/changes.ts'
import type { Engine } from '../../store/engine.ts'
import type { Table } from '../../store/tables.ts'

/** The part of a table that a reader wants. */
interface FeedQuery {
  hash: string | undefined
  withData: boolean
}

/** A change as it is sent, and the place after it. */
interface FeedItem {
  op: 'put' | 'delete'
  /** The JSON text. */
  json: string
  place: FeedPlace
}

export interface FeedPage {
  items: FeedItem[]
  place: FeedPlace
  /** The newest entry of the log. */
  head: LogPlace
  /** Another page is ready now. */
  more: boolean
}

/** Reads pages for one caller. */
export interface FeedReader {
  engine: Engine
  table: Table
  query: FeedQuery
  /** See `Records.get`. */
  keySeq: number
}

const putJson = (record: StoredRecord | RecordHead, withData: boolean): string =>
  `{"op":"put",${(withData ? recordJson(record as StoredRecord) : headJson(record)).slice(1)}`

const deleteJson = ({ hashKey, rangeKey }: RecordKey, deletedAtMs: number, isExpired: boolean): string =>
  JSON.stringify({
    op: 'delete',
    hashKey,
    rangeKey: rangeKey === noRangeKey ? undefined : rangeKey,
    deletedAt: deletedAtMs,
    expired: isExpired || undefined,
  })

export const changeJson = (change: Change, withData: boolean): string =>
  change.op === 'put' ? putJson(change.record, withData) : deleteJson(change.key, change.deletedAtMs, change.isExpired)

/** The place of a reader that has read the log up to `to.after`. What it has seen before, it has seen. */
export const placeAt = ({ after, seen: read }: FeedPlace, { seen }: FeedPlace): FeedPlace => ({
  after,
  seen: read.seq < seen.seq ? seen : read,
})

/** The place of a reader who wants what is committed from now on. */
export const placeAtHead = async ({ engine, table, keySeq }: FeedReader): Promise<FeedPlace> => {
  const head = await engine.changes.head(table, keySeq)
  return { after: head.seq, seen: head }
}

/** The place of a reader who wants every record first. */
export const placeAtStart = async (reader: FeedReader): Promise<FeedPlace> => ({
  ...(await placeAtHead(reader)),
  walked: null,
})

/** Keeps those items that fit into a page, but at least one, and the place after the last of them. */
const within = (items: FeedItem[]): FeedItem[] => {
  let bytes = 2
  const fits = items.findIndex(({ json }, i) => {
    bytes += Buffer.byteLength(json) + 1
    return bytes > pageBytesMax && i > 0
  })
  return fits < 0 ? items : items.slice(0, fits)
}

/** The page after `place`: of the walk from the start, or of the log. Throws `cursor_expired`. */
export const readFeed = (
  reader: FeedReader,
  place: FeedPlace,
  nowMs: number,
  itemsMax = pageRowsMax,
): Promise<FeedPage> =>
  place.walked === undefined ? readLog(reader, place, itemsMax, nowMs) : readWalk(reader, place, itemsMax, nowMs)

const readLog = async (
  { engine, table, query, keySeq }: FeedReader,
  place: FeedPlace,
  changesMax: number,
  nowMs: number,
): Promise<FeedPage> => {
  const request = { ...query, after: place.after, seen: place.seen, changesMax }
  const page = await engine.changes.read(table, request, nowMs, keySeq)
  if (page === undefined) throw cursorExpired()
  // A put is left out for the sake of a later entry, so the page is of the whole log, however early it ends.
  const seen = page.head
  const all = page.changes.map(
    (change): FeedItem => ({
      op: change.op,
      json: changeJson(change, query.withData),
      place: { after: change.seq, seen },
    }),
  )
  const items = within(all)
  const isCut = items.length < all.length
  const next = isCut ? items.at(-1)!.place : { after: page.place.seq, seen }
  return { items, place: next, head: page.head, more: next.after < page.head.seq }
}

const walkScan = ({ hash }: FeedQuery, walked: RecordKey | null): Scan => {
  if (hash === undefined) return walkAfter(walked ?? undefined)
  const all: Scan = { index: 'primary', hash, ...primaryBounds(undefined), lowId: 0, highId: 0, descending: false }
  return walked === null ? all : resumeScan(all, { range: walked.rangeKey, id: 0 })
}

const readWalk = async (
  { engine, table, query, keySeq }: FeedReader,
  place: FeedPlace,
  rowsMax: number,
  nowMs: number,
): Promise<FeedPage> => {
  const { records } = engine
  const scan = walkScan(query, place.walked!)
  const found = await (query.withData
    ? records.scan(table, scan, rowsMax, nowMs, keySeq)
    : records.scanKeys(table, scan, rowsMax, nowMs, keySeq))
  // The newest place is read after the records, so it is not before any of them.
  const request = { ...query, after: place.after, seen: place.seen, changesMax: 0 }
  const log = await engine.changes.read(table, request, nowMs, keySeq)
  if (log === undefined) throw cursorExpired()
  const walking = { after: place.after, seen: log.head }
  const all = found.records.map((record): FeedItem => {
    const { hashKey, rangeKey } = record
    return {
      op: 'put',
      json: putJson(record, query.withData),
      place: { ...walking, walked: { hashKey, rangeKey } },
    }
  })
  const items = within(all)
  if (items.length < all.length) return { items, place: items.at(-1)!.place, head: log.head, more: true }
  if (found.next === undefined) return { items, place: walking, head: log.head, more: log.head.seq > place.after }
  const { hash = scan.index === 'primary' ? scan.hash : '', range } = found.next
  const walked = { hashKey: hash, rangeKey: range as string }
  return { items, place: { ...walking, walked }, head: log.head, more: true }
}
