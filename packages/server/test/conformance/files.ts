import { expect } from 'bun:test'
import { newBlobId, newStoreBlobId } from '../../src/core/files/blob-id.ts'
import { newBucketId } from '../../src/core/files/bucket-id.ts'
import { parseFileQuery } from '../../src/core/files/file-query.ts'
import {
  type FileContent,
  fileHashKey,
  fileKey,
  fileSlots,
  publicHash,
  readFileContent,
  type Visibility,
} from '../../src/core/files/file-record.ts'
import { deadBlobMs, pendingBlobMs, recoveryMs, sweepGraceMs } from '../../src/core/limits.ts'
import { indexBounds, parseRange } from '../../src/core/records/range.ts'
import type { Scan } from '../../src/core/records/scan.ts'
import type { Access } from '../../src/operations/access.ts'
import { queryFiles } from '../../src/operations/files/query-files.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { FileWriteResult } from '../../src/store/files.ts'
import type { Condition } from '../../src/store/records.ts'
import type { Table } from '../../src/store/tables.ts'
import { type Case, expectSound } from '../engine-conformance.ts'
import {
  expectRefusal,
  makeTenant,
  primaryScan,
  readPages,
  startMs,
  startSeconds,
  type Tenant,
  timeScan,
  versionsOf,
  withoutEpoch,
} from './fixture.ts'

interface FileFields {
  visibility?: Visibility
  ttlSeconds?: number
  condition?: Condition
  metadata?: string
}

const contentOf = (blob: string, { visibility = 'private', metadata = '{}' }: FileFields = {}): FileContent => ({
  ...{
    size: 3,
    contentType: 'text/plain; x="a,\\"metadata\\":1"',
    visibility,
    sha256: 'ab'.repeat(32),
    blob,
    metadata,
  },
})

/** One bucket of one organization. */
export const makeShelf = async (engine: Engine, at: { tenant?: Tenant; name?: string } = {}) => {
  const tenant = at.tenant ?? (await makeTenant(engine))
  const { table } = await engine.buckets.create(tenant.caller, 'app', at.name ?? 'avatars', newBucketId(), startMs)
  const shelf = {
    tenant,
    bucket: table,
    async begin(nowMs = startMs): Promise<string> {
      const blob = newBlobId(nowMs)
      await engine.files.begin(tenant.caller, table, blob, nowMs)
      return blob
    },
    commit: (name: string, blob: string, fields: FileFields = {}, nowMs = startMs): Promise<FileWriteResult> => {
      const { ttlSeconds = null, condition } = fields
      return engine.files.commit(
        tenant.caller,
        table,
        { name, content: contentOf(blob, fields), ttlSeconds, condition },
        nowMs,
      )
    },
    /** A small file, with its bytes. */
    commitSmall: (name: string, bytes: Uint8Array, fields: FileFields = {}, nowMs = startMs) => {
      const { ttlSeconds = null, condition } = fields
      const blob = newStoreBlobId(nowMs)
      const file = { name, content: contentOf(blob, fields), ttlSeconds, condition, bytes }
      return engine.files.commit(tenant.caller, table, file, nowMs).then((result) => ({ blob, result }))
    },
    /** Its blob. */
    async put(name: string, fields: FileFields = {}, nowMs = startMs): Promise<string> {
      const blob = await shelf.begin(nowMs)
      expect((await shelf.commit(name, blob, fields, nowMs)).applied).toBe(true)
      return blob
    },
    remove: (name: string, condition?: Condition, nowMs = startMs) =>
      engine.files.remove(tenant.caller, table, name, condition, nowMs),
    change: (name: string, changes: object, condition?: Condition, nowMs = startMs) =>
      engine.files.change(tenant.caller, table, name, changes, condition, nowMs),
    get: async (name: string, nowMs = startMs) => engine.records.get(table, fileKey(name), nowMs),
    blobOf: async (name: string, nowMs = startMs) => {
      const record = await shelf.get(name, nowMs)
      return record && readFileContent(record.data).blob
    },
    names: async (scan: Scan, nowMs = startMs, rowsMax = 2) =>
      (await readPages(engine, table, scan, rowsMax, nowMs)).flat().map(({ rangeKey }) => rangeKey),
  }
  return shelf
}

