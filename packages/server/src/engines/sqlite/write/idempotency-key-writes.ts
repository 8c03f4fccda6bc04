import { idempotencyKeyReused, resultToKeep } from '../../../core/idempotency.ts'
import type { IdempotencyKey, KeptResult, Once } from '../../../store/idempotency.ts'
import type { DumpedIdempotencyKey } from '../../../store/transfer.ts'
import type { Connection } from '../connection.ts'
import { RecentKeys, shortHashOf } from './recent-keys.ts'

const marker = `name = 'idempotency_keys_indexed'`

const result = 'lower(hex(k.request_hash)) AS requestHash, k.created_at AS createdAtMs, k.result'
const isKey = 'k.scope_id = ?2 AND k.scope_kind = ?3 AND k.key_hash = unhex(?4)'

/**
 * Finds and keeps the results of requests with an idempotency key, inside the transaction that is open on `db`.
 *
 * The rows are in the order of their commits. If each key entered the index at once, a commit would change one page of it for
 * each of its keys, because most keys are random. So the newest keys are in memory, as ids by hash, and enter the index
 * later, in ranges of neighbouring hashes, which share its pages. A kill loses nothing: every key with an id up to the marker
 * is in the index, and the first command that needs a key reads those after it.
 */
export class IdempotencyKeyWrites {
  readonly #db: Connection
  readonly #recentMax: number
  readonly #findById
  readonly #findInIndex
  readonly #insert
  readonly #index
  #recent: RecentKeys | undefined
  #lastId = 0

  /** `recentMax`: the keys that stay in memory. Tests give a smaller number. */
  constructor(db: Connection, recentMax = 32_768) {
    this.#db = db
    this.#recentMax = recentMax
    this.#findById = db.prepare<KeptResult, [number, number, string, string]>(
      `SELECT ${result} FROM idempotency_keys k WHERE k.id = ?1 AND ${isKey}`,
    )
    this.#findInIndex = db.prepare<KeptResult, [number, number, string, string]>(
      `SELECT ${result} FROM idempotency_key_index i CROSS JOIN idempotency_keys k ON k.id = i.id
       WHERE i.short_hash = ?1 AND ${isKey}`,
    )
    this.#insert = db.prepare<
      unknown,
      [number, number, number, string, string, string, number, number, string, string | null]
    >('INSERT INTO idempotency_keys VALUES (?1, ?2, ?3, ?4, unhex(?5), unhex(?6), ?7, ?8, ?9, ?10)')
    // A row may have been removed since, and its id may be that of another key.
    this.#index = db.prepare<unknown, [string]>(
      `INSERT OR IGNORE INTO idempotency_key_index
       SELECT k.short_hash, k.id FROM json_each(?1) j CROSS JOIN idempotency_keys k ON k.id = j.value`,
    )
  }

  find({ scopeId, scopeKind, keyHash }: IdempotencyKey): KeptResult | undefined {
    const shortHash = shortHashOf(keyHash)
    const id = this.#recentKeys().get(shortHash)
    const recent = id === undefined ? null : this.#findById.get(id, scopeId, scopeKind, keyHash)
    return recent ?? this.#findInIndex.get(shortHash, scopeId, scopeKind, keyHash) ?? undefined
  }

  /** The result of the same request before; undefined if the key is new. */
  replay(once: Once): object | undefined {
    const kept = this.find(once)
    if (kept === undefined) return undefined
    if (kept.requestHash !== once.requestHash) throw idempotencyKeyReused()
    return { ...JSON.parse(kept.result), isReplayed: true }
  }

  /** Call it for a key that was not found. */
  keep(once: Once, orgId: number, nowMs: number, value: unknown): void {
    const text = resultToKeep(value)
    if (text !== undefined) this.#add(once, orgId, nowMs, text)
  }

  /** Adds a key of a copy, unless it is there. */
  load(key: DumpedIdempotencyKey): void {
    if (this.find(key) === undefined) this.#add(key, key.orgId, key.createdAtMs, key.result)
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.#recent = undefined
  }

  #add(once: Once, orgId: number, nowMs: number, text: string): void {
    const { scopeId, scopeKind, keyHash, requestHash, userHash = null } = once
    const recent = this.#recentKeys()
    const shortHash = shortHashOf(keyHash)
    const id = ++this.#lastId
    this.#insert.run(id, shortHash, scopeId, scopeKind, keyHash, requestHash, orgId, nowMs, text, userHash)
    this.#remember(recent, shortHash, id)
    if (recent.size <= this.#recentMax) return
    this.#index.run(JSON.stringify(recent.takeRange()))
    if (!recent.isRoundComplete) return
    const indexedTo = Math.min(recent.smallestId() - 1, this.#lastId)
    this.#db.change(`UPDATE meta SET value = ?1 WHERE ${marker}`, indexedTo)
  }

  #remember(recent: RecentKeys, shortHash: number, id: number): void {
    // Memory has room for one of the keys that share a hash.
    const other = recent.get(shortHash)
    if (other !== undefined) this.#index.run(JSON.stringify([other]))
    recent.set(shortHash, id)
  }

  #recentKeys(): RecentKeys {
    if (this.#recent !== undefined) return this.#recent
    const recent = new RecentKeys()
    // The marker may be the id of a key that was removed: its id is not used again.
    this.#lastId = this.#db.one<{ value: number }>(`SELECT value FROM meta WHERE ${marker}`)!.value
    const rows = this.#db.prepare<unknown, [number]>(
      'SELECT id, short_hash FROM idempotency_keys WHERE id > ?1 ORDER BY id',
    )
    // Rows as arrays take half the time: there may be 100,000.
    for (const [id, shortHash] of rows.values(this.#lastId) as [number, number][]) {
      this.#remember(recent, shortHash, id)
      this.#lastId = id
    }
    this.#recent = recent
    return recent
  }
}

/** Removes the keys that `which` selects. Returns their number. */
export const removeIdempotencyKeys = (db: Connection, which: string, ...values: (number | string)[]): number => {
  const rows = db.all<{ id: number; shortHash: number }>(
    `SELECT id, short_hash AS shortHash FROM idempotency_keys WHERE ${which}`,
    ...values,
  )
  for (const { id, shortHash } of rows) {
    db.change('DELETE FROM idempotency_key_index WHERE short_hash = ?1 AND id = ?2', shortHash, id)
    db.change('DELETE FROM idempotency_keys WHERE id = ?1', id)
  }
  return rows.length
}

export const idempotencyKeyCommands = {
  /** A command, because only the writer finds the newest keys. `orgId`: the organization whose turn it takes. */
  findIdempotencyKey: (
    { idempotencyKeys }: { idempotencyKeys: IdempotencyKeyWrites },
    { key }: { key: IdempotencyKey; orgId: number },
  ) => idempotencyKeys.find(key),
}
