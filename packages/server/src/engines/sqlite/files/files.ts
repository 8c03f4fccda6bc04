import { neverDueMs } from '../../../core/files/blob-id.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { FileChangeResult, FileChanges, Files, FileToCommit, FileWriteResult } from '../../../store/files.ts'
import type { Condition } from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import type { OpenStore } from '../open-store.ts'

export class SqliteFiles implements Files {
  readonly #store: OpenStore

  constructor(store: OpenStore) {
    this.#store = store
  }

  begin(caller: Caller, bucket: Table, blobId: string, nowMs: number): Promise<void> {
    return this.#store.channel.submit({ kind: 'beginBlob', fence: this.#store.fence(caller, bucket), blobId, nowMs })
  }

  keepAlive(blobIds: string[], nowMs: number): Promise<void> {
    return this.#store.channel.submit({ kind: 'keepBlobs', blobIds, nowMs })
  }

  commit(caller: Caller, bucket: Table, file: FileToCommit, nowMs: number): Promise<FileWriteResult> {
    const { bytes, ...others } = file
    const fence = this.#store.fence(caller, bucket)
    const text = bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    const size = others.content.metadata.length + (bytes?.length ?? 0)
    return this.#store.channel.submit({ kind: 'commitFile', fence, file: others, bytes: text, nowMs }, size)
  }

  readBytes(_bucket: Table, blobId: string): Uint8Array | undefined {
    return this.#store.all<{ bytes: Uint8Array }>('SELECT bytes FROM blob_bytes WHERE id = ?1', blobId)[0]?.bytes
  }

  abandon(blobId: string, nowMs: number): Promise<void> {
    return this.#store.channel.submit({ kind: 'abandonBlob', blobId, nowMs })
  }

  change(
    caller: Caller,
    bucket: Table,
    name: string,
    changes: FileChanges,
    condition: Condition | undefined,
    nowMs: number,
  ): Promise<FileChangeResult> {
    const fence = this.#store.fence(caller, bucket)
    return this.#store.channel.submit(
      { kind: 'changeFile', fence, name, changes, condition, nowMs },
      changes.metadata?.length ?? 0,
    )
  }

  remove(
    caller: Caller,
    bucket: Table,
    name: string,
    condition: Condition | undefined,
    nowMs: number,
  ): Promise<FileWriteResult> {
    return this.#store.channel.submit({
      kind: 'removeFile',
      fence: this.#store.fence(caller, bucket),
      name,
      condition,
      nowMs,
    })
  }

  takeDue(nowMs: number, rowsMax: number, keptMs = 0): Promise<string[]> {
    return this.#store.channel.submit({ kind: 'takeDueBlobs', nowMs, rowsMax, keptMs })
  }

  forget(blobIds: string[]): Promise<void> {
    return this.#store.channel.submit({ kind: 'forgetBlobs', blobIds })
  }

  holdSweep(untilMs: number): Promise<void> {
    return this.#store.channel.submit({ kind: 'holdBlobs', untilMs })
  }

  storeId(): string {
    return this.#store.all<{ id: string }>('SELECT id FROM store_id')[0]!.id
  }

  adoptBlobs(): Promise<number> {
    return this.#store.channel.submit({ kind: 'adoptBlobs' })
  }

  countAdopted(): number {
    return this.#store.all<{ n: number }>('SELECT count(*) AS n FROM blobs WHERE due_at = ?1', neverDueMs)[0]!.n
  }

  readMark(): string | undefined {
    return this.#store.all<{ mark: string }>('SELECT mark FROM file_place')[0]?.mark
  }

  writeMark(mark: string): Promise<string> {
    return this.#store.channel.submit({ kind: 'writeFileMark', mark })
  }
}
