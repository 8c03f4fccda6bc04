import { plainBodyBytesMax } from '../core/limits.ts'
import type { Members } from '../core/members.ts'
import type { AnyOperation, Route } from '../operations/operation.ts'
import { parseNames, pathNames, readJson, readRest } from '../operations/parse-input.ts'
import { refuseBody } from './body.ts'
import { parseWriteCondition, refuseConditions, refuseIfMatchOnRead } from './conditions.ts'
import type { Exchange } from './exchange.ts'
import { fileNameOf, refuseBadEscapes, refuseExtras } from './path-values.ts'
import { jsonValue, parseParameters } from './query-parameters.ts'
import { respondLongText, respondVersion } from './respond.ts'

const addressIn = (exchange: Exchange, names: readonly string[]): Record<string, string> => {
  const { params, request } = exchange
  if (names.includes('id')) refuseBadEscapes(request.url, params.id!, 'id')
  if (!names.includes('bucket') || !names.includes('name')) return parseNames(names, params)
  return { ...parseNames(names.slice(0, -1), params), name: fileNameOf(exchange) }
}

/** The condition of the request, where the operation has one. Elsewhere it is rejected, never ignored. */
const conditionIn = (
  { headers }: Request,
  { condition, version }: AnyOperation,
  { method }: Route,
): object | undefined => {
  if (condition !== undefined) {
    return { condition: parseWriteCondition(headers, method as Parameters<typeof parseWriteCondition>[1]) }
  }
  if (version === undefined) refuseConditions(headers)
  else refuseIfMatchOnRead(headers)
  return undefined
}

/** Operations whose body is checked after the query string and the headers. */
const checkedLast: ReadonlySet<string> = new Set(['createApiKey'])

/**
 * The handler of an operation that needs no other: it checks the names in the path, the body, the query string and the
 * headers, in this order, runs the operation and answers.
 */
export const plainHandler = (operation: AnyOperation): ((exchange: Exchange) => Promise<Response>) => {
  const route = operation.route!
  const { method, body, query = [] } = route
  const names = pathNames(route.path)
  const bytesMax = body?.bytesMax ?? plainBodyBytesMax
  const isOptional = body?.required !== true
  const isCheckedLast = checkedLast.has(operation.id)

  const readParameters = ({ request, nowMs }: Exchange): object => {
    if (method === 'DELETE') refuseBody(request.headers)
    const members: Members = {}
    const parameters = parseParameters(request.url, query)
    for (const name in parameters) members[name] = jsonValue(name, parameters[name]!)
    const condition = conditionIn(request, operation, route)
    return Object.assign(readRest(operation, { members, text: '' }, nowMs), condition)
  }

  const readText = (exchange: Exchange, text: string): object => {
    const json = readJson(operation, text, isOptional)
    if (isCheckedLast) refuseExtras(exchange)
    const rest = readRest(operation, json, exchange.nowMs)
    parseParameters(exchange.request.url, [])
    return Object.assign(rest, conditionIn(exchange.request, operation, route))
  }

  return async (exchange) => {
    const address = addressIn(exchange, names)
    const rest = body === undefined ? readParameters(exchange) : readText(exchange, await exchange.readBody(bytesMax))
    const input = exchange.permit(Object.assign(address, rest))
    const output = await operation.run(exchange.access, input, exchange.nowMs)
    const text = operation.present(output, exchange.nowMs, exchange)
    const status = (output as { created?: boolean } | undefined)?.created === true ? 201 : 200
    return operation.version === undefined
      ? respondLongText(exchange, text, status)
      : respondVersion(exchange, text, operation.version(output), status)
  }
}
