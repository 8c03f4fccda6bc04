import { deadBlobMs, pendingBlobMs } from '../limits.ts'
import { type Condition, holds } from '../records/condition.ts'
import { isExpired } from '../records/expiry.ts'
import { type FileContent, readFileContent } from './file-record.ts'

// The effect of a put, change or removal of a file on its record and on the bytes that it refers to. Both engines apply it
// inside a transaction that holds the record. The states of blobs are in store/files.ts.

/** The record of a file as a write finds it, expired or not. */
export interface FoundFile {
  updatedAtMs: number
  ttlSeconds: number | null
  data: string
  /** Undefined only in a damaged row. */
  blob: string | undefined
  /** Only the blob of a damaged row is used. An engine refuses a condition on a damaged row, and a change of it. */
  isDamaged?: boolean
}

/** The members that a change replaces; a member that is undefined stays as it is. */
export interface FileChanges {
  visibility?: FileContent['visibility']
  contentType?: string
  /** JSON text. */
  metadata?: string
  /** null removes it. */
  ttlSeconds?: number | null
}

/** The new content of a file's record. */
export interface FileToWrite {
  content: FileContent
  ttlSeconds: number | null
  updatedAtMs: number
}

interface Refused {
  applied: false
  current: number | undefined
}

/** `deadBlob`: no record refers to it after the write. */
type Put = Refused | { applied: true; put: FileToWrite; deadBlob: string | undefined }
type Removal = Refused | { applied: true; deleted: boolean; deadBlob: string | undefined }

/** A blob that is being written is due a day after its last progress. */
export const pendingUntilMs = (nowMs: number): number => nowMs + pendingBlobMs

/** The bytes of a dead blob are due an hour later, so that a download can finish. Also those of an upload that is refused. */
export const deadUntilMs = (nowMs: number): number => nowMs + deadBlobMs

/** A sweep that could not remove the bytes comes back to them after this time. */
export const removalRetryMs = 10 * 60 * 1000

const liveOf = (found: FoundFile | undefined, nowMs: number): FoundFile | undefined =>
  found === undefined || found.isDamaged || isExpired(found.ttlSeconds, nowMs) ? undefined : found

/** If it is refused, the pending blob of the upload becomes dead. */
export const putFile = (
  found: FoundFile | undefined,
  {
    content,
    ttlSeconds,
    condition,
  }: Pick<FileToWrite, 'content' | 'ttlSeconds'> & { condition: Condition | undefined },
  nowMs: number,
): Put => {
  const live = liveOf(found, nowMs)
  if (!holds(condition, live?.updatedAtMs)) return { applied: false, current: live?.updatedAtMs }
  const updatedAtMs = live === undefined ? nowMs : Math.max(nowMs, live.updatedAtMs + 1)
  return { applied: true, put: { content, ttlSeconds, updatedAtMs }, deadBlob: found?.blob }
}

/** Changes the record, not its bytes. Without a file it is refused. */
export const changeFile = (
  found: FoundFile | undefined,
  changes: FileChanges,
  condition: Condition | undefined,
  nowMs: number,
): Put => {
  const live = liveOf(found, nowMs)
  if (live === undefined || !holds(condition, live.updatedAtMs)) return { applied: false, current: live?.updatedAtMs }
  const old = readFileContent(live.data)
  const content = {
    ...old,
    visibility: changes.visibility ?? old.visibility,
    contentType: changes.contentType ?? old.contentType,
    metadata: changes.metadata ?? old.metadata,
  }
  const ttlSeconds = changes.ttlSeconds === undefined ? live.ttlSeconds : changes.ttlSeconds
  const put = { content, ttlSeconds, updatedAtMs: Math.max(nowMs, live.updatedAtMs + 1) }
  return { applied: true, put, deadBlob: undefined }
}

/** An expired file is left to the sweep, with its blob. A damaged one is removed. */
export const removeFile = (found: FoundFile | undefined, condition: Condition | undefined, nowMs: number): Removal => {
  const live = liveOf(found, nowMs)
  if (!holds(condition, live?.updatedAtMs)) return { applied: false, current: live?.updatedAtMs }
  const deleted = found?.isDamaged || live !== undefined
  return { applied: true, deleted, deadBlob: deleted ? found?.blob : undefined }
}
