import type { ActiveTable, DeletedTable } from '@cubbydb/client'
import type { Table } from '../../store/tables.ts'
import { presentLife } from '../lifecycle.ts'

export const presentTable = (table: Table): ActiveTable | DeletedTable => {
  const { db, name, indices, changes } = table
  const shown = { db, table: name, indices, ...presentLife(table) }
  if (changes === null || changes.keepHours === null) return shown
  return { ...shown, changes: { keepHours: changes.keepHours, since: changes.sinceMs } }
}

export const tableJson = (table: Table): string => JSON.stringify(presentTable(table))
