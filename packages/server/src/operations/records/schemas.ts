import type {
  BatchRequest,
  BatchResponse,
  CheckOperation,
  DatabaseBatchRequest,
  DeleteOperation,
  DeleteRecordResponse,
  FindRequest,
  FindResponse,
  LoadLineError,
  LoadResponse,
  MinimalRecordResponse,
  PatchOperation,
  PatchRecordRequest,
  PutOperation,
  PutRecordRequest,
  RecordKey,
  RecordResponse,
} from '@cubbydb/client'
import {
  batchOperationsMax,
  databaseBatchOperationsMax,
  databaseBatchTablesMax,
  findKeysMax,
  loadErrorsMax,
  pageBytesMax,
} from '../../core/limits.ts'
import { closed, exactIntegers, nullable, number, objectOf, ref, type Schema } from '../schema.ts'
import { querySchemas } from './query-schemas.ts'
import { data, hashKey, patchMembers, patchNeeds, rangeKey, recordKeyPart, ttl, updatedAt } from './record-members.ts'

const ifUpdatedAt = nullable('integer', {
  ...exactIntegers,
  description:
    'The `updatedAt` that the record must have; null: it must not exist. If not, the whole batch is rejected.',
})

const recordOperations = {
  PutOperation: closed(
    objectOf<PutOperation>('Writes a record.', ['op', 'hashKey', 'data'], {
      op: { type: 'string', const: 'put' },
      hashKey,
      rangeKey,
      data,
      ttl,
      ifUpdatedAt,
    }),
  ),
  PatchOperation: {
    ...closed(
      objectOf<PatchOperation>('Changes a part of a record.', ['op', 'hashKey'], {
        op: { type: 'string', const: 'patch' },
        hashKey,
        rangeKey,
        ...patchMembers,
        ifUpdatedAt,
      }),
    ),
    ...patchNeeds,
  },
  DeleteOperation: closed(
    objectOf<DeleteOperation>('Deletes a record. It is not an error if the record does not exist.', ['op', 'hashKey'], {
      op: { type: 'string', const: 'delete' },
      hashKey,
      rangeKey,
      ifUpdatedAt,
    }),
  ),
  CheckOperation: closed(
    objectOf<CheckOperation>(
      'Writes nothing; the whole batch is rejected if it does not hold.',
      ['op', 'hashKey', 'ifUpdatedAt'],
      {
        op: { type: 'string', const: 'check' },
        hashKey,
        rangeKey,
        ifUpdatedAt,
      },
    ),
  ),
} satisfies Record<string, Schema>

/** The same for a batch over several tables. */
const inTable = (schema: Schema): Schema => ({
  ...schema,
  properties: { ...schema.properties, table: ref('Name') },
  required: [...schema.required!, 'table'],
})

const tableOperations = {
  TablePutOperation: inTable(recordOperations.PutOperation),
  TablePatchOperation: inTable(recordOperations.PatchOperation),
  TableDeleteOperation: inTable(recordOperations.DeleteOperation),
  TableCheckOperation: inTable(recordOperations.CheckOperation),
}

const lines = { type: 'integer', ...exactIntegers, minimum: 0 } satisfies Schema

