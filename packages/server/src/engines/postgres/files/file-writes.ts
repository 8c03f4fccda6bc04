import { type FileContent, fileData, fileEntries, fileKey, readFileContent } from '../../../core/files/file-record.ts'
import { deadBlobMs } from '../../../core/limits.ts'
import { isExpired } from '../../../core/records/expiry.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { ChangedFile, FileChangeResult, FileChanges, FileToCommit, FileWriteResult } from '../../../store/files.ts'
import type { Condition, OperationResult } from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import { asBuffer } from '../connection/bytes.ts'
import { type Database, holderOf } from '../connection/database.ts'
import type { Row, Step, Value } from '../connection/driver.ts'
import { isRaised, unavailable } from '../connection/failure.ts'
import { changeValues, holds, keyValues, raceAttemptsMax } from '../records/record-writes.ts'
import { conditionKind, putInBatch } from '../records/statements.ts'
import type { WriteGuard } from '../records/write-guard.ts'
import * as sql from './statements.ts'

/** The locked row of a file. */
interface FoundFile {
  updatedAtMs: number
  ttlSeconds: number | null
  data: string
  isLive: boolean
  /** Undefined only in a damaged row. */
  blob: string | undefined
}

/** What one write does with the row that it found, after its condition was judged. */
interface FileWrite {
  name: string
  /** All of them must hold. */
  conditions: (Condition | undefined)[]
  /** The pending blob of an upload: it is given up if a condition does not hold. */
  newBlob?: string | undefined
  apply(found: FoundFile | undefined): { steps: Step[]; result: OperationResult }
}

const updateFile = putInBatch('exists')

const toFound = (row: Row | undefined, nowMs: number): FoundFile | undefined => {
  if (row === undefined) return undefined
  const [updatedAt, ttl, blob, data] = row
  const ttlSeconds = ttl == null ? null : Number(ttl)
  return {
    updatedAtMs: Number(updatedAt),
    ttlSeconds,
    data: data!,
    isLive: !isExpired(ttlSeconds, nowMs),
    blob: sql.blobOfEntry(blob),
  }
}

const putFile = { none: sql.putFile('none'), absent: sql.putFile('absent') }

/**
 * Writes files: two round trips each. The first locks the file's record, the second writes and commits. Most commits need
 * one round trip only, where a pipeline is a transaction and a statement may look at records and blobs.
 */
export class FileWrites {
  readonly #db: Database
  readonly #guard: WriteGuard
  readonly #commitsInOne: boolean

  constructor(db: Database, guard: WriteGuard, commitsInOne: boolean) {
    this.#db = db
    this.#guard = guard
    this.#commitsInOne = commitsInOne
  }

