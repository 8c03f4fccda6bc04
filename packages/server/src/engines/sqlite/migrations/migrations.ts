import { randomBytes } from 'node:crypto'
import { cursorKeyBytes } from '../../../core/cursor-seal.ts'
import type { Connection } from '../connection.ts'

export interface Migration {
  /** The version that it makes of the one before. */
  to: number
  /** Runs in a transaction of its own. It must not take longer for a large store: what has to visit rows is done later, in steps. */
  run(db: Connection): void
}

export const newCursorSecret = (): string => randomBytes(cursorKeyBytes).toString('hex')

/** Each says in full what it does: it must stay the same when the schema changes again. */
export const migrations: Migration[] = [
  {
    // A key that makes cursors opaque, and a checksum behind the data of every row. Rows get theirs beside the traffic: see
    // records/add-checksums.ts. A column for it could not be added at once: ALTER TABLE reads every row of a strict table
    // (2.5 s for a million), and Bun opens SQLite so that its schema cannot be written otherwise.
    to: 2,
    run(db) {
      db.run(`
        INSERT INTO meta VALUES ('unchecked_next', 1),
          ('unchecked_end', (SELECT value FROM meta WHERE name = 'next_record_id'));
        CREATE TABLE cursor_key (
          secret BLOB NOT NULL,
          accepts_plain INTEGER NOT NULL
        ) STRICT;
        INSERT INTO cursor_key VALUES (x'${newCursorSecret()}', 1);
      `)
    },
  },
]
