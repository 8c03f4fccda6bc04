import { CubbyError } from '../core/errors.ts'
import { plainBodyBytesMax } from '../core/limits.ts'
import type { ApiKey } from '../store/api-keys.ts'
import { getFileUrlTool, listFilesTool } from './tools/files.ts'
import { getRecordsTool, queryRecordsTool } from './tools/records.ts'
import {
  createTableTool,
  deleteTableTool,
  describeTableTool,
  listTablesTool,
  restoreTableTool,
} from './tools/tables.ts'
import { getRunTool, runTaskTool } from './tools/tasks.ts'
import type { Tool } from './tools/tool.ts'
import { deleteRecordsTool, patchRecordsTool, putRecordsTool } from './tools/write-records.ts'

/** Every tool, by name. */
export const tools: readonly Tool[] = [
  createTableTool,
  deleteRecordsTool,
  deleteTableTool,
  describeTableTool,
  getFileUrlTool,
  getRecordsTool,
  getRunTool,
  listFilesTool,
  listTablesTool,
  patchRecordsTool,
  putRecordsTool,
  queryRecordsTool,
  restoreTableTool,
  runTaskTool,
]

/** The options in the address of the endpoint: `/mcp?readOnly=true&db=app`. */
export interface Endpoint {
  readonly readOnly: boolean
  /** Undefined: each call names its database. */
  readonly db: string | undefined
}

const mayUse = ({ keyNeeded }: Tool, kind: ApiKey['kind'], { readOnly }: Endpoint): boolean =>
  keyNeeded === 'read' || (kind === 'secret' && !readOnly)

const byName = new Map(tools.map((tool) => [tool.name, tool]))

/** The tool, if this key may use it here. */
export const findTool = (name: string, { kind }: ApiKey, endpoint: Endpoint): Tool | undefined => {
  const tool = byName.get(name)
  return tool !== undefined && mayUse(tool, kind, endpoint) ? tool : undefined
}

const argumentNames = new Map(tools.map((tool) => [tool, Object.keys(tool.properties)]))
const boundNames = new Map(tools.map((tool) => [tool, Object.keys(tool.properties).filter((name) => name !== 'db')]))

/** The names of the arguments that a tool takes here. */
export const argumentNamesOf = (tool: Tool, { db }: Endpoint): readonly string[] =>
  (db === undefined ? argumentNames : boundNames).get(tool)!

/** A call has at most 12 MiB; of that, only records that are written need more than a request of their kind over HTTP. */
export const refuseLongArguments = (
  { name, argumentsBytesMax = plainBodyBytesMax }: Tool,
  body: string,
  given: () => string,
): void => {
  // A unit of UTF-16 takes at most three bytes, and the body is longer than the arguments in it.
  if (body.length * 3 <= argumentsBytesMax) return
  const bytes = Buffer.byteLength(given())
  if (bytes <= argumentsBytesMax) return
  throw new CubbyError(
    'body_too_large',
    `The arguments have ${bytes} bytes; ${name} takes at most ${argumentsBytesMax}.`,
    { hint: 'Make several calls with less in each.' },
  )
}

const describe = ({ name, description, keyNeeded, hints = {}, properties, required, output }: Tool, db: boolean) => {
  const { db: _, ...rest } = properties
  const reads = keyNeeded === 'read'
  return {
    name,
    description,
    inputSchema: {
      type: 'object',
      properties: db ? properties : rest,
      ...(required.length > 0 && { required: db ? required : required.filter((member) => member !== 'db') }),
      additionalProperties: false,
    },
    outputSchema: output,
    annotations: {
      ...(reads ? { readOnlyHint: true } : { destructiveHint: hints.destructive ?? false }),
      ...(!reads && hints.idempotent && { idempotentHint: true }),
      openWorldHint: false,
    },
  }
}

const lists = new Map<string, string>()

/** The list of tools as JSON. It depends on nothing but the kind of key and the endpoint, so it is made once. */
export const toolListJson = ({ kind }: ApiKey, endpoint: Endpoint): string => {
  const hasDb = endpoint.db === undefined
  const which = `${kind} ${endpoint.readOnly} ${hasDb}`
  let list = lists.get(which)
  if (list === undefined) {
    const listed = tools.filter((tool) => mayUse(tool, kind, endpoint))
    list = JSON.stringify(listed.map((tool) => describe(tool, hasDb)))
    lists.set(which, list)
  }
  return list
}
