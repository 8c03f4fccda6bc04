import packageJson from '../../package.json' with { type: 'json' }
import { type Awaitable, andThen, orElse } from '../core/awaitable.ts'
import { CubbyError, type ErrorCode } from '../core/errors.ts'
import { hintText, type SuggestedCall } from '../core/hint.ts'
import { toolMessagesMax } from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import { type Members, refuseUnknownMembers } from '../core/members.ts'
import { isName } from '../core/names.ts'
import { type BuiltResponse, type RunSlices, runThrough, type Slices, sliceUnits } from '../core/slices.ts'
import { isCheapToBuild, JsonScan, parseJson } from '../core/text/json-scan.ts'
import { ArrayWalk, readEnvelope, valueSpan } from '../core/text/json-span.ts'
import type { Access } from '../operations/access.ts'
import { authorize } from '../operations/authorize.ts'
import type { WaitEnd } from '../operations/runs/run-waits.ts'
import { type McpHeaders, revisionOfMessage } from './headers.ts'
import { toolLanguage } from './hint-text.ts'
import { instructions } from './instructions.ts'
import { markedTextJson } from './marked-text.ts'
import { builtMessage, type ReadMessage, readMessage } from './message.ts'
import { promptJson, promptListJson } from './prompts.ts'
import {
  contentsJson,
  findPage,
  type ReadPage,
  readTable,
  resourceListJson,
  tableOf,
  templateListJson,
} from './resources.ts'
import { handshakeVersion, type Revision, revisionOf, supportedVersions } from './revisions.ts'
import { RpcError, rpcCodes, rpcErrorJson } from './rpc-error.ts'
import type { Tool, ToolCall } from './tools/tool.ts'
import { argumentNamesOf, type Endpoint, findTool, refuseLongArguments, toolListJson } from './tools.ts'

/** One request to the endpoint, after its key was checked. */
export interface McpRequest extends Omit<ToolCall, 'text' | 'built'> {
  /** Adds to the room that was taken: this much more of the response is there. */
  addToRoom(bytes: number): void
  readonly headers: McpHeaders
  readonly body: string
  readonly endpoint: Endpoint
  readonly requestId: string
}

/** `text` is JSON; null: no body. */
interface McpResponse {
  readonly status: number
  readonly text: string | null
}

interface McpOptions {
  readPage: ReadPage
  log: Log
  /** A call of an operation that no tool does, in the words of HTTP. */
  callText(call: SuggestedCall): string
}

/** These end the request: the answer is an HTTP status with our error body, not a result that a model reads. */
const answeredByHttp: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'secret_key_in_browser',
  'unavailable',
])

const smallBodyUnits = 16 * 1024
const listTtlMs = 300_000
const cached = `"ttlMs":${listTtlMs},"cacheScope":"private"`
const capabilities = '{"tools":{},"resources":{},"prompts":{}}'
const serverInfo = JSON.stringify({ name: 'cubby', title: 'Cubby', version: packageJson.version })
const resultMeta = `"_meta":{"io.modelcontextprotocol/serverInfo":${serverInfo}}`

const invalidParams = (message: string): RpcError => new RpcError(rpcCodes.invalidParams, message)

/** Says why the text is not JSON, in the words of every endpoint. */
const reasonOf = (text: string, error: Error): string => {
  if (error instanceof CubbyError) return error.message
  try {
    parseJson(text)
  } catch (known) {
    return (known as Error).message
  }
  return error.message
}

function* checkJsonInSlices(text: string): Slices<void> {
  if (isCheapToBuild(text)) {
    parseJson(text)
    return
  }
  const scan = new JsonScan(text)
  while (!scan.run(sliceUnits)) yield
}

/** Each message of a batch waits for its turn, as a request of its own would: 25 queries at once take half a second. */
function* newTurn(): Slices<void> {
  yield
}

/** Methods that only one kind of revision has. */
const isStatelessOnly: ReadonlyMap<string, boolean> = new Map([
  ['server/discover', true],
  ['initialize', false],
  ['ping', false],
])

/** Tells whether the body is a list of messages. */
export const isBatch = (body: string): boolean => body.trimStart().startsWith('[')

/** The members of a result, as JSON text without braces. */
type Result = string

/** Speaks the Model Context Protocol. It keeps nothing between two requests. */
export class McpServer {
  readonly #options: McpOptions

  constructor(options: McpOptions) {
    this.#options = options
  }

