import { CubbyError } from '../core/errors.ts'
import { divideCollection } from '../core/items/collection.ts'
import { couldAllow, type Grant, grantedBytes, type Need, type PathNeed } from '../core/tokens/grants.ts'
import type { ApiKey, TokenUser } from '../store/api-keys.ts'
import type { GrantRule } from './grant-rules.ts'
import type { KeyNeeded } from './operation.ts'

/** The permissions that an operation demands. A route that says nothing about grants is closed to user tokens. */
export interface Demand {
  readonly keyNeeded: KeyNeeded
  readonly grants?: GrantRule<never> | 'any' | 'none'
  /** The parameter of the path that is a hash key or the name of a file. Absent: the path has none. */
  readonly keyName?: KeyName | undefined
}

const keyNames = ['hashKey', 'id', 'name'] as const
type KeyName = (typeof keyNames)[number]

export const keyNameIn = (parameters: readonly string[]): KeyName | undefined =>
  keyNames.find((name) => parameters.includes(name))

/** The names in the path of a request, or those among the members of a tool's arguments. */
export type Names = Readonly<
  Partial<Record<'db' | 'table' | 'bucket' | 'task' | 'collection' | 'hashKey' | 'id' | 'name', unknown>>
>

/**
 * Throws if the caller may not do what the path of a request says: an API key by its kind and its databases, a user by the grants
 * of the token. Every adapter calls this before it reads a body; `permit` judges the rest. An invalid database name is in no
 * key's scope.
 */
export const authorize = (apiKey: ApiKey, demand: Demand, names: Names): void => {
  const { keyNeeded } = demand
  if (keyNeeded === 'operator') throw new Error('an adapter offered an operation of operators to an API key')
  if (apiKey.user !== undefined) {
    authorizeUser(apiKey.user, demand, names)
    return
  }
  if (apiKey.kind === 'public' && keyNeeded !== 'read') {
    throw new CubbyError(
      'read_only_key',
      'A public key reads records, tables, runs and public files; this request needs a secret key.',
      {
        hint: 'Send it from your server with a secret key (svc_live_…).',
      },
    )
  }
  if (apiKey.databases === null) return
  if (keyNeeded === 'manage-keys') {
    throw new CubbyError('key_scope', 'A key limited to databases cannot manage keys.', {
      hint: 'Use a secret key without a "databases" limit.',
    })
  }
  const db = databaseOf(names)
  if (db !== undefined && !apiKey.databases.includes(db as string)) throw outOfScope(apiKey.databases)
}

const outOfScope = (databases: readonly string[]): CubbyError =>
  new CubbyError('key_scope', 'The API key is limited to other databases.', {
    hint: `It may use: ${databases.join(', ')}.`,
  })

/** Throws `key_scope` if one of the grants is outside the databases of the key. */
export const refuseOutOfScope = ({ databases }: Pick<ApiKey, 'databases'>, grants: readonly Grant[]): void => {
  if (databases !== null && grants.some(({ db }) => !databases.includes(db))) throw outOfScope(databases)
}

/** The database that an input names, as it was sent: by `db`, or as a part of `collection`. */
const databaseOf = ({ db, collection }: Names): unknown => {
  if (db !== undefined) return db
  return typeof collection === 'string' ? divideCollection(collection).db : collection
}

// ── The grants of a user ───────────────────────────────────────────────────────────────────────────────────

const notGranted = (hint: string, field?: string): CubbyError =>
  new CubbyError('not_granted', 'No grant of the user token allows this.', { field, hint })

const neverGranted = (): CubbyError =>
  notGranted('No grant allows this to a user. Send it from your server, with a secret key.')

const hintFor = (grant: object): string => `It needs the grant ${JSON.stringify(grant)}.`

const authorizeUser = ({ grants, grantsOn }: TokenUser, { grants: rule, keyName }: Demand, names: Names): void => {
  if (rule === 'any') return
  if (rule === undefined || rule === 'none') throw neverGranted()
  const { of, can } = rule
  const { db, table } = names.collection === undefined ? names : divideCollection(String(names.collection))
  const name = of === 'table' ? table : of === 'bucket' ? names.bucket : names.task
  const key = keyName && names[keyName]
  const need = { of, can, db, name, key } as PathNeed
  const candidates = of === 'database' ? grants : grantsOn(of, db, name)
  if (!couldAllow(candidates, need)) throw notGranted(hintFor(grantForPath(need)))
}

const grantForPath = ({ of, can, db, name, key }: PathNeed): object => {
  if (of === 'database') return { db, table: '…', can }
  if (of === 'task') return { db, task: name, can: 'run' }
  if (of === 'bucket') return { db, bucket: name, can }
  return key === undefined ? { db, table: name, can } : { db, table: name, hash: key, can }
}

const grantFor = (need: Need): object | undefined => {
  const { db } = need
  switch (need.of) {
    case 'table':
      return { db, table: need.table, ...(need.hash === undefined ? {} : { hash: need.hash }), can: need.can }
    case 'index':
      return { db, table: need.table, index: need.index, hash: need.hash, can: 'read' }
    case 'file':
      return { db, bucket: need.bucket, can: need.can }
    case 'task':
      return { db, task: need.task, can: 'run' }
    case 'nothing':
      return undefined
  }
}

/** Throws unless the caller may do everything that the input says. Keys may, after `authorize`. */
export const permit = <Input>(
  { user }: ApiKey,
  rule: GrantRule<Input> | 'any' | 'none' | undefined,
  input: Input,
): void => {
  if (user === undefined || rule === 'any') return
  if (rule === undefined || rule === 'none') throw neverGranted()
  const needs = rule.needs(input)
  if (Array.isArray(needs)) for (const need of needs as readonly Need[]) permitOne(user, need)
  else permitOne(user, needs as Need)
}

const candidatesFor = ({ grantsOn }: TokenUser, need: Need): readonly Grant[] => {
  if (need.of === 'file') return grantsOn('bucket', need.db, need.bucket)
  if (need.of === 'task') return grantsOn('task', need.db, need.task)
  return need.of === 'nothing' ? [] : grantsOn('table', need.db, need.table)
}

const permitOne = (user: TokenUser, need: Need): void => {
  const { field } = need
  const granted = grantedBytes(candidatesFor(user, need), need)
  if (granted === undefined) {
    const grant = grantFor(need)
    throw grant === undefined ? neverGranted() : notGranted(hintFor(grant), field)
  }
  if (need.of === 'task' && need.option !== undefined) {
    const name = field === undefined ? need.option : `${field}.${need.option}`
    throw notGranted('A user adds runs with a payload alone: leave it out.', name)
  }
  if (need.of !== 'table' || need.data === undefined) return
  const bytes = Buffer.byteLength(need.data)
  if (bytes <= granted) return
  const name = field === undefined ? 'data' : `${field}.data`
  throw new CubbyError(
    'record_too_large',
    `${name} has ${bytes} bytes of JSON; this user token allows at most ${granted}.`,
    {
      field: name,
      hint: 'Write a smaller record.',
    },
  )
}

/** The most bytes that the caller may write there, if grants limit it. */
export const bytesGranted = ({ user }: Pick<ApiKey, 'user'>, need: Need): number | undefined => {
  if (user === undefined) return undefined
  const most = grantedBytes(candidatesFor(user, need), need)
  return most === undefined || most === Number.POSITIVE_INFINITY ? undefined : most
}
