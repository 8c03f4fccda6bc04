import { newBlobId } from '../src/core/files/blob-id.ts'
import { newBucketId } from '../src/core/files/bucket-id.ts'
import type { FileContent } from '../src/core/files/file-record.ts'
import type { Engine } from '../src/store/engine.ts'
import type { FileToCommit, FileWriteResult } from '../src/store/files.ts'
import type { Table } from '../src/store/tables.ts'
import { startMs, type Tenant } from './conformance/fixture.ts'

// A bucket and its files, for the tests of what is special to PostgreSQL.

export const contentOf = (blob: string, more: Partial<FileContent> = {}): FileContent => ({
  size: 3,
  contentType: 'text/plain',
  visibility: 'private',
  sha256: 'ab'.repeat(32),
  blob,
  metadata: '{}',
  ...more,
})

export interface TestBucket {
  bucket: Table
  begin(): Promise<string>
  commit(name: string, blob: string, more?: Partial<FileToCommit>, nowMs?: number): Promise<FileWriteResult>
  /** Begins and commits: the blob. */
  putFile(name: string, more?: Partial<FileToCommit>): Promise<string>
}

export const bucketOf = (engine: Engine, { caller }: Tenant, bucket: Table): TestBucket => {
  const self: TestBucket = {
    bucket,
    async begin() {
      const blob = newBlobId(startMs)
      await engine.files.begin(caller, bucket, blob, startMs)
      return blob
    },
    commit: (name, blob, more = {}, nowMs = startMs) =>
      engine.files.commit(
        caller,
        bucket,
        { name, content: contentOf(blob), ttlSeconds: null, condition: undefined, ...more },
        nowMs,
      ),
    async putFile(name, more) {
      const blob = await self.begin()
      const result = await self.commit(name, blob, more)
      if (!result.applied) throw new Error(`The file ${name} was not written.`)
      return blob
    },
  }
  return self
}

export const makeBucket = async (engine: Engine, tenant: Tenant, name = 'avatars'): Promise<TestBucket> => {
  const { table } = await engine.buckets.create(tenant.caller, 'app', name, newBucketId(), startMs)
  return bucketOf(engine, tenant, table)
}
