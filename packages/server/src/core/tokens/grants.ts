import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { parseFileName } from '../files/file-name.ts'
import { dataBytesMax, fileBytesMax, grantsMax, keyBytesMax } from '../limits.ts'
import type { Members } from '../members.ts'
import { parseName } from '../names.ts'
import { parseKeyPart } from '../records/record-key.ts'
import { encodeIndexValue, type IndexScalar, indexValueFault } from '../tables/index-value.ts'
import { type Slot, slots } from '../tables/indices.ts'

// What a user token allows. A grant allows; nothing forbids. Names are compared as they are: case and Unicode forms are never folded.

/** A hash key, or all that begin with a text. */
type HashMatch = string | { readonly beginsWith: string }

interface Named {
  readonly db: string
}

interface TableGrant extends Named {
  readonly table: string
  /** Absent: the whole table. */
  readonly hash?: HashMatch
  readonly can: 'read' | 'write'
  /** The most bytes of `data`. */
  readonly sizeMax?: number
}

interface IndexGrant extends Named {
  readonly table: string
  readonly index: Slot
  readonly hash: IndexScalar
  readonly can: 'read'
}

interface BucketGrant extends Named {
  readonly bucket: string
  /** Ends with `/`. Absent: the whole bucket. */
  readonly prefix?: string
  readonly can: 'read' | 'write'
  /** The most bytes of a file. */
  readonly sizeMax?: number
}

interface TaskGrant extends Named {
  readonly task: string
  readonly can: 'run'
}

export type Grant = TableGrant | IndexGrant | BucketGrant | TaskGrant

interface NeedBase extends Named {
  /** The place of the operation in the request, for errors. */
  readonly field?: string
}

/** What one request, or one operation of it, needs. */
export type Need = NeedBase &
  (
    | {
        readonly of: 'table'
        readonly table: string
        readonly can: 'read' | 'write'
        /** Absent: the whole table. */
        readonly hash?: string | undefined
        /** What is written, as JSON text. */
        readonly data?: string
      }
    | { readonly of: 'index'; readonly table: string; readonly index: string; readonly hash: unknown }
    /** `name` of a listing is its prefix, which is empty if there is none. */
    | { readonly of: 'file'; readonly bucket: string; readonly can: 'read' | 'write'; readonly name: string }
    /** `option`: a member of a run beside its payload. */
    | { readonly of: 'task'; readonly task: string; readonly option?: string | undefined }
    /** No grant allows it. */
    | { readonly of: 'nothing' }
  )

const isIndexGrant = (grant: TableGrant | IndexGrant): grant is IndexGrant => 'index' in grant

const matchesHash = (match: HashMatch | undefined, hash: string | undefined): boolean => {
  if (match === undefined) return true
  if (hash === undefined) return false
  return typeof match === 'string' ? hash === match : hash.startsWith(match.beginsWith)
}

const isSameValue = (granted: IndexScalar, asked: unknown): boolean =>
  indexValueFault(asked) === undefined && encodeIndexValue(granted) === encodeIndexValue(asked as IndexScalar)

const includes = (can: string, needed: string): boolean => can === needed || can === 'write'

/** Tells whether the grant allows it, whatever the size. */
const allows = (grant: Grant, need: Need): boolean => {
  if (grant.db !== need.db) return false
  switch (need.of) {
    case 'table':
      return (
        'table' in grant &&
        grant.table === need.table &&
        !isIndexGrant(grant) &&
        includes(grant.can, need.can) &&
        matchesHash(grant.hash, need.hash)
      )
    case 'index':
      if (!('table' in grant) || grant.table !== need.table) return false
      return isIndexGrant(grant)
        ? grant.index === need.index && isSameValue(grant.hash, need.hash)
        : grant.hash === undefined
    case 'file':
      return (
        'bucket' in grant &&
        grant.bucket === need.bucket &&
        includes(grant.can, need.can) &&
        need.name.startsWith(grant.prefix ?? '')
      )
    case 'task':
      return 'task' in grant && grant.task === need.task
    case 'nothing':
      return false
  }
}

const sizeMaxOf = (grant: Grant): number => ('sizeMax' in grant && grant.sizeMax) || Number.POSITIVE_INFINITY

/**
 * The most bytes that the grants let somebody write there; infinite without a limit. Undefined: no grant allows it.
 */
