import { entry } from '../catalogue-entry.ts'
import { condition } from '../records/catalogue.ts'
import { ttl } from '../records/record-members.ts'
import { inputOf, ref } from '../schema.ts'
import { deleteItemOperation } from './delete-item.ts'
import * as examples from './examples.ts'
import { getItemOperation } from './get-item.ts'
import { putItemOperation } from './put-item.ts'
import { itemMembers, itemRequired } from './schemas.ts'

export const itemCatalogue = {
  getItem: entry(getItemOperation, {
    input: inputOf({}, itemMembers, itemRequired),
    output: ref('Item'),
    examples: examples.getItem,
  }),
  putItem: entry(putItemOperation, {
    input: inputOf({}, { ...itemMembers, data: ref('Item'), ttl, ...condition }, [...itemRequired, 'data']),
    output: ref('Item'),
    examples: examples.putItem,
  }),
  deleteItem: entry(deleteItemOperation, {
    input: inputOf({}, { ...itemMembers, ...condition }, itemRequired),
    output: ref('DeleteResult'),
    examples: examples.deleteItem,
  }),
}