  async commit(caller: Caller, bucket: Table, file: FileToCommit, nowMs: number): Promise<FileWriteResult> {
    const { name, content, ttlSeconds, condition } = file
    const kind = conditionKind(condition)
    if (this.#commitsInOne && (kind === 'none' || kind === 'absent')) {
      if (await this.#commitInOne(caller, bucket, file, kind, nowMs)) {
        return { applied: true, results: [{ updatedAtMs: nowMs }] }
      }
    }
    return this.#write(caller, bucket, nowMs, {
      name,
      conditions: [condition],
      newBlob: file.bytes === undefined ? content.blob : undefined,
      apply: (found) => {
        const updatedAtMs = found?.isLive ? Math.max(nowMs, found.updatedAtMs + 1) : nowMs
        const values = putValues(bucket, name, content, ttlSeconds, updatedAtMs, nowMs)
        const steps: Step[] = []
        if (found?.isLive) {
          steps.push({ statement: updateFile, values })
        } else {
          // An expired file is replaced by a new record, with an id of its own.
          if (found !== undefined) steps.push({ statement: sql.deleteFile, values: keyValues(bucket, fileKey(name)) })
          // The last value of a put is for the check of the ttl.
          steps.push({ statement: sql.insertFile, values: values.slice(0, -1) })
        }
        steps.push(liveStep(bucket, file), ...this.#dead(bucket, found, nowMs))
        return { steps, result: { updatedAtMs } }
      },
    })
  }

  /** Whether it was applied, with `nowMs` as its version. */
  async #commitInOne(
    caller: Caller,
    bucket: Table,
    file: FileToCommit,
    kind: 'none' | 'absent',
    nowMs: number,
  ): Promise<boolean> {
    const { name, content, ttlSeconds } = file
    const put = putValues(bucket, name, content, ttlSeconds, nowMs, nowMs)
    try {
      await this.#db.write(
        holderOf(caller),
        { statement: sql.freeOldBlob, values: [...keyValues(bucket, fileKey(name)), nowMs + deadBlobMs] },
        { statement: putFile[kind], values: put },
        liveStep(bucket, file),
        ...this.#guard.steps(caller, bucket),
      )
      return true
    } catch (error) {
      if (isRaised(error)) return false
      throw error
    }
  }

  async change(
    caller: Caller,
    bucket: Table,
    name: string,
    changes: FileChanges,
    condition: Condition | undefined,
    nowMs: number,
  ): Promise<FileChangeResult> {
    // Of the attempt that was committed, which is the last one.
    let changed!: ChangedFile
    const result = await this.#write(caller, bucket, nowMs, {
      name,
      conditions: [condition, 'exists'],
      apply: (found) => {
        const { data, updatedAtMs: oldMs, ttlSeconds: oldTtl } = found!
        const updatedAtMs = Math.max(nowMs, oldMs + 1)
        const old = readFileContent(data)
        const content = {
          ...old,
          visibility: changes.visibility ?? old.visibility,
          contentType: changes.contentType ?? old.contentType,
          metadata: changes.metadata ?? old.metadata,
        }
        const ttlSeconds = changes.ttlSeconds === undefined ? oldTtl : changes.ttlSeconds
        changed = { content, ttlSeconds }
        const values = putValues(bucket, name, content, ttlSeconds, updatedAtMs, nowMs)
        return { steps: [{ statement: updateFile, values }], result: { updatedAtMs } }
      },
    })
    return result.applied ? { ...result, ...changed } : result
  }

  remove(
    caller: Caller,
    bucket: Table,
    name: string,
    condition: Condition | undefined,
    nowMs: number,
  ): Promise<FileWriteResult> {
    return this.#write(caller, bucket, nowMs, {
      name,
      conditions: [condition],
      apply: (found) => {
        if (!found?.isLive) return { steps: [], result: { deleted: false } }
        const gone: Step = { statement: sql.deleteFile, values: keyValues(bucket, fileKey(name)) }
        return { steps: [gone, ...this.#dead(bucket, found, nowMs)], result: { deleted: true } }
      },
    })
  }

  #dead(bucket: Table, found: FoundFile | undefined, nowMs: number): Step[] {
    if (found?.blob === undefined) return []
    return [{ statement: sql.makeDead, values: [bucket.id, found.blob, nowMs + deadBlobMs] }]
  }

  async #write(caller: Caller, bucket: Table, nowMs: number, write: FileWrite): Promise<FileWriteResult> {
    if (!this.#guard.isInWrites) await this.#guard.confirm(caller, bucket)
    for (let attempt = 1; attempt <= raceAttemptsMax; attempt++) {
      try {
        return await this.#attempt(caller, bucket, nowMs, write)
      } catch (error) {
        if (!isRaised(error)) throw error
      }
      await this.#guard.requireActive(caller, bucket)
      if (write.newBlob !== undefined) await this.#requirePending(caller, bucket, write.newBlob)
      // Another process has created the file since: retry.
    }
    throw unavailable('The file kept changing.')
  }

  #attempt(caller: Caller, bucket: Table, nowMs: number, write: FileWrite): Promise<FileWriteResult> {
    const { name, conditions, newBlob, apply } = write
    // After the write of the record: from then on `awaitLeaseExpiry` finds this transaction.
    const guard = this.#guard.steps(caller, bucket)
    return this.#db.transaction(holderOf(caller), async ({ send, commit }): Promise<FileWriteResult> => {
      const [locked] = await send({ statement: sql.lockFile, values: keyValues(bucket, fileKey(name)) })
      const found = toFound(locked!.rows[0], nowMs)
      const current = found?.isLive ? found.updatedAtMs : undefined
      if (conditions.some((condition) => condition !== undefined && !holds(condition, current))) {
        // Nobody has read the new bytes, so they need not be kept.
        const gaveUp: Step[] =
          newBlob === undefined ? [] : [{ statement: sql.giveUp, values: [bucket.id, newBlob, nowMs] }]
        await commit(...gaveUp, ...guard)
        return { applied: false, failedOperation: 0, current }
      }
      const { steps, result } = apply(found)
      await commit(...steps, ...guard)
      return { applied: true, results: [result] }
    })
  }

  async #requirePending(caller: Caller, bucket: Table, blobId: string): Promise<void> {
    const [pending] = await this.#db.read(holderOf(caller), { statement: sql.isPending, values: [bucket.id, blobId] })
    if (pending!.rows.length === 0) throw unavailable('The upload took so long that its bytes were removed.')
  }
}

/** The blob becomes live; with its bytes, if the store keeps them. */
const liveStep = (bucket: Table, { content: { blob }, bytes }: FileToCommit): Step =>
  bytes === undefined
    ? { statement: sql.makeLive, values: [bucket.id, blob] }
    : { statement: sql.insertLiveBlob, values: [bucket.id, blob, asBuffer(bytes)] }

const putValues = (
  bucket: Table,
  name: string,
  content: FileContent,
  ttlSeconds: number | null,
  updatedAtMs: number,
  nowMs: number,
): Value[] => {
  const entries = fileEntries(name, content, updatedAtMs)
  const put = { op: 'put', ...fileKey(name), data: fileData(content), ttlSeconds, entries, updatedAtMs } as const
  return changeValues(bucket, { ...put, condition: undefined }, nowMs)
}
