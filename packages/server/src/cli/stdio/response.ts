import { isJson, membersAt, stringAt } from './message.ts'

// Standard output has only whole messages of the protocol, one per line, whatever the server answers.

const rpcCodes = { parseError: -32700, invalidRequest: -32600, internalError: -32603 } as const

/** `id` is JSON text; without it the member is left out. `data` is JSON text. */
const errorLine = (id: string | undefined, code: number, message: string, data?: string): string => {
  const named = id === undefined ? '' : `"id":${id},`
  const more = data === undefined ? '' : `,"data":${data}`
  return `{"jsonrpc":"2.0",${named}"error":{"code":${code},"message":${JSON.stringify(message)}${more}}}`
}

export const unreadableLine = (message: string): string => errorLine(undefined, rpcCodes.invalidRequest, message)

export const notJsonLine = (): string => errorLine(undefined, rpcCodes.parseError, 'The line is not JSON.')

export const noResponseLine = (id: string | undefined, message: string): string =>
  errorLine(id, rpcCodes.internalError, message)

/** Line breaks between the values of JSON mean nothing; inside of strings there are none. */
const inOneLine = (json: string): string => json.replaceAll(/[\r\n]+/g, ' ')

/** The error of our API as one of the protocol, with code, message, field and hint as its `data`. */
const fromErrorBody = (id: string | undefined, status: number, text: string): string | undefined => {
  const span = membersAt(text, 0).get('error')
  if (span === undefined) return undefined
  const message = stringAt(text, membersAt(text, span.start).get('message'))
  if (message === undefined) return undefined
  const code = status >= 400 && status < 500 ? rpcCodes.invalidRequest : rpcCodes.internalError
  return errorLine(id, code, message, inOneLine(text.slice(span.start, span.end)))
}

/**
 * The line for an answer with this status and text; undefined for a notification that was accepted. A result is passed on as it
 * is. An error without an id gets that of the request: its sender waits for it.
 */
export const answerLine = (url: string, id: string | undefined, status: number, text: string): string | undefined => {
  if (status === 202 && text === '') return undefined
  const foreign = `${url} answered ${status}, but not as a Cubby server does; is it one?`
  if (!/^\s*[{[]/.test(text) || !isJson(text)) return errorLine(id, rpcCodes.internalError, foreign)
  if (/^\s*\[/.test(text)) return inOneLine(text)
  const members = membersAt(text, 0)
  if (!members.has('jsonrpc')) {
    return fromErrorBody(id, status, text) ?? errorLine(id, rpcCodes.internalError, foreign)
  }
  const error = members.get('error')
  if (id === undefined || error === undefined || members.has('id')) return inOneLine(text)
  return `{"jsonrpc":"2.0","id":${id},"error":${inOneLine(text.slice(error.start, error.end))}}`
}

/** The version that the answer to `initialize` names. */
export const agreedVersion = (line: string): string | undefined => {
  const result = membersAt(line, 0).get('result')
  return result === undefined ? undefined : stringAt(line, membersAt(line, result.start).get('protocolVersion'))
}
