import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { newBlobId } from '../../src/core/files/blob-id.ts'
import { newBucketId } from '../../src/core/files/bucket-id.ts'
import { fileKey, readFileContent } from '../../src/core/files/file-record.ts'
import { pendingBlobMs, recoveryMs, sweepGraceMs } from '../../src/core/limits.ts'
import { openSqliteEngine } from '../../src/engines/sqlite/engine.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Table } from '../../src/store/tables.ts'
import { expectRefusal, makeTenant, startMs, startSeconds, type Tenant, versionsOf } from '../conformance/fixture.ts'
import { makeTempDir, removeTempDir, storeIsEmbedded } from '../harness.ts'

// A row of a file that the disk has changed. Whatever it says, the bytes of other files must stay.

const nowMs = startMs + recoveryMs + sweepGraceMs

let dataDir: string
let engine: Engine
let tenant: Tenant
let [one, two]: Table[] = []
beforeEach(async () => {
  dataDir = makeTempDir()
  engine = await openSqliteEngine({ dataDir })
  tenant = await makeTenant(engine)
  const make = async (name: string): Promise<Table> =>
    (await engine.buckets.create(tenant.caller, 'app', name, newBucketId(), startMs)).table
  ;[one, two] = [await make('one'), await make('two')]
})
afterEach(async () => {
  await engine.close()
  removeTempDir(dataDir)
})

/** Its blob and the result. */
const put = async (bucket: Table, name: string, atMs: number, ttlSeconds: number | null = null) => {
  const blob = newBlobId(atMs)
  await engine.files.begin(tenant.caller, bucket, blob, atMs)
  const content = { size: 3, contentType: 'a/b', visibility: 'public' as const, sha256: 'ab'.repeat(32), blob }
  const file = { name, content: { ...content, metadata: '{}' }, ttlSeconds, condition: undefined }
  return { blob, written: await engine.files.commit(tenant.caller, bucket, file, atMs) }
}

const damage = (sql: string, ...values: string[]): void => {
  const db = new Database(join(dataDir, 'cubby.db'))
  expect(db.run(sql, values).changes).toBe(1)
  db.close()
}

const due = async (): Promise<string[]> => (await engine.files.takeDue(nowMs + pendingBlobMs, 100)).sort()

test.skipIf(!storeIsEmbedded())(
  'rows that name the blob of another file: it stays, however they are removed',
  async () => {
    const { blob: kept } = await put(one!, 'kept', startMs)
    const rows: [Table, string, number | null][] = [
      [one!, 'removed', null],
      [one!, 'replaced', null],
      [one!, 'expired', startSeconds + 1],
      [two!, 'purged', null],
    ]
    for (const [bucket, name, ttl] of rows) {
      await put(bucket, name, startMs, ttl)
      damage(`UPDATE records SET i3_hash = CAST(?1 AS BLOB) WHERE range_key = CAST(?2 AS BLOB)`, `f${kept}`, name)
    }
    await engine.files.remove(tenant.caller, one!, 'removed', undefined, nowMs)
    await put(one!, 'replaced', nowMs)
    expect(await engine.maintenance.sweepExpired(nowMs, 50)).toBe(1)
    await engine.buckets.delete(tenant.caller, 'app', 'two', startMs)
    // The row, and then the bucket.
    expect(await engine.maintenance.purgeTables(nowMs, 50)).toBe(2)
    expect(await due()).toEqual([])
    // The last file that refers to it is another matter.
    await engine.files.remove(tenant.caller, one!, 'kept', undefined, nowMs)
    expect(await due()).toEqual([kept])
  },
)

test.skipIf(!storeIsEmbedded())(
  'a row whose data has changed: no change of it is taken over, and a put makes a sound file',
  async () => {
    const { blob: kept } = await put(one!, 'kept', startMs)
    const { blob: old } = await put(one!, 'a', startMs)
    damage(`UPDATE records SET data = replace(data, '"size":3', '"size":4') WHERE range_key = CAST(?1 AS BLOB)`, 'a')
    const change = { contentType: 'text/html' }
    await expectRefusal(engine.files.change(tenant.caller, one!, 'a', change, undefined, nowMs), 'store_damaged')
    // At the time of the damaged version: the new one must still be above it.
    const { blob, written } = await put(one!, 'a', startMs)
    expect(versionsOf(written)[0]).toBeGreaterThan(startMs)
    const record = (await engine.records.get(one!, fileKey('a'), startMs))!
    expect([readFileContent(record.data).blob, record.updatedAtMs]).toEqual([blob, versionsOf(written)[0]!])
    expect(await Array.fromAsync(engine.maintenance.check())).toEqual([])
    expect(await due()).toEqual([old])
    expect(kept).not.toBe(old)
  },
)
