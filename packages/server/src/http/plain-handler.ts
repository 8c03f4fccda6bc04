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
  if (!names.includes('name')) return parseNames(names, params)
  return { ...parseNames(names.slice(0, -1), params), name: fileNameOf(exchange) }
}

/** The condition of the request, where the operation has one. Elsewhere it is rejected, never ignored. */
const conditionIn = ({ headers }: Request, { condition, version }: AnyOperation, { method }: Route): object => {
  if (condition !== undefined) {
    return { condition: parseWriteCondition(headers, method as Parameters<typeof parseWriteCondition>[1]) }
  }
  if (version === undefined) refuseConditions(headers)
  else refuseIfMatchOnRead(headers)
  return {}
}

/** Operations whose body is checked after the query string and the headers. */
const checkedLast: ReadonlySet<string> = new Set(['createApiKey'])

/**
 * The handler of an operation that needs no other: it checks the names in the path, the body, the query string and the
 * headers, in this order, runs the operation and answers.
 */
export const plainHandler = (operation: AnyOperation): ((exchange: Exchange) => Promise<Response>) => {
  const route = operation.route!
  const names = pathNames(route.path)

  const readInput = async (exchange: Exchange): Promise<object> => {
    const address = addressIn(exchange, names)
    const { request } = exchange
    if (route.body !== undefined) {
      const text = await exchange.readBody(route.body.bytesMax ?? plainBodyBytesMax)
      const body = readJson(operation, text, route.body.required !== true)
      if (checkedLast.has(operation.id)) refuseExtras(exchange)
      const rest = readRest(operation, body, exchange.nowMs)
      parseParameters(request.url, [])
      return { ...address, ...rest, ...conditionIn(request, operation, route) }
    }
    if (route.method === 'DELETE') refuseBody(request.headers)
    const members: Members = {}
    for (const [name, text] of Object.entries(parseParameters(request.url, route.query ?? []))) {
      members[name] = jsonValue(name, text!)
    }
    const condition = conditionIn(request, operation, route)
    return { ...address, ...readRest(operation, { members, text: '' }, exchange.nowMs), ...condition }
  }

  return async (exchange) => {
    const input = await readInput(exchange)
    const output = await operation.run(exchange.access, input, exchange.nowMs)
    const text = operation.present(output, exchange.nowMs, exchange.baseUrl)
    const status = (output as { created?: boolean } | undefined)?.created === true ? 201 : 200
    return operation.version === undefined
      ? respondLongText(exchange, text, status)
      : respondVersion(exchange, text, operation.version(output), status)
  }
}
