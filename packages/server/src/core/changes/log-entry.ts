import type { RecordKey } from '../records/record-key.ts'

/**
 * The kinds of entries, as they are stored. `begin` is the first of a log: it has empty keys, and its version is the time since
 * which the table keeps changes. The version of a put is that of the record, the one of a delete the time of the deletion, and
 * the one of an expired record its ttl in milliseconds.
 */
export const entryKind = { begin: 0, put: 1, delete: 2, expire: 3 } as const
export type EntryKind = (typeof entryKind)[keyof typeof entryKind]

/** An entry of the log of a table. The entries of a table are numbered without gaps, in the order of their commits. */
export interface LogEntry extends RecordKey {
  seq: number
  atMs: number
  kind: EntryKind
  version: number
}

/** A place in the log of a table: that of an entry. No other entry with this number has the same mark. */
export interface LogPlace {
  seq: number
  mark: number
}

/** The checksum of an entry, which also tells it from another one with the same number: that of a store that has gone back. */
export const markOf = ({ seq, atMs, kind, hashKey, rangeKey, version }: LogEntry): number =>
  Bun.hash.crc32(`${seq} ${atMs} ${kind} ${version} ${hashKey.length} ${hashKey}${rangeKey}`)

/** A clock that is further behind than this was set back, or the one before was wrong. */
const behindMsMax = 60_000

/**
 * The time of what comes next in a log. It is not before the newest entry, whose time is not before any version in the log: a
 * record that is created again gets a version above those that it had, so that an entry of one of those is not taken for the new
 * one. Requests come late from a queue, or from a process whose clock is behind.
 */
export const timeInLog = (nowMs: number, newestMs: number): number =>
  newestMs > nowMs && newestMs - nowMs <= behindMsMax ? newestMs : nowMs

/** The time of an entry. */
export const entryTime = (nowMs: number, version: number, newestMs: number): number =>
  timeInLog(timeInLog(nowMs, newestMs), version)

/** The version of the entry for a delete: above that of the record, even if the clock is behind. */
export const deletedAt = (updatedAtMs: number, nowMs: number): number => Math.max(nowMs, updatedAtMs + 1)
