import type { Condition } from '../../store/records.ts'
import { type Access, callerOf } from '../access.ts'
import { ofFile } from '../grant-rules.ts'
import { requireBucket, writeIn } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { given, otherVersion, thePicture } from './examples.ts'
import { type FileAddress, fileConditionFailed } from './file-access.ts'
import { condition, fileAddressRequired, fileMembers } from './schemas.ts'

interface DeleteFileInput extends FileAddress {
  condition: Condition | undefined
}

/** Returns whether there was a file to delete. */
const deleteFile = async (access: Access, input: DeleteFileInput, nowMs: number): Promise<boolean> => {
  const { name, condition } = input
  const bucket = await requireBucket(access, input, nowMs)
  const written = await writeIn('bucket', access, input, nowMs, () =>
    access.engine.files.remove(callerOf(access), bucket, name, condition, nowMs),
  )
  if (!written.applied) throw fileConditionFailed(input, condition, written.current)
  return (written.results[0] as { deleted: boolean }).deleted
}

export const deleteFileOperation = defineOperation({
  id: 'deleteFile',
  area: 'files',
  summary: 'Delete a file',
  keyNeeded: 'write',
  grants: ofFile('write'),
  effect: 'destroys',
  route: { method: 'DELETE', path: '/v1/:db/_buckets/:bucket/:name' },
  command: 'files rm {bucket} {name} --db {db}',
  condition: 'change',
  run: deleteFile,
  present: (deleted) => JSON.stringify({ deleted }),
  describe: () => ({
    title: 'Delete a file',
    description: 'Deleting a file that does not exist is not an error. A download that has begun can finish.',
    returns: 'Whether the file existed.',
    codes: ['invalid_key', 'bucket_not_found', 'precondition_failed'],
    input: inputOf({}, { ...fileMembers, ...condition }, fileAddressRequired),
    output: ref('DeleteFileResult'),
    client: { on: 'bucket', method: 'remove', result: 'done', args: ({ name }, options) => [name, options] },
    examples: [
      { name: 'delete', summary: 'Delete a file', given, input: thePicture, output: { deleted: true } },
      {
        name: 'missing',
        summary: 'There is no such file',
        given,
        input: { ...thePicture, name: 'ada/large.png' },
        output: { deleted: false },
      },
      {
        name: 'changedMeanwhile',
        summary: 'The file is at another version',
        given,
        input: { ...thePicture, ifUpdatedAt: 1 },
        error: otherVersion,
      },
    ],
  }),
})
