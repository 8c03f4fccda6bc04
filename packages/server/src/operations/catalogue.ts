import { errorCodes } from '../core/error-codes.ts'
import type { ErrorCode } from '../core/errors.ts'
import { createApiKeyOperation } from './api-keys/create-api-key.ts'
import { describeOwnApiKeyOperation } from './api-keys/describe-own-api-key.ts'
import { listApiKeysOperation } from './api-keys/list-api-keys.ts'
import { revokeApiKeyOperation } from './api-keys/revoke-api-key.ts'
import { rollApiKeyOperation } from './api-keys/roll-api-key.ts'
import { createBucketOperation } from './buckets/create-bucket.ts'
import { deleteBucketOperation } from './buckets/delete-bucket.ts'
import { describeBucketOperation } from './buckets/describe-bucket.ts'
import { listBucketsOperation } from './buckets/list-buckets.ts'
import { restoreBucketOperation } from './buckets/restore-bucket.ts'
import { readChangesOperation } from './changes/read-changes.ts'
import { changeFileOperation } from './files/change-file.ts'
import { deleteFileOperation } from './files/delete-file.ts'
import { getFileOperation } from './files/get-file.ts'
import { getFileUrlOperation } from './files/get-file-url.ts'
import { putFileOperation } from './files/put-file.ts'
import { queryFilesOperation } from './files/query-files.ts'
import { deleteIssuerOperation } from './issuers/delete-issuer.ts'
import { getIssuerOperation } from './issuers/get-issuer.ts'
import { listIssuersOperation } from './issuers/list-issuers.ts'
import { putIssuerOperation } from './issuers/put-issuer.ts'
import { deleteItemOperation } from './items/delete-item.ts'
import { getItemOperation } from './items/get-item.ts'
import { patchItemOperation } from './items/patch-item.ts'
import { putItemOperation } from './items/put-item.ts'
import type { AnyOperation, Description } from './operation.ts'
import { createOrganizationOperation } from './organizations/create-organization.ts'
import { deleteOrganizationOperation } from './organizations/delete-organization.ts'
import { listOrganizationsOperation } from './organizations/list-organizations.ts'
import { restoreOrganizationOperation } from './organizations/restore-organization.ts'
import { applyBatchOperation } from './records/apply-batch.ts'
import { applyDatabaseBatchOperation } from './records/apply-database-batch.ts'
import { deleteRecordOperation } from './records/delete-record.ts'
import { findRecordsOperation } from './records/find-records.ts'
import { getRecordOperation } from './records/get-record.ts'
import { loadRecordsOperation } from './records/load-records.ts'
import { patchRecordOperation } from './records/patch-record.ts'
import { putRecordOperation } from './records/put-record.ts'
import { queryRecordsOperation } from './records/query-records.ts'
import { applyTaskBatchOperation } from './runs/apply-task-batch.ts'
import { cancelRunOperation } from './runs/cancel-run.ts'
import { claimRunsOperation } from './runs/claim-runs.ts'
import { extendRunOperation } from './runs/extend-run.ts'
import { finishRunOperation } from './runs/finish-run.ts'
import { getRunOperation } from './runs/get-run.ts'
import { queryRunsOperation } from './runs/query-runs.ts'
import { retryRunOperation } from './runs/retry-run.ts'
import { runTaskOperation } from './runs/run-task.ts'
import type { Schema } from './schema.ts'
import { createTableOperation } from './tables/create-table.ts'
import { deleteTableOperation } from './tables/delete-table.ts'
import { describeTableOperation } from './tables/describe-table.ts'
import { keepChangesOperation } from './tables/keep-changes.ts'
import { listDatabasesOperation } from './tables/list-databases.ts'
import { listTablesOperation } from './tables/list-tables.ts'
import { restoreTableOperation } from './tables/restore-table.ts'
import { createTaskSecretOperation } from './tasks/create-task-secret.ts'
import { declareTaskOperation } from './tasks/declare-task.ts'
import { deleteTaskOperation } from './tasks/delete-task.ts'
import { describeTaskOperation } from './tasks/describe-task.ts'
import { listTasksOperation } from './tasks/list-tasks.ts'
import { restoreTaskOperation } from './tasks/restore-task.ts'
import { createTokenOperation } from './tokens/create-token.ts'
import { describeOwnTokenOperation } from './tokens/describe-own-token.ts'
import { exchangeTokenOperation } from './tokens/exchange-token.ts'
import { revokeUserOperation } from './tokens/revoke-user.ts'