export const grantedBytes = (grants: readonly Grant[], need: Need): number | undefined => {
  let most: number | undefined
  for (const grant of grants) {
    if (!allows(grant, need)) continue
    const sizeMax = sizeMaxOf(grant)
    if (sizeMax === Number.POSITIVE_INFINITY) return sizeMax
    most = Math.max(most ?? 0, sizeMax)
  }
  return most
}

/** What the path of a request says: the names that it has, and what is done there. */
export interface PathNeed {
  readonly of: 'table' | 'bucket' | 'task' | 'database'
  readonly can: 'read' | 'write'
  readonly db: string | undefined
  readonly name?: string | undefined
  /** The hash key or the name of the file, if the path has it. */
  readonly key?: string | undefined
}

/** Tells whether a grant could allow a request to that path, whatever its body is. */
export const couldAllow = (grants: readonly Grant[], { of, can, db, name, key }: PathNeed): boolean =>
  grants.some((grant) => {
    if (grant.db !== db) return false
    if (of === 'database') return true
    if (of === 'task') return 'task' in grant && grant.task === name
    if (!includes(grant.can, can)) return false
    if (of === 'bucket') {
      return 'bucket' in grant && grant.bucket === name && (key === undefined || key.startsWith(grant.prefix ?? ''))
    }
    if (!('table' in grant) || grant.table !== name) return false
    return key === undefined || (!isIndexGrant(grant) && matchesHash(grant.hash, key))
  })

// ── By what they are on ────────────────────────────────────────────────────────────────────────────────────

/** The grants on a table, a bucket or a task, and perhaps others. Made once for a token: it may have many, of which few matter. */
export type GrantIndex = (kind: 'table' | 'bucket' | 'task', db: unknown, name: unknown) => readonly Grant[]

const none: readonly Grant[] = []

/** So few are looked through sooner than an index is. */
const fewGrants = 8

export const indexGrants = (grants: readonly Grant[]): GrantIndex => {
  if (grants.length <= fewGrants) return () => grants
  const byThing = new Map<string, Grant[]>()
  for (const grant of grants) {
    const thing =
      'table' in grant
        ? `table ${grant.db} ${grant.table}`
        : 'bucket' in grant
          ? `bucket ${grant.db} ${grant.bucket}`
          : `task ${grant.db} ${grant.task}`
    const found = byThing.get(thing)
    if (found === undefined) byThing.set(thing, [grant])
    else found.push(grant)
  }
  return (kind, db, name) => byThing.get(`${kind} ${db} ${name}`) ?? none
}

// ── Reading grants ─────────────────────────────────────────────────────────────────────────────────────────

const refuse = (field: string, message: string, hint?: string): never => {
  throw new CubbyError('invalid_grant', `${field} ${message}`, { field, hint })
}

/** Another rule's refusal is one of a grant. */
const within = <T>(read: () => T): T => {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof CubbyError)) throw error
    const { message, field, hint } = error
    throw new CubbyError('invalid_grant', message, { field, hint })
  }
}

const kinds = {
  table: ['db', 'table', 'hash', 'index', 'can', 'sizeMax'],
  bucket: ['db', 'bucket', 'prefix', 'can', 'sizeMax'],
  task: ['db', 'task', 'can'],
} as const

const kindOf = (grant: Members, field: string): keyof typeof kinds => {
  const named = (['table', 'bucket', 'task'] as const).filter((kind) => Object.hasOwn(grant, kind))
  if (named.length === 1) return named[0]!
  const what = named.length === 0 ? 'names no table, bucket or task' : `names a ${named.join(' and a ')}`
  return refuse(
    field,
    `${what}; it takes one of them.`,
    'For example { "db": "app", "table": "notes", "hash": "ada", "can": "read" }.',
  )
}

const parseCan = <const Word extends string>(value: unknown, field: string, words: readonly Word[]): Word => {
  if (words.includes(value as Word)) return value as Word
  return refuse(
    `${field}.can`,
    `is ${describeValue(value)}; it takes ${words.map((word) => `"${word}"`).join(' or ')}.`,
  )
}

