import { tryJson } from '../api-response.ts'
import type { ApiResponse, Json, Server } from '../harness.ts'
import { checksOf, type ToolChecks } from './tool-schemas.ts'

// A client of `POST /mcp` as small as one can be: what the tests of the tools need, and nothing that repairs an answer.

/** The bound of the contract, not that of the code. */
const responseBytesMax = 40_000

/** The answer of a tool. */
export interface ToolResult {
  isError: boolean
  /** `structuredContent`, or the error body of a refusal. */
  content: Json
  /** The text block, as a model reads it. */
  text: string
  /** The whole answer as it came: number text is only here. */
  raw: string
}

/** Reads a text block as a model would: from its first line, which names the mark, to the line that has the mark again. */
export const dataIn = (text: string): { mark: string; data: string; rest: string } => {
  const lines = text.split('\n')
  const mark = /^\[data ([\w-]{12}): /.exec(lines[0]!)?.[1]
  if (mark === undefined) throw new Error(`the text does not begin with a mark: ${text.slice(0, 200)}`)
  const end = lines.findIndex((line, i) => i > 0 && line.includes(mark))
  if (end < 0) throw new Error('no line has the mark again')
  return { mark, data: lines.slice(1, end).join('\n'), rest: lines.slice(end + 1).join('\n') }
}

/** The text of `structuredContent`: it stands behind the text block and before `isError`. */
export const structuredTextOf = (raw: string): string => {
  const from = raw.indexOf(',"structuredContent":') + ',"structuredContent":'.length
  return raw.slice(from, raw.lastIndexOf(',"isError":false'))
}

export class ToolCaller {
  readonly server: Server
  readonly key: string
  /** `/mcp?readOnly=true` */
  readonly path: string
  #id = 0
  #checks: Promise<Map<string, ToolChecks>> | undefined

  constructor(server: Server, key: string, path = '/mcp') {
    this.server = server
    this.key = key
    this.path = path
  }

  /** `params` as JSON text is sent as it is. */
  send(method: string, params: Json | string = {}): Promise<ApiResponse> {
    const text = typeof params === 'string' ? params : JSON.stringify(params)
    const body = `{"jsonrpc":"2.0","id":${++this.#id},"method":${JSON.stringify(method)},"params":${text}}`
    return this.server.request('POST', this.path, {
      key: this.key,
      body,
      headers: { 'mcp-protocol-version': '2025-11-25', accept: 'application/json, text/event-stream' },
    })
  }

  async rpc(method: string, params: Json | string = {}): Promise<Json> {
    const answer = await this.send(method, params)
    if (answer.status !== 200) throw new Error(`${method}: ${answer.status} ${answer.text.slice(0, 500)}`)
    return answer.body
  }

  /** `args` as JSON text is sent as it is. */
  async try(tool: string, args: Json | string = {}): Promise<ToolResult> {
    const text = typeof args === 'string' ? args : JSON.stringify(args)
    const answer = await this.send('tools/call', `{"name":${JSON.stringify(tool)},"arguments":${text}}`)
    const result = answer.body?.result
    if (answer.status !== 200 || result === undefined) {
      throw new Error(`${tool}: ${answer.status} ${answer.text.slice(0, 500)}`)
    }
    const { isError, content, structuredContent } = result
    if (content.length !== 1 || content[0].type !== 'text') throw new Error(`${tool}: not one text block`)
    const block: string = content[0].text
    if (isError === true) {
      const error = tryJson(block)?.error
      if (typeof error?.code !== 'string' || structuredContent !== undefined) throw new Error(`not an error: ${block}`)
      return { isError, content: error, text: block, raw: answer.text }
    }
    return { isError, content: structuredContent, text: block, raw: answer.text }
  }

  async list(): Promise<Json[]> {
    return (await this.rpc('tools/list')).result.tools
  }

  /** A call that must succeed: its arguments and its answer are as the list of tools says, and the answer is bounded. */
  async whole(tool: string, args: Json | string = {}): Promise<ToolResult> {
    const result = await this.try(tool, args)
    if (result.isError) throw new Error(`${tool} ${JSON.stringify(args).slice(0, 200)}: ${result.text.slice(0, 1000)}`)
    this.#checks ??= this.list().then(checksOf)
    const checks = (await this.#checks).get(tool)!
    const faults = [
      checks.input(typeof args === 'string' ? JSON.parse(args) : JSON.parse(JSON.stringify(args))),
      checks.output(result.content),
    ]
    for (const fault of faults) if (fault !== undefined) throw new Error(`${tool}: ${fault}`)
    const bytes = Buffer.byteLength(structuredTextOf(result.raw))
    if (bytes > responseBytesMax) throw new Error(`${tool}: the answer has ${bytes} bytes`)
    if (dataIn(result.text).data !== structuredTextOf(result.raw)) throw new Error(`${tool}: the text is another JSON`)
    return result
  }

  async call(tool: string, args: Json | string = {}): Promise<Json> {
    return (await this.whole(tool, args)).content
  }

  /** The error of a call that must be refused. */
  async refused(tool: string, args: Json | string, code: string, field?: string): Promise<Json> {
    const { isError, content } = await this.try(tool, args)
    const found = isError ? content.code : 'no error'
    if (found !== code || (field !== undefined && content.field !== field)) {
      throw new Error(`${tool}: expected ${code} ${field ?? ''}, got ${JSON.stringify(content).slice(0, 500)}`)
    }
    return content
  }
}
