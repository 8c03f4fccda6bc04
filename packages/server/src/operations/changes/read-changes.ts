import { type Feed, FeedCursors, type FeedPlace } from '../../core/changes/changes-cursor.ts'
import { type ChangesRequest, parseChangesRequest } from '../../core/changes/changes-request.ts'
import { CubbyError } from '../../core/errors.ts'
import { call } from '../../core/hint.ts'
import { keepHoursDefault } from '../../core/limits.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { shareOf } from '../../store/api-keys.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, parseAddress, type TableAddress } from '../access.ts'
import { inOrders } from '../example.ts'
import { requireTable } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { first, second, withoutData } from '../records/examples.ts'
import type { Waiting } from '../runs/waiting.ts'
import { inputOf, ref } from '../schema.ts'
import { addressMembers, addressRequired } from '../tables/schemas.ts'
import {
  askFromNow,
  deleteSecond,
  firstCursor,
  fromNow,
  goneSecond,
  keepForADay,
  keepNone,
  nextCursor,
  putOf,
} from './examples.ts'
import { type FeedPage, type FeedReader, placeAtHead, placeAtStart, readFeed } from './feed-pages.ts'
import { changesSchemas } from './schemas.ts'

export interface ReadChangesInput extends TableAddress {
  request: ChangesRequest
}

interface ChangesPage {
  page: FeedPage
  cursor: string
}

/** The wait of a request for changes of a table. */
export interface ChangesWait {
  /** Resolves with `maybe` when the log has an entry after this one, and with `over` when there is nothing more to wait for. */
  until(after: number, ms: number, signal: AbortSignal | undefined): Promise<'maybe' | 'over'>
  end(): void
}

/** Lets a request wait. `begin` throws `unavailable` if too many do. */
interface ChangesWaits {
  waiting: Waiting
  begin(table: Table): ChangesWait
}

/** A table that keeps its changes, and the part of it that the request is for. */
export interface OpenFeed {
  reader: FeedReader
  cursors: FeedCursors
}

/** Finds the table. Throws `table_not_found` and `changes_not_kept`. */
export const openFeed = async (
  access: Access,
  { db, table: name, request: { hash, select } }: ReadChangesInput,
  nowMs: number,
): Promise<OpenFeed> => {
  const { engine, apiKey } = access
  const table = await requireTable(access, { db, table: name }, nowMs)
  const { changes } = table
  if (changes === null || changes.keepHours === null) {
    throw new CubbyError('changes_not_kept', `The table ${name} keeps no changes.`, {
      hint: [
        'Let it keep them, for a day or longer: ',
        call('keepChanges', { db, table: name, keepHours: keepHoursDefault }),
        '.',
      ],
    })
  }
  const feed: Feed = { orgId: table.orgId, db, table: name, tableId: table.id, sinceMs: changes.sinceMs, hash }
  const { seal } = await engine.secrets.at(nowMs)
  const query = { hash, withData: select === 'data' }
  return { reader: { engine, table, query, keySeq: shareOf(apiKey) }, cursors: new FeedCursors(seal, feed) }
}

/** The place at which a request begins. */
export const firstPlace = async (
  { reader, cursors }: OpenFeed,
  { cursor, from }: ChangesRequest,
): Promise<FeedPlace> => {
  if (cursor !== undefined) return cursors.decode(cursor)
  return from === 'now' ? placeAtHead(reader) : placeAtStart(reader)
}

/** A page. An empty one that is the last waits, if the request says so and the caller lets it. */
export const readChanges = async (
  access: Access,
  input: ReadChangesInput,
  nowMs: number,
  waits?: ChangesWaits,
): Promise<ChangesPage> => {
  const { request } = input
  const feed = await openFeed(access, input, nowMs)
  const place = await firstPlace(feed, request)
  // What is committed after a place at the head is for the next page.
  const isFromNow = request.cursor === undefined && request.from === 'now'
  const page = isFromNow
    ? { items: [], place, head: place.seen, more: false }
    : await readFeed(feed.reader, place, nowMs, request.limit)
  const isAnswer = isFromNow || page.items.length > 0 || page.more || request.waitSeconds === 0
  return isAnswer || waits === undefined
    ? { page, cursor: feed.cursors.encode(page.place) }
    : waitForChanges(input, feed.reader.table, page, waits)
}

const waitForChanges = async (
  input: ReadChangesInput,
  table: Table,
  first: FeedPage,
  { waiting, begin }: ChangesWaits,
): Promise<ChangesPage> => {
  const { waitSeconds, limit } = input.request
  const endsAtMs = performance.now() + waitSeconds * 1000
  const wait = begin(table)
  try {
    let { place } = first
    // The first round reads again: what came before the wait began was not noted.
    for (let isLast = false; ; ) {
      const { reader, cursors } = await openFeed(waiting.access, input, waiting.nowMs)
      const page = await readFeed(reader, place, waiting.nowMs, limit)
      if (page.items.length > 0 || page.more || isLast) return { page, cursor: cursors.encode(page.place) }
      place = page.place
      const leftMs = endsAtMs - performance.now()
      isLast = (await waiting.pause(() => wait.until(place.after, leftMs, waiting.signal))) === 'over'
    }
  } finally {
    wait.end()
  }
}

