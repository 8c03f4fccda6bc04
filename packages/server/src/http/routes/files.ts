import { plainBodyBytesMax } from '../../core/limits.ts'
import { changeFileOperation } from '../../operations/files/change-file.ts'
import { deleteFileOperation } from '../../operations/files/delete-file.ts'
import { getFileOperation } from '../../operations/files/get-file.ts'
import { getFileUrlOperation } from '../../operations/files/get-file-url.ts'
import { putFileOperation } from '../../operations/files/put-file.ts'
import { queryFilesOperation } from '../../operations/files/query-files.ts'
import { bucketPath, filePath } from './file-paths.ts'
import type { OperationRoute } from './route.ts'

/** Served on more paths: see `withFilePaths`. */
export const fileRoutes = {
  putFile: {
    operation: putFileOperation,
    method: 'PUT',
    paths: [filePath],
    query: ['visibility', 'ttl', 'metadata'],
    bytes: 'content',
  },
  getFile: { operation: getFileOperation, method: 'GET', paths: [filePath], queryAlways: { record: true } },
  changeFile: {
    operation: changeFileOperation,
    method: 'PATCH',
    paths: [filePath],
    body: { schema: 'ChangeFileRequest', required: true, bytesMax: plainBodyBytesMax },
  },
  deleteFile: { operation: deleteFileOperation, method: 'DELETE', paths: [filePath] },
  getFileUrl: {
    operation: getFileUrlOperation,
    method: 'POST',
    paths: [`${bucketPath}/url`],
    body: { schema: 'FileUrlRequest', required: true, bytesMax: plainBodyBytesMax },
  },
  queryFiles: {
    operation: queryFilesOperation,
    method: 'POST',
    paths: [`${bucketPath}/query`],
    body: { schema: 'FileQuery', required: false, bytesMax: plainBodyBytesMax },
  },
} satisfies Record<string, OperationRoute>
