import { neverDueMs } from '../../../core/files/blob-id.ts'
import {
  changeFile,
  deadUntilMs,
  type FileToWrite,
  type FoundFile,
  pendingUntilMs,
  putFile,
  removalRetryMs,
  removeFile,
} from '../../../core/files/file-changes.ts'
import { fileData, fileEntries, fileKey } from '../../../core/files/file-record.ts'
import { isExpired } from '../../../core/records/expiry.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type {
  ChangedFile,
  FileChangeResult,
  FileChanges,
  Files,
  FileToCommit,
  FileWriteResult,
} from '../../../store/files.ts'
import type { Condition, OperationResult } from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import { textArray } from '../connection/arrays.ts'
import { asBuffer, bytesOfHex } from '../connection/bytes.ts'
import { type Database, holderOf, noOrg } from '../connection/database.ts'
import type { BoundStatement, Row, Value } from '../connection/driver.ts'
import { isRaised, unavailable } from '../connection/failure.ts'
import { keyValues } from '../records/lock-order.ts'
import { changeValues, raceAttemptsMax } from '../records/record-writes.ts'
import { conditionKind, putInBatch } from '../records/statements.ts'
import type { WriteGuard } from '../records/write-guard.ts'
import * as sql from './statements.ts'

/** One write's decision about the row that it found. */
interface FileWrite {
  name: string
  /** The pending blob of an upload: it becomes dead if the write is refused. */
  newBlob?: string | undefined
  decide(
    found: FoundFile | undefined,
  ):
    | { applied: false; current: number | undefined }
    | { applied: true; writes: BoundStatement[]; result: OperationResult }
}

const updateFile = putInBatch('exists')

const toFound = ([updatedAt, ttl, blob, data]: Row): FoundFile => ({
  updatedAtMs: Number(updatedAt),
  ttlSeconds: ttl == null ? null : Number(ttl),
  data: data!,
  blob: sql.blobOfEntry(blob),
})

const putInOne = { none: sql.putFile('none'), absent: sql.putFile('absent') }

interface FilesOptions {
  db: Database
  guard: WriteGuard
  /** The clock of the sweep: see `MaintenanceOptions`. */
  clock: 'database' | 'caller'
  /** See `Dialect`. */
  namesManyTables: boolean
  pipelinesAreTransactions: boolean
}

/**
 * A write of a file takes two round trips. The first locks the file's record, the second writes and commits. Most commits need
 * only one round trip if a pipeline is a transaction and a statement may name both records and blobs.
 */
export class PostgresFiles implements Files {
  readonly #options: FilesOptions
  readonly #db: Database
  readonly #guard: WriteGuard
  readonly #commitsInOne: boolean

  constructor(options: FilesOptions) {
    this.#options = options
    this.#db = options.db
    this.#guard = options.guard
    this.#commitsInOne = options.guard.isInWrites && options.pipelinesAreTransactions
  }

  async begin(caller: Caller, bucket: Table, blobId: string, nowMs: number): Promise<void> {
    const guard = this.#guard
    if (!guard.isInWrites) await guard.confirm(caller, bucket)
    const insert = { statement: sql.insertBlob, values: [bucket.id, blobId, pendingUntilMs(nowMs)] }
    try {
      await this.#db.write(holderOf(caller), insert, ...guard.statements(caller, bucket))
    } catch (error) {
      if (isRaised(error)) await guard.requireActive(caller, bucket)
      throw error
    }
  }

  async keepAlive(blobIds: string[], nowMs: number): Promise<void> {
    if (blobIds.length === 0) return
    // The ids are sorted, so that two calls lock in the same order.
    const values = [textArray(blobIds.toSorted()), pendingUntilMs(nowMs)]
    await this.#db.write(noOrg, { statement: sql.postpone, values })
  }

