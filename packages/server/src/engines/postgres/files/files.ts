import { neverDueMs } from '../../../core/files/blob-id.ts'
import { pendingUntilMs, removalRetryMs } from '../../../core/files/file-changes.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { FileChangeResult, FileChanges, Files, FileToCommit, FileWriteResult } from '../../../store/files.ts'
import type { Condition } from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import { textArray } from '../connection/arrays.ts'
import { bytesOfHex } from '../connection/bytes.ts'
import { type Database, holderOf, noOrg } from '../connection/database.ts'
import { isRaised } from '../connection/failure.ts'
import type { WriteGuard } from '../records/write-guard.ts'
import { FileWrites } from './file-writes.ts'
import * as sql from './statements.ts'

export interface FilesOptions {
  db: Database
  guard: WriteGuard
  /** Which clock the sweep uses: see `MaintenanceOptions`. */
  clock: 'database' | 'caller'
  /** See `Dialect`. */
  namesManyTables: boolean
  pipelinesAreTransactions: boolean
}

export class PostgresFiles implements Files {
  readonly #options: FilesOptions
  readonly #db: Database
  readonly #writes: FileWrites

  constructor(options: FilesOptions) {
    this.#options = options
    this.#db = options.db
    const { db, guard, pipelinesAreTransactions } = options
    this.#writes = new FileWrites(db, guard, guard.isInWrites && pipelinesAreTransactions)
  }

  async begin(caller: Caller, bucket: Table, blobId: string, nowMs: number): Promise<void> {
    const { guard } = this.#options
    if (!guard.isInWrites) await guard.confirm(caller, bucket)
    const insert = { statement: sql.insertBlob, values: [bucket.id, blobId, pendingUntilMs(nowMs)] }
    try {
      await this.#db.write(holderOf(caller), insert, ...guard.steps(caller, bucket))
    } catch (error) {
      if (isRaised(error)) await guard.requireActive(caller, bucket)
      throw error
    }
  }

  async keepAlive(blobIds: string[], nowMs: number): Promise<void> {
    if (blobIds.length === 0) return
    // Sorted, so that two calls lock in the same order.
    const values = [textArray(blobIds.toSorted()), pendingUntilMs(nowMs)]
    await this.#db.write(noOrg, { statement: sql.postpone, values })
  }

  commit(caller: Caller, bucket: Table, file: FileToCommit, nowMs: number): Promise<FileWriteResult> {
    return this.#writes.commit(caller, bucket, file, nowMs)
  }

  async readBytes(bucket: Table, blobId: string, keySeq = 0): Promise<Uint8Array | undefined> {
    const { id, orgId } = bucket
    const { rows } = await this.#db.lookUp({ orgId, keySeq }, { statement: sql.readBytes, values: [id, blobId] })
    const bytes = rows[0]?.[0]
    return bytes == null ? undefined : bytesOfHex(bytes)
  }

  async abandon(blobId: string, nowMs: number): Promise<void> {
    await this.#db.write(noOrg, { statement: sql.abandonBlob, values: [blobId, nowMs] })
  }

  change(
    caller: Caller,
    bucket: Table,
    name: string,
    changes: FileChanges,
    condition: Condition | undefined,
    nowMs: number,
  ): Promise<FileChangeResult> {
    return this.#writes.change(caller, bucket, name, changes, condition, nowMs)
  }

  remove(
    caller: Caller,
    bucket: Table,
    name: string,
    condition: Condition | undefined,
    nowMs: number,
  ): Promise<FileWriteResult> {
    return this.#writes.remove(caller, bucket, name, condition, nowMs)
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

  /** Several processes may find the same blobs: each is taken by one of them. */
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
