import { ofFile } from '../grant-rules.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { given, noFile, stored, thePicture } from './examples.ts'
import { requireFile } from './file-access.ts'
import { presentFile } from './present-file.ts'
import { fileAddressRequired, fileMembers } from './schemas.ts'

export const getFileOperation = defineOperation({
  id: 'getFile',
  area: 'files',
  summary: 'Get a file',
  keyNeeded: 'read',
  grants: ofFile('read'),
  effect: 'reads',
  route: { method: 'GET', path: '/v1/:db/_buckets/:bucket/:name', queryAlways: { record: true } },
  command: 'files list {bucket} --prefix {name} --json --db {db}',
  version: ({ updatedAtMs }) => updatedAtMs,
  run: requireFile,
  present: (file) => presentFile(file),
  describe: () => ({
    title: 'Get a file',
    description: 'A public key reads public files only. A file past its `ttl` does not exist.',
    returns: 'The record of the file.',
    codes: ['invalid_key', 'private_file', 'bucket_not_found', 'file_not_found'],
    input: inputOf({}, fileMembers, fileAddressRequired),
    output: ref('FileRecord'),
    client: { on: 'bucket', method: 'describe', result: 'file', args: ({ name }) => [name] },
    examples: [
      { name: 'record', summary: 'What is stored about a file', given, input: thePicture, output: stored },
      {
        name: 'missing',
        summary: 'No such file',
        given,
        input: { ...thePicture, name: 'ada/large.png' },
        error: noFile,
      },
    ],
  }),
})
