import type { HintLanguage, SuggestedCall } from '../core/hint.ts'
import { tools } from './tools.ts'

/** The tool that does what an operation does, if there is one, with what its arguments need beside the known input. */
const toolOf: Readonly<Record<string, string>> = {
  listDatabases: 'list_tables',
  listTables: 'list_tables',
  describeTable: 'describe_table',
  createTable: 'create_table',
  deleteTable: 'delete_table',
  restoreTable: 'restore_table',
  getRecord: 'get_records',
  findRecords: 'get_records',
  putRecord: 'put_records',
  deleteRecord: 'delete_records',
  queryRecords: 'query_records',
  runTask: 'run_task',
  getRun: 'get_run',
  queryFiles: 'list_files',
  getFileUrl: 'get_file_url',
}

const argumentsOf = ({ operation, input }: SuggestedCall): Record<string, unknown> => {
  const { hashKey, rangeKey, ...rest } = input
  if (operation === 'deleteTable') return { ...rest, confirm: `${input.db}/${input.table}` }
  if (hashKey === undefined) return rest
  const key = rangeKey === undefined ? { hashKey } : { hashKey, rangeKey }
  return { ...rest, [toolOf[operation] === 'get_records' ? 'keys' : 'records']: [key] }
}

/** Hints that name tools. `known`: names in the call; `isBound`: the endpoint names the database, so calls do not; `otherwise`: what has no tool, in the words of HTTP. */
export const toolLanguage = (
  known: Readonly<Record<string, string>>,
  isBound: boolean,
  otherwise: (call: SuggestedCall) => string,
): HintLanguage => ({
  call(suggested) {
    const tool = toolOf[suggested.operation]
    if (tool === undefined) return otherwise(suggested)
    const { properties } = tools.find(({ name }) => name === tool)!
    // The call that failed may have names that this tool does not take.
    const taken = Object.fromEntries(Object.entries(known).filter(([name]) => name in properties))
    const { db, ...rest } = argumentsOf({ ...suggested, input: { ...taken, ...suggested.input } })
    return `${tool} ${JSON.stringify(isBound || db === undefined ? rest : { db, ...rest })}`
  },
  send: (members) => JSON.stringify(members),
  give: (member) => `give ${member} too`,
  repeatLater: 'Repeat the call later',
})
