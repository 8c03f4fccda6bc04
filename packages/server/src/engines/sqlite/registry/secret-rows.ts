import { decodeSecrets, encodeSecrets, rotateSecrets, type StoreSecret } from '../../../core/store-secrets.ts'
import type { Connection } from '../connection.ts'

interface Row {
  secret: Uint8Array
  accepts_plain: number
  begins_at: number
}

/** Newest first: each rotation adds the last row. */
export const readSecrets = (db: Connection): StoreSecret[] =>
  db
    .prepare<Row, []>('SELECT secret, accepts_plain, begins_at FROM secrets ORDER BY rowid DESC')
    .all()
    .map((row) => ({ secret: row.secret, acceptsPlain: row.accepts_plain === 1, beginsAtMs: row.begins_at }))

/** Replaces all of them, inside the transaction that is open on `db`. */
export const writeSecrets = (db: Connection, secrets: readonly StoreSecret[]): void => {
  db.run('DELETE FROM secrets')
  const insert = db.prepare<unknown, [Uint8Array, number, number]>('INSERT INTO secrets VALUES (?1, ?2, ?3)')
  for (const { secret, acceptsPlain, beginsAtMs } of secrets.toReversed()) {
    insert.run(secret, acceptsPlain ? 1 : 0, beginsAtMs)
  }
}

/** A rotation as the writer thread gets it, which takes text. */
export interface Rotation {
  /** A list of one. */
  next: string
  endsEarlier: boolean
  nowMs: number
}

/** Returns what the store has then, as text. */
export const rotateIn = (db: Connection, { next, endsEarlier, nowMs }: Rotation): string => {
  const rotated = rotateSecrets(readSecrets(db), decodeSecrets(next)[0]!, endsEarlier, nowMs)
  writeSecrets(db, rotated)
  return encodeSecrets(rotated)
}