/** The files and folders that a listing has, in all its pages. */
const listFolders = async (
  engine: Engine,
  { tenant, bucket }: { tenant: Tenant; bucket: Table },
  query: { prefix: string; ascending: boolean; limit: number },
  isPublic: boolean,
  nowMs: number,
): Promise<{ files: string[]; folders: string[]; rows: number }> => {
  const listed = { files: [] as string[], folders: [] as string[], rows: 0 }
  const records = {
    scan: async (...args: Parameters<Engine['records']['scan']>) => {
      const page = await engine.records.scan(...args)
      listed.rows += page.records.length
      return page
    },
  }
  const { buckets, secrets } = engine
  const apiKey = { ...tenant.apiKey, kind: isPublic ? 'public' : 'secret' }
  const access = { engine: { buckets, secrets, records }, apiKey } as unknown as Access
  let cursor: string | null = null
  do {
    const input = { db: bucket.db, bucket: bucket.name, query: parseFileQuery({ ...query, folders: true, cursor }) }
    const page = await queryFiles(access, input, nowMs, ({ name }) => JSON.stringify(name))
    const [files, folders] = [page.items, page.folders!].map((texts) => texts.map((text) => JSON.parse(text) as string))
    expect(page.count).toBe(files!.length + folders!.length)
    expect(page.count).toBeLessThanOrEqual(query.limit)
    listed.files.push(...files!)
    listed.folders.push(...folders!)
    cursor = page.cursor
    // The last page is known to be the last one.
    if (page.count === 0) expect(listed).toMatchObject({ files: [], folders: [] })
  } while (cursor !== null)
  return listed
}

const byName = (descending = false): Scan => primaryScan(fileHashKey, undefined, descending)
const publicScan = (slot: 'publicByName' | 'publicByTime', descending = false): Scan => ({
  ...{ index: fileSlots[slot], hash: publicHash, ...indexBounds(parseRange(undefined, 'index')) },
  ...{ lowId: 0, highId: 0, descending },
})

const due = (engine: Engine, nowMs: number): Promise<string[]> => engine.files.takeDue(nowMs, 100)

/** Everything that can be removed at some time, in order of the ids. */
const allDue = async (engine: Engine, nowMs = startMs + 10 * pendingBlobMs): Promise<string[]> =>
  (await due(engine, nowMs)).sort()

const liveBlobs = async (engine: Engine): Promise<string[]> => {
  const dump = await engine.transfer.openDump()
  try {
    return (await Array.fromAsync(dump.blobs())).map(({ id }) => id)
  } finally {
    await dump.close()
  }
}

