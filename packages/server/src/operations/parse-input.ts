import { CubbyError } from '../core/errors.ts'
import { parseFileName } from '../core/files/file-name.ts'
import { call } from '../core/hint.ts'
import { type Members, refuseUnknownMembers } from '../core/members.ts'
import { parseName } from '../core/names.ts'
import { parseKeyPart } from '../core/records/record-key.ts'
import { parsePlainBody } from '../core/text/plain-body.ts'
import { parseNameOf } from './access.ts'
import { parseCondition } from './records/condition.ts'

/** A JSON object: its members, and its text, for objects in it that are stored as they were sent. */
export interface Body {
  members: Members
  text: string
}

/** The part of an operation that says how its input is read. */
export interface InputRules {
  readonly route?: { readonly path: string }
  /**
   * The version that a caller may name. `put`: write only if the record has it, or is absent; `change`: write only if the
   * record has it; `read`: answer only if the record has another one.
   */
  readonly condition?: 'put' | 'change' | 'read'
  /** Default: `parsePlainBody`, for a body without objects that are stored as they were sent. */
  readBody?(text: string): Body
  /** Checks the members that the path does not name, without the condition. Absent: there are none. */
  read?(body: Body, nowMs: number): object
}

/** `run` is any text: no run has a malformed id, so it is not found. */
const parseRun = (value: unknown, { db, task }: Record<string, string>): string => {
  if (typeof value === 'string') return value
  throw new CubbyError('invalid_request', 'run is not a string; it takes the id of a run.', {
    field: 'run',
    hint: [
      'Give the id that the run had when it was added. Look for runs: ',
      call('queryRuns', { db: db!, task: task! }),
    ],
  })
}

/** The parser of each name that a path can have. `before`: the names before it. */
const parsers: Readonly<Record<string, (value: unknown, before: Record<string, string>) => string>> = {
  db: (value) => parseNameOf(value, 'db'),
  table: (value) => parseNameOf(value, 'table'),
  bucket: (value) => parseNameOf(value, 'bucket'),
  task: (value) => parseNameOf(value, 'task'),
  run: parseRun,
  // Of a file, or of an issuer.
  name: (value, { bucket }) => (bucket === undefined ? parseName(value, 'name') : parseFileName(value)),
  id: (value) => parseKeyPart(value, 'id'),
}

/** The names in the path of an operation's route: the address of what it is about. */
export const pathNames = (path: string): string[] => Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name!)

export const parseNames = (names: readonly string[], members: Members): Record<string, string> => {
  const address: Record<string, string> = {}
  for (const name of names) address[name] = parsers[name]!(members[name], address)
  return address
}

/** The JSON of a body. If `optional`, an empty one counts as `{}`. */
export const readJson = ({ readBody }: InputRules, text: string, optional: boolean): Body => {
  if (text === '' && optional) return readBody?.('{}') ?? { members: {}, text }
  return readBody?.(text) ?? { members: parsePlainBody(text), text }
}

/** Reads the members that are not in the path, without the condition. */
export const readRest = (operation: InputRules, body: Body, nowMs: number): object => {
  if (operation.read !== undefined) return operation.read(body, nowMs)
  refuseUnknownMembers(body.members, [])
  return {}
}

/** The whole input as one JSON text, for callers other than HTTP. */
export const parseInput = (operation: InputRules, text: string, nowMs: number): object => {
  const body = readJson(operation, text, false)
  const names = pathNames(operation.route!.path)
  const address = parseNames(names, body.members)
  const isWrite = operation.condition === 'put' || operation.condition === 'change'
  const beside = isWrite ? [...names, 'ifUpdatedAt'] : names
  const members = Object.fromEntries(Object.entries(body.members).filter(([name]) => !beside.includes(name)))
  const input = { ...address, ...readRest(operation, { ...body, members }, nowMs) }
  return isWrite ? { ...input, condition: parseCondition(body.members.ifUpdatedAt) } : input
}