export const recordSchemas = {
  RecordKeyPart: recordKeyPart,
  PutRecordRequest: closed(
    objectOf<PutRecordRequest>('A record to write.', ['hashKey', 'data'], { hashKey, rangeKey, data, ttl }),
  ),
  PatchRecordRequest: {
    ...closed(
      objectOf<PatchRecordRequest>('What a patch changes of a record.', ['hashKey'], {
        hashKey,
        rangeKey,
        ...patchMembers,
      }),
    ),
    ...patchNeeds,
  },
  StoredRecord: objectOf<RecordResponse>('A record.', ['hashKey', 'data', 'updatedAt'], {
    hashKey,
    rangeKey,
    data,
    ttl,
    updatedAt,
  }),
  MinimalRecord: objectOf<MinimalRecordResponse>(
    'A record without its data: the answer to `Prefer: return=minimal`.',
    ['hashKey', 'updatedAt'],
    { hashKey, rangeKey, ttl, updatedAt },
  ),
  DeleteResult: objectOf<DeleteRecordResponse>('The result of a delete.', ['deleted'], {
    deleted: { type: 'boolean', description: 'False if there was no such record.' },
  }),
  ...querySchemas,

  RecordKey: closed(objectOf<RecordKey>('The key of a record.', ['hashKey'], { hashKey, rangeKey })),
  FindRequest: closed(
    objectOf<FindRequest>('The keys of the records to read.', ['keys'], {
      keys: {
        type: 'array',
        minItems: 1,
        maxItems: findKeysMax,
        items: ref('RecordKey'),
        description: 'No two keys may name the same record.',
      },
    }),
  ),
  FindResponse: objectOf<FindResponse>(
    'The records found. Every key asked for is in exactly one of the three lists.',
    ['items', 'missing', 'unread'],
    {
      items: {
        type: 'array',
        items: ref('StoredRecord'),
        maxItems: findKeysMax,
        description: `The records found, in the order of \`keys\`: at most ${number(pageBytesMax)} bytes of JSON text, keys and escapes included.`,
      },
      missing: {
        type: 'array',
        items: ref('RecordKey'),
        maxItems: findKeysMax,
        description: 'The keys of records that do not exist, as asked. `"rangeKey": "#"` is left out.',
      },
      unread: {
        type: 'array',
        items: ref('RecordKey'),
        maxItems: findKeysMax,
        description:
          'The keys for which `items` had no room: that of the first record that did not fit, and all after it. Ask for them again.',
      },
    },
  ),

  ...recordOperations,
  ...tableOperations,
  DatabaseBatchRequest: closed(
    objectOf<DatabaseBatchRequest>('Operations of which all are applied, or none.', ['operations'], {
      operations: {
        type: 'array',
        minItems: 1,
        maxItems: databaseBatchOperationsMax,
        items: {
          oneOf: [
            ...Object.keys(tableOperations).map((name) => ref(name)),
            ref('RunOperation'),
            ref('SuccessOperation'),
            ref('FailureOperation'),
          ],
        },
        description: `On at most ${databaseBatchTablesMax} tables and tasks. No two operations may name the same record of a table, the same run, or the same key of a task.`,
      },
    }),
  ),
  BatchRequest: closed(
    objectOf<BatchRequest>('Operations of which all are applied, or none.', ['operations'], {
      operations: {
        type: 'array',
        minItems: 1,
        maxItems: batchOperationsMax,
        items: {
          oneOf: [
            ref('PutOperation'),
            ref('PatchOperation'),
            ref('DeleteOperation'),
            ref('CheckOperation'),
            ref('RunOperation'),
            ref('SuccessOperation'),
            ref('FailureOperation'),
          ],
        },
        description: 'No two operations may name the same record, the same run, or the same key of a task.',
      },
    }),
  ),
  BatchResponse: objectOf<BatchResponse>('The result of a batch.', ['count'], {
    count: {
      type: 'integer',
      minimum: 1,
      maximum: databaseBatchOperationsMax,
      description: 'The number of operations, all of which were applied.',
    },
    runs: {
      type: 'array',
      items: { type: 'string' },
      description: 'The ids of runs, one for each `run` and `finish`, in order. Absent if the batch has none.',
    },
  }),
  LoadResponse: objectOf<LoadResponse>('What a load did with its lines.', ['count', 'skipped', 'failed', 'errors'], {
    count: { ...lines, description: 'Lines that were stored. They are synced.' },
    skipped: { ...lines, description: 'Lines whose record existed, with `ifAbsent`.' },
    failed: { ...lines, description: 'Lines that were refused.' },
    errors: {
      type: 'array',
      maxItems: loadErrorsMax,
      description: `The first ${loadErrorsMax} lines that were refused.`,
      items: objectOf<LoadLineError>('A line that was refused.', ['line', 'code', 'message'], {
        line: { ...lines, minimum: 1, description: 'Lines count from 1, blank ones too.' },
        code: { type: 'string', description: 'The code that a put would have been refused with.' },
        message: { type: 'string', description: 'What is wrong with it.' },
        field: { type: 'string', description: 'The member that is wrong: `data.status`.' },
      }),
    },
  }),
} satisfies Record<string, Schema>

export const keyMembers = {
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
