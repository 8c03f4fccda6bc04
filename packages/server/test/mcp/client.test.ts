import { beforeAll, describe, expect, test } from 'bun:test'
import { Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import Ajv from 'ajv/dist/2020.js'
import { tools as ourTools } from '../../src/mcp/tools.ts'
import { cubbyCommand, type Json } from '../harness.ts'
import { makeBucket } from '../http/bucket.ts'
import { makeTable, useService } from '../http/service.ts'
import { makeTask } from '../http/task.ts'

// The official client, as agents use it: it opens with `initialize` unless it is told to find out what the server speaks. It
// checks each message by its own schemas of the protocol, and each `structuredContent` by the listed schema.

const service = useService()

const data = { status: 'open', total: 12.5, tags: ['a'], at: '2026-10-01T08:00:00Z' }

beforeAll(async () => {
  const { api } = service
  const table = await makeTable(api, { i1: { hashField: 'status', rangeField: 'at' } }, 'orders')
  await table.put('ada', data, { rangeKey: 'o-1' })
  await table.put('ada', { status: 'done', at: '2026-10-02T08:00:00Z' }, { rangeKey: 'o-2' })
  await (await makeBucket(api, 'photos')).put('cat.txt', 'meow', { query: { visibility: 'public' } })
  const task = await makeTask(api, {}, 'mail')
  await task.run({ id: 'first', payload: { to: 'ada' } })
})

type Mode = 'legacy' | 'auto'
const versions: Record<Mode, string> = { legacy: '2025-11-25', auto: '2026-07-28' }

const reading = ourTools.filter(({ keyNeeded }) => keyNeeded === 'read').map(({ name }) => name)
const all = ourTools.map(({ name }) => name)

interface Access {
  key: 'secretKey' | 'publicKey'
  query: string
  tools: string[]
}

const accesses: Record<string, Access> = {
  'a secret key': { key: 'secretKey', query: '', tools: all },
  'a public key': { key: 'publicKey', query: '', tools: reading },
  '?readOnly=true': { key: 'secretKey', query: '?readOnly=true', tools: reading },
  '?db=app': { key: 'secretKey', query: '?db=app', tools: all },
}

let made = 0

/** A call of each tool, in an order in which they work. What one answers, the next ones can use. */
const callsOf = (): [string, (answers: Record<string, Json>) => Json][] => {
  const table = `made_${++made}`
  const db = 'app'
  return [
    ['list_tables', () => ({ db })],
    ['describe_table', () => ({ db, table: 'orders' })],
    [
      'get_records',
      () => ({ db, table: 'orders', keys: [{ hashKey: 'ada', rangeKey: 'o-1' }, { hashKey: 'nobody' }] }),
    ],
    ['query_records', () => ({ db, table: 'orders', index: 'i1', hash: 'open', fields: ['total'] })],
    ['list_files', () => ({ db, bucket: 'photos' })],
    ['get_file_url', () => ({ db, bucket: 'photos', name: 'cat.txt' })],
    ['get_run', () => ({ db, task: 'mail', run: 'first', waitSeconds: 0 })],
    ['create_table', () => ({ db, table, indices: { i1: { hashField: 'kind', rangeField: 'at' } } })],
    ['put_records', () => ({ db, table, records: [{ hashKey: 'x', data: { kind: 'k', n: 1 } }] })],
    ['patch_records', () => ({ db, table, records: [{ hashKey: 'x', increment: { '/n': 1 } }] })],
    [
      'delete_records',
      ({ patch_records: { written } }) => {
        const [{ hashKey, updatedAt }] = written
        return { db, table, records: [{ hashKey, ifUpdatedAt: updatedAt }] }
      },
    ],
    ['run_task', () => ({ db, task: 'mail', payload: { to: 'bob' }, delaySeconds: 1_000 })],
    ['delete_table', () => ({ db, table, confirm: `${db}/${table}` })],
    ['restore_table', () => ({ db, table })],
  ]
}

const ajv = new Ajv({ strict: false })

/** The text block is the same JSON, between two lines with a mark. */
const expectMarked = (content: Json, structured: Json): void => {
  expect(content).toHaveLength(1)
  const [first, json, last, ...others] = content[0].text.split('\n')
  expect(others).toEqual([])
  const mark = /^\[data ([\w-]{12}):/.exec(first)?.[1]
  expect(last).toStartWith(`[end of data ${mark}:`)
  expect(JSON.parse(json)).toEqual(structured)
}

/** Members of the schemas that these calls, or public keys, do not get. All others must be there: no schema requires them. */
const mayLack: Record<string, string[]> = {
  list_tables: ['databases', 'tasks'],
  // Only a page without items has it, for a range of another type: see below.
  query_records: ['hint'],
  get_run: ['payload', 'payloadBytes', 'resultBytes'],
}

/** Calls every tool that is listed; the answers by tool. */
const callAll = async (client: Client, tools: Tool[], isBound: boolean): Promise<Record<string, Json>> => {
  const answers: Record<string, Json> = {}
  const listed = new Map(tools.map((tool) => [tool.name, tool]))
  for (const [name, argumentsOf] of callsOf()) {
    const tool = listed.get(name)
    if (tool === undefined) continue
    const { db, ...rest } = argumentsOf(answers)
    const args = isBound ? rest : { db, ...rest }
    expect([name, ajv.validate(tool.inputSchema, args), ajv.errors]).toEqual([name, true, null])
    const { structuredContent, content, isError } = (await client.callTool({ name, arguments: args })) as Json
    expect([name, isError, content]).toEqual([name, false, content])
    expect([name, ajv.validate(tool.outputSchema!, structuredContent), ajv.errors]).toEqual([name, true, null])
    const described = Object.keys((tool.outputSchema as Json).properties)
    const absent = described.filter((member) => !Object.hasOwn(structuredContent, member))
    expect([name, absent.filter((member) => !mayLack[name]?.includes(member))]).toEqual([name, []])
    expectMarked(content, structuredContent)
    answers[name] = structuredContent
  }
  return answers
}

const useEverything = async (client: Client, mode: Mode, { tools: expected, query, key }: Access): Promise<void> => {
  expect(client.getNegotiatedProtocolVersion()).toBe(versions[mode])
  expect(client.getInstructions()).toContain('list_tables')
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(expected)
  const isBound = query.includes('db=')
  const answers = await callAll(client, tools, isBound)
  expect(Object.keys(answers).sort()).toEqual([...expected].sort())
  expect(answers.get_records).toMatchObject({ records: [{ data }], missing: [{ hashKey: 'nobody' }], unread: [] })
  expect(answers.query_records.items).toMatchObject([{ data: { total: 12.5 } }])
  const at = { ...(isBound ? {} : { db: 'app' }), table: 'orders' }
  const empty = { ...at, index: 'i1', hash: 'open', range: { gte: '2026-10-01' } }
  const { structuredContent } = (await client.callTool({ name: 'query_records', arguments: empty })) as Json
  expect(structuredContent).toMatchObject({ items: [], hint: expect.stringContaining('"2026-10-01T00:00:00Z"') })
  expect(answers.list_tables.tasks === undefined).toBe(key === 'publicKey')
  expect(await (await fetch(answers.get_file_url.url)).text()).toBe('meow')

  const { resources } = await client.listResources()
  expect(resources.map(({ name }) => name)).toEqual(['api', 'errors', 'queries', 'skill'])
  for (const { uri } of resources) {
    const { contents } = (await client.readResource({ uri })) as Json
    expect(contents).toMatchObject([{ uri, mimeType: 'text/markdown' }])
    expect(contents[0].text.length).toBeGreaterThan(0)
  }
  const { resourceTemplates } = await client.listResourceTemplates()
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['cubby://{db}/{table}'])
  const { contents } = (await client.readResource({ uri: 'cubby://app/orders' })) as Json
  expect(contents[0].text).toContain('"hashField":"status"')
  await expect(client.readResource({ uri: 'cubby://app/missing' })).rejects.toThrow('Resource not found')

  const { prompts } = await client.listPrompts()
  expect(prompts.map(({ name }) => name)).toEqual(['find_records', 'model_my_data'])
  const given: Record<string, Record<string, string>> = {
    find_records: { db: 'app', question: 'What is open?' },
    model_my_data: { application: 'a shop' },
  }
  for (const { name } of prompts) {
    const { messages } = (await client.getPrompt({ name, arguments: given[name] })) as Json
    expect(messages).toMatchObject([{ role: 'user', content: { type: 'text' } }])
    expect(messages[0].content.text).toContain(Object.values(given[name]!).at(-1))
  }
}

const newClient = (mode: Mode): Client =>
  new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })

