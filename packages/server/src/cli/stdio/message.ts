import { JsonScan } from '../../core/text/json-scan.ts'
import { type Span, shallowValue, valueSpan, walkObject } from '../../core/text/json-span.ts'

// The bridge reads two things of a message: where it goes, and which headers the server wants with it. Everything else stays
// the text that the client wrote.

export interface StdioMessage {
  readonly method: string | undefined
  /** It is not answered, whatever becomes of it. */
  readonly isNotification: boolean
  /** The id as JSON text; undefined for a notification, a batch and a message that only the server can refuse. */
  readonly id: string | undefined
  /** The request that a notification cancels, as `id`. */
  readonly cancels: string | undefined
  /** The version in its `_meta`; undefined for messages of the older revisions. */
  readonly version: string | undefined
  /** The name that the header Mcp-Name repeats. */
  readonly name: string | undefined
}

export const isJson = (text: string): boolean => {
  try {
    return new JsonScan(text).run(Number.POSITIVE_INFINITY)
  } catch {
    return false
  }
}

/** The places of the members of the object at `at`; the last of several with the same name counts. Empty for other values. */
export const membersAt = (text: string, at: number): Map<string, Span> => {
  const members = new Map<string, Span>()
  const { start } = valueSpan(text, at)
  if (text[start] !== '{') return members
  walkObject(text, start, undefined, (name, from) => {
    const span = valueSpan(text, from)
    members.set(name, span)
    return span.end
  })
  return members
}

export const stringAt = (text: string, span: Span | undefined): string | undefined => {
  const value = span === undefined ? undefined : shallowValue(text, span)
  return typeof value === 'string' ? value : undefined
}

/** The id at this place if it is one that the protocol allows. A string is written in one way only, so that ids compare. */
const idAt = (text: string, span: Span | undefined): string | undefined => {
  if (span === undefined) return undefined
  const given = text.slice(span.start, span.end)
  if (/^-?[0-9]+$/.test(given)) return given
  return given.startsWith('"') ? JSON.stringify(JSON.parse(given)) : undefined
}

/** `text` is checked to be JSON. */
export const readStdioMessage = (text: string): StdioMessage => {
  const members = membersAt(text, 0)
  const params = members.get('params')
  const inner = params === undefined ? new Map<string, Span>() : membersAt(text, params.start)
  const meta = inner.get('_meta')
  const method = stringAt(text, members.get('method'))
  const version =
    meta === undefined
      ? undefined
      : stringAt(text, membersAt(text, meta.start).get('io.modelcontextprotocol/protocolVersion'))
  return {
    method,
    isNotification: method !== undefined && !members.has('id'),
    // A message without a method is an answer: its id is none of a request of the client.
    id: method === undefined ? undefined : idAt(text, members.get('id')),
    cancels: method === 'notifications/cancelled' ? idAt(text, inner.get('requestId')) : undefined,
    version,
    name: stringAt(text, inner.get(method === 'resources/read' ? 'uri' : 'name')),
  }
}

const isPlain = (value: string): boolean => /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value)

const isMarked = (value: string): boolean => value.startsWith('=?base64?') && value.endsWith('?=')

/** Encodes a value for a header: in Base64 if it must be. */
const encodeHeader = (value: string): string =>
  isPlain(value) && !isMarked(value) ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`

const named: ReadonlySet<string> = new Set(['tools/call', 'resources/read', 'prompts/get'])

/** The headers of the protocol. `agreed`: the version that `initialize` has agreed on, for messages that name none. */
export const headersOf = (
  { method, version, name }: StdioMessage,
  agreed: string | undefined,
): Record<string, string> => {
  const headers: Record<string, string> = {}
  const spoken = version ?? agreed
  // A value that no header can carry is left out: the server says what is wrong with the message.
  if (spoken !== undefined && isPlain(spoken)) headers['mcp-protocol-version'] = spoken
  if (version === undefined || method === undefined) return headers
  if (isPlain(method)) headers['mcp-method'] = method
  if (named.has(method) && name !== undefined) headers['mcp-name'] = encodeHeader(name)
  return headers
}
