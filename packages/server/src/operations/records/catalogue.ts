import { entry } from '../catalogue-entry.ts'
import { exactIntegers, inputOf, nullable, ref, type Schema } from '../schema.ts'
import { addressMembers, addressRequired } from '../tables/schemas.ts'
import { applyBatchOperation } from './apply-batch.ts'
import { deleteRecordOperation } from './delete-record.ts'
import * as examples from './examples.ts'
import { findRecordsOperation } from './find-records.ts'
import { getRecordOperation } from './get-record.ts'
import { putRecordOperation } from './put-record.ts'
import { queryRecordsOperation } from './query-records.ts'
import { queryForms } from './query-schemas.ts'
import { recordSchemas } from './schemas.ts'

const keyMembers = {
  hashKey: { ...ref('RecordKeyPart'), description: "The record's hash key." },
  rangeKey: { ...ref('RecordKeyPart'), description: "The record's range key." },
} satisfies Record<string, Schema>

export const condition = {
  ifUpdatedAt: {
    oneOf: [nullable('integer', exactIntegers), { type: 'string', const: '*' }],
    description:
      'Write only if this is the `updatedAt` of the record; null: only if it does not exist; `*`: only if it exists.',
  },
} satisfies Record<string, Schema>

export const recordCatalogue = {
  putRecord: entry(putRecordOperation, {
    input: inputOf(recordSchemas.PutRecordRequest, { ...addressMembers, ...condition }, addressRequired),
    output: ref('StoredRecord'),
    examples: examples.putRecord,
  }),
  getRecord: entry(getRecordOperation, {
    input: inputOf({}, { ...addressMembers, ...keyMembers }, [...addressRequired, 'hashKey']),
    output: ref('StoredRecord'),
    examples: examples.getRecord,
  }),
  deleteRecord: entry(deleteRecordOperation, {
    input: inputOf({}, { ...addressMembers, ...keyMembers, ...condition }, [...addressRequired, 'hashKey']),
    output: ref('DeleteResult'),
    examples: examples.deleteRecord,
  }),
  queryRecords: entry(queryRecordsOperation, {
    input: inputOf({ ...recordSchemas.QueryRequest, oneOf: queryForms }, addressMembers, addressRequired),
    output: ref('QueryResponse'),
    examples: examples.queryRecords,
  }),
  findRecords: entry(findRecordsOperation, {
    input: inputOf(recordSchemas.FindRequest, addressMembers, addressRequired),
    output: ref('FindResponse'),
    examples: examples.findRecords,
  }),
  applyBatch: entry(applyBatchOperation, {
    input: inputOf(recordSchemas.BatchRequest, addressMembers, addressRequired),
    output: ref('BatchResponse'),
    examples: examples.applyBatch,
  }),
}
