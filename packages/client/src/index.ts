export type { Keys, NewKey, RollOptions } from './api-keys/api-keys.ts'
export { Cubby, type Database } from './cubby.ts'
export type { Bucket, ChangeFileOptions, GetChangedOptions, GetFileOptions, PutFileOptions } from './files/bucket.ts'
export type { Buckets } from './files/buckets.ts'
export type { ByteRange, FileDownload } from './files/download.ts'
export { type FileBody, type UploadOptions, uploadTo } from './files/upload.ts'
export type { UploadProgress } from './files/xhr-fetch.ts'
export type { LoadOptions, LoadSource } from './records/loading.ts'
export type { Key } from './records/record-key.ts'
export {
  type SavedChunk,
  SaveError,
  type SaveManyOptions,
  type SaveProgress,
  type SaveResult,
} from './records/save-many.ts'
export type { FindOptions, RemoveOptions, SaveOptions, Table } from './records/table.ts'
export type * from './records/typed-table.ts'
export type { Tables } from './tables/tables.ts'
export type { AddRun, FinishRun, OwnRunChange, RunChange } from './tasks/run-change.ts'
export type { RunHandle, RunReference, Task } from './tasks/task.ts'
export type { Tasks } from './tasks/tasks.ts'
export type * from './tasks/typed-task.ts'
export type * from './tasks/working-run.ts'
export { type ErrorCode, errorCodes } from './transport/error-codes.ts'
export { CubbyError } from './transport/errors.ts'
export type { OnceOptions } from './transport/idempotency.ts'
export type { ListOptions, Pages } from './transport/pages.ts'
export type { CubbyOptions, RequestOptions } from './transport/transport.ts'
export type * from './transport/wire.ts'
export type * from './transport/wire-changes.ts'
export type * from './transport/wire-files.ts'
export type * from './transport/wire-runs.ts'
export type * from './transport/wire-tasks.ts'
