import { createHash } from 'node:crypto'
import { decodeParts, encodeParts, refuseCursor } from '../cursor.ts'
import type { CursorSeal } from '../cursor-seal.ts'
import { CubbyError } from '../errors.ts'
import type { RecordKey } from '../records/record-key.ts'
import type { LogPlace } from './log-entry.ts'

/** What a reader has read of a table: its place. */
export interface FeedPlace {
  /** The entry after which it reads on. */
  after: number
  /**
   * The newest place that it knows of, at `after` or later: a walk reads records as they are now, and a page of the log leaves
   * out what was written again later. If the log has another entry there, the store has gone back.
   */
  seen: LogPlace
  /** Set during the walk from the start: the record that was read last, or null before the first. */
  walked?: RecordKey | null
}

/** The table and the part of it that a cursor is for. */
export interface Feed {
  orgId: number
  db: string
  table: string
  tableId: number
  sinceMs: number
  hash: string | undefined
}

/** The length shows nothing of what a feed is. */
const fingerprint = ({ orgId, db, table, hash }: Feed): string =>
  createHash('sha256')
    .update(JSON.stringify(['changes', orgId, db, table, hash ?? null]))
    .digest('base64url')
    .slice(0, 16)

export const cursorExpired = (): CubbyError =>
  new CubbyError(
    'cursor_expired',
    'The cursor is older than the changes that are kept, or from a later state of the store.',
    {
      field: 'cursor',
      hint: ['Begin again: leave cursor out, or ', { send: { from: 'start' } }, '.'],
    },
  )

const encodeKeyPart = (text: string): string => Buffer.from(text).toString('base64url')
const decodeKeyPart = (text: string): string => Buffer.from(text, 'base64url').toString()

/** Cursors of one feed: they begin with the same parts, which are made once. */
export class FeedCursors {
  readonly #seal: CursorSeal
  readonly #feed: Feed
  readonly #fingerprint: string

  constructor(seal: CursorSeal, feed: Feed) {
    this.#seal = seal
    this.#feed = feed
    this.#fingerprint = fingerprint(feed)
  }

  encode({ after, seen, walked }: FeedPlace): string {
    const { tableId, sinceMs } = this.#feed
    const parts = [this.#fingerprint, tableId, sinceMs, after, seen.seq, seen.mark]
    if (walked === undefined) return encodeParts(this.#seal, parts)
    const key = walked === null ? [] : [encodeKeyPart(walked.hashKey), encodeKeyPart(walked.rangeKey)]
    return encodeParts(this.#seal, [...parts, 'walk', ...key])
  }

  /** Throws `invalid_cursor` for one of another feed, and `cursor_expired` for one of an earlier table or log. */
  decode(cursor: unknown): FeedPlace {
    const [found, tableId, sinceMs, after, seq, mark, walk, hashKey, rangeKey] = decodeParts(this.#seal, cursor)
    if (found !== this.#fingerprint) {
      return refuseCursor('belongs to other changes: table and hash must be those it came with.')
    }
    if (tableId !== this.#feed.tableId || sinceMs !== this.#feed.sinceMs) throw cursorExpired()
    const place = { after: after as number, seen: { seq: seq as number, mark: mark as number } }
    if (walk === undefined) return place
    const walked =
      hashKey === undefined
        ? null
        : { hashKey: decodeKeyPart(hashKey as string), rangeKey: decodeKeyPart(rangeKey as string) }
    return { ...place, walked }
  }
}
