import { recoveryMs } from '../../../core/limits.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { Buckets, Table, TableKind, Tables } from '../../../store/tables.ts'
import type { OpenStore } from '../open-store.ts'
import { type TableRow, tableColumns, toTable } from './rows.ts'

/** The reads that tables, buckets and tasks have in common. */
export const tableReads = (
  store: OpenStore,
  kind: TableKind,
): Pick<Tables, 'find' | 'findDeleted' | 'list' | 'listDeleted'> => {
  const select = (orgId: number, db: string, rest: string, ...values: (string | number)[]): Table[] => {
    const epoch = store.epoch()
    const sql = `SELECT ${tableColumns} FROM tables WHERE org_id = ?1 AND db = ?2 AND kind = ?3 AND ${rest}`
    return store.all<TableRow>(sql, orgId, db, kind, ...values).map((row) => toTable(row, epoch))
  }
  return {
    // Every request calls it, so it makes no function.
    find(orgId, db, name) {
      try {
        return store.registry.findTable(kind, orgId, db, name)
      } catch (error) {
        throw store.damage.explain(error)
      }
    },

    findDeleted(orgId, db, name, nowMs) {
      const rest = 'name = ?4 AND deleted_at > ?5 AND purging = 0 ORDER BY deleted_at DESC LIMIT 1'
      return select(orgId, db, rest, name, nowMs - recoveryMs)[0]
    },

    list: ({ orgId, db, after, limit }) =>
      select(orgId, db, 'name > ?4 AND deleted_at IS NULL ORDER BY name LIMIT ?5', after?.name ?? '', limit),

    listDeleted({ orgId, db, after, limit }, nowMs) {
      const rest =
        '(name, deleted_at) > (?4, ?5) AND deleted_at > ?6 AND purging = 0 ORDER BY name, deleted_at LIMIT ?7'
      return select(orgId, db, rest, after?.name ?? '', after?.deletedAtMs ?? 0, nowMs - recoveryMs, limit)
    },
  }
}

/** The members that commands for a table, bucket or task by its name have in common. */
export const named = (store: OpenStore, kind: TableKind, caller: Caller, db: string, name: string, nowMs: number) => ({
  ...{ fence: store.fence(caller), nowMs, table: { orgId: caller.orgId, db, kind, name } },
})

const tablesOfKind = (store: OpenStore, kind: TableKind): Omit<Tables, 'create' | 'keepChanges' | 'listDatabases'> => ({
  ...tableReads(store, kind),

  delete: (caller, db, name, nowMs) =>
    store.channel.submit({ kind: 'deleteTable', ...named(store, kind, caller, db, name, nowMs) }),

  restore: (caller, db, name, deletedAtMs, nowMs) =>
    store.channel.submit({ kind: 'restoreTable', ...named(store, kind, caller, db, name, nowMs), deletedAtMs }),
})

export const sqliteTables = (store: OpenStore): Tables => ({
  ...tablesOfKind(store, 'table'),

  create(caller, db, name, indices, nowMs, keepHours) {
    const table = named(store, 'table', caller, db, name, nowMs)
    return store.channel.submit({ kind: 'createTable', ...table, indices, publicId: null, keepHours })
  },

  keepChanges: (caller, db, name, keepHours, nowMs) =>
    store.channel.submit({ kind: 'keepChanges', ...named(store, 'table', caller, db, name, nowMs), keepHours }),

  /** Makes one index seek per database, however many tables and buckets it has. */
  listDatabases: (orgId, after, limit) =>
    store.readAnew(() => {
      const next = store.db.prepare<{ db: string }, [number, string]>(
        'SELECT db FROM tables WHERE org_id = ?1 AND db > ?2 AND deleted_at IS NULL ORDER BY db LIMIT 1',
      )
      const names: string[] = []
      while (names.length < limit) {
        const row = next.get(orgId, names.at(-1) ?? after ?? '')
        if (row === null) break
        names.push(row.db)
      }
      return names
    }),
})

export const sqliteBuckets = (store: OpenStore): Buckets => ({
  ...tablesOfKind(store, 'bucket'),

  findById: (publicId) => store.orExplain(() => store.registry.findBucketById(publicId)),

  create(caller, db, name, publicId, nowMs) {
    const bucket = named(store, 'bucket', caller, db, name, nowMs)
    return store.channel.submit({ kind: 'createTable', ...bucket, indices: {}, publicId })
  },
})
