import type { Condition } from '../../store/records.ts'
import { type Access, callerOf } from '../access.ts'
import { requireBucket, writeInBucket } from '../buckets/bucket-access.ts'
import { type FileAddress, fileConditionFailed } from './file-access.ts'

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
