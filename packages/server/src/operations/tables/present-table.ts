import type { ActiveTable, DeletedTable } from '@cubbydb/client'
import { recoveryMs } from '../../core/limits.ts'
import type { Table } from '../../store/tables.ts'

export const presentTable = (table: Table): ActiveTable | DeletedTable => {
  const { db, name, indices, createdAtMs, deletedAtMs } = table
  const common = { db, table: name, indices }
  if (deletedAtMs === null) return { ...common, status: 'active', createdAt: createdAtMs }
  return {
    ...common,
    status: 'deleted',
    createdAt: createdAtMs,
    deletedAt: deletedAtMs,
    recoverableUntil: deletedAtMs + recoveryMs,
  }
}

export const tableJson = (table: Table): string => JSON.stringify(presentTable(table))
