import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { type Json, type Server, startServer } from '../harness.ts'
import { ToolCaller } from './tool-caller.ts'

// Clients send the list of tools to their model with every request, so it is short, and so that it can be cached, the same
// byte for byte wherever it comes from.

setDefaultTimeout(120_000)

let server: Server
let keys: { secretKey: string; publicKey: string }
beforeAll(async () => {
  server = await startServer()
  keys = await server.createOrganization()
})
afterAll(async () => {
  await server?.stop()
})

/** The text of the list, without what differs between requests. */
const listOf = async (of: Server, key: string, path = '/mcp'): Promise<string> => {
  const { text } = await new ToolCaller(of, key, path).send('tools/list')
  const from = text.indexOf('"tools":') + '"tools":'.length
  return text.slice(from, text.indexOf(',"ttlMs":'))
}

const paths = ['/mcp', '/mcp?readOnly=true', '/mcp?db=app', '/mcp?readOnly=true&db=app']

test('is the same for a kind of key on every process and after a restart', async () => {
  const lists = async (of: Server, { secretKey, publicKey }: typeof keys): Promise<string[]> => {
    const found: string[] = []
    for (const key of [secretKey, publicKey]) for (const path of paths) found.push(await listOf(of, key, path))
    return found
  }
  const first = await lists(server, keys)
  // Of the same kind of key, whatever it may use.
  const other = await server.createOrganization()
  expect(await lists(server, other)).toEqual(first)
  await server.restart()
  expect(await lists(server, keys)).toEqual(first)
  const workers = await startServer({ args: ['--workers', '2'] })
  try {
    const theirs = await workers.createOrganization()
    for (let round = 0; round < 4; round++) expect(await lists(workers, theirs)).toEqual(first)
  } finally {
    await workers.stop()
  }
})

test('is in the order of names, and costs at most 3,200 tokens', async () => {
  const text = await listOf(server, keys.secretKey)
  const names = JSON.parse(text).map(({ name }: Json) => name)
  expect(names).toEqual([...names].sort())
  expect(names).toHaveLength(14)
  expect(countTokens(text)).toBeLessThanOrEqual(3_200)
  for (const name of names) expect(name).not.toMatch(/key|secret/)
})

test('the instructions have at most 1,200 characters', async () => {
  const { result } = await new ToolCaller(server, keys.publicKey).rpc('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  })
  expect(result.instructions.length).toBeGreaterThan(200)
  expect(result.instructions.length).toBeLessThanOrEqual(1_200)
})

describe('the rows of the contract', () => {
  const read = { readOnlyHint: true, openWorldHint: false }
  const rows: Record<string, { input: string; required: string; hints: Json }> = {
    create_table: {
      input: 'db table indices',
      required: 'db table',
      hints: { destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    delete_records: {
      input: 'db table records',
      required: 'db table records',
      hints: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    delete_table: {
      input: 'db table confirm',
      required: 'db table confirm',
      hints: { destructiveHint: true, openWorldHint: false },
    },
    describe_table: { input: 'db table', required: 'db table', hints: read },
    get_file_url: { input: 'db bucket name expiresIn download', required: 'db bucket name', hints: read },
    get_records: { input: 'db table keys', required: 'db table keys', hints: read },
    get_run: { input: 'db task run waitSeconds', required: 'db task run', hints: read },
    list_files: {
      input: 'db bucket prefix index ascending limit select expiresIn cursor',
      required: 'db bucket',
      hints: read,
    },
    list_tables: { input: 'db deleted cursor', required: '', hints: read },
    patch_records: {
      input: 'db table records',
      required: 'db table records',
      hints: { destructiveHint: true, openWorldHint: false },
    },
    put_records: {
      input: 'db table records',
      required: 'db table records',
      hints: { destructiveHint: true, openWorldHint: false },
    },
    query_records: {
      input: 'db table index hash range ascending limit select fields cursor',
      required: 'db table',
      hints: read,
    },
    restore_table: {
      input: 'db table deletedAt',
      required: 'db table',
      hints: { destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    run_task: {
      input: 'db task payload id key runAt delaySeconds',
      required: 'db task',
      hints: { destructiveHint: false, openWorldHint: false },
    },
  }
  test('inputs and hints', async () => {
    const listed = JSON.parse(await listOf(server, keys.secretKey))
    const found = Object.fromEntries(
      listed.map(({ name, inputSchema, annotations }: Json) => [
        name,
        {
          input: Object.keys(inputSchema.properties).join(' '),
          required: (inputSchema.required ?? []).join(' '),
          hints: annotations,
        },
      ]),
    )
    expect(found).toEqual(rows)
    for (const { name, inputSchema, description } of listed) {
      expect({ name, closed: inputSchema.additionalProperties }).toEqual({ name, closed: false })
      expect(description.length).toBeGreaterThan(20)
    }
    const of = (name: string): Json => listed.find((tool: Json) => tool.name === name).inputSchema.properties
    expect(of('query_records').limit).toEqual({ type: 'integer', minimum: 1, maximum: 100, default: 20 })
    for (const [tool, member] of [
      ['get_records', 'keys'],
      ['patch_records', 'records'],
      ['put_records', 'records'],
      ['delete_records', 'records'],
    ] as const) {
      expect(of(tool)[member]).toMatchObject({ minItems: 1, maxItems: 25 })
    }
    expect(of('delete_records').records.items.required).toEqual(['hashKey', 'ifUpdatedAt'])
    expect(of('get_run').waitSeconds.maximum).toBe(20)
  })
})
