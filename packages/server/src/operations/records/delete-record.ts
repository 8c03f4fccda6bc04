import { refuseUnknownMembers } from '../../core/members.ts'
import { parseRecordKey, type RecordKey } from '../../core/records/record-key.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Condition } from '../../store/records.ts'
import { type Access, parseAddress, type TableAddress } from '../access.ts'
import { firstOrderAt, inOrders, secondOrderAt } from '../example.ts'
import { ofRecord } from '../grant-rules.ts'
import { requireTable, writeRecords } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { addressMembers, addressRequired } from '../tables/schemas.ts'
import { parseCondition, preconditionFailed } from './condition.ts'
import { absentForCondition, clientKey, overtaken, wrongVersion } from './examples.ts'
import { condition, keyMembers } from './schemas.ts'

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
  keyNeeded: 'write',
  grants: ofRecord('write'),
  effect: 'destroys',
  route: { method: 'DELETE', path: '/v1/:db/:table/:hashKey/:rangeKey?' },
  command: 'delete {hashKey} [{rangeKey}] --db {db} --table {table}',
  tool: 'delete_records',
  condition: 'change',
  idempotencyScope: 'table',
  parse(text): DeleteRecordInput {
    const { db, table, ...members } = parsePlainBody(text)
    const address = parseAddress(db, table)
    refuseUnknownMembers(members, ['hashKey', 'rangeKey', 'ifUpdatedAt'])
    const key = parseRecordKey(members.hashKey, members.rangeKey)
    return { ...address, ...key, condition: parseCondition(members.ifUpdatedAt) }
  },
  run: deleteRecord,
  present: (deleted) => JSON.stringify({ deleted }),
  describe: () => ({
    title: 'Delete a record',
    description: 'Deleting a record that does not exist is not an error.',
    returns: 'Whether the record existed.',
    codes: ['table_not_found', 'precondition_failed'],
    input: inputOf({}, { ...addressMembers, ...keyMembers, ...condition }, [...addressRequired, 'hashKey']),
    output: ref('DeleteResult'),
    client: { on: 'table', method: 'remove', result: 'done', args: (key, options) => [clientKey(key), options] },
    examples: [
      {
        name: 'delete',
        summary: 'Delete a record without a range key',
        input: { ...inOrders, hashKey: 'draft' },
        output: { deleted: true },
      },
      {
        name: 'absent',
        summary: 'No such record',
        input: { ...inOrders, hashKey: 'ada' },
        output: { deleted: false },
      },
      {
        name: 'mustExist',
        summary: 'Only if it exists',
        input: { ...inOrders, hashKey: 'ada', ifUpdatedAt: '*' },
        error: absentForCondition,
      },
      {
        name: 'delete',
        summary: 'Delete the version that was read',
        input: { ...inOrders, hashKey: 'ada', rangeKey: 'o-1', ifUpdatedAt: firstOrderAt },
        output: { deleted: true },
      },
      {
        name: 'wrongVersion',
        summary: 'Delete a version that is out of date',
        given: overtaken,
        input: { ...inOrders, hashKey: 'ada', rangeKey: 'o-2', ifUpdatedAt: secondOrderAt },
        error: wrongVersion,
      },
    ],
  }),
})
