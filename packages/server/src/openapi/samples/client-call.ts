import type { Members } from '../../core/members.ts'
import { withClientCondition } from '../../operations/example.ts'
import type { ClientCall } from '../../operations/operation.ts'
import { literal, typescript } from './literal.ts'

export interface WrittenCall {
  /** A line that makes the object of the call, or an empty one. */
  setup: string
  text: string
  /** The name of what it returns. */
  result: string
}

const written = (object: string, method: string, given: unknown[]): string => {
  const name = `${object}.${method}(`
  // Only the last argument may be long.
  const texts = given.map((value) => literal(value, typescript, 0, name.length + 14))
  return `${name}${texts.join(', ')})`
}

const identifier = (name: string, otherwise: string): string => (/^[a-z][a-z0-9_]*$/.test(name) ? name : otherwise)

const isEmptyObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0

const both = (members: Members, options: Members): unknown[] => [members, options]

/** The call with this input, as source code; undefined if there is none. */
export const clientCall = (
  client: ClientCall,
  input: Readonly<Members>,
  isMinimal = false,
): WrittenCall | undefined => {
  const { on, args = both } = client
  const isOfOrganization = ['cubby', 'keys', 'tokens', 'issuers'].includes(on)
  // The member that names the object; these have none.
  const one = isOfOrganization ? '' : on.replace(/s$/, '')
  const { db, [one]: name, ifUpdatedAt, ...members } = input as Members
  const options = { ...withClientCondition({ ifUpdatedAt }), ...(isMinimal && { minimal: true }) }
  const isCount = client.counts === true && members.select === 'count'
  if (isCount) delete members.select
  const given = args(members, options)
  if (given === undefined) return undefined
  while (isEmptyObject(given.at(-1))) given.pop()
  const [method, result] = isCount ? ['count', 'count'] : [client.method, client.result]
  if (isOfOrganization) {
    return { setup: '', text: written(on === 'cubby' ? on : `cubby.${on}`, method, given), result }
  }
  const database = `cubby.db(${literal(db, typescript)})`
  if (on === 'db') return { setup: `const db = ${database}\n`, text: written('db', method, given), result }
  if (on !== one) {
    return {
      setup: '',
      text: written(`${database}.${on}`, method, name === undefined ? given : [name, ...given]),
      result,
    }
  }
  const object = identifier(name as string, on)
  const setup = `const ${object} = ${database}.${on}(${literal(name, typescript)})\n`
  return { setup, text: written(object, method, given), result }
}
