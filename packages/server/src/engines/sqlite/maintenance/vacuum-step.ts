import type { Connection } from '../connection.ts'
import { faultPoint } from '../disk/fault-point.ts'

/** Pages that one statement gives back. Time is looked at between statements. */
const pagesPerStatement = 4

/** SQLite's number for `auto_vacuum = INCREMENTAL`. */
const incremental = 2

export interface VacuumStep {
  /** Nothing is done while at most this share of the pages is free. */
  freeShareMax: number
  msMax: number
}

export interface Space {
  pages: number
  /** Those that no record, index entry or table needs. */
  freePages: number
}

/**
 * Moves pages from the end of the file into free ones, and cuts the end off, in the transaction that is open on `db`. The file
 * itself becomes shorter with the next complete checkpoint. Returns the space after the step; undefined if pages cannot be given
 * back, because the store was made by a version without auto-vacuum (`cubby compact` turns it on).
 *
 * `isAlone`: no other write waits for this transaction. Otherwise nothing is done.
 */
export const vacuumStep = (
  db: Connection,
  { freeShareMax, msMax }: VacuumStep,
  isAlone: boolean,
): Space | undefined => {
  if (db.pragma('auto_vacuum') !== incremental) return undefined
  let space = readSpace(db)
  if (!isAlone) return space
  const giveBack = db.prepare(`PRAGMA incremental_vacuum(${pagesPerStatement})`)
  const endMs = performance.now() + msMax
  while (space.freePages > space.pages * freeShareMax && performance.now() < endMs) {
    // It returns a row for each page, and stops when they are not read.
    giveBack.all()
    const after = readSpace(db)
    // SQLite reports what it cannot do, so this is not expected. It must not be tried for ever.
    if (after.freePages >= space.freePages) return undefined
    space = after
  }
  return space
}

export const readSpace = (db: Connection): Space => ({
  pages: db.pragma('page_count'),
  freePages: db.pragma('freelist_count'),
})

interface Writers {
  db: Connection
  isAlone: boolean
  faults: string | undefined
}

export const vacuum = ({ db, isAlone, faults }: Writers, step: VacuumStep): Space | undefined => {
  if (faults === undefined) return vacuumStep(db, step, isAlone)
  const { pages } = readSpace(db)
  const space = vacuumStep(db, step, isAlone)
  if (readSpace(db).pages < pages) faultPoint(faults, 'vacuum')
  return space
}
