import { dlopen } from 'bun:ffi'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../../../core/log.ts'
import { StoreRefused } from '../../../core/store-refused.ts'
import { syncPath } from '../../../files/sync.ts'
import { openDatabase } from '../connection.ts'
import { refuseDamaged } from './damage.ts'

// Names of the C library: glibc, musl, macOS.
const libraries = [
  'libc.so.6',
  `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`,
  'libSystem.B.dylib',
]

/**
 * Ends the process at once and leaves the store as it is. `process.exit` does not: Bun then closes every SQLite
 * connection, and the last one to close checkpoints and deletes the WAL. After a failed sync the WAL is the only good
 * copy.
 */
export const endProcess = (exitCode: number): never => {
  for (const library of libraries) {
    try {
      dlopen(library, { _exit: { args: ['i32'], returns: 'void' } }).symbols._exit(exitCode)
    } catch {
      // This system has another C library.
    }
  }
  // The exit code is another one, but this closes nothing either.
  process.kill(process.pid, 'SIGKILL')
  for (;;) Bun.sleepSync(1_000)
}

// A failed sync of cubby.db means that the kernel lost pages which a checkpoint had copied. It marks them clean and
// reports the error once: the next sync succeeds, SQLite resets the WAL, and the only good copy is gone. So the process
// ends and keeps the WAL. The next start copies the whole WAL again.
//
// SQLite starts that copy at the first frame only if it rebuilds the WAL index, and it does so only when no other process
// has the store open. Otherwise it continues where the failed process stopped and never copies the lost pages. So the
// failed process leaves a mark. A start that finds it waits until no other process has the store open, and until it has
// recovered no other command opens the store.

const markName = 'sync-failed'
const waitMs = 100
const logWaitMs = 10_000

const markOf = (dataDir: string): string => join(dataDir, markName)

const isMarked = (dataDir: string): boolean => existsSync(markOf(dataDir))

const leaveMark = (dataDir: string, cause: string): void => {
  const descriptor = openSync(markOf(dataDir), 'w', 0o600)
  try {
    writeSync(descriptor, `${new Date().toISOString()} process ${process.pid}: ${cause}\n`)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  syncPath(dataDir)
}

const removeMark = (dataDir: string): void => {
  rmSync(markOf(dataDir), { force: true })
  syncPath(dataDir)
}

/** Logs the failure and leaves the mark. End the process with `endProcess` then: acknowledged writes stay in the WAL. */
export const noteDiskFailure = (dataDir: string, cause: string, log: Log): void => {
  log('error', 'the disk failed: ending without closing the store, exit 1', {
    cause,
    next: 'Start the server again: it copies cubby.db-wal, which has every acknowledged write, into cubby.db first. Do not delete cubby.db-wal.',
  })
  try {
    leaveMark(dataDir, cause)
  } catch (error) {
    log('error', 'the mark for the next start could not be written', {
      cause: String(error),
      next: 'End every process that has the store open before you start the server again.',
    })
  }
}

/** Refuses a marked store, for every command but the owner's. */
export const refuseMarked = (dataDir: string): void => {
  if (!isMarked(dataDir)) return
  throw new StoreRefused(
    `the server of ${dataDir} ended because the disk failed (see ${markName} there); start the server first: it recovers the store before anyone else may open it`,
  )
}

/**
 * Calls `close` unless the store is marked: the last connection to close checkpoints the pages that it believes pending
 * and deletes the WAL. If the store is marked, the process keeps its connection and ends without closing it.
 *
 * The server may leave its mark between the check and the close. Nothing is lost then: the kernel reports a failed write
 * to each descriptor that was open, so the sync of this close fails too, and SQLite keeps the WAL.
 */
export const closeUnlessMarked = (dataDir: string, close: () => void): void => {
  if (!isMarked(dataDir)) close()
  else process.once('exit', endProcess)
}

/**
 * The owner calls it before it opens the store. If the store is marked, it waits until no other process has it open, copies the
 * whole WAL into the database file, and removes the mark. If the copy fails the mark stays and this throws.
 */
export const recoverMarked = async (dataDir: string, log: Log): Promise<void> => {
  if (!isMarked(dataDir)) return
  const path = join(dataDir, 'cubby.db')
  if (existsSync(path)) {
    let nextLogMs = 0
    while (!copyWholeLog(path)) {
      if (performance.now() >= nextLogMs) {
        nextLogMs = performance.now() + logWaitMs
        log('warn', 'the disk failed in the last run; waiting until no other process has the store open', {
          processes: processesWith(path),
        })
      }
      await Bun.sleep(waitMs)
    }
  }
  removeMark(dataDir)
  log('info', 'recovered after a failed disk: the whole of cubby.db-wal is in cubby.db')
}

/** False if another process has the store open. */
const copyWholeLog = (path: string): boolean => {
  const db = openDatabase(path)
  try {
    // This comes before the first access: SQLite then locks out other processes and rebuilds the WAL index, in its own memory.
    db.run('PRAGMA locking_mode = EXCLUSIVE')
    db.run('PRAGMA busy_timeout = 0')
    db.run('PRAGMA synchronous = FULL')
    const checkpoint = db.prepare<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)')
    try {
      return checkpoint.get()!.busy === 0
    } finally {
      checkpoint.finalize()
    }
  } catch (error) {
    const code = String((error as { code?: unknown }).code)
    if (code.startsWith('SQLITE_BUSY')) return false
    if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) throw refuseDamaged(path, error)
    throw new StoreRefused(
      `the last server ended because the disk failed, and cubby.db-wal could not be copied into ${path} now (${code}: ${(error as Error).message}); ${
        code.startsWith('SQLITE_FULL') ? 'make room on the disk' : 'repair or replace the disk'
      } and start again; do not delete cubby.db-wal`,
    )
  } finally {
    // After a failure this checkpoints once more, from the first frame, which is safe whether it succeeds or not.
    db.close()
  }
}

/** The processes that have the store open, as far as we may see them, such as `1234 (bun)`. */
const processesWith = (path: string): string[] => {
  try {
    const files = new Set(['', '-wal', '-shm'].map((end) => realpathSync(path) + end))
    const found = readdirSync('/proc').filter(
      (pid) => /^[0-9]+$/.test(pid) && Number(pid) !== process.pid && hasOpen(pid, files),
    )
    if (found.length > 0) return found.map((pid) => `${pid} (${nameOf(pid)})`)
  } catch {
    // This system is not Linux.
  }
  return ['another process']
}

const hasOpen = (pid: string, files: Set<string>): boolean => {
  const dir = `/proc/${pid}/fd`
  try {
    return readdirSync(dir).some((fd) => files.has(targetOf(`${dir}/${fd}`)))
  } catch {
    return false
  }
}

const targetOf = (link: string): string => {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}

const nameOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return 'ended'
  }
}
