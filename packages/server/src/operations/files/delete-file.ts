import { refuseUnknownMembers } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Condition } from '../../store/records.ts'
import { type Access, callerOf } from '../access.ts'
import { requireBucket, writeInBucket } from '../buckets/bucket-access.ts'
import { defineOperation } from '../operation.ts'
import { parseCondition } from '../records/condition.ts'
import { type FileAddress, fileConditionFailed, parseFileAddress } from './file-access.ts'

export interface DeleteFileInput extends FileAddress {
  condition: Condition | undefined
}

/** Returns whether there was a file to delete. */
export const deleteFile = async (access: Access, input: DeleteFileInput, nowMs: number): Promise<boolean> => {
  const { name, condition } = input
  const bucket = await requireBucket(access, input, nowMs)
  const written = await writeInBucket(access, input, nowMs, () =>
    access.engine.files.remove(callerOf(access), bucket, name, condition, nowMs),
  )
  if (!written.applied) throw fileConditionFailed(input, condition, written.current)
  return (written.results[0] as { deleted: boolean }).deleted
}

export const deleteFileOperation = defineOperation({
  id: 'deleteFile',
  area: 'files',
  summary: 'Delete a file',
  description: 'Deleting a file that does not exist is not an error. A download that has begun can finish.',
  keyNeeded: 'write',
  effect: 'destroys',
  returns: 'Whether the file existed.',
  codes: ['invalid_key', 'bucket_not_found', 'precondition_failed'],
  parse(text): DeleteFileInput {
    const { db, bucket, name, ...members } = parsePlainBody(text)
    const address = parseFileAddress(db, bucket, name)
    refuseUnknownMembers(members, ['ifUpdatedAt'])
    return { ...address, condition: parseCondition(members.ifUpdatedAt) }
  },
  run: deleteFile,
  present: (deleted) => JSON.stringify({ deleted }),
})
