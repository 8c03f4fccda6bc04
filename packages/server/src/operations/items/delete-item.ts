import { refuseUnknownMembers } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { secondOrderAt } from '../example.ts'
import { ofRecord } from '../grant-rules.ts'
import { defineOperation } from '../operation.ts'
import { parseCondition } from '../records/condition.ts'
import { type DeleteRecordInput, deleteRecord } from '../records/delete-record.ts'
import { condition } from '../records/schemas.ts'
import { inputOf, ref } from '../schema.ts'
import { collection, drafted, overtaken, second, wrongVersion } from './examples.ts'
import { parseItemAddress } from './get-item.ts'
import { itemMembers, itemRequired } from './schemas.ts'

export const deleteItemOperation = defineOperation({
  id: 'deleteItem',
  area: 'items',
  summary: 'Delete an item',
  keyNeeded: 'write',
  grants: ofRecord('write'),
  effect: 'destroys',
  route: { method: 'DELETE', path: '/api/collections/:collection/items/:id', query: ['rangeKey'] },
  condition: 'change',
  idempotencyScope: 'table',
  parse(text): DeleteRecordInput {
    const members = parsePlainBody(text)
    refuseUnknownMembers(members, ['collection', 'id', 'rangeKey', 'ifUpdatedAt'])
    return { ...parseItemAddress(members), condition: parseCondition(members.ifUpdatedAt) }
  },
  run: deleteRecord,
  present: (deleted) => JSON.stringify({ deleted }),
  describe: () => ({
    title: 'Delete an item',
    description: 'Deletes the record. Deleting an item that does not exist is not an error.',
    returns: 'Whether the item existed.',
    codes: ['invalid_key', 'table_not_found', 'precondition_failed'],
    input: inputOf({}, { ...itemMembers, ...condition }, itemRequired),
    output: ref('DeleteResult'),
    examples: [
      { name: 'delete', summary: 'Delete an item', input: drafted, output: { deleted: true } },
      { name: 'absent', summary: 'No such item', input: { collection, id: 'ada' }, output: { deleted: false } },
      {
        name: 'wrongVersion',
        summary: 'Delete a version that is out of date',
        given: overtaken,
        input: { ...second, ifUpdatedAt: secondOrderAt },
        error: wrongVersion,
      },
    ],
  }),
})
