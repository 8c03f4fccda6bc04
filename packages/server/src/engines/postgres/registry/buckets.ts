import type { Awaitable } from '../../../core/awaitable.ts'
import { isBucketId } from '../../../core/files/bucket-id.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { Buckets, Table } from '../../../store/tables.ts'
import type { Registry } from './registry.ts'
import { TablesOfKind } from './tables-of-kind.ts'

export class PostgresBuckets extends TablesOfKind implements Buckets {
  constructor(registry: Registry) {
    super(registry, 'bucket')
  }

  create(caller: Caller, db: string, name: string, publicId: string, nowMs: number) {
    return this.registry.writes.createTable(caller, { kind: 'bucket', db, name }, { indices: {}, publicId }, nowMs)
  }

  findById(publicId: string): Awaitable<Table | undefined> {
    // Anything may stand in a URL, also what PostgreSQL's text cannot contain.
    return isBucketId(publicId) ? this.registry.cache.findTableByPublicId(publicId) : undefined
  }
}
