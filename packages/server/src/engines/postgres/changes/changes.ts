import { type EntryKind, entryKind, type LogEntry, type LogPlace, markOf } from '../../../core/changes/log-entry.ts'
import { CubbyError } from '../../../core/errors.ts'
import { pageBytesMax } from '../../../core/limits.ts'
import { isExpired } from '../../../core/records/expiry.ts'
import type { Change, Changes, ChangesPage, ChangesToRead } from '../../../store/changes.ts'
import type { Table } from '../../../store/tables.ts'
import { fromHex, toBytes } from '../connection/bytes.ts'
import type { Database } from '../connection/database.ts'
import { bind, type Row } from '../connection/driver.ts'
import type { LogFollowers } from './followers.ts'
import { newestEntry, part, readChanges } from './statements.ts'

/** Takes a row of `entryColumns`. */
export const toEntry = (row: Row): LogEntry => ({
  seq: Number(row[0]),
  atMs: Number(row[1]),
  kind: Number(row[2]) as EntryKind,
  hashKey: fromHex(row[3]!),
  rangeKey: fromHex(row[4]!),
  version: Number(row[5]),
})

const statements = [false, true].map((withData) => [false, true].map((withHash) => readChanges(withData, withHash)))

const placeOf = (entry: LogEntry): LogPlace => ({ seq: entry.seq, mark: markOf(entry) })

const changeOf = (row: Row, withData: boolean, nowMs: number): Change => {
  const [ttl, data] = row.slice(7)
  const entry = toEntry(row.slice(1))
  const { hashKey, rangeKey, kind, version } = entry
  const place = placeOf(entry)
  const key = { hashKey, rangeKey }
  if (kind !== entryKind.put) {
    return { ...place, op: 'delete', key, deletedAtMs: version, isExpired: kind === entryKind.expire }
  }
  const ttlSeconds = ttl == null ? null : Number(ttl)
  if (isExpired(ttlSeconds, nowMs)) {
    return { ...place, op: 'delete', key, deletedAtMs: ttlSeconds! * 1000, isExpired: true }
  }
  const head = { ...key, ttlSeconds, updatedAtMs: version }
  return { ...place, op: 'put', record: withData ? { ...head, data: data! } : head }
}

export class PostgresChanges implements Changes {
  readonly #db: Database
  readonly #followers: LogFollowers

  constructor(db: Database, followers: LogFollowers) {
    this.#db = db
    this.#followers = followers
  }

  async head({ id, orgId, name }: Table, keySeq = 0): Promise<LogPlace> {
    const [found] = await this.#db.read({ orgId, keySeq }, bind(newestEntry, id))
    const row = found!.rows[0]
    if (row === undefined) throw new CubbyError('store_damaged', `The log of changes of ${name} has no entry.`)
    return placeOf(toEntry(row))
  }

  async read(
    { id, orgId }: Table,
    { after, seen, hash, withData, changesMax }: ChangesToRead,
    nowMs: number,
    keySeq = 0,
  ): Promise<ChangesPage | undefined> {
    const statement = statements[withData ? 1 : 0]![hash === undefined ? 0 : 1]!
    const values = [id, after, seen.seq, changesMax, pageBytesMax, ...(hash === undefined ? [] : [toBytes(hash)])]
    const [result] = await this.#db.read({ orgId, keySeq }, { statement, values })
    const rows = Map.groupBy(result!.rows, ([name]) => name!)
    const placeIn = (name: string): LogPlace | undefined => {
      const row = rows.get(name)?.[0]
      return row && placeOf(toEntry(row.slice(1)))
    }
    const from = placeIn(part.after)
    if (from === undefined || placeIn(part.seen)?.mark !== seen.mark) return undefined
    const head = placeIn(part.head)!
    if (changesMax === 0) return { changes: [], place: from, head }
    const told = rows.get(part.change) ?? []
    const changes = told.map((row) => changeOf(row, withData, nowMs)).sort((a, b) => a.seq - b.seq)
    const last = changes.at(-1)
    const isCut = changes.length >= changesMax || told.some((row) => Number(row[9]) >= pageBytesMax)
    const place = isCut ? { seq: last!.seq, mark: last!.mark } : placeIn(part.last)!
    return { changes, place, head }
  }

  follow({ id }: Table, noted: (seq: number) => void): () => void {
    return this.#followers.follow(id, noted)
  }
}
