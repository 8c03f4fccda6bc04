import { neverDueMs } from '../../../core/files/blob-id.ts'
import type { Files } from '../../../store/files.ts'
import type { OpenStore } from '../open-store.ts'

export const sqliteFiles = (store: OpenStore): Files => ({
  begin: (caller, bucket, blobId, nowMs) =>
    store.channel.submit({ kind: 'beginBlob', fence: store.fence(caller, bucket), blobId, nowMs }),

  keepAlive: (blobIds, nowMs) => store.channel.submit({ kind: 'keepBlobs', blobIds, nowMs }),

  commit(caller, bucket, { bytes, ...file }, nowMs) {
    const fence = store.fence(caller, bucket)
    const text = bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    const size = file.content.metadata.length + (bytes?.length ?? 0)
    return store.channel.submit({ kind: 'commitFile', fence, file, bytes: text, nowMs }, size)
  },

  readBytes: (_bucket, blobId) =>
    store.all<{ bytes: Uint8Array }>('SELECT bytes FROM blob_bytes WHERE id = ?1', blobId)[0]?.bytes,

  abandon: (blobId, nowMs) => store.channel.submit({ kind: 'abandonBlob', blobId, nowMs }),

  change(caller, bucket, name, changes, condition, nowMs) {
    const fence = store.fence(caller, bucket)
    const size = changes.metadata?.length ?? 0
    return store.channel.submit({ kind: 'changeFile', fence, name, changes, condition, nowMs }, size)
  },

  remove: (caller, bucket, name, condition, nowMs) =>
    store.channel.submit({ kind: 'removeFile', fence: store.fence(caller, bucket), name, condition, nowMs }),

  takeDue: (nowMs, rowsMax, keptMs = 0) => store.channel.submit({ kind: 'takeDueBlobs', nowMs, rowsMax, keptMs }),

  forget: (blobIds) => store.channel.submit({ kind: 'forgetBlobs', blobIds }),

  holdSweep: (untilMs) => store.channel.submit({ kind: 'holdBlobs', untilMs }),

  storeId: () => store.all<{ id: string }>('SELECT id FROM store_id')[0]!.id,

  adoptBlobs: () => store.channel.submit({ kind: 'adoptBlobs' }),

  countAdopted: () => store.readAnew(() => store.db.count('blobs WHERE due_at = ?1', neverDueMs)),

  readMark: () => store.all<{ mark: string }>('SELECT mark FROM file_place')[0]?.mark,

  writeMark: (mark) => store.channel.submit({ kind: 'writeFileMark', mark }),
})