  answer(request: McpRequest): Awaitable<McpResponse> {
    const { body } = request
    let built: ReadMessage | undefined
    try {
      built = builtMessage(body)
    } catch (error) {
      return refuseText(body, error)
    }
    return built === undefined ? this.#respondText(request) : this.#respondMessage(request, 0, false, built)
  }

  async #respondText(request: McpRequest): Promise<McpResponse> {
    const { body } = request
    try {
      await this.#runSlices(request, checkJsonInSlices(body))
    } catch (error) {
      return refuseText(body, error)
    }
    return isBatch(body) ? this.#respondBatch(request) : this.#respondMessage(request, 0)
  }

  /** Work on the body. For a small one it takes microseconds: to wait for a turn three times would take longer. */
  #runSlices<T>(request: McpRequest, slices: Slices<T>): Awaitable<T> {
    return request.body.length <= smallBodyUnits ? runThrough(slices) : request.runSlices(slices)
  }

  /** `isLater`: messages before it in the batch may have changed something, so it cannot refuse the request as a whole. */
  #respondMessage(
    request: McpRequest,
    at: number,
    isLater = false,
    built?: ReadMessage,
  ): Awaitable<McpResponse & { end?: number }> {
    let message = built
    const answerRead = (read: ReadMessage): Awaitable<McpResponse & { end?: number }> => {
      message = read
      const { id, end } = read
      const revision = revisionOfMessage(read, request.headers)
      if (id === undefined) return { status: 202, text: null, end }
      const run = (): Awaitable<Result> => this.#run(read, revision, request)
      return andThen(isLater ? andThen(request.runSlices(newTurn()), run) : run(), (result) => {
        // The older revisions want nothing but `{}` as the answer to a ping.
        const members = revision.isStateless ? `"resultType":"complete",${result},${resultMeta}` : result
        return { status: 200, text: `{"jsonrpc":"2.0","id":${id},"result":{${members}}}`, end }
      })
    }
    return orElse(
      () =>
        built === undefined
          ? andThen(this.#runSlices(request, readMessage(request.body, at)), answerRead)
          : answerRead(built),
      (error) => {
        if (error instanceof RpcError) return { ...refused(error, message?.id), end: message?.end }
        if (!isLater || !(error instanceof CubbyError)) throw error
        const { code, message: text } = error
        const later = new RpcError(rpcCodes.internalError, text, { data: { error: { code, message: text } } })
        return { ...refused(later, message?.id), end: message?.end }
      },
    )
  }

  /** Clients of the first revision may send several messages at once. */
  async #respondBatch(request: McpRequest): Promise<McpResponse> {
    const { headers, body } = request
    const revision = revisionOf(headers.version?.trim() ?? '2025-03-26')
    if (revision?.takesBatches !== true) {
      return refused(new RpcError(rpcCodes.invalidRequest, 'The body is an array; send one message.', { status: 400 }))
    }
    await request.takeRoom('batch')
    const texts: string[] = []
    const walk = new ArrayWalk(body, body.indexOf('['))
    while (walk.next()) {
      if (walk.position >= toolMessagesMax) {
        const message = `The body has more than ${toolMessagesMax} messages; the first ${toolMessagesMax} were handled.`
        texts.push(rpcErrorJson(new RpcError(rpcCodes.invalidRequest, message), undefined))
        break
      }
      const { text, end } = await this.#respondMessage(request, walk.at, walk.position > 0)
      if (text !== null) {
        texts.push(text)
        request.addToRoom(Buffer.byteLength(text))
      }
      // A message that could not be read has no end.
      walk.at = end ?? valueSpan(body, walk.at).end
    }
    if (walk.position === 0)
      return refused(new RpcError(rpcCodes.invalidRequest, 'The body is empty.', { status: 400 }))
    return texts.length === 0 ? { status: 202, text: null } : { status: 200, text: `[${texts.join(',')}]` }
  }

  #run(message: ReadMessage, revision: Revision, request: McpRequest): Awaitable<Result> {
    const { method, params } = message
    const method404 = (): RpcError =>
      new RpcError(rpcCodes.methodNotFound, `There is no method ${method.slice(0, 80)}.`, {
        status: revision.isStateless ? 404 : 200,
      })
    if (isStatelessOnly.get(method) === !revision.isStateless) throw method404()
    switch (method) {
      case 'server/discover':
        return `"supportedVersions":${JSON.stringify(supportedVersions)},"capabilities":${capabilities},"instructions":${JSON.stringify(instructions)},${cached}`
      case 'initialize':
        return `"protocolVersion":"${handshakeWith(params.protocolVersion)}","capabilities":${capabilities},"serverInfo":${serverInfo},"instructions":${JSON.stringify(instructions)}`
      case 'ping':
        return ''
      case 'tools/list':
        refuseCursor(params.cursor)
        return `"tools":${toolListJson(request.access.apiKey, request.endpoint)},${cached}`
      case 'tools/call':
        return this.#callTool(message, request)
      case 'resources/list':
        refuseCursor(params.cursor)
        return `"resources":${resourceListJson},${cached}`
      case 'resources/templates/list':
        refuseCursor(params.cursor)
        return `"resourceTemplates":${templateListJson},${cached}`
      case 'resources/read':
        return this.#readResource(params.uri, revision, request)
      case 'prompts/list':
        refuseCursor(params.cursor)
        return `"prompts":${promptListJson},${cached}`
      case 'prompts/get':
        return `"messages":${promptJson(params.name, message.membersOf('arguments'))}`
      default:
        throw method404()
    }
  }

  #callTool(message: ReadMessage, request: McpRequest): Awaitable<Result> {
    const { name, arguments: given } = message.params
    if (typeof name !== 'string') throw invalidParams('params.name is not a string.')
    // Without this, the tool would run as if it had been called without arguments.
    const misnamed = ['args', 'input', 'params', 'parameters'].find((one) => Object.hasOwn(message.params, one))
    if (given === undefined && misnamed !== undefined) {
      throw invalidParams(`params.${misnamed} is not read: write it as params.arguments.`)
    }
    const tool = findTool(name, request.access.apiKey, request.endpoint)
    if (tool === undefined) throw invalidParams(`Unknown tool: ${name.slice(0, 80)}`)
    if (given !== undefined && !message.hasObject('arguments')) {
      throw invalidParams('params.arguments is not an object.')
    }
    const seen: SeenArguments = { members: undefined }
    const recover = (error: unknown): Result => {
      const body = this.#errorBody(error, request, namesIn(seen, request.endpoint))
      return `"content":[{"type":"text","text":${JSON.stringify(body)}}],"isError":true`
    }
    return orElse(() => andThen(this.#runTool(tool, message, request, seen), toolResult), recover)
  }

  #runTool(tool: Tool, message: ReadMessage, request: McpRequest, seen: SeenArguments): Awaitable<string> {
    const given = (): string => message.partOf('arguments') ?? '{}'
    refuseLongArguments(tool, request.body, given)
    const run = (members: Members): Awaitable<string> => {
      seen.members = members
      const bound = request.endpoint.db
      if (bound !== undefined && members.db !== undefined) {
        throw new CubbyError('invalid_request', 'db is not an argument here: this endpoint is bound to one database.', {
          field: 'db',
          hint: `Leave db out; the database is ${bound}.`,
        })
      }
      authorize(request.access.apiKey, { keyNeeded: tool.keyNeeded }, { db: bound ?? members.db })
      if (!tool.refusesUnknown) refuseUnknownMembers(members, argumentNamesOf(tool, request.endpoint))
      const isWhole = message.isBuilt === true && bound === undefined
      const text = bound === undefined ? given : () => withDb(given(), bound)
      return tool.run(new CallOf(request, text, isWhole ? members : undefined))
    }
    if (message.isBuilt) return run(message.membersOf('arguments'))
    return andThen(this.#runSlices(request, readEnvelope(given(), 0, '')), ({ value }) => run(value as Members))
  }

  async #readResource(uri: unknown, revision: Revision, request: McpRequest): Promise<Result> {
    if (typeof uri !== 'string') throw invalidParams('params.uri is not a string.')
    const page = findPage(uri)
    if (page !== undefined) {
      const text = this.#options.readPage(page, request.baseUrl)
      return `"contents":${contentsJson(uri, 'text/markdown', text)},${cached}`
    }
    const address = tableOf(uri)
    const notFound = (body?: string): RpcError =>
      new RpcError(revision.resourceNotFound, 'Resource not found', {
        data: { uri: uri.slice(0, 200).toWellFormed(), ...(body === undefined ? {} : JSON.parse(body)) },
      })
    const bound = request.endpoint.db
    if (address === undefined || (bound !== undefined && bound !== address.db)) throw notFound()
    try {
      authorize(request.access.apiKey, { keyNeeded: 'read' }, { db: address.db })
      const text = await readTable(new CallOf(request, () => JSON.stringify(address), undefined))
      return `"contents":${contentsJson(uri, 'text/plain', text)},"ttlMs":0,"cacheScope":"private"`
    } catch (error) {
      const body = this.#errorBody(error, request, address)
      // A fault of the server says nothing about the table.
      if (error instanceof CubbyError && error.code !== 'internal') throw notFound(body)
      throw new RpcError(rpcCodes.internalError, 'The server failed to read the resource.', { data: JSON.parse(body) })
    }
  }

  /** The error as every door answers it. Throws it again if HTTP answers it. */
  #errorBody(error: unknown, request: McpRequest, names: Record<string, string>): string {
    const { requestId, endpoint, access } = request
    const { log, callText } = this.#options
    if (error instanceof RpcError || (error instanceof CubbyError && answeredByHttp.has(error.code))) throw error
    const known = error instanceof CubbyError ? error : internalError(error)
    const { code, message, field, hint } = known
    if (code === 'internal' || code === 'outcome_unknown') {
      log('error', 'request failed', { requestId, code, cause: known.cause })
    }
    const text =
      hint === undefined ? undefined : hintText(hint, toolLanguage(names, access.apiKey.kind, endpoint, callText))
    return JSON.stringify({ error: { code, message, field, hint: text, requestId } })
  }
}

