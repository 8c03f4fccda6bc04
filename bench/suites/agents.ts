import { httpRequest, type Part, type RequestTemplate } from '../load/template.ts'
import type { AgentsResult } from '../results.ts'
import { copyFilledStore, startCubby } from '../subjects/cubby.ts'
import { askOnce } from '../subjects/subject.ts'
import { recordKey } from '../workload.ts'
import type { Context } from './context.ts'
import { withSubjects } from './interleave.ts'

const version = '2026-07-28'

/** A tool call as a client of the newest revision sends it, for one record. */
export const getRecords = (apiKey: string): Part[] =>
  httpRequest({
    method: 'POST',
    path: ['/mcp'],
    headers: {
      ...{ Authorization: `Bearer ${apiKey}`, Accept: 'application/json, text/event-stream' },
      ...{ 'MCP-Protocol-Version': version, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'get_records' },
    },
    body: [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_records","arguments":{"db":"bench","table":"items","keys":[{"hashKey":"',
      ...recordKey(),
      `"}]},"_meta":{"io.modelcontextprotocol/protocolVersion":"${version}","io.modelcontextprotocol/clientCapabilities":{}}}}`,
    ],
  })

/** Calls of a tool, compared with the same read over HTTP; and the memory over many of them. */
export const runAgents = async ({ settings, say }: Context): Promise<AgentsResult> => {
  const { records, load, rounds, seconds, warmSeconds } = settings
  const store = await copyFilledStore(records)
  const cubby = await startCubby('cubby', store, load)
  return withSubjects([cubby], async () => {
    const templates: RequestTemplate[] = [{ times: 1, parts: getRecords(store.apiKey) }]
    const response = await askOnce(cubby.server.port, templates[0]!.parts, store.shape)
    const answer = JSON.parse(await response.text())
    if (answer.result?.structuredContent?.records?.length !== 1) throw new Error(`agents: ${JSON.stringify(answer)}`)
    await cubby.measure('get', warmSeconds)
    await cubby.run(templates, warmSeconds, 'get_records')
    const result: AgentsResult = { getsPerSecond: [], callsPerSecond: [], calls: 0, residentBytes: [] }
    for (let round = 0; round < rounds; round++) {
      result.getsPerSecond.push((await cubby.measure('get', seconds)).requestsPerSecond)
      const calls = await cubby.run(templates, seconds, 'get_records')
      result.callsPerSecond.push(calls.requestsPerSecond)
      result.calls += Math.round(calls.requestsPerSecond * seconds)
      if (calls.residentBytes !== undefined) result.residentBytes.push(calls.residentBytes)
      say(`agents: ${calls.requestsPerSecond.toFixed(0)} calls/s, ${result.getsPerSecond.at(-1)!.toFixed(0)} gets/s`)
    }
    return result
  }).finally(store.remove)
}
