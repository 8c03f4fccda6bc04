import { bucketMembers, bucketRequired } from '../buckets/schemas.ts'
import { entry } from '../catalogue-entry.ts'
import { exactIntegers, inputOf, nullable, ref, type Schema } from '../schema.ts'
import { changeFileOperation } from './change-file.ts'
import { deleteFileOperation } from './delete-file.ts'
import * as examples from './examples.ts'
import { getFileOperation } from './get-file.ts'
import { getFileUrlOperation } from './get-file-url.ts'
import { putFileOperation } from './put-file.ts'
import { queryFilesOperation } from './query-files.ts'
import { fileAddressRequired, fileMembers, fileSchemas, notPrefixAndIndex, putMembers } from './schemas.ts'
import * as urlExamples from './url-examples.ts'
import { urlSchemas } from './url-schemas.ts'

const condition = {
  ifUpdatedAt: {
    oneOf: [nullable('integer', exactIntegers), { type: 'string', const: '*' }],
    description:
      'Write only if this is the `updatedAt` of the file; null: only if it does not exist; `*`: only if it exists.',
  },
} satisfies Record<string, Schema>

const oneOfThese = (names: string[]): Pick<Schema, 'anyOf'> => ({
  anyOf: names.map((name) => ({ properties: { [name]: {} }, required: [name] })),
})

export const fileCatalogue = {
  putFile: entry(putFileOperation, {
    input: inputOf({}, { ...fileMembers, ...putMembers, ...condition }, [...fileAddressRequired, 'content']),
    output: ref('FileRecord'),
    examples: examples.putFile,
  }),
  getFile: entry(getFileOperation, {
    input: inputOf({}, fileMembers, fileAddressRequired),
    output: ref('FileRecord'),
    examples: examples.getFile,
  }),
  changeFile: entry(changeFileOperation, {
    input: {
      ...inputOf(fileSchemas.ChangeFileRequest, { ...fileMembers, ...condition }, fileAddressRequired),
      ...oneOfThese(['visibility', 'contentType', 'metadata', 'ttl']),
    },
    output: ref('FileRecord'),
    examples: examples.changeFile,
  }),
  deleteFile: entry(deleteFileOperation, {
    input: inputOf({}, { ...fileMembers, ...condition }, fileAddressRequired),
    output: ref('DeleteFileResult'),
    examples: examples.deleteFile,
  }),
  queryFiles: entry(queryFilesOperation, {
    input: { ...inputOf(fileSchemas.FileQuery, bucketMembers, bucketRequired), ...notPrefixAndIndex },
    output: ref('FilePage'),
    examples: examples.queryFiles,
  }),
  getFileUrl: entry(getFileUrlOperation, {
    input: inputOf(
      { oneOf: [urlSchemas.DownloadUrlRequest, urlSchemas.UploadUrlRequest] },
      bucketMembers,
      bucketRequired,
    ),
    output: ref('FileUrl'),
    examples: urlExamples.getFileUrl,
  }),
}