const internalError = (error: unknown): CubbyError =>
  new CubbyError('internal', 'The server failed to answer this call.', {
    hint: 'This is a fault of the server; its log has the cause under this requestId.',
    cause: error instanceof Error ? (error.stack ?? error.message) : String(error),
  })

const toolResult = (json: string): Result =>
  `"content":[{"type":"text","text":${markedTextJson(json)}}],"structuredContent":${json},"isError":false`

/** The arguments of a call, when they were read. */
interface SeenArguments {
  members: Members | undefined
}

/** The names in the arguments, for hints. */
const namesIn = ({ members }: SeenArguments, endpoint: Endpoint): Record<string, string> => {
  const names: Record<string, string> = {}
  if (members === undefined) return names
  for (const member of ['table', 'bucket', 'task']) {
    if (isName(members[member])) names[member] = members[member]
  }
  const db = endpoint.db ?? members.db
  if (isName(db)) names.db = db
  return names
}

const refuseText = (body: string, error: unknown): McpResponse => {
  if (!(error instanceof CubbyError) && !(error instanceof SyntaxError)) throw error
  return refused(new RpcError(rpcCodes.parseError, reasonOf(body, error), { status: 400 }), undefined)
}

const refused = (error: RpcError, id?: string): McpResponse => ({ status: error.status, text: rpcErrorJson(error, id) })

