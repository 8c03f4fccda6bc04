import { expect, test } from 'bun:test'
import { fileKey } from '../../src/core/files/file-record.ts'
import { runThrough } from '../../src/core/slices.ts'
import type { Access } from '../../src/operations/access.ts'
import { type ListingCall, listFiles, type QueryFilesInput } from '../../src/operations/files/query-files.ts'
import type { Table } from '../../src/store/tables.ts'

// A page that is read before there is room for it would be the memory that the room is to bound.

const bucket = { id: 1, orgId: 1, db: 'app', name: 'b', publicId: 'bkt_0000000000000000000000' } as Table

/** Lists a bucket with such files, and returns what happened. */
const list = async (files: number, metadataBytes: number, limit: number, hasRoom: boolean) => {
  const seen: (string | number)[] = []
  const metadata = { text: 'm'.repeat(metadataBytes) }
  const data = JSON.stringify({ size: 0, contentType: 'a/b', visibility: 'private', sha256: '', blob: '', metadata })
  const scan = (_bucket: Table, _page: unknown, rows: number) => {
    seen.push(rows)
    const records = Array.from({ length: Math.min(files, rows) }, (_, n) => {
      const key = fileKey(`file ${n}`)
      return { ...key, data, ttlSeconds: null, updatedAtMs: n }
    })
    const next = files > rows ? { range: `file ${rows - 1}`, id: rows } : undefined
    return { records, next }
  }
  const cursorSeal = { seal: () => new Uint8Array(8) }
  const engine = { buckets: { find: () => bucket }, records: { scan }, secrets: { at: () => ({ seal: cursorSeal }) } }
  const call: ListingCall = {
    access: { engine, apiKey: { kind: 'secret', orgId: 1, seq: 1 } } as unknown as Access,
    nowMs: 0,
    runSlices: runThrough,
    tryTakeRoom: () => hasRoom,
    async takeRoom() {
      seen.push('waits')
    },
  }
  const input = { db: 'app', bucket: 'b', query: { select: 'data', limit } } as QueryFilesInput
  const { count, cursor } = await listFiles(call, input, '')
  return { count, isWhole: cursor === null, seen }
}

test('with room, a page is read once', async () => {
  expect(await list(500, 900, 1_000, true)).toEqual({ count: 500, isWhole: true, seen: [1_000] })
})

test('without room, a small page waits for nobody', async () => {
  expect(await list(10, 900, 1_000, false)).toEqual({ count: 10, isWhole: true, seen: [50] })
  expect(await list(49, 10, 100, false)).toEqual({ count: 49, isWhole: true, seen: [50] })
})

test('without room, a large page waits, and only a small part of it is read before', async () => {
  expect(await list(500, 900, 1_000, false)).toEqual({ count: 500, isWhole: true, seen: [50, 'waits', 1_000] })
  expect(await list(40, 900, 1_000, false)).toEqual({ count: 40, isWhole: true, seen: [50, 'waits', 1_000] })
})