export const fileCases = (it: Case): void => {
  it('a listing with folders has each file and folder behind the prefix once', async ({ engine }) => {
    const shelf = await makeShelf(engine)
    const names = ['a', 'a/', 'a-', 'a0', 'ab/c', 'a/b', 'a/b/c', 'a/b/d', 'a/b-/e', 'a/\u{10ffff}', 'z/1', 'é/é', 'é']
      .filter((name) => !name.endsWith('/'))
      .concat(Array.from({ length: 30 }, (_, i) => `m/${i}`))
    const isOpen = (name: string): boolean => name.length % 2 === 1
    for (const name of names) await shelf.put(name, { visibility: isOpen(name) ? 'public' : 'private' })
    for (const name of ['gone/1', 'm/gone', 'a/gone']) await shelf.put(name, { ttlSeconds: startSeconds + 1 })
    const nowMs = startMs + 2_000
    for (const isPublic of [false, true]) {
      for (const prefix of ['', 'a', 'a/', 'a/b', 'm/', 'é', 'none']) {
        const below = names.filter((name) => name.startsWith(prefix) && (!isPublic || isOpen(name)))
        const folderOf = (name: string) => /^.*?\//.exec(name.slice(prefix.length))?.[0]
        const inOrder = (texts: string[]) =>
          [...new Set(texts)].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
        const files = inOrder(below.filter((name) => folderOf(name) === undefined))
        const folders = inOrder(below.flatMap((name) => folderOf(name) ?? []).map((folder) => prefix + folder))
        for (const ascending of [true, false]) {
          for (const limit of [1, 2, 3, 100]) {
            const { rows, ...listed } = await listFolders(engine, shelf, { prefix, ascending, limit }, isPublic, nowMs)
            const expected = ascending
              ? { files, folders }
              : { files: files.toReversed(), folders: folders.toReversed() }
            expect({ isPublic, prefix, limit, ...listed }).toEqual({ isPublic, prefix, limit, ...expected })
            // A listing takes at most one step for each file or folder, and one for each page.
            if (limit === 100) expect(rows).toBeLessThanOrEqual(8 * (files.length + folders.length + 1))
          }
        }
      }
    }
  })

  it('buckets: a name of its own beside a table of the same name; found by name and by its public id', async ({
    engine,
  }) => {
    const tenant = await makeTenant(engine)
    const publicId = newBucketId()
    const { table: plain } = await engine.tables.create(tenant.caller, 'app', 'avatars', {}, startMs)
    const { table: bucket, created } = await engine.buckets.create(tenant.caller, 'app', 'avatars', publicId, startMs)
    expect([created, bucket.kind, bucket.publicId, plain.kind, plain.publicId]).toEqual([
      ...[true, 'bucket', publicId, 'table', null],
    ])
    const again = await engine.buckets.create(tenant.caller, 'app', 'avatars', newBucketId(), startMs + 1)
    expect([again.created, again.table.publicId]).toEqual([false, publicId])
    const { id: orgId } = tenant.org
    expect((await engine.tables.find(orgId, 'app', 'avatars'))!.id).toBe(plain.id)
    expect(withoutEpoch(await engine.buckets.find(orgId, 'app', 'avatars'))).toEqual(withoutEpoch(bucket)!)
    expect(withoutEpoch(await engine.buckets.findById(publicId))).toEqual(withoutEpoch(bucket)!)
    expect(await engine.buckets.findById(newBucketId())).toBeUndefined()
    const listing = { orgId, db: 'app', after: undefined, limit: 10 }
    expect((await engine.tables.list(listing)).map(({ id }) => id)).toEqual([plain.id])
    expect((await engine.buckets.list(listing)).map(({ id }) => id)).toEqual([bucket.id])
    await engine.buckets.create(tenant.caller, 'only-files', 'b', newBucketId(), startMs)
    expect(await engine.tables.listDatabases(orgId, undefined, 10)).toEqual(['app', 'only-files'])
  })

  it('buckets: a deleted one is not found by its id, a restored one is, a new one has another id', async ({
    engine,
  }) => {
    const { tenant, bucket, put, get } = await makeShelf(engine)
    const { id: orgId } = tenant.org
    const blob = await put('a.txt')
    const deleted = await engine.buckets.delete(tenant.caller, 'app', 'avatars', startMs + 5)
    expect(deleted).toMatchObject({ id: bucket.id, deletedAtMs: startMs + 5 })
    expect(await engine.buckets.find(orgId, 'app', 'avatars')).toBeUndefined()
    expect(await engine.buckets.findById(bucket.publicId!)).toBeUndefined()
    expect((await engine.buckets.findDeleted(orgId, 'app', 'avatars', startMs + 6))!.id).toBe(bucket.id)
    expect(await engine.tables.findDeleted(orgId, 'app', 'avatars', startMs + 6)).toBeUndefined()
    const other = await engine.buckets.create(tenant.caller, 'app', 'avatars', newBucketId(), startMs + 7)
    expect(other.created).toBe(true)
    expect(await engine.buckets.restore(tenant.caller, 'app', 'avatars', undefined, startMs + 8)).toEqual({
      ...{ outcome: 'taken', deletedAtMs: startMs + 5 },
    })
    await engine.buckets.delete(tenant.caller, 'app', 'avatars', startMs + 9)
    const restored = await engine.buckets.restore(tenant.caller, 'app', 'avatars', startMs + 5, startMs + 10)
    expect(restored).toMatchObject({ outcome: 'restored', table: { id: bucket.id, publicId: bucket.publicId } })
    expect((await engine.buckets.findById(bucket.publicId!))!.id).toBe(bucket.id)
    expect(readFileContent((await get('a.txt'))!.data)).toEqual(contentOf(blob))
    expect(await allDue(engine)).toEqual([])
  })

  it('commit: the file is a record, as it was given; the one that it replaces is due an hour later', async ({
    engine,
  }) => {
    const { put, get, blobOf } = await makeShelf(engine)
    const metadata = '{ "a": 1.0, "ü": "\\u0041" }'
    const first = await put('cats/tom.png', { metadata, ttlSeconds: startSeconds + 500 })
    expect(await get('cats/tom.png')).toMatchObject({ ttlSeconds: startSeconds + 500, updatedAtMs: startMs })
    expect(readFileContent((await get('cats/tom.png'))!.data)).toEqual(contentOf(first, { metadata }))
    const second = await put('cats/tom.png')
    expect(await get('cats/tom.png')).toMatchObject({ ttlSeconds: null, updatedAtMs: startMs + 1 })
    expect(await blobOf('cats/tom.png')).toBe(second)
    expect(await liveBlobs(engine)).toEqual([second])
    expect(await due(engine, startMs + deadBlobMs - 1)).toEqual([])
    expect(await due(engine, startMs + deadBlobMs)).toEqual([first])
  })

  it('listing: by name in byte order, by time, and the public files alone both ways', async ({ engine }) => {
    const { put, names, change } = await makeShelf(engine)
    await put('b', { visibility: 'public' }, startMs + 3)
    await put('a/é', {}, startMs + 2)
    await put('a', { visibility: 'public' }, startMs + 5)
    await put('a/z', { visibility: 'public' }, startMs + 1)
    await put('2026-01-01T00:00:00Z', { visibility: 'public' }, startMs + 4)
    expect(await names(byName())).toEqual(['2026-01-01T00:00:00Z', 'a', 'a/z', 'a/é', 'b'])
    expect(await names(timeScan(undefined, true))).toEqual(['a', '2026-01-01T00:00:00Z', 'b', 'a/é', 'a/z'])
    expect(await names(publicScan('publicByName'))).toEqual(['2026-01-01T00:00:00Z', 'a', 'a/z', 'b'])
    expect(await names(publicScan('publicByName', true))).toEqual(['b', 'a/z', 'a', '2026-01-01T00:00:00Z'])
    expect(await names(publicScan('publicByTime', true))).toEqual(['a', '2026-01-01T00:00:00Z', 'b', 'a/z'])
    await put('a', {}, startMs + 6)
    await change('a/é', { visibility: 'public' }, undefined, startMs + 1)
    // Its version is above the one before, not the time of the call.
    expect(await names(publicScan('publicByTime', true))).toEqual(['2026-01-01T00:00:00Z', 'a/é', 'b', 'a/z'])
    expect(await names(publicScan('publicByName'))).toEqual(['2026-01-01T00:00:00Z', 'a/z', 'a/é', 'b'])
  })

  it('conditions: judged at the commit; if one fails, the file stays and the new bytes are due an hour later', async ({
    engine,
  }) => {
    const { put, begin, commit, blobOf, remove } = await makeShelf(engine)
    const first = await put('a')
    const late = await begin()
    expect(await commit('a', late, { condition: 'absent' })).toEqual({
      ...{ applied: false, failedOperation: 0, current: startMs },
    })
    const other = await begin()
    expect((await commit('a', other, { condition: { version: startMs - 1 } })).applied).toBe(false)
    expect((await commit('b', await begin(), { condition: 'exists' })).applied).toBe(false)
    expect(await blobOf('a')).toBe(first)
    expect(await liveBlobs(engine)).toEqual([first])
    expect((await remove('a', { version: 1 })).applied).toBe(false)
    // Such an upload is over: its bytes are not committed later, and are due after an hour, not after a day.
    await expectRefusal(commit('c', late), 'unavailable')
    expect(await due(engine, startMs + deadBlobMs - 1)).toEqual([])
    expect((await due(engine, startMs + deadBlobMs)).length).toBe(3)
    const right = await begin()
    expect(versionsOf(await commit('a', right, { condition: { version: startMs } }))).toEqual([startMs + 1])
    expect(await blobOf('a')).toBe(right)
  })

  it('change: the record has a new version, the bytes stay; without a file nothing happens', async ({ engine }) => {
    const { put, change, get, names } = await makeShelf(engine)
    const blob = await put('a', { ttlSeconds: startSeconds + 50 })
    const changes = { visibility: 'public', contentType: 'a/b', metadata: '{"x":1.50}' }
    const result = await change('a', changes)
    expect(versionsOf(result)).toEqual([startMs + 1])
    const record = (await get('a'))!
    // The result has what was written: by the time that a caller reads, it may have been replaced.
    expect(result).toMatchObject({ content: readFileContent(record.data), ttlSeconds: startSeconds + 50 })
    expect(record.ttlSeconds).toBe(startSeconds + 50)
    expect(readFileContent(record.data)).toEqual({ ...contentOf(blob), ...changes, visibility: 'public' })
    expect(await names(publicScan('publicByName'))).toEqual(['a'])
    expect((await change('a', { ttlSeconds: null }, { version: startMs })).applied).toBe(false)
    const last = await change('a', { ttlSeconds: null }, { version: startMs + 1 })
    expect(last).toMatchObject({ applied: true, content: readFileContent(record.data), ttlSeconds: null })
    expect((await get('a'))!.ttlSeconds).toBeNull()
    for (const condition of [undefined, 'exists', { version: 1 }] as const) {
      expect(await change('none', { contentType: 'a/b' }, condition)).toEqual({
        ...{ applied: false, failedOperation: 0, current: undefined },
      })
    }
    await put('short', { ttlSeconds: startSeconds + 1 })
    expect((await change('short', { ttlSeconds: null }, undefined, startMs + 2_000)).applied).toBe(false)
    expect(await liveBlobs(engine)).toContain(blob)
    expect(await allDue(engine)).toEqual([])
  })

  it('remove: says whether there was a file; its bytes are due an hour later', async ({ engine }) => {
    const { put, remove, get } = await makeShelf(engine)
    const blob = await put('a')
    const neighbour = await put('a/b')
    expect(await remove('none')).toEqual({ applied: true, results: [{ deleted: false }] })
    expect(await remove('a')).toEqual({ applied: true, results: [{ deleted: true }] })
    expect(await get('a')).toBeUndefined()
    expect(await due(engine, startMs + deadBlobMs - 1)).toEqual([])
    expect(await due(engine, startMs + deadBlobMs)).toEqual([blob])
    expect(await liveBlobs(engine)).toEqual([neighbour])
  })

  it('uploads: a pending one is due a day after its last progress; then no commit can bring it back', async ({
    engine,
  }) => {
    const { tenant, begin, commit, get } = await makeShelf(engine)
    const [stale, kept] = [await begin(), await begin()]
    await engine.files.keepAlive([kept], startMs + 1_000)
    // A clock that steps back takes nothing away.
    await engine.files.keepAlive([kept], startMs - 1_000)
    expect(await due(engine, startMs + pendingBlobMs - 1)).toEqual([])
    expect(await due(engine, startMs + pendingBlobMs)).toEqual([stale])
    await expectRefusal(commit('a', stale), 'unavailable')
    expect(await get('a')).toBeUndefined()
    expect((await commit('b', kept)).applied).toBe(true)
    // A blob is committed once.
    await expectRefusal(commit('c', kept), 'unavailable')
    await expectRefusal(commit('c', newBlobId(startMs)), 'unavailable')
    const other = await makeShelf(engine, { tenant, name: 'other' })
    await expectRefusal(commit('c', await other.begin()), 'unavailable')
    expect(await liveBlobs(engine)).toEqual([kept])
  })

  it('uploads: one that was given up is due at once; a live one cannot be given up', async ({ engine }) => {
    const { begin, put } = await makeShelf(engine)
    const blob = await begin()
    const live = await put('a')
    await engine.files.abandon(blob, startMs + 5)
    await engine.files.abandon(live, startMs + 5)
    await engine.files.keepAlive([blob, live], startMs + 5)
    expect(await due(engine, startMs + 5)).toEqual([blob])
    expect(await liveBlobs(engine)).toEqual([live])
  })

  it('the sweep: what it has taken comes back only if it is not forgotten', async ({ engine }) => {
    const { begin } = await makeShelf(engine)
    const blobs = [await begin(), await begin(), await begin()].sort()
    for (const blob of blobs) await engine.files.abandon(blob, startMs)
    const first = await engine.files.takeDue(startMs, 2)
    expect(first).toHaveLength(2)
    await engine.files.forget([first[0]!])
    const rest = await due(engine, startMs)
    expect([...rest, ...first].sort()).toEqual(blobs)
    await engine.files.forget(rest)
    expect(await due(engine, startMs + pendingBlobMs)).toEqual([first[1]!])
    await engine.files.forget([first[1]!])
    expect(await allDue(engine)).toEqual([])
  })

  it('the sweep: only what it has taken is forgotten', async ({ engine }) => {
    const { begin, put, commit } = await makeShelf(engine)
    const [pending, live] = [await begin(), await put('a')]
    await engine.files.forget([pending, live])
    expect((await commit('b', pending)).applied).toBe(true)
    expect(await liveBlobs(engine)).toEqual([pending, live].sort())
  })

  it('the sweep: a backup holds it, and only the latest hold counts', async ({ engine, openBeside }) => {
    const { begin } = await makeShelf(engine)
    const blob = await begin()
    await engine.files.abandon(blob, startMs)
    const other = await openBeside()
    await other.files.holdSweep(startMs + 100)
    await engine.files.holdSweep(startMs + 50)
    expect(await due(engine, startMs + 99)).toEqual([])
    expect(await due(engine, startMs + 100)).toEqual([blob])
  })

  it('ttl: the bytes of an expired file are due when its record is swept, or replaced', async ({ engine }) => {
    const { put, remove, get } = await makeShelf(engine)
    const swept = await put('a', { ttlSeconds: startSeconds + 10, visibility: 'public' })
    const replaced = await put('b', { ttlSeconds: startSeconds + 10 })
    const nowMs = startMs + 11_000
    expect(await get('a', nowMs)).toBeUndefined()
    expect(await remove('a', undefined, nowMs)).toEqual({ applied: true, results: [{ deleted: false }] })
    const live = await put('b', { condition: 'absent' }, nowMs)
    expect(await due(engine, nowMs + deadBlobMs)).toEqual([replaced])
    const sweptAtMs = nowMs + sweepGraceMs
    expect(await engine.maintenance.sweepExpired(sweptAtMs, 50)).toBe(1)
    expect(await liveBlobs(engine)).toEqual([live])
    expect(await due(engine, sweptAtMs + deadBlobMs)).toContain(swept)
  })

  it('purge: the bytes of a bucket are due when it can no longer be restored', async ({ engine }) => {
    const { tenant, put } = await makeShelf(engine)
    const other = await makeShelf(engine, { tenant, name: 'other' })
    const blobs = [await put('a'), await put('b', { visibility: 'public' }), await put('c')]
    const kept = await other.put('a')
    await engine.buckets.delete(tenant.caller, 'app', 'avatars', startMs)
    const purgeMs = startMs + recoveryMs + sweepGraceMs
    expect(await engine.maintenance.purgeTables(purgeMs - 1, 2)).toBe(0)
    for (let steps = 0; (await engine.maintenance.purgeTables(purgeMs, 2)) > 0; steps++) expect(steps).toBeLessThan(20)
    expect(await liveBlobs(engine)).toEqual([kept])
    expect(await due(engine, purgeMs + deadBlobMs - 1)).toEqual([])
    expect((await due(engine, purgeMs + deadBlobMs)).sort()).toEqual(blobs.sort())
  })

  it('a deleted bucket and a revoked key: neither begins an upload nor ends one', async ({ engine }) => {
    const { tenant, bucket, begin, commit, remove, change } = await makeShelf(engine)
    const second = await makeShelf(engine, { tenant, name: 'second' })
    const [blob, other] = [await begin(), await second.begin()]
    await engine.buckets.delete(tenant.caller, 'app', 'avatars', startMs + 1)
    await expectRefusal(begin(), 'bucket_not_found')
    await expectRefusal(commit('a', blob), 'bucket_not_found')
    await expectRefusal(remove('a'), 'bucket_not_found')
    await expectRefusal(change('a', { contentType: 'a/b' }), 'bucket_not_found')
    await engine.apiKeys.revoke(tenant.operator, tenant.apiKey.id, startMs + 2)
    await expectRefusal(second.begin(), 'revoked_api_key')
    await expectRefusal(second.commit('a', other), 'revoked_api_key')
    expect(await liveBlobs(engine)).toEqual([])
    // The operator brings the bucket back, and the upload that was under way can end.
    await engine.buckets.restore(tenant.operator, 'app', 'avatars', undefined, startMs + 3)
    const restored = (await engine.buckets.findById(bucket.publicId!)) as Table
    const file = { name: 'a', content: contentOf(blob), ttlSeconds: null, condition: undefined }
    expect((await engine.files.commit(tenant.operator, restored, file, startMs + 4)).applied).toBe(true)
  })

  it('uploads of one name at the same time: one file is left, and one live blob', async ({ engine }) => {
    const { begin, commit, blobOf } = await makeShelf(engine)
    const blobs = await Promise.all(Array.from({ length: 8 }, () => begin()))
    const results = await Promise.all(blobs.map((blob) => commit('a', blob, { visibility: 'public' })))
    const versions = results.map((result) => versionsOf(result)[0]!).sort()
    expect(versions).toEqual(Array.from({ length: 8 }, (_, i) => startMs + i))
    expect(await liveBlobs(engine)).toEqual([(await blobOf('a'))!])
    expect(await allDue(engine)).toHaveLength(7)
  })

  it('the place: the first mark is kept, and is seen by others', async ({ engine, openBeside, reopen }) => {
    expect(await engine.files.readMark()).toBeUndefined()
    expect(await engine.files.writeMark('one')).toBe('one')
    expect(await engine.files.writeMark('two')).toBe('one')
    expect(await (await openBeside()).files.readMark()).toBe('one')
    expect(await (await reopen()).files.readMark()).toBe('one')
  })

  it('the store: it has an id, which stays, and which no other store has', async ({ engine, openBeside, reopen }) => {
    const id = await engine.files.storeId()
    expect(id).toMatch(/^[0-9a-f]{32}$/)
    expect(await (await openBeside()).files.storeId()).toBe(id)
    expect(await (await reopen()).files.storeId()).toBe(id)
  })

  it('adopted: bytes of blobs that were there are never due, those of later ones are', async ({ engine }) => {
    const { begin, commit, remove, blobOf } = await makeShelf(engine)
    for (const name of ['kept', 'removed', 'replaced']) await commit(name, await begin())
    await begin()
    expect(await engine.files.adoptBlobs()).toBe(4)
    const later = await begin()
    await commit('later', later)
    await remove('removed')
    await remove('later')
    await commit('replaced', await begin())
    await expectSound(engine)
    expect(await allDue(engine)).toEqual([later])
    await engine.files.forget([later])
    expect(await engine.files.countAdopted()).toBe(4)
    expect(await liveBlobs(engine)).toEqual([(await blobOf('kept'))!, (await blobOf('replaced'))!].sort())
  })

  it('records: those of a table are not taken for files, whatever their third index holds', async ({ engine }) => {
    const { put, tenant } = await makeShelf(engine)
    const blob = await put('a')
    const indices = { i3: { hashField: 's' } }
    const { table } = await engine.tables.create(tenant.caller, 'app', 'plain', indices, startMs)
    const write = {
      ...{ op: 'put' as const, hashKey: 'k', rangeKey: '#', data: `{"s":"f${blob}"}`, ttlSeconds: startSeconds + 1 },
      ...{ entries: [null, null, null, null, `sf${blob}`, '', null, null, null, null], condition: undefined },
    }
    await engine.records.write(tenant.caller, table, [write], startMs)
    await engine.maintenance.sweepExpired(startMs + 2_000 + sweepGraceMs, 50)
    expect(await liveBlobs(engine)).toEqual([blob])
  })

  const everyByte = Uint8Array.from({ length: 1_024 }, (_, i) => (i * 7 + (i >> 8)) & 255)

  it('small files: their bytes are in the store, exactly, for every reader; none of what is not there', async ({
    engine,
    openBeside,
    reopen,
  }) => {
    const { bucket, commitSmall, blobOf, put } = await makeShelf(engine)
    const contents = [everyByte, new Uint8Array(), everyByte.subarray(3, 300), new Uint8Array(16_384).fill(0xff)]
    const blobs = await Promise.all(
      contents.map(async (bytes, i) => {
        const { blob, result } = await commitSmall(`f${i}`, bytes)
        expect([versionsOf(result), await blobOf(`f${i}`)]).toEqual([[startMs], blob])
        return blob
      }),
    )
    const plain = await put('plain')
    const beside = await openBeside()
    for (const one of [engine, beside]) {
      for (const [i, blob] of blobs.entries()) {
        expect(Buffer.compare((await one.files.readBytes(bucket, blob))!, contents[i]!)).toBe(0)
      }
      expect(await one.files.readBytes(bucket, plain)).toBeUndefined()
      expect(await one.files.readBytes(bucket, newStoreBlobId(startMs))).toBeUndefined()
    }
    expect(await liveBlobs(engine)).toEqual([plain, ...blobs.toSorted()])
    const again = await reopen()
    expect(Buffer.compare((await again.files.readBytes(bucket, blobs[0]!))!, contents[0]!)).toBe(0)
  })

  it('small files: what is replaced or removed is due an hour later, and its bytes go with its row', async ({
    engine,
  }) => {
    const { bucket, commitSmall, put, remove, get, blobOf } = await makeShelf(engine)
    const first = (await commitSmall('a', everyByte)).blob
    const second = await commitSmall('a', everyByte.subarray(1), { condition: { version: startMs } })
    expect(versionsOf(second.result)).toEqual([startMs + 1])
    const refused = await commitSmall('a', everyByte, { condition: 'absent' })
    expect(refused.result).toEqual({ applied: false, failedOperation: 0, current: startMs + 1 })
    expect(await engine.files.readBytes(bucket, refused.blob)).toBeUndefined()
    // A file of one kind replaces one of the other kind.
    const large = await put('a')
    const third = (await commitSmall('a', everyByte)).blob
    const other = (await commitSmall('b', everyByte)).blob
    expect(await remove('b')).toEqual({ applied: true, results: [{ deleted: true }] })
    expect([await blobOf('a'), await get('b')]).toEqual([third, undefined])
    expect(await liveBlobs(engine)).toEqual([third])
    expect(await due(engine, startMs + deadBlobMs - 1)).toEqual([])
    expect(await engine.files.readBytes(bucket, first)).toBeDefined()
    const gone = [first, second.blob, large, other]
    expect((await due(engine, startMs + deadBlobMs)).sort()).toEqual(gone.toSorted())
    // A blob that was not taken stays.
    await engine.files.forget([...gone, third])
    for (const blob of gone) expect(await engine.files.readBytes(bucket, blob)).toBeUndefined()
    expect(await engine.files.readBytes(bucket, third)).toBeDefined()
    expect(await allDue(engine)).toEqual([])
  })

  it('small files: over an expired one, after a sweep and a purge', async ({ engine }) => {
    const { tenant, commitSmall, get } = await makeShelf(engine)
    const expired = (await commitSmall('a', everyByte, { ttlSeconds: startSeconds + 10 })).blob
    const swept = (await commitSmall('b', everyByte, { ttlSeconds: startSeconds + 10 })).blob
    const nowMs = startMs + 11_000
    const live = await commitSmall('a', everyByte, { condition: 'absent' }, nowMs)
    expect(versionsOf(live.result)).toEqual([nowMs])
    expect(await due(engine, nowMs + deadBlobMs)).toEqual([expired])
    const sweptAtMs = nowMs + sweepGraceMs
    expect(await engine.maintenance.sweepExpired(sweptAtMs, 50)).toBe(1)
    expect(await due(engine, sweptAtMs + deadBlobMs)).toContain(swept)
    await engine.buckets.delete(tenant.caller, 'app', 'avatars', startMs)
    const purgeMs = startMs + recoveryMs + sweepGraceMs
    while ((await engine.maintenance.purgeTables(purgeMs, 2)) > 0);
    expect(await liveBlobs(engine)).toEqual([])
    expect(await due(engine, purgeMs + deadBlobMs)).toContain(live.blob)
    expect(await get('a', nowMs)).toBeUndefined()
  })

  it('small files: a deleted bucket and a revoked key store none; of many at once one is left', async ({ engine }) => {
    const { tenant, commitSmall, blobOf } = await makeShelf(engine)
    const written = await Promise.all(Array.from({ length: 8 }, (_, i) => commitSmall('a', everyByte.subarray(i))))
    const versions = written.map(({ result }) => versionsOf(result)[0]!).sort()
    expect(versions).toEqual(Array.from({ length: 8 }, (_, i) => startMs + i))
    expect(await liveBlobs(engine)).toEqual([(await blobOf('a'))!])
    expect(await allDue(engine)).toHaveLength(7)
    const second = await makeShelf(engine, { tenant, name: 'second' })
    await engine.buckets.delete(tenant.caller, 'app', 'avatars', startMs + 1)
    await expectRefusal(commitSmall('c', everyByte), 'bucket_not_found')
    await engine.apiKeys.revoke(tenant.operator, tenant.apiKey.id, startMs + 2)
    await expectRefusal(second.commitSmall('c', everyByte), 'revoked_api_key')
    expect(await liveBlobs(engine)).toHaveLength(1)
  })
}
