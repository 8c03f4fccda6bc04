import { batchBodyBytesMax, bodyBytesMax, plainBodyBytesMax } from '../../core/limits.ts'
import { applyBatchOperation } from '../../operations/records/apply-batch.ts'
import { deleteRecordOperation } from '../../operations/records/delete-record.ts'
import { findRecordsOperation } from '../../operations/records/find-records.ts'
import { getRecordOperation } from '../../operations/records/get-record.ts'
import { putRecordOperation } from '../../operations/records/put-record.ts'
import { queryRecordsOperation } from '../../operations/records/query-records.ts'
import type { OperationRoute } from './route.ts'

/**
 * `query`, `find`, `batch` and `restore` are verbs only for POST: GET and DELETE treat these words as ordinary hash keys.
 */
const recordPaths = [
  '/v1/:db/:table/:hashKey',
  '/v1/:db/:table/:hashKey/:rangeKey',
  '/v1/:db/:table/query',
  '/v1/:db/:table/find',
  '/v1/:db/:table/batch',
  '/v1/:db/:table/restore',
]

export const recordRoutes = {
  putRecord: {
    operation: putRecordOperation,
    method: 'PUT',
    paths: ['/v1/:db/:table'],
    body: { schema: 'PutRecordRequest', required: true, bytesMax: bodyBytesMax },
  },
  queryRecords: {
    operation: queryRecordsOperation,
    method: 'POST',
    paths: ['/v1/:db/:table/query'],
    body: { schema: 'QueryRequest', required: true, bytesMax: plainBodyBytesMax },
  },
  findRecords: {
    operation: findRecordsOperation,
    method: 'POST',
    paths: ['/v1/:db/:table/find'],
    body: { schema: 'FindRequest', required: true, bytesMax: bodyBytesMax },
  },
  applyBatch: {
    operation: applyBatchOperation,
    method: 'POST',
    paths: ['/v1/:db/:table/batch'],
    body: { schema: 'BatchRequest', required: true, bytesMax: batchBodyBytesMax },
  },
  getRecord: { operation: getRecordOperation, method: 'GET', paths: recordPaths },
  deleteRecord: { operation: deleteRecordOperation, method: 'DELETE', paths: recordPaths },
} satisfies Record<string, OperationRoute>
