import type { Indices } from '../../../core/tables/indices.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { Tables } from '../../../store/tables.ts'
import type { Registry } from './registry.ts'
import { TablesOfKind } from './tables-of-kind.ts'

export class PostgresTables extends TablesOfKind implements Tables {
  constructor(registry: Registry) {
    super(registry, 'table')
  }

  create(caller: Caller, db: string, name: string, indices: Indices, nowMs: number) {
    return this.registry.writes.createTable(caller, { kind: 'table', db, name }, { indices, publicId: null }, nowMs)
  }

  listDatabases(orgId: number, after: string | undefined, limit: number): Promise<string[]> {
    return this.registry.reader.listDatabases(orgId, after, limit)
  }
}
