import { refuseUnknownMembers } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { defineOperation } from '../operation.ts'
import { parseCondition } from '../records/condition.ts'
import { type DeleteRecordInput, deleteRecord } from '../records/delete-record.ts'
import { parseItemAddress } from './get-item.ts'

export const deleteItemOperation = defineOperation({
  id: 'deleteItem',
  area: 'items',
  summary: 'Delete an item',
  description: 'Deletes the record. Deleting an item that does not exist is not an error.',
  keyNeeded: 'write',
  effect: 'destroys',
  returns: 'Whether the item existed.',
  codes: ['invalid_key', 'table_not_found', 'precondition_failed'],
  parse(text): DeleteRecordInput {
    const members = parsePlainBody(text)
    refuseUnknownMembers(members, ['collection', 'id', 'rangeKey', 'ifUpdatedAt'])
    return { ...parseItemAddress(members), condition: parseCondition(members.ifUpdatedAt) }
  },
  run: deleteRecord,
  present: (deleted) => JSON.stringify({ deleted }),
})
