import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import * as limits from '../../src/core/limits.ts'
import { supportedVersions } from '../../src/mcp/revisions.ts'
import { tools } from '../../src/mcp/tools.ts'
import type { Json } from '../harness.ts'
import { ok, useService } from '../http/service.ts'

// People decide by docs/agents.md which key they give to an agent. What it says about tools must be so.

const service = useService()
const page = readFileSync(resolve(import.meta.dir, '../../../../docs/agents.md'), 'utf8')

const section = (heading: string): string => page.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!

const rowsOf = (heading: string): string[][] =>
  section(heading)
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )

const kindOf = ({ keyNeeded, hints }: (typeof tools)[number]): string =>
  keyNeeded === 'read'
    ? 'reads'
    : [hints?.destructive && 'destructive', hints?.idempotent && 'idempotent'].filter(Boolean).join(', ')

test('the table has every tool with its key and kind, and no other', () => {
  const shown = rowsOf('Tools').map(([name, , key, kind]) => [name, key, kind])
  expect(shown).toEqual(
    tools.map((tool) => [`\`${tool.name}\``, tool.keyNeeded === 'read' ? 'any' : 'secret', kindOf(tool)]),
  )
})

test('the limits and the revisions are those of the server', () => {
  const shown = rowsOf('Limits').map(([, cell]) => cell!.match(/[\d,]*\d/g)!.map((text) => text.replaceAll(',', '')))
  const { toolResponseBytesMax, toolRecordsMax, toolRowsDefault, toolRowsMax, toolFieldsMax, batchBodyBytesMax } =
    limits
  expect(shown.map((numbers) => numbers.map(Number))).toEqual([
    [toolResponseBytesMax],
    [toolRecordsMax],
    [toolRowsDefault, toolRowsMax],
    [toolFieldsMax],
    [batchBodyBytesMax / 1_048_576],
  ])
  expect(rowsOf('The protocol').map(([version]) => version!)).toEqual([...supportedVersions])
})

test('every paste in JSON is JSON', () => {
  const pastes = Array.from(page.matchAll(/^```json\n(.*?)^```$/gms), ([, text]) => JSON.parse(text!))
  expect(pastes.length).toBe(3)
  for (const paste of pastes) expect(Object.values<Json>(paste.mcpServers ?? paste.servers)).toHaveLength(1)
})

/** The curl commands of the page, as a shell takes them apart. */
const runCommand = async (start: string): Promise<Json> => {
  const blocks = Array.from(page.matchAll(/^```sh\n(.*?)^```$/gms), ([, text]) => text!)
  const [block] = blocks.filter((text) => text.includes(start))
  const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', block!], {
    env: { PATH: process.env.PATH!, CUBBY_URL: service.server.url, CUBBY_KEY: service.org.secretKey },
    stdin: 'ignore',
    stdout: 'pipe',
  })
  const printed = await new Response(child.stdout).text()
  expect(await child.exited).toBe(0)
  return JSON.parse(printed)
}

const canPaste = Bun.which('bash') !== null && Bun.which('curl') !== null
if (!canPaste) console.log('agents/docs.test.ts: no bash or no curl here; the commands of docs/agents.md are not run')

test.skipIf(!canPaste)(
  'the command that lists the tools, and the one that creates a key, work as they are pasted',
  async () => {
    const listed = await runCommand('"tools/list"')
    expect(listed.result.tools.map(({ name }: Json) => name)).toEqual(tools.map(({ name }) => name))
    const created = await runCommand('/api/keys')
    expect(created).toMatchObject({ kind: 'secret', name: 'agent', databases: ['app'] })
    expect(Math.round((created.expiresAt - Date.now()) / 86_400_000)).toBe(30)
    expect(ok(await service.server.as(created.key).get('/api/keys/self')).databases).toEqual(['app'])
  },
)

test('what the page says about the four kinds of keys is so', async () => {
  const list = async (key: string, query = ''): Promise<string[]> => {
    const headers = { 'MCP-Protocol-Version': '2025-11-25' }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const { result } = ok(await service.server.request('POST', `/mcp${query}`, { key, headers, body }))
    return result.tools.map(({ name }: Json) => name)
  }
  const named = (key: string): string[] =>
    rowsOf('Tools')
      .filter(([, , needed]) => needed === 'any' || needed === key)
      .map(([name]) => name!.replaceAll('`', ''))
  const { secretKey, publicKey } = service.org
  expect(await list(secretKey)).toEqual(named('secret'))
  expect(await list(publicKey)).toEqual(named('public'))
  expect(await list(secretKey, '?readOnly=true')).toEqual(named('public'))
  expect(await list(secretKey, '?readOnly=true&db=app')).toEqual(named('public'))
})