for (const mode of ['legacy', 'auto'] as const) {
  describe(`the official client, ${mode}`, () => {
    test.each(Object.entries(accesses))('%s: every tool, resource and prompt', async (_, access) => {
      const client = newClient(mode)
      const { server, org } = service
      const headers = { authorization: `Bearer ${org[access.key]}` }
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${server.url}/mcp${access.query}`), { requestInit: { headers } }),
      )
      await useEverything(client, mode, access)
      await client.close()
    })

    test.each(['a secret key', '?db=app'])('cubby mcp, %s: every tool, resource and prompt', async (name) => {
      const access = accesses[name]!
      const client = newClient(mode)
      const args = access.query === '' ? [] : ['--db', 'app']
      const [command, ...words] = cubbyCommand()
      const transport = new StdioClientTransport({
        command: command!,
        args: [...words, 'mcp', ...args],
        env: { PATH: process.env.PATH!, CUBBY_URL: service.server.url, CUBBY_KEY: service.org[access.key] },
      })
      await client.connect(transport)
      await useEverything(client, mode, access)
      await client.close()
    })

    test('a mistake is a result that the model can read, and an unknown tool an error', async () => {
      const client = newClient(mode)
      const headers = { authorization: `Bearer ${service.org.secretKey}` }
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${service.server.url}/mcp`), { requestInit: { headers } }),
      )
      await client.listTools()
      const args = { db: 'app', table: 'no_such_table', keys: [{ hashKey: 'a' }] }
      const { isError, content } = (await client.callTool({ name: 'get_records', arguments: args })) as Json
      expect(isError).toBe(true)
      expect(JSON.parse(content[0].text).error).toMatchObject({ code: 'table_not_found', hint: expect.any(String) })
      await expect(client.callTool({ name: 'no_such_tool', arguments: {} })).rejects.toThrow('no_such_tool')
      await client.close()
    })
  })
}

test('the calls of these tests cover every tool', () => {
  expect(
    callsOf()
      .map(([name]) => name)
      .sort(),
  ).toEqual([...all].sort())
})