/** Every operation of the service. Adapters are loops over this list. */
export const operations = [
  createOrganizationOperation,
  listOrganizationsOperation,
  deleteOrganizationOperation,
  restoreOrganizationOperation,
  listDatabasesOperation,
  listTablesOperation,
  describeTableOperation,
  createTableOperation,
  deleteTableOperation,
  restoreTableOperation,
  keepChangesOperation,
  putRecordOperation,
  patchRecordOperation,
  queryRecordsOperation,
  findRecordsOperation,
  applyBatchOperation,
  applyDatabaseBatchOperation,
  loadRecordsOperation,
  getRecordOperation,
  deleteRecordOperation,
  getItemOperation,
  putItemOperation,
  patchItemOperation,
  deleteItemOperation,
  readChangesOperation,
  listBucketsOperation,
  describeBucketOperation,
  createBucketOperation,
  deleteBucketOperation,
  restoreBucketOperation,
  putFileOperation,
  getFileOperation,
  changeFileOperation,
  deleteFileOperation,
  getFileUrlOperation,
  queryFilesOperation,
  listTasksOperation,
  declareTaskOperation,
  describeTaskOperation,
  deleteTaskOperation,
  restoreTaskOperation,
  createTaskSecretOperation,
  runTaskOperation,
  getRunOperation,
  queryRunsOperation,
  claimRunsOperation,
  extendRunOperation,
  finishRunOperation,
  cancelRunOperation,
  retryRunOperation,
  applyTaskBatchOperation,
  listApiKeysOperation,
  createApiKeyOperation,
  describeOwnApiKeyOperation,
  rollApiKeyOperation,
  revokeApiKeyOperation,
  createTokenOperation,
  describeOwnTokenOperation,
  revokeUserOperation,
  exchangeTokenOperation,
  listIssuersOperation,
  putIssuerOperation,
  getIssuerOperation,
  deleteIssuerOperation,
] as const

export type OperationId = (typeof operations)[number]['id']

/** The operations that an API key may call. */
export type RoutedOperationId = Exclude<OperationId, `${string}Organization${string}`>

const byId: ReadonlyMap<string, AnyOperation> = new Map(operations.map((operation) => [operation.id, operation]))

export const findOperation = (id: string): AnyOperation | undefined => byId.get(id)

/** Those that have a route. */
export const routedOperations = operations.filter(
  (operation: AnyOperation) => operation.route !== undefined,
) as readonly AnyOperation[]

/** An operation with its description. */
export type CatalogueEntry = AnyOperation & Description

/** Every operation described. Only code that describes them calls it. */
export const catalogue = (): Record<OperationId, CatalogueEntry> =>
  Object.fromEntries(
    operations.map((operation: AnyOperation) => [operation.id, { ...operation, ...operation.describe() }]),
  ) as Record<OperationId, CatalogueEntry>

const membersOf = ({ properties, oneOf = [] }: Schema): string[] => [
  ...new Set([...Object.keys(properties ?? {}), ...oneOf.flatMap(membersOf)]),
]

export const inputMembers = ({ input }: Pick<Description, 'input'>): string[] => membersOf(input)

/** Every code that an operation may fail with after authentication, in the order of `errorCodes`. */
export const codesOf = (entry: CatalogueEntry): ErrorCode[] => {
  const members = inputMembers(entry)
  const codes = new Set<ErrorCode>([...entry.codes, 'invalid_request', 'internal', 'store_damaged', 'unavailable'])
  const add = (...more: ErrorCode[]): void => {
    for (const code of more) codes.add(code)
  }
  if (members.includes('db') || members.includes('collection')) add('invalid_name', 'reserved_name')
  if (members.includes('hashKey')) add('invalid_key')
  if (entry.effect !== 'reads') add('outcome_unknown', 'storage_full')
  if (entry.idempotencyScope !== undefined) add('idempotency_key_reused')
  return errorCodes.filter((code) => codes.has(code))
}
