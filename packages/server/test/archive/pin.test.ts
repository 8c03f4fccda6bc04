import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { prepareStore } from '../../src/engines/sqlite/migrations/prepare-store.ts'
import { ThreadWriteChannel } from '../../src/engines/sqlite/write/thread-write-channel.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'
import { until } from './ledger.ts'

// Commits go on between the archive's look at the WAL and the checkpoint after it. If the checkpoint copied them too, the
// generation could be complete, and the next commit would overwrite frames that are not archived.

setDefaultTimeout(60_000)

test('no checkpoint copies what was committed after the archive looked', async () => {
  const dir = makeTempDir()
  const path = join(dir, 'cubby.db')
  await prepareStore(path, { isHolder: true })
  const beside = new Database(path)
  for (const setting of ['busy_timeout = 5000', 'wal_autocheckpoint = 0']) beside.run(`PRAGMA ${setting}`)
  beside.run('CREATE TABLE probe (n INTEGER PRIMARY KEY, text TEXT)')
  const wal = () => beside.query<{ log: number; checkpointed: number }, []>('PRAGMA wal_checkpoint(NOOP)').get()!
  const insert = (): void => void beside.run(`INSERT INTO probe (text) VALUES (hex(zeroblob(1500)))`)
  /** The looks of the archive. Each has what was committed, and how far the checkpoint after it went. */
  const looks: { archived: number; copied?: number }[] = []
  const channel = await ThreadWriteChannel.open({
    ...{ path, log: () => {}, checkpoints: true, onDiskFailure: () => {} },
    archive: {
      times: { path: join(dir, 'times'), clock: undefined },
      flush: async () => {
        const { log, checkpointed } = wal()
        if (looks.length > 0) looks.at(-1)!.copied = checkpointed
        looks.push({ archived: log })
        insert()
      },
    },
  })
  try {
    const commit = () => channel.submit({ kind: 'holdBlobs', untilMs: 1 })
    beside.run(
      'WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 2000) INSERT INTO probe (text) SELECT hex(zeroblob(1500)) FROM r',
    )
    await commit()
    // The pause after it starts a checkpoint by the thread, and then one by the writer for the reset.
    await until('both checkpoints', () =>
      looks.length >= 2 && wal().checkpointed > looks[0]!.archived ? true : undefined,
    )
    expect(looks[0]).toEqual({ archived: looks[0]!.archived, copied: looks[0]!.archived })
    // The last checkpoint may still run. Then it has copied all that was archived, and nothing else.
    await until('the last checkpoint', () => wal().checkpointed >= looks.at(-1)!.archived || undefined)
    await Bun.sleep(200)
    const { log, checkpointed } = wal()
    expect(checkpointed).toBe(looks.at(-1)!.archived)
    // One frame or more is not in the database file: the next commit appends, and does not reset.
    await commit()
    insert()
    expect(wal().log).toBeGreaterThan(log)
  } finally {
    await channel.close()
    beside.close()
    removeTempDir(dir)
  }
})

test('the first commit after a reset makes the WAL small: an archive keeps an idle server from emptying it', async () => {
  const dir = makeTempDir()
  const path = join(dir, 'cubby.db')
  await prepareStore(path, { isHolder: true })
  const beside = new Database(path)
  for (const setting of ['busy_timeout = 5000', 'wal_autocheckpoint = 0']) beside.run(`PRAGMA ${setting}`)
  const channel = await ThreadWriteChannel.open({
    ...{ path, log: () => {}, checkpoints: true, onDiskFailure: () => {}, idleMs: 100 },
    archive: { times: { path: join(dir, 'times'), clock: undefined }, flush: async () => {} },
  })
  const walBytes = (): number => statSync(`${path}-wal`).size
  try {
    let untilMs = 1
    const commit = () => channel.submit({ kind: 'holdBlobs', untilMs: untilMs++ })
    beside.run(
      'CREATE TABLE probe AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 3000) SELECT hex(zeroblob(1500)) AS text FROM r',
    )
    await commit()
    const large = walBytes()
    expect(large).toBeGreaterThan(8_000_000)
    await until('the WAL is copied and cut', async () => {
      await Bun.sleep(200)
      // Whole until it is cut by a commit: it grows by the commits made here, and is never emptied in between.
      expect(walBytes()).toBeGreaterThanOrEqual(large)
      await commit()
      if (walBytes() === 4 * 1024 * 1024) return true
      // It came before the checkpoint had ended, and its page alone is not worth another one.
      beside.run('INSERT INTO probe SELECT text FROM probe LIMIT 3000')
      return undefined
    })
  } finally {
    await channel.close()
    beside.close()
    removeTempDir(dir)
  }
})
