import type { ActiveTable, DeletedTable } from '@cubbydb/client'
import type { Table } from '../../store/tables.ts'
import { presentLife } from '../lifecycle.ts'

export const presentTable = (table: Table): ActiveTable | DeletedTable => {
  const { db, name, indices } = table
  return { db, table: name, indices, ...presentLife(table) }
}

export const tableJson = (table: Table): string => JSON.stringify(presentTable(table))
