import { Database } from 'bun:sqlite'
import { expect } from 'bun:test'
import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { readHeartbeat } from '../../src/engines/sqlite/archive/archive-files.ts'
import { readWalHeader } from '../../src/engines/sqlite/archive/wal-file.ts'
import { type Api, makeTempDir, removeTempDir, runCubby } from '../harness.ts'

// The records that a restore to a time must have, by the clock of this process, which is the server's: every write whose
// answer came before that time, and none that was sent after it.

interface Entry {
  sentMs: number
  answeredMs: number | undefined
}

export class Ledger {
  readonly entries = new Map<string, Entry>()
  #number = 0

  /** One put, noted. False if it got no answer. */
  async put(api: Api, table: string, textLength = 100): Promise<boolean> {
    const hashKey = `k${String(++this.#number).padStart(7, '0')}`
    const entry: Entry = { sentMs: Date.now(), answeredMs: undefined }
    this.entries.set(hashKey, entry)
    try {
      const answer = await api.put(table, { hashKey, data: { text: 'x'.repeat(textLength) } })
      expect(answer.status).toBe(200)
      entry.answeredMs = Date.now()
      return true
    } catch (error) {
      // The server was killed.
      if (!/connect|socket|closed|ECONN|refused/i.test(String(error))) throw error
      return false
    }
  }

  /** Several callers put one record after the other until `stopped` says so or the server is gone. */
  async putUntil(api: Api, table: string, callers: number, stopped: () => boolean): Promise<void> {
    const call = async (): Promise<void> => {
      while (!stopped() && (await this.put(api, table, 100 + (this.#number % 50) * 100))) await Bun.sleep(1)
    }
    await Promise.all(Array.from({ length: callers }, call))
  }

  /** Says what is wrong with a store that has these records, restored as of `atMs`. */
  faults(keys: readonly string[], atMs: number): string[] {
    const found = new Set(keys)
    const faults: string[] = []
    for (const [key, { sentMs, answeredMs }] of this.entries) {
      if (answeredMs !== undefined && answeredMs < atMs && !found.has(key)) {
        faults.push(`${key} is missing: answered ${atMs - answeredMs} ms before`)
      }
      if (sentMs > atMs && found.has(key)) faults.push(`${key} is there: sent ${sentMs - atMs} ms after`)
    }
    return faults
  }
}

export interface Restored {
  exitCode: number
  stderr: string
  /** The records in the order in which they were created. */
  keys: string[]
}

/** Runs `cubby backup restore` into a directory of its own, and reads what is in it. */
export const restoreAt = async (archive: string, at: number | string, args: string[] = []): Promise<Restored> => {
  const dir = makeTempDir()
  try {
    const data = join(dir, 'restored')
    const command = ['backup', 'restore', '--from', archive, '--at', String(at), '--data', data, ...args]
    const { exitCode, stderr } = await runCubby(command)
    return { exitCode, stderr, keys: exitCode === 0 ? keysOf(data) : [] }
  } finally {
    removeTempDir(dir)
  }
}

export const keysOf = (data: string): string[] => {
  const db = new Database(join(data, 'cubby.db'), { readwrite: true })
  try {
    const rows = db.query<{ key: string }, []>(`SELECT CAST(hash_key AS TEXT) AS key FROM records ORDER BY id`).all()
    return rows.map(({ key }) => key).filter((key) => key.startsWith('k'))
  } finally {
    db.close()
  }
}

/** Polls until `read` returns something that is not undefined. */
export const until = async <T>(what: string, read: () => T | undefined | Promise<T | undefined>): Promise<T> => {
  for (const endMs = Date.now() + 60_000; Date.now() < endMs; await Bun.sleep(25)) {
    const value = await read()
    if (value !== undefined) return value
  }
  throw new Error(`${what} did not happen within a minute`)
}

/** Waits until everything that was answered before now is archived. `offsetMs`: the offset of the server's clock. */
export const untilArchived = (archive: string, offsetMs = 0): Promise<number> => {
  const nowMs = Date.now() + offsetMs
  return until('the archive to cover this moment', () => {
    const { coveredMs = 0, later = null } = readHeartbeat(archive) ?? {}
    const reachedMs = later?.[1] ?? coveredMs
    return reachedMs > nowMs && reachedMs < nowMs + 60_000 ? reachedMs : undefined
  })
}

export interface Verified {
  findings: string[]
  notes: string[]
  ranges: { fromMs: number; toMs: number; bases: number; segments: number }[]
  gaps: { fromMs: number; toMs: number; reason: string }[]
  twice: { fromMs: number; toMs: number }[]
}

export const verify = async (archive: string): Promise<Verified> => {
  const { stdout, stderr } = await runCubby(['backup', 'verify', archive, '--json'])
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout)
}

/** Waits until there are so many ranges, each with a base. */
export const untilRanges = (archive: string, count: number): Promise<Verified> =>
  until(`${count} ranges`, async () => {
    const found = await verify(archive).catch(() => undefined)
    return found !== undefined && found.ranges.length >= count ? found : undefined
  })

const saltOf = (data: string): number | undefined => {
  const file = openSync(join(data, 'cubby.db-wal'), 'r')
  try {
    const bytes = Buffer.alloc(32)
    readSync(file, bytes, 0, 32, 0)
    return readWalHeader(bytes)?.salt1
  } finally {
    closeSync(file)
  }
}

const writeThousandPages = async (api: Api, table: string): Promise<void> => {
  for (let batch = 0; batch < 24; batch++) {
    const operations = Array.from({ length: 25 }, (_, i) => ({
      ...{ op: 'put', hashKey: `filler-${batch}-${i}` },
      data: { text: 'y'.repeat(8_000) },
    }))
    expect((await api.post(`${table}/batch`, { operations })).status).toBe(200)
  }
}

/**
 * Writes until SQLite resets the WAL: more than a thousand pages, then a pause, then a commit. On a busy machine there may
 * be a pause before that, and then too few pages are left for another checkpoint: so it is repeated.
 */
export const endGeneration = async (api: Api, table: string, data: string): Promise<void> => {
  const before = saltOf(data)
  await until('a reset of the WAL', async () => {
    await writeThousandPages(api, table)
    for (let pause = 0; pause < 6; pause++) {
      await Bun.sleep(150)
      await api.put(table, { hashKey: 'filler', data: {} })
      const salt = saltOf(data)
      if (salt !== undefined && salt !== before) return salt
    }
    return undefined
  })
}