const refuseCursor = (cursor: unknown): void => {
  if (cursor !== undefined) throw invalidParams('cursor is not one of this list: it has one page.')
}

const handshakeWith = (asked: unknown): string => {
  const revision = typeof asked === 'string' ? revisionOf(asked) : undefined
  return revision === undefined || revision.isStateless ? handshakeVersion : (asked as string)
}

/** The arguments with the database of the endpoint. */
const withDb = (text: string, db: string): string => {
  const rest = text.slice(1).trimStart()
  return `{"db":${JSON.stringify(db)}${rest === '}' ? '' : ','}${rest}`
}

/** The request as a tool sees it. Access and time are read when they are needed: a wait checks the key again. */
class CallOf implements ToolCall {
  readonly #request: McpRequest
  readonly #textOf: () => string
  #text: string | undefined

  constructor(
    request: McpRequest,
    textOf: () => string,
    readonly built: Members | undefined,
  ) {
    this.#request = request
    this.#textOf = textOf
  }

  /** Made when a tool asks for it: most use `built`. */
  get text(): string {
    this.#text ??= this.#textOf()
    return this.#text
  }

  get access(): Access {
    const { access, endpoint } = this.#request
    return endpoint.readOnly ? { ...access, signsNothing: true } : access
  }

  get nowMs(): number {
    return this.#request.nowMs
  }

  get signal(): AbortSignal | undefined {
    return this.#request.signal
  }

  get baseUrl(): string {
    return this.#request.baseUrl
  }

  pause(wait: () => Promise<WaitEnd>): Promise<WaitEnd> {
    return this.#request.pause(wait)
  }

  get runSlices(): RunSlices {
    return (slices) => this.#request.runSlices(slices)
  }

  tryTakeRoom(built: BuiltResponse): boolean {
    return this.#request.tryTakeRoom(built)
  }

  takeRoom(built: BuiltResponse): Promise<void> {
    return this.#request.takeRoom(built)
  }
}
