import { maskApiKeys } from '../core/api-keys/mask-api-keys.ts'

/** The codes of JSON-RPC, and those that the protocol adds. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const

/** A message that the protocol refuses, with the HTTP status of its answer. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly status: number
  readonly data: unknown

  constructor(code: number, message: string, { status = 200, data }: { status?: number; data?: unknown } = {}) {
    // A name that was cut may end in half a character, which some readers of JSON refuse.
    super(message.toWellFormed())
    this.code = code
    this.status = status
    this.data = data
  }
}

/**
 * An error as it is sent, without the API keys that a caller may have sent as a name. `id` is JSON text; undefined if it could
 * not be read.
 */
export const rpcErrorJson = ({ code, message, data }: RpcError, id: string | undefined): string => {
  const named = id === undefined ? '' : `"id":${id},`
  return `{"jsonrpc":"2.0",${named}"error":${maskApiKeys(JSON.stringify({ code, message, data }))}}`
}
