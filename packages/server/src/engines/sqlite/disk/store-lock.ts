import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StoreRefused } from '../../../core/store-refused.ts'
import { openDatabase } from '../connection.ts'
import { makePrivateFile } from './store-files.ts'

export interface StoreLock {
  release(): void
}

export interface ServingLock extends StoreLock {
  /** Processes that find the store locked can name this port from now on. */
  notePort(port: number): void
}

/**
 * Locks the store for this process: at most one process serves it. The lock is an open transaction on a separate file,
 * so the operating system releases it however the process ends. The pid is in another file beside it, for messages only.
 */
export const holdStore = (dataDir: string): ServingLock => {
  const path = join(dataDir, 'serve.lock')
  const lock = holdFile(path, () => `another process serves the store in ${dataDir}${showHolder(path)}`)
  const note = (holder: Holder): void => {
    try {
      writeFileSync(holderFile(path), JSON.stringify(holder), { mode: 0o600 })
    } catch {
      // The disk may be full. The message is then without the pid.
    }
  }
  note({ pid: process.pid })
  return {
    notePort: (port) => note({ pid: process.pid, port }),
    release() {
      rmSync(holderFile(path), { force: true })
      lock.release()
    },
  }
}

interface Holder {
  pid: number
  port?: number
}

const holderFile = (path: string): string => `${path}-holder`

/** Empty if it is not certain that the process in the file holds the lock: a killed process leaves the file behind. */
const showHolder = (path: string): string => {
  try {
    const { pid, port }: Holder = JSON.parse(readFileSync(holderFile(path), 'utf8'))
    if (!holdsLock(pid, path)) return ''
    return ` (pid ${pid}${port === undefined ? '' : `, port ${port}`})`
  } catch {
    return ''
  }
}

/** Linux lists all locks: `1: POSIX  ADVISORY  WRITE 4711 fe:00:131 0 EOF`. On other systems the process only has to exist. */
const holdsLock = (pid: number, path: string): boolean => {
  if (process.platform !== 'linux') return process.kill(pid, 0)
  const held = new RegExp(` WRITE ${pid} [0-9a-f]+:[0-9a-f]+:${statSync(path).ino} `)
  return held.test(readFileSync('/proc/locks', 'utf8'))
}

/** Locks a file in the same way. `refusal` is the message if another process holds it. */
export const holdFile = (path: string, refusal: () => string): StoreLock => {
  makePrivateFile(path)
  const db = openDatabase(path)
  try {
    // Without this, two processes that start at the same time might both fail.
    db.run('PRAGMA busy_timeout = 300')
    // With a journal in memory the lock needs no space, so a full disk does not prevent it.
    db.run('PRAGMA journal_mode = MEMORY')
    db.run('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')) {
      throw new StoreRefused(refusal())
    }
    throw error
  }
  return { release: () => db.close() }
}
