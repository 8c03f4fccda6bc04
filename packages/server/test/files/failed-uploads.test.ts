import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { CubbyError } from '../../src/core/errors.ts'
import { newBucketId } from '../../src/core/files/bucket-id.ts'
import { fileKey } from '../../src/core/files/file-record.ts'
import { fileBytesMax, pendingBlobMs } from '../../src/core/limits.ts'
import { openSqliteEngine } from '../../src/engines/sqlite/engine.ts'
import { acceptUpload, storeUpload } from '../../src/operations/files/put-file.ts'
import type { PutFileInput, UploadBytes } from '../../src/operations/files/upload.ts'
import type { BlobStore, BlobWriter } from '../../src/store/blob-store.ts'
import type { Engine } from '../../src/store/engine.ts'
import { makeTenant, startMs, type Tenant } from '../conformance/fixture.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'
import { loginServices, taskServices } from '../task-services.ts'

// The bytes of a failed upload must be removed at the right time. If it is too early, bytes that arrive late stay for ever,
// because their row is gone. If it is too late, failed uploads fill the disk.

let dataDir: string
let engine: Engine
let tenant: Tenant
let calls: string[]
beforeEach(async () => {
  dataDir = makeTempDir()
  engine = await openSqliteEngine({ dataDir })
  tenant = await makeTenant(engine)
  await engine.buckets.create(tenant.caller, 'app', 'b', newBucketId(), startMs)
  calls = []
})
afterEach(async () => {
  await engine.close()
  removeTempDir(dataDir)
})

const input: PutFileInput = {
  ...{ db: 'app', bucket: 'b', name: 'a', contentType: 'a/b', visibility: 'private', metadata: '{}', ttlSeconds: null },
  ...{ condition: undefined, sha256: undefined, bytes: undefined, bytesMax: fileBytesMax },
}

const failed = new CubbyError('unavailable', 'It failed.')

interface Kind {
  chunks?: Buffer[]
  /** The declared length. */
  bytes?: number | undefined
  /** As S3 may, and a directory may not. */
  mayWriteLate?: boolean
}

/** The code of the error of an upload into a place of which some calls do something else. */
const upload = async (
  does: Partial<BlobWriter>,
  { chunks = [Buffer.from('bytes')], bytes, mayWriteLate = true }: Kind = {},
): Promise<string> => {
  const note = (name: keyof BlobWriter) => async (): Promise<void> => {
    calls.push(name)
    await (does[name] as (() => Promise<void>) | undefined)?.()
  }
  const writer = { write: note('write'), finish: note('finish'), abort: note('abort') }
  const blobStore = { write: async () => writer, mayWriteLate: () => mayWriteLate } as unknown as BlobStore
  const whole = new Uint8Array(Buffer.concat(chunks))
  const source: UploadBytes = {
    async *chunks() {
      yield* chunks
    },
    whole: async () => whole,
  }
  const access = { engine, apiKey: tenant.apiKey, blobStore, tasks: taskServices(engine), logins: loginServices }
  const accepted = await acceptUpload(access, { ...input, bytes }, startMs)
  const error = await storeUpload(access, accepted, { ...input, bytes }, source, () => startMs).then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(CubbyError)
  // Its memory does not wait for the garbage collector.
  if (bytes !== undefined) expect(whole.length).toBe(0)
  const table = await engine.buckets.find(tenant.org.id, 'app', 'b')
  if (table !== undefined) expect(await engine.records.get(table, fileKey('a'), startMs)).toBeUndefined()
  return (error as CubbyError).code
}

const dueAt = async (nowMs: number): Promise<number> => (await engine.files.takeDue(nowMs, 10)).length

describe.each([undefined, 5])('with a declared length of %p', (bytes) => {
  test('the end of which is not known: a day later', async () => {
    expect(await upload({ finish: () => Promise.reject(failed) }, { bytes })).toBe('unavailable')
    expect(calls).toEqual(['write', 'finish'])
    expect(await dueAt(startMs + pendingBlobMs - 1)).toBe(0)
    expect(await dueAt(startMs + pendingBlobMs)).toBe(1)
  })

  test('the end of which failed in a place that writes nothing later: at once', async () => {
    expect(await upload({ finish: () => Promise.reject(failed) }, { bytes, mayWriteLate: false })).toBe('unavailable')
    expect(calls.slice(0, 2)).toEqual(['write', 'finish'])
    expect(await dueAt(startMs)).toBe(1)
  })

  test('that broke off: at once, and the writer is told', async () => {
    expect(await upload({ write: () => Promise.reject(failed) }, { bytes })).toBe('unavailable')
    expect(calls).toEqual(['write', 'abort'])
    expect(await dueAt(startMs)).toBe(1)
  })
})

test('into a bucket that was deleted meanwhile: 404 once all has arrived; at once, by way of the row alone', async () => {
  const finish = async (): Promise<void> => {
    await engine.buckets.delete(tenant.caller, 'app', 'b', startMs)
  }
  expect(await upload({ finish })).toBe('bucket_not_found')
  expect(calls).toEqual(['write', 'finish'])
  expect(await dueAt(startMs)).toBe(1)
})

test('that another bucket with the name must not get', async () => {
  const finish = async (): Promise<void> => {
    await engine.buckets.delete(tenant.caller, 'app', 'b', startMs)
    await engine.buckets.create(tenant.caller, 'app', 'b', newBucketId(), startMs)
  }
  expect(await upload({ finish })).toBe('bucket_not_found')
  expect(await dueAt(startMs)).toBe(1)
})
