import { expect, test } from 'bun:test'
import { loadCommitLinesMax } from '../../src/core/limits.ts'
import { type LoadSender, RecordLoad } from '../../src/operations/records/record-load.ts'
import type { PutOperation } from '../../src/store/records.ts'
import type { Table } from '../../src/store/tables.ts'

test('load: tasks that begin to follow the table meanwhile make its commits shorter', async () => {
  const commits: number[] = []
  const table = { id: 1, indices: {}, followers: [] } as unknown as Table
  const followed = { ...table, followers: [1, 2, 3].map((taskId) => ({ taskId, ops: ['put'] })) } as unknown as Table
  const engine = {
    tables: { find: () => (commits.length === 0 ? table : followed) },
    records: { putAll: async (...[, , puts]: [unknown, unknown, PutOperation[]]) => commits.push(puts.length) },
  }
  const sender = {
    access: { apiKey: { orgId: 1 }, engine, tasks: { signals: { changed() {} } } },
    ...{ authenticate() {}, now: () => 0, turn: async () => {}, cut() {}, fault: undefined },
  } as unknown as LoadSender
  const options = { db: 'app', table: 'orders', onError: 'stop', ifAbsent: false } as const
  await new RecordLoad(options, table, sender).run(
    (async function* () {
      for (let n = 0; n < 50; n++) yield Array.from({ length: 100 }, (_, i) => `{"hashKey":"${n}-${i}","data":{}}`)
    })(),
  )
  expect(commits[0]).toBe(loadCommitLinesMax)
  // The second one was filled while the first one was in flight.
  expect(Math.max(...commits.slice(2))).toBe(loadCommitLinesMax / 4)
})
