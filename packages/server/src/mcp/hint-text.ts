import type { HintLanguage, SuggestedCall } from '../core/hint.ts'
import { findOperation } from '../operations/catalogue.ts'
import type { ApiKey } from '../store/api-keys.ts'
import { type Endpoint, tools } from './tools.ts'

const toolOf = (operation: string): string | undefined => findOperation(operation)?.tool

const argumentsOf = ({ operation, input }: SuggestedCall): Record<string, unknown> => {
  const { hashKey, rangeKey, ...rest } = input
  if (operation === 'deleteTable') return { ...rest, confirm: `${input.db}/${input.table}` }
  if (hashKey === undefined) return rest
  const key = rangeKey === undefined ? { hashKey } : { hashKey, rangeKey }
  return { ...rest, [toolOf(operation) === 'get_records' ? 'keys' : 'records']: [key] }
}

/** Tells whether an operation only reads. Every other one needs a secret key, and an endpoint that is not read-only. */
const isRead = (operation: string): boolean => findOperation(operation)?.effect === 'reads'

/**
 * Hints that name tools. `known`: names in the call; `endpoint`: if it names the database, calls do not; `otherwise`: what has
 * no tool, in the words of HTTP. What the caller may not do is said with it, so that no model tries it.
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
    const name = toolOf(operation)
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
