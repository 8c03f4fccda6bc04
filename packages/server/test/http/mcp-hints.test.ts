import { beforeAll, expect, test } from 'bun:test'
import { ToolCaller } from '../agents/tool-caller.ts'
import type { Json } from '../harness.ts'
import { freshName, useService } from './service.ts'

// A model does what a hint says. One that names what its caller may not do, or what is refused as well, costs it a call more.

const service = useService()

let agent: ToolCaller
let reader: ToolCaller
let readOnly: ToolCaller
beforeAll(() => {
  const { server, org } = service
  agent = new ToolCaller(server, org.secretKey)
  reader = new ToolCaller(server, org.publicKey)
  readOnly = new ToolCaller(server, org.secretKey, '/mcp?readOnly=true')
})

const hintOf = async (by: ToolCaller, tool: string, given: Json, code: string): Promise<string> =>
  (await by.refused(tool, given, code)).hint

test('what the caller may not do is said with the call', async () => {
  const gone = await service.table()
  await service.api.delete(gone.path)
  const missing = { db: 'app', table: freshName('none') }
  const create = `create_table ${JSON.stringify(missing)}`
  for (const [by, barrier] of [
    [agent, ''],
    [reader, ' (not by you: it needs a secret key)'],
    [readOnly, ' (not by you: this endpoint is read-only)'],
  ] as const) {
    // A typo is more likely: the list comes first.
    const hint = await hintOf(by, 'query_records', { ...missing, index: 't' }, 'table_not_found')
    expect(hint).toBe(
      `Create it with the indices that it needs, which cannot be changed later: after a look at list_tables, ${create}${barrier}`,
    )
    const deleted = { db: 'app', table: gone.name }
    const restore = await hintOf(by, 'query_records', { ...deleted, index: 't' }, 'table_not_found')
    expect(restore).toContain(`: restore_table ${JSON.stringify(deleted)}${barrier}; or create`)
    const bucket = await hintOf(by, 'list_files', { db: 'app', bucket: 'nothere' }, 'bucket_not_found')
    expect(bucket).toBe(`Create it: POST /v1/app/_buckets/nothere${barrier}`)
    const task = await hintOf(by, 'get_run', { db: 'app', task: 'nothere', run: 'r' }, 'task_not_found')
    expect(task).toEndWith(`PUT /v1/app/_tasks/nothere${barrier}`)
  }
})

test('an argument with another name: the one that is meant, or all that the tool takes', async () => {
  const at = { db: 'app', table: (await service.table()).name }
  const given: [string, Json, string][] = [
    ['put_records', { ...at, table: undefined, tabel: at.table, records: [] }, 'Write it as "table".'],
    ['put_records', { ...at, colour: 1, records: [] }, 'Known fields: db, table, records.'],
    ['query_records', { ...at, index: 't', feilds: ['a'] }, 'Write it as "fields".'],
    ['get_run', { db: 'app', task: 'mail', id: 'm1' }, 'Write it as "run".'],
    ['get_run', { db: 'app', task: 'mail', run: 'm1', colour: 1 }, 'Known fields: db, task, run, waitSeconds.'],
    ['run_task', { db: 'app', task: 'mail', data: {} }, 'Write it as "payload".'],
  ]
  for (const [tool, call, hint] of given) {
    expect([tool, call, await hintOf(agent, tool, call, 'invalid_request')]).toEqual([tool, call, hint])
  }
  const bound = new ToolCaller(service.server, service.org.secretKey, '/mcp?db=app')
  const hint = await hintOf(bound, 'get_records', { table: at.table, keys: [], colour: 1 }, 'invalid_request')
  expect(hint).toBe('Known fields: table, keys.')
})

test('what is missing, and where to find it', async () => {
  expect(await hintOf(agent, 'list_files', { db: 'app' }, 'invalid_name')).toBe(
    'Give bucket: list_tables {"db":"app"} lists the buckets.',
  )
  expect(await hintOf(agent, 'run_task', { db: 'app' }, 'invalid_name')).toBe(
    'Give task: list_tables {"db":"app"} lists the tasks.',
  )
  expect(await hintOf(agent, 'get_run', { db: 'app', task: 'mail' }, 'invalid_request')).toContain(
    'Give the id that the run had when it was added.',
  )
})

test('advice that is followed is not refused again', async () => {
  const table = await service.table({ i1: { hashField: 'status' } })
  const at = { db: 'app', table: table.name }
  const keys = Array.from({ length: 130 }, (_, n) => ({ hashKey: `k${n}` }))
  for (const many of [130, 26]) {
    const { message, hint } = await agent.refused(
      'get_records',
      { ...at, keys: keys.slice(0, many) },
      'batch_too_large',
    )
    expect([message, hint]).toEqual([`keys has ${many} keys; a find takes at most 25.`, 'Ask for 25 at a time.'])
  }
  expect((await agent.call('get_records', { ...at, keys: keys.slice(0, 25) })).missing.length).toBe(25)
  const none = await agent.refused('get_records', { ...at, keys: [] }, 'invalid_request')
  expect(none.message).toBe('keys is empty; it takes 1 to 25 record keys.')
  const records = [{ hashKey: 'a', ifUpdatedAt: 'x' }]
  expect(await hintOf(agent, 'delete_records', { ...at, records }, 'invalid_request')).toBe(
    'Give the updatedAt of the record, as it was read.',
  )
  expect(await hintOf(agent, 'query_records', { ...at, index: 'status', hash: 'a' }, 'invalid_request')).toStartWith(
    'Indices are named by their slots; ',
  )
})

test('a record that fits into an answer alone comes whole', async () => {
  const table = await service.table()
  const data = { text: 'x'.repeat(39_000) }
  await table.put('a', data)
  await table.put('b', data)
  const at = { db: 'app', table: table.name }
  const found = await agent.call('get_records', { ...at, keys: [{ hashKey: 'a' }] })
  expect(found.records[0].data).toEqual(data)
  const both = await agent.call('get_records', { ...at, keys: [{ hashKey: 'a' }, { hashKey: 'b' }] })
  expect(both.records[0].dataBytes).toBe(JSON.stringify(data).length)
})
