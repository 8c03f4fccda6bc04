import { randomBytes } from 'node:crypto'
import { cursorKeyBytes } from '../../../core/cursor-seal.ts'
import type { Connection } from '../connection.ts'

export interface Migration {
  /** The version after it. It is applied to a store of the version before. */
  to: number
  /** Runs in its own transaction. Its time must not depend on the size of the store: work on all rows is done later, in steps. */
  run(db: Connection): void
}

export const newCursorSecret = (): string => randomBytes(cursorKeyBytes).toString('hex')

/** In order. A migration is never changed after its release, so it uses no constant of the current schema. */
export const migrations: Migration[] = [
  {
    // Adds a key that makes cursors opaque, and a checksum at the end of every row's data. Existing rows get theirs while
    // the server runs: see maintenance/add-checksums.ts. The checksum has no column, because ALTER TABLE reads every row of a
    // strict table (2.5 s for a million rows), and Bun does not let us edit the schema directly.
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
