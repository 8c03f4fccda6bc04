import { refuseUnknownMembers } from '../../core/members.ts'
import { parseRecordKey, type RecordKey } from '../../core/records/record-key.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Condition } from '../../store/records.ts'
import { type Access, parseAddress, requireTable, type TableAddress, writeRecords } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { parseCondition, preconditionFailed } from './condition.ts'

export interface DeleteRecordInput extends TableAddress, RecordKey {
  condition: Condition | undefined
}

/** Returns whether there was a record to delete. */
export const deleteRecord = async (access: Access, input: DeleteRecordInput, nowMs: number): Promise<boolean> => {
  const { hashKey, rangeKey, condition } = input
  const table = await requireTable(access, input, nowMs)
  const written = await writeRecords(access, input, table, [{ op: 'delete', hashKey, rangeKey, condition }], nowMs)
  if (!written.applied) throw preconditionFailed(written.current)
  return (written.results[0] as { deleted: boolean }).deleted
}

export const deleteRecordOperation = defineOperation({
  id: 'deleteRecord',
  area: 'records',
  summary: 'Delete a record',
  description: 'Deleting a record that does not exist is not an error.',
  keyNeeded: 'write',
  effect: 'destroys',
  returns: 'Whether the record existed.',
  codes: ['table_not_found', 'precondition_failed'],
  parse(text): DeleteRecordInput {
    const { db, table, ...members } = parsePlainBody(text)
    const address = parseAddress(db, table)
    refuseUnknownMembers(members, ['hashKey', 'rangeKey', 'ifUpdatedAt'])
    const key = parseRecordKey(members.hashKey, members.rangeKey)
    return { ...address, ...key, condition: parseCondition(members.ifUpdatedAt) }
  },
  run: deleteRecord,
  present: (deleted) => JSON.stringify({ deleted }),
})