/** The page as JSON text. */
export const changesPageJson = ({ page: { items, more }, cursor }: ChangesPage): string =>
  `{"items":[${items.map(({ json }) => json).join(',')}],"count":${items.length},"cursor":"${cursor}","more":${more}}`

export const readChangesOperation = defineOperation({
  id: 'readChanges',
  area: 'changes',
  summary: 'Read the changes of a table',
  keyNeeded: 'read',
  grants: {
    of: 'table',
    can: 'read',
    needs: ({ db, table, request: { hash } }) => ({ of: 'table', db, table, can: 'read', hash }),
  },
  effect: 'reads',
  route: { method: 'POST', path: '/v1/:db/:table/changes', body: { schema: 'ChangesRequest' } },
  command: 'changes --db {db} --table {table}',
  parse(text): ReadChangesInput {
    const { db, table, ...members } = parsePlainBody(text)
    return { ...parseAddress(db, table), request: parseChangesRequest(members) }
  },
  run: (access, input: ReadChangesInput, nowMs) => readChanges(access, input, nowMs),
  present: changesPageJson,
  describe: () => ({
    title: 'Read changes',
    description: `Without a cursor, first every live record once, by key, then what has changed since: **a copy is made and kept up to date by one call, repeated** with the \`cursor\` of the answer before. It is right whenever \`more\` is false. With \`from: "now"\` the first answer is empty, and its cursor stands for everything that is committed after the request.

Changes come in the order of their commits. Whoever reads on from the last cursor gets the last state of every record at least once, and every delete; a put that was replaced or deleted before it was read may be missing. While a record exists its versions never go back. A record whose \`ttl\` has passed is a delete with \`expired\`: where its put is read only then, and when it is removed. A page looks at 10,000 changes at most: it may be short, even empty, and still have \`more\`.

With \`waitSeconds\`, an empty page without \`more\` is held back until something comes for it. A cursor is valid for its table and \`hash\`, in every process, also after the table was deleted and restored, and for as long as the table keeps its changes.`,
    returns: 'A page of changes.',
    note: 'With an `Accept` that names `text/event-stream` the answer is a stream of server-sent events, which stays open. `limit` and `waitSeconds` are refused then, and `Last-Event-ID` counts before `cursor` and `from`.',
    codes: ['invalid_key', 'invalid_cursor', 'table_not_found', 'changes_not_kept', 'cursor_expired'],
    input: inputOf(changesSchemas.ChangesRequest, addressMembers, addressRequired),
    output: ref('ChangesResponse'),
    client: { on: 'table', method: 'readChanges', result: 'page' },
    examples: [
      {
        name: 'fromTheStart',
        summary: 'The first page: every record, one after the other',
        given: [keepForADay],
        input: { ...inOrders, limit: 1 },
        output: { items: [putOf(first)], count: 1, cursor: firstCursor, more: true },
      },
      {
        name: 'goOn',
        summary: 'What is committed after an earlier page',
        given: [keepForADay, askFromNow, deleteSecond],
        input: { ...inOrders, cursor: firstCursor, waitSeconds: 20 },
        output: { items: [goneSecond], count: 1, cursor: nextCursor, more: false },
      },
      {
        name: 'fromNow',
        summary: 'A cursor for what is committed from now on',
        given: [keepForADay],
        ...fromNow,
      },
      {
        name: 'ofOneHashKey',
        summary: 'The keys of the records of one customer',
        given: [keepForADay],
        input: { ...inOrders, hash: 'ada', select: 'keys' },
        output: {
          items: [putOf(withoutData(first)), putOf(withoutData(second))],
          count: 2,
          cursor: firstCursor,
          more: false,
        },
      },
      {
        name: 'bothPlaces',
        summary: 'A cursor and a beginning',
        given: [keepForADay],
        input: { ...inOrders, from: 'now', cursor: firstCursor },
        error: {
          code: 'invalid_request',
          message: 'from is given together with cursor; a request takes one of them.',
          field: 'from',
          hint: 'Leave from out to read on from the cursor, or cursor to begin again.',
        },
      },
      {
        name: 'otherHash',
        summary: 'The cursor of other changes',
        given: [keepForADay, askFromNow],
        input: { ...inOrders, hash: 'ada', cursor: firstCursor },
        error: {
          code: 'invalid_cursor',
          message: 'cursor belongs to other changes: table and hash must be those it came with.',
          field: 'cursor',
          hint: 'Send the cursor of the previous answer with an otherwise identical request, or leave it out for the first page.',
        },
      },
      {
        name: 'begunAgain',
        summary: 'A cursor of changes that were ended since',
        given: [keepForADay, askFromNow, keepNone, keepForADay],
        input: { ...inOrders, cursor: firstCursor },
        error: {
          code: 'cursor_expired',
          message: 'The cursor is older than the changes that are kept, or from a later state of the store.',
          field: 'cursor',
          hint: ['Begin again: leave cursor out, or ', { send: { from: 'start' } }, '.'],
        },
      },
      {
        name: 'notKept',
        summary: 'A table that keeps no changes',
        input: inOrders,
        error: {
          code: 'changes_not_kept',
          message: 'The table orders keeps no changes.',
          hint: [
            'Let it keep them, for a day or longer: ',
            call('keepChanges', { ...inOrders, keepHours: keepHoursDefault }),
            '.',
          ],
        },
      },
    ],
  }),
})
