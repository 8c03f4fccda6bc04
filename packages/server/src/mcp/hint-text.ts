import type { HintLanguage, SuggestedCall } from '../core/hint.ts'
import type { ApiKey } from '../store/api-keys.ts'
import { type Endpoint, tools } from './tools.ts'

/** The tool that does what an operation does, if there is one, with what its arguments need beside the known input. */
const toolOf: Readonly<Record<string, string>> = {
  listDatabases: 'list_tables',
  listTables: 'list_tables',
  listBuckets: 'list_tables',
  listTasks: 'list_tables',
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

/** What only looks. Everything else needs a secret key, and an endpoint that is not read-only. */
const isRead = (operation: string): boolean => /^(?:list|get|describe|query|find|check)/.test(operation)

/**
 * Hints that name tools. `known`: names in the call; `endpoint`: if it names the database, calls do not; `otherwise`: what has no
 * tool, in the words of HTTP. What the caller may not do is said with it, so that no model tries it.
 */
export const toolLanguage = (
  known: Readonly<Record<string, string>>,
  kind: ApiKey['kind'],
  endpoint: Endpoint,
  otherwise: (call: SuggestedCall) => string,
): HintLanguage => ({
  call(suggested) {
    const { operation, input } = suggested
    const barrier = isRead(operation)
      ? ''
      : endpoint.readOnly
        ? ' (not by you: this endpoint is read-only)'
        : kind === 'public'
          ? ' (not by you: it needs a secret key)'
          : ''
    // A name that is not there is more often a typo than a table that is missing.
    const first = operation === 'createTable' ? 'after a look at list_tables, ' : ''
    const name = toolOf[operation]
    if (name === undefined) return `${otherwise(suggested)}${barrier}`
    const { properties } = tools.find((tool) => tool.name === name)!
    // The call that failed may have names that this tool does not take.
    const taken = Object.fromEntries(Object.entries(known).filter(([member]) => member in properties))
    const { db, ...rest } = argumentsOf({ ...suggested, input: { ...taken, ...input } })
    const isBound = endpoint.db !== undefined
    return `${first}${name} ${JSON.stringify(isBound || db === undefined ? rest : { db, ...rest })}${barrier}`
  },
  send: (members) => JSON.stringify(members),
  give: (member) => `give ${member} too`,
  repeatLater: 'Repeat the call later',
})
