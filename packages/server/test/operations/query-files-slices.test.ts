import { expect, test } from 'bun:test'
import { parseFileQuery } from '../../src/core/files/file-query.ts'
import { fileKey } from '../../src/core/files/file-record.ts'
import type { ByteScan } from '../../src/core/records/scan.ts'
import type { RunSlices } from '../../src/core/slices.ts'
import type { Access } from '../../src/operations/access.ts'
import { queryFiles } from '../../src/operations/files/query-files.ts'
import type { Table } from '../../src/store/tables.ts'

// A page with a thousand signed URLs takes long enough to be felt by others, so it is made in parts.

const count = 1_000
const bucket = { id: 1, orgId: 1, db: 'app', name: 'b', publicId: 'bkt_0000000000000000000000' } as Table
const data = JSON.stringify({ size: 0, contentType: 'a/b', visibility: 'private', sha256: '', blob: '', metadata: {} })
const records = Array.from({ length: count }, (_, n) => ({
  ...fileKey(`file ${n}`),
  data,
  ttlSeconds: null,
  updatedAtMs: n,
}))

const query = async (textBytes: number) => {
  const seen = { scans: [] as number[], presented: 0, steps: 0 }
  const scan = (_bucket: Table, _page: unknown, rows: number) => {
    seen.scans.push(rows)
    return { records: records.slice(0, rows), next: undefined }
  }
  const engine = { buckets: { find: () => bucket }, records: { scan }, secrets: { at: () => ({}) } }
  const access = { engine, apiKey: { kind: 'secret', orgId: 1, seq: 1 } } as unknown as Access
  const present = () => {
    seen.presented++
    return 'x'.repeat(textBytes)
  }
  const runSlices: RunSlices = (slices) => {
    for (;;) {
      const slice = slices.next()
      if (slice.done === true) return slice.value
      seen.steps++
    }
  }
  const input = { db: 'app', bucket: 'b', query: { select: 'data', limit: count } } as Parameters<typeof queryFiles>[1]
  const { items } = await queryFiles(access, input, 0, present, runSlices)
  return { items: items.length, ...seen }
}

test('a full page yields to others every 50 files', async () => {
  expect(await query(10)).toEqual({ items: count, scans: [count], presented: count, steps: 20 })
})

test('what does not fit is not presented, and what was presented is not presented again', async () => {
  // 1,048,576 bytes hold 104 texts of 10,000 bytes with their commas.
  expect(await query(10_000)).toEqual({ items: 104, scans: [count, 104], presented: 105, steps: 4 })
  // One is always in the page.
  expect(await query(2_000_000)).toEqual({ items: 1, scans: [count, 1], presented: 2, steps: 0 })
})

test('a folder costs one step, however many names it has', async () => {
  const names = ['a', 'f', 'z'].flatMap((folder) => Array.from({ length: 20_000 }, (_, i) => `${folder}/${10_000 + i}`))
  let rowsRead = 0
  const scan = (_bucket: Table, { low, high, descending }: ByteScan, rows: number) => {
    const within = names.filter(
      (name) => Buffer.compare(low, Buffer.from(name)) <= 0 && Buffer.compare(Buffer.from(name), high) < 0,
    )
    if (descending) within.reverse()
    const found = within.slice(0, rows)
    rowsRead += found.length
    const next = within.length > rows ? { range: found.at(-1), id: 0 } : undefined
    return { records: found.map((name) => ({ ...records[0]!, ...fileKey(name) })), next }
  }
  const engine = { buckets: { find: () => bucket }, records: { scan }, secrets: { at: () => ({}) } }
  const access = { engine, apiKey: { kind: 'secret', orgId: 1, seq: 1 } } as unknown as Access
  for (const ascending of [true, false]) {
    rowsRead = 0
    const query = parseFileQuery({ folders: true, ascending })
    const page = await queryFiles(access, { db: 'app', bucket: 'b', query }, 0, () => '""')
    expect(page).toEqual({
      items: [],
      folders: ascending ? ['"a/"', '"f/"', '"z/"'] : ['"z/"', '"f/"', '"a/"'],
      count: 3,
      cursor: null,
    })
    expect(rowsRead).toBeLessThanOrEqual(3 * 8)
  }
})
