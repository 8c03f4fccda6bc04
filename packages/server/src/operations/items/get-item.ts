import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { CubbyError } from '../../core/errors.ts'
import { parseCollection } from '../../core/items/collection.ts'
import { type Members, refuseUnknownMembers } from '../../core/members.ts'
import { noRangeKey, parseKeyPart, type RecordKey } from '../../core/records/record-key.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Access, TableAddress } from '../access.ts'
import { draft, draftAt, firstOrder, firstOrderAt } from '../example.ts'
import { ofRecord } from '../grant-rules.ts'
import { defineOperation } from '../operation.ts'
import { findRecord, type GetRecordInput } from '../records/get-record.ts'
import { inputOf, ref } from '../schema.ts'
import { collection, drafted, first } from './examples.ts'
import { itemMembers, itemRequired } from './schemas.ts'

/** The table and the key of the record that holds the item. */
export const parseItemAddress = ({ collection, id, rangeKey }: Members): TableAddress & RecordKey => ({
  ...parseCollection(collection),
  hashKey: parseKeyPart(id, 'id'),
  rangeKey: rangeKey === undefined ? noRangeKey : parseKeyPart(rangeKey, 'rangeKey'),
})

const itemNotFound = ({ rangeKey }: RecordKey): CubbyError =>
  new CubbyError('record_not_found', 'There is no record with that id.', {
    hint: rangeKey === noRangeKey ? 'If it has a range key, give it as rangeKey.' : undefined,
  })

export const getItem = (access: Access, input: GetRecordInput, nowMs: number): Awaitable<StoredRecord> =>
  andThen(findRecord(access, input, nowMs), (record) => {
    if (record === undefined) throw itemNotFound(input)
    return record
  })

export const getItemOperation = defineOperation({
  id: 'getItem',
  area: 'items',
  summary: 'Get an item: the data of a record',
  keyNeeded: 'read',
  grants: ofRecord('read'),
  effect: 'reads',
  route: { method: 'GET', path: '/api/collections/:collection/items/:id', query: ['rangeKey'] },
  condition: 'read',
  version: ({ updatedAtMs }) => updatedAtMs,
  parse(text): GetRecordInput {
    const members = parsePlainBody(text)
    refuseUnknownMembers(members, ['collection', 'id', 'rangeKey'])
    return parseItemAddress(members)
  },
  run: getItem,
  present: ({ data }) => data,
  describe: () => ({
    title: 'Get an item',
    description: 'Returns the document exactly as it was written, without keys, `ttl` and version around it.',
    returns: 'The document.',
    codes: ['invalid_key', 'table_not_found', 'record_not_found'],
    input: inputOf({}, itemMembers, itemRequired),
    output: ref('Item'),
    examples: [
      {
        name: 'get',
        summary: 'An item without a range key',
        input: drafted,
        output: draft.data,
        version: draftAt,
      },
      {
        name: 'getWithRangeKey',
        summary: 'An item with a range key',
        input: first,
        output: firstOrder.data,
        version: firstOrderAt,
      },
      {
        name: 'absent',
        summary: 'No such item',
        input: { collection, id: 'ada' },
        error: {
          code: 'record_not_found',
          message: 'There is no record with that id.',
          hint: 'If it has a range key, give it as rangeKey.',
        },
      },
      {
        name: 'unchanged',
        summary: 'A copy that is still current',
        input: drafted,
        version: draftAt,
        wants: 'changes',
      },
    ],
  }),
})
