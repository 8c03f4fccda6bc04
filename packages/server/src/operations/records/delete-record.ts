import type { RecordKey } from '../../core/records/record-key.ts'
import type { Condition } from '../../store/records.ts'
import { type Access, requireTable, type TableAddress, writeRecords } from '../access.ts'
import { preconditionFailed } from './condition.ts'

/** Whether there was a record to delete. */
export const deleteRecord = async (
  access: Access,
  address: TableAddress,
  key: RecordKey,
  condition: Condition | undefined,
  nowMs: number,
): Promise<boolean> => {
  const table = await requireTable(access, address, nowMs)
  const written = await writeRecords(access, address, table, [{ op: 'delete', ...key, condition }], nowMs)
  if (!written.applied) throw preconditionFailed(written.current)
  return (written.results[0] as { deleted: boolean }).deleted
}