  async commit(caller: Caller, bucket: Table, file: FileToCommit, nowMs: number): Promise<FileWriteResult> {
    const { name, content } = file
    const kind = conditionKind(file.condition)
    if (this.#commitsInOne && (kind === 'none' || kind === 'absent')) {
      if (await this.#commitInOne(caller, bucket, file, kind, nowMs)) {
        return { applied: true, results: [{ updatedAtMs: nowMs }] }
      }
    }
    return this.#write(caller, bucket, nowMs, {
      name,
      newBlob: file.bytes === undefined ? content.blob : undefined,
      decide: (found) => {
        const change = putFile(found, file, nowMs)
        if (!change.applied) return change
        const values = putValues(bucket, name, change.put, nowMs)
        const writes: BoundStatement[] = []
        if (found !== undefined && !isExpired(found.ttlSeconds, nowMs)) {
          writes.push({ statement: updateFile, values })
        } else {
          // An expired file is replaced by a new record, with an id of its own.
          if (found !== undefined) writes.push({ statement: sql.deleteFile, values: keyValues(bucket, fileKey(name)) })
          // The last value of a put is for the check of the ttl.
          writes.push({ statement: sql.insertFile, values: values.slice(0, -1) })
        }
        writes.push(liveStatement(bucket, file), ...deadStatements(bucket, change.deadBlob, nowMs))
        return { applied: true, writes, result: { updatedAtMs: change.put.updatedAtMs } }
      },
    })
  }

  /** Returns whether the commit was applied, with `nowMs` as its version. */
  async #commitInOne(
    caller: Caller,
    bucket: Table,
    file: FileToCommit,
    kind: 'none' | 'absent',
    nowMs: number,
  ): Promise<boolean> {
    const { name, content, ttlSeconds } = file
    const put = putValues(bucket, name, { content, ttlSeconds, updatedAtMs: nowMs }, nowMs)
    try {
      await this.#db.write(
        holderOf(caller),
        { statement: sql.freeOldBlob, values: [...keyValues(bucket, fileKey(name)), deadUntilMs(nowMs)] },
        { statement: putInOne[kind], values: put },
        liveStatement(bucket, file),
        ...this.#guard.statements(caller, bucket),
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
    // The last attempt is the one that was committed.
    let changed!: ChangedFile
    const result = await this.#write(caller, bucket, nowMs, {
      name,
      decide: (found) => {
        const change = changeFile(found, changes, condition, nowMs)
        if (!change.applied) return change
        const { content, ttlSeconds, updatedAtMs } = change.put
        changed = { content, ttlSeconds }
        const writes = [{ statement: updateFile, values: putValues(bucket, name, change.put, nowMs) }]
        return { applied: true, writes, result: { updatedAtMs } }
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
      decide: (found) => {
        const change = removeFile(found, condition, nowMs)
        if (!change.applied) return change
        const { deleted, deadBlob } = change
        const gone: BoundStatement = { statement: sql.deleteFile, values: keyValues(bucket, fileKey(name)) }
        const writes = deleted ? [gone, ...deadStatements(bucket, deadBlob, nowMs)] : []
        return { applied: true, writes, result: { deleted } }
      },
    })
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
    const { name, newBlob, decide } = write
    // It comes after the write of the record: from then on `awaitLeaseExpiry` finds this transaction.
    const guard = this.#guard.statements(caller, bucket)
    return this.#db.transaction(holderOf(caller), async ({ send, commit }): Promise<FileWriteResult> => {
      const [locked] = await send({ statement: sql.lockFile, values: keyValues(bucket, fileKey(name)) })
      const [row] = locked!.rows
      const decided = decide(row && toFound(row))
      if (decided.applied) {
        await commit(...decided.writes, ...guard)
        return { applied: true, results: [decided.result] }
      }
      const gaveUp: BoundStatement[] =
        newBlob === undefined ? [] : [{ statement: sql.giveUp, values: [bucket.id, newBlob, deadUntilMs(nowMs)] }]
      await commit(...gaveUp, ...guard)
      return { applied: false, failedOperation: 0, current: decided.current }
    })
  }

  async #requirePending(caller: Caller, bucket: Table, blobId: string): Promise<void> {
    const [pending] = await this.#db.read(holderOf(caller), { statement: sql.isPending, values: [bucket.id, blobId] })
    if (pending!.rows.length === 0) throw unavailable('The upload took so long that its bytes were removed.')
  }

  async readBytes(bucket: Table, blobId: string, keySeq = 0): Promise<Uint8Array | undefined> {
    const { id, orgId } = bucket
    const { rows } = await this.#db.lookup({ orgId, keySeq }, { statement: sql.readBytes, values: [id, blobId] })
    const bytes = rows[0]?.[0]
    return bytes == null ? undefined : bytesOfHex(bytes)
  }

  async abandon(blobId: string, nowMs: number): Promise<void> {
    await this.#db.write(noOrg, { statement: sql.abandonBlob, values: [blobId, nowMs] })
  }

  async takeDue(nowMs: number, rowsMax: number, keptMs = 0): Promise<string[]> {
    const { clock, namesManyTables } = this.#options
    const [facts] = await this.#db.read(noOrg, { statement: sql.sweepFacts, values: [] })
    const [databaseMs, heldUntilMs] = facts!.rows[0]!.map(Number) as [number, number]
    const now = clock === 'caller' ? nowMs : Math.min(nowMs, databaseMs)
    if (now < heldUntilMs) return []
    const dueMs = now - keptMs
    if (!namesManyTables) return this.#takeByTable(dueMs, rowsMax)
    const values = [dueMs, rowsMax, dueMs + removalRetryMs]
    const [taken] = await this.#db.write(noOrg, { statement: sql.takeDueInOne, values })
    return taken!.rows.map(([id]) => id!)
  }

  /** Several processes may find the same blobs. Only one of them takes each blob. */
  async #takeByTable(now: number, rowsMax: number): Promise<string[]> {
    const [found] = await this.#db.read(noOrg, { statement: sql.findDue, values: [now, rowsMax] })
    const idsOfTable = Map.groupBy(found!.rows, ([tableId]) => tableId!)
    const taken: string[] = []
    for (const [tableId, rows] of idsOfTable) {
      const ids = textArray(rows.map(([, id]) => id!).sort())
      const values = [tableId, ids, now, now + removalRetryMs]
      const take = { statement: sql.takeDueOfTable, values }
      const result = await this.#db.reach(async () => (await this.#db.write(noOrg, take))[0]!)
      taken.push(...(result?.rows ?? []).map(([id]) => id!))
    }
    return taken
  }

  async forget(blobIds: string[]): Promise<void> {
    if (blobIds.length === 0) return
    await this.#db.write(noOrg, { statement: sql.forgetBlobs, values: [textArray(blobIds.toSorted())] })
  }

  async holdSweep(untilMs: number): Promise<void> {
    await this.#db.write(noOrg, { statement: sql.holdSweep, values: [untilMs] })
  }

  async storeId(): Promise<string> {
    const [result] = await this.#db.read(noOrg, { statement: sql.storeId, values: [] })
    return result!.rows[0]![0]!
  }

  async adoptBlobs(): Promise<number> {
    const forget = { statement: sql.forgetMark, values: [] }
    await this.#db.write(noOrg, forget, { statement: sql.adoptBlobs, values: [neverDueMs] })
    return this.countAdopted()
  }

  async countAdopted(): Promise<number> {
    const [result] = await this.#db.read(noOrg, { statement: sql.countAdopted, values: [neverDueMs] })
    return Number(result!.rows[0]![0])
  }

  async readMark(): Promise<string | undefined> {
    const [result] = await this.#db.read(noOrg, { statement: sql.readMark, values: [] })
    return result!.rows[0]![0] ?? undefined
  }

  async writeMark(mark: string): Promise<string> {
    const [result] = await this.#db.write(noOrg, { statement: sql.writeMark, values: [mark] })
    return result!.rows[0]![0]!
  }
}

/** Makes the blob live, with its bytes if the store keeps them. */
const liveStatement = (bucket: Table, { content: { blob }, bytes }: FileToCommit): BoundStatement =>
  bytes === undefined
    ? { statement: sql.makeLive, values: [bucket.id, blob] }
    : { statement: sql.insertLiveBlob, values: [bucket.id, blob, asBuffer(bytes)] }

const deadStatements = (bucket: Table, blobId: string | undefined, nowMs: number): BoundStatement[] =>
  blobId === undefined ? [] : [{ statement: sql.makeDead, values: [bucket.id, blobId, deadUntilMs(nowMs)] }]

const putValues = (
  bucket: Table,
  name: string,
  { content, ttlSeconds, updatedAtMs }: FileToWrite,
  nowMs: number,
): Value[] => {
  const entries = fileEntries(name, content, updatedAtMs)
  const put = { op: 'put', ...fileKey(name), data: fileData(content), ttlSeconds, entries, updatedAtMs } as const
  return changeValues(bucket, { ...put, condition: undefined }, nowMs)
}
