import { CubbyError } from '../core/errors.ts'
import type { Members } from '../core/members.ts'
import { runThrough, type Slices } from '../core/slices.ts'
import { isCheapToBuild } from '../core/text/json-scan.ts'
import { type Envelope, readEnvelope, type Span, valueSpan } from '../core/text/json-span.ts'
import { RpcError, rpcCodes } from './rpc-error.ts'

/** One JSON-RPC message. Values inside `params` are read when they are needed: the arguments of a tool stay text. */
export interface Message {
  /** The id as JSON text, so that a number comes back as it was sent; undefined for a notification. */
  id: string | undefined
  method: string
  /** Members of `params`, shallow: an object or array in it is empty. */
  params: Members
  /** The text of a member of `params` that is an object or array. */
  partOf(name: string): string | undefined
  /** Tells whether a member of `params` is an object. */
  hasObject(name: string): boolean
  /** The members of an object in `params`; none if it is something else. */
  membersOf(name: string): Members
}

/** A message and its end in the text. */
export interface ReadMessage extends Message {
  end: number
  /** Values inside `params` are whole, not shallow. */
  isBuilt?: true
}

const invalid = (message: string): RpcError => new RpcError(rpcCodes.invalidRequest, message, { status: 400 })

/** A second member with the same name is refused: two readers could take different ones. */
const refusingTwice = <T>(read: () => T): T => {
  try {
    return read()
  } catch (error) {
    throw error instanceof CubbyError ? invalid(error.message) : error
  }
}

const idOf = (text: string, { value, ids }: { value: unknown; ids: Span | undefined }): string | undefined => {
  if (value === undefined) return undefined
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number' && Number.isInteger(value) && ids !== undefined) return text.slice(ids.start, ids.end)
  throw invalid('id is neither a string nor an integer.')
}

/** Reads the message at `at` in text that is checked to be JSON. */
export function* readMessage(text: string, at = 0): Slices<ReadMessage> {
  let ids: Span | undefined
  let inner: Envelope | undefined
  const slices = readEnvelope(text, at, '', {
    into(name, start) {
      if (name === 'id') ids = valueSpan(text, start)
      return name === 'params' && text[start] === '{' ? into(start) : undefined
    },
  })
  function* into(start: number): Slices<number> {
    inner = yield* readEnvelope(text, start, 'params')
    return inner.end
  }
  let slice = refusingTwice(() => slices.next())
  while (slice.done !== true) {
    yield
    slice = refusingTwice(() => slices.next())
  }
  const { value, end } = slice.value
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('The body is not a JSON-RPC message.')
  }
  const { jsonrpc, method, id, params } = value as Members
  if (jsonrpc !== '2.0') throw invalid('jsonrpc is not "2.0".')
  if (typeof method !== 'string') throw invalid('method is not a string.')
  if (params !== undefined && inner === undefined) throw invalid('params is not an object.')
  const partOf = (name: string): string | undefined => {
    const span = name === 'data' ? inner?.data : inner?.parts?.get(name)
    return span === undefined ? undefined : text.slice(span.start, span.end)
  }
  return {
    id: idOf(text, { value: id, ids }),
    method,
    params: (inner?.value ?? {}) as Members,
    partOf,
    hasObject: (name) => partOf(name)?.[0] === '{',
    membersOf: (name) => membersOf(partOf(name)),
    end,
  }
}

/**
 * The message that JSON.parse has built from the whole text, if the text is what JSON.stringify makes of it, as most clients
 * send it: then no member is there twice, and no number was written in another way. This takes a third of the time.
 */
export const builtMessage = (text: string): ReadMessage | undefined => {
  if (text[0] !== '{' || !isCheapToBuild(text)) return undefined
  const value = JSON.parse(text) as Members
  if (JSON.stringify(value) !== text) return undefined
  const { jsonrpc, method, id, params = {} } = value
  const isPlain = jsonrpc === '2.0' && typeof method === 'string' && isObject(params)
  // The faults of a message are named in one function.
  if (!isPlain || (id !== undefined && typeof id !== 'string' && !Number.isSafeInteger(id))) return undefined
  return new BuiltMessage(id as string | number | undefined, method, params as Members, text.length)
}

class BuiltMessage implements ReadMessage {
  readonly id: string | undefined
  readonly isBuilt = true

  constructor(
    id: string | number | undefined,
    readonly method: string,
    readonly params: Members,
    readonly end: number,
  ) {
    this.id = typeof id === 'number' ? String(id) : JSON.stringify(id)
  }

  partOf(name: string): string | undefined {
    const value = this.params[name]
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : undefined
  }

  hasObject(name: string): boolean {
    return isObject(this.params[name])
  }

  membersOf(name: string): Members {
    const value = this.params[name]
    return isObject(value) ? value : {}
  }
}

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The members of a small object, shallow. */
const membersOf = (text: string | undefined): Members => {
  if (text === undefined || text[0] !== '{') return {}
  return refusingTwice(() => runThrough(readEnvelope(text, 0, ''))).value as Members
}
