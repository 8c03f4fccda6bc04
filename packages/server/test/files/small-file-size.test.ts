import { expect, test } from 'bun:test'
import { newStoreBlobId } from '../../src/core/files/blob-id.ts'
import { sqliteFiles } from '../../src/engines/sqlite/files/files.ts'
import type { OpenStore } from '../../src/engines/sqlite/open-store.ts'
import { type Command, decodeGroup, encodeGroup } from '../../src/engines/sqlite/write/command.ts'
import type { Table } from '../../src/store/tables.ts'

// Small files are sent to the writer. If their bytes did not count, the queue of writes and a commit would have no bound.

const everyByte = Uint8Array.from({ length: 16_384 }, (_, i) => i & 255)

const content = { size: 16_384, contentType: 'a/b', visibility: 'private', sha256: '', metadata: '{"a":1}' } as const

test('the bytes of a small file count for the queue and the commit, and arrive at the writer as they are', async () => {
  const sent: [bytes: number, command: Command][] = []
  const channel = {
    submit: async (command: Command, bytes: number) => void sent.push([bytes, command]),
  }
  const fence = { stamp: 1, orgId: 1, keySeq: null, tableId: 2 }
  const files = sqliteFiles({ channel, fence: () => fence } as unknown as OpenStore)
  const blob = newStoreBlobId(1)
  const file = { name: 'ä', content: { ...content, blob }, ttlSeconds: null, condition: undefined }
  const caller = { orgId: 1, apiKey: undefined }
  await files.commit(caller, { id: 2 } as Table, { ...file, bytes: everyByte }, 5)
  await files.commit(caller, { id: 2 } as Table, file, 6)
  expect(sent.map(([bytes]) => bytes)).toEqual([16_384 + 7, 7])
  // The text is decoded also between others, and if it is not Latin-1.
  const decoded = decodeGroup(encodeGroup([sent[1]![1], sent[0]![1], sent[1]![1]]))
  const small = decoded[1] as Extract<Command, { kind: 'commitFile' }>
  expect(Buffer.compare(Buffer.from(small.bytes!, 'latin1'), everyByte)).toBe(0)
  expect([small.file.name, small.nowMs]).toEqual(['ä', 5])
  expect(decoded.map(({ kind }) => kind)).toEqual(['commitFile', 'commitFile', 'commitFile'])
  expect((decoded[2] as typeof small).bytes).toBeUndefined()
})
