import type { Members } from '../core/members.ts'
import type { Message } from './message.ts'
import { type Revision, revisionOf, revisions, supportedVersions, versionWithoutHeader } from './revisions.ts'
import { RpcError, rpcCodes } from './rpc-error.ts'

/** The headers of the protocol, as they were sent. */
export interface McpHeaders {
  readonly version: string | null
  readonly method: string | null
  readonly name: string | null
}

const versionKey = 'io.modelcontextprotocol/protocolVersion'
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities'

const mismatch = (message: string): RpcError => new RpcError(rpcCodes.headerMismatch, message, { status: 400 })

const malformed = (message: string): RpcError => new RpcError(rpcCodes.invalidParams, message, { status: 400 })

const unsupported = (requested: string): RpcError =>
  new RpcError(rpcCodes.unsupportedVersion, 'Unsupported protocol version', {
    status: 400,
    data: { supported: supportedVersions, requested },
  })

/** The member of `params` that the header `Mcp-Name` repeats. */
const namedBy: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'resources/read': 'uri',
  'prompts/get': 'name',
}

/** A value that no header can carry is sent in Base64. Undefined if it is not valid. */
const decodeHeader = (value: string): string | undefined => {
  if (/[^\t\x20-\x7e]/.test(value)) return undefined
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1]
  if (encoded === undefined) return value
  const bytes = Buffer.from(encoded, 'base64')
  return bytes.toString('base64') === encoded ? bytes.toString('utf8') : undefined
}

const checkStateless = ({ method, params }: Message, headers: McpHeaders, meta: Members): void => {
  if (meta[versionKey] === undefined) throw malformed(`params._meta["${versionKey}"] is missing.`)
  const capabilities = meta[capabilitiesKey]
  if (typeof capabilities !== 'object' || capabilities === null || Array.isArray(capabilities)) {
    throw malformed(`params._meta["${capabilitiesKey}"] is missing or is not an object.`)
  }
  if (headers.method === null) throw mismatch('The header Mcp-Method is missing.')
  if (headers.method.trim() !== method) throw mismatch('The header Mcp-Method is not the method of the body.')
  const member = namedBy[method]
  if (member === undefined || params[member] === undefined) return
  if (headers.name === null) throw mismatch('The header Mcp-Name is missing.')
  if (decodeHeader(headers.name.trim()) !== params[member]) {
    throw mismatch(`The header Mcp-Name is not params.${member} of the body.`)
  }
}

/** The revision that a message is written in. Throws if its headers and its body do not agree. */
export const revisionOfMessage = (message: Message, headers: McpHeaders): Revision => {
  const meta = message.membersOf('_meta')
  const inBody = meta[versionKey]
  const inHeader = headers.version?.trim()
  if (inBody !== undefined && typeof inBody !== 'string')
    throw malformed(`params._meta["${versionKey}"] is not a string.`)
  if (inHeader === undefined) {
    if (inBody === undefined) return revisions[versionWithoutHeader]!
    throw mismatch('The header MCP-Protocol-Version is missing.')
  }
  if (inBody !== undefined && inBody !== inHeader) {
    throw mismatch('The header MCP-Protocol-Version is not the version of the body.')
  }
  const revision = revisionOf(inHeader)
  if (revision === undefined) throw unsupported(inHeader)
  // A notification is not answered, and the protocol names no headers for it.
  if (revision.isStateless && message.id !== undefined) checkStateless(message, headers, meta)
  return revision
}
