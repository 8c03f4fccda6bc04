import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'

/**
 * The points at which a thread can be made to fail. The writer: `begun`, with the transaction open (the thread ends);
 * `statement`, after the statements; `commit`, just before COMMIT; `vacuum`, before the COMMIT of a step that gives pages back.
 * Such a step meets none of the other points, because a test does not know when it comes. The checkpoint thread: `copy`, before
 * a checkpoint (the thread ends). Both: `open`, when the store is opened. A migration: `migrate`, just before its COMMIT. The
 * owner, with an archive: `closed`, when it has closed the store and the archive is still open.
 */
export type FaultPoint = 'open' | 'begun' | 'statement' | 'commit' | 'copy' | 'migrate' | 'vacuum' | 'closed'

/** An error with that SQLite code is thrown, or the thread waits. */
export type Fault = { at: FaultPoint } & ({ code: string } | { waitMs: number })

/** Plans faults, which happen one after the other. After the last one there is a file with `.hit` after its name. */
export const planFaults = (file: string, faults: Fault[]): void => {
  // A rename puts it into place: a reader never sees a part of the file.
  writeFileSync(`${file}.new`, JSON.stringify(faults))
  renameSync(`${file}.new`, faults.length > 0 ? file : `${file}.hit`)
}

/** Ends the wait of a thread early. */
export const endWait = (file: string): void => writeFileSync(`${file}.go`, '')

/** Makes a planned fault happen: tests need faults that no request can cause. `file` is the one that `planFaults` wrote. */
export const faultPoint = (file: string, at: FaultPoint): void => {
  let planned: Fault[]
  try {
    planned = JSON.parse(readFileSync(file, 'utf8')) as Fault[]
  } catch {
    return
  }
  const [fault, ...later] = planned
  if (fault?.at !== at) return
  planFaults(file, later)
  if (later.length === 0) rmSync(file, { force: true })
  if ('waitMs' in fault) {
    for (const endMs = performance.now() + fault.waitMs; performance.now() < endMs && !existsSync(`${file}.go`); )
      Bun.sleepSync(10)
  } else throw Object.assign(new Error('a fault made by a test'), { code: fault.code })
}