const parseSizeMax = (value: unknown, can: string, field: string, bytesMax: number): { sizeMax?: number } => {
  if (value === undefined) return {}
  const name = `${field}.sizeMax`
  if (can !== 'write') refuse(name, 'is only for a grant to write.', 'Leave it out.')
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= bytesMax) {
    return { sizeMax: value as number }
  }
  return refuse(name, `is ${describeValue(value)}; it takes bytes, an integer from 1 to ${bytesMax}.`)
}

const parseHash = (value: unknown, field: string): HashMatch => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return within(() => parseKeyPart(value, field))
  }
  const { beginsWith, ...others } = value as Members
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) refuse(`${field}.${unknown}`, 'is not a member of a hash.', 'It takes "beginsWith" alone.')
  const name = `${field}.beginsWith`
  if (typeof beginsWith !== 'string' || beginsWith === '' || !beginsWith.isWellFormed()) {
    return refuse(name, `is ${describeValue(beginsWith)}; it takes the text with which hash keys begin.`)
  }
  if (Buffer.byteLength(beginsWith) > keyBytesMax) refuse(name, `has more than ${keyBytesMax} bytes.`)
  return { beginsWith }
}

const parseIndexHash = (value: unknown, field: string): IndexScalar => {
  const fault = indexValueFault(value)
  if (fault === undefined && value !== '') return value as IndexScalar
  return refuse(field, `is ${fault ?? 'empty'}; with index it takes a string, number or boolean.`)
}

const parsePrefix = (value: unknown, field: string): string => {
  if (typeof value !== 'string' || !value.endsWith('/')) {
    return refuse(field, `is ${describeValue(value)}; it takes a text that ends with "/".`, 'For example "ada/".')
  }
  within(() => parseFileName(value.slice(0, -1), field))
  return value
}

const parseTableGrant = (db: string, members: Members, field: string): Grant => {
  const { hash, index, can, sizeMax } = members
  const table = within(() => parseName(members.table, `${field}.table`))
  if (index === undefined) {
    const word = parseCan(can, field, ['read', 'write'])
    const match = hash === undefined ? {} : { hash: parseHash(hash, `${field}.hash`) }
    return { db, table, ...match, can: word, ...parseSizeMax(sizeMax, word, field, dataBytesMax) }
  }
  if (!slots.includes(index as Slot)) {
    refuse(`${field}.index`, `is ${describeValue(index)}; it takes one of "i1" to "i5".`)
  }
  const word = parseCan(can, field, ['read'])
  parseSizeMax(sizeMax, word, field, dataBytesMax)
  return { db, table, index: index as Slot, hash: parseIndexHash(hash, `${field}.hash`), can: word }
}

const parseGrant = (value: unknown, field: string): Grant => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse(field, `is ${describeValue(value)}; it takes a JSON object.`)
  }
  const members = value as Members
  const kind = kindOf(members, field)
  const known: readonly string[] = kinds[kind]
  const unknown = Object.keys(members).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    refuse(
      `${field}.${unknown.slice(0, 80)}`.toWellFormed(),
      `is not a member of a grant for a ${kind}.`,
      `It takes ${known.join(', ')}.`,
    )
  }
  const db = within(() => parseName(members.db, `${field}.db`))
  if (kind === 'table') return parseTableGrant(db, members, field)
  if (kind === 'task') {
    return {
      db,
      task: within(() => parseName(members.task, `${field}.task`)),
      can: parseCan(members.can, field, ['run']),
    }
  }
  const bucket = within(() => parseName(members.bucket, `${field}.bucket`))
  const can = parseCan(members.can, field, ['read', 'write'])
  const prefix = members.prefix === undefined ? {} : { prefix: parsePrefix(members.prefix, `${field}.prefix`) }
  return { db, bucket, ...prefix, can, ...parseSizeMax(members.sizeMax, can, field, fileBytesMax) }
}

/** Checks the grants of a token. Throws `invalid_grant`, which names the wrong member: `grants[2].hash`. */
export const parseGrants = (value: unknown, field = 'grants'): Grant[] => {
  if (!Array.isArray(value) || value.length < 1 || value.length > grantsMax) {
    const found = Array.isArray(value) ? `an array of ${value.length}` : describeValue(value)
    return refuse(field, `is ${found}; it takes 1 to ${grantsMax} grants.`)
  }
  return value.map((grant, i) => parseGrant(grant, `${field}[${i}]`))
}
