import type { CursorKey } from '../../../core/cursor-seal.ts'
import type { Connection } from '../connection.ts'

interface Row {
  secret: Uint8Array
  accepts_plain: number
}

export const readCursorKey = (db: Connection): CursorKey => {
  const { secret, accepts_plain } = db.prepare<Row, []>('SELECT secret, accepts_plain FROM cursor_key').get()!
  return { secret, acceptsPlain: accepts_plain === 1 }
}

/** Replaces the key. In hex, because the writer thread gets its commands as text. */
export const writeCursorKey = (db: Connection, secretHex: string, acceptsPlain: boolean): void => {
  db.prepare<unknown, [string, number]>('UPDATE cursor_key SET secret = unhex(?1), accepts_plain = ?2').run(
    secretHex,
    acceptsPlain ? 1 : 0,
  )
}
