import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { bodyBytesMax, findKeysMax } from '../../core/limits.ts'
import { type Members, parseObject, refuseUnknownMembers } from '../../core/members.ts'
import { findJson } from '../../core/records/find.ts'
import { parseRecordKey, type RecordKey } from '../../core/records/record-key.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'
import { runThrough, type Slices } from '../../core/slices.ts'
import { isCheapToBuild, parseJson } from '../../core/text/json-scan.ts'
import { readListBody } from '../../core/text/list-body.ts'
import { shareOf } from '../../store/api-keys.ts'
import { type Access, parseAddress, type TableAddress } from '../access.ts'
import { draft, draftAt, inOrders } from '../example.ts'
import { requireTable } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { addressMembers, addressRequired } from '../tables/schemas.ts'
import { clientKey, second } from './examples.ts'
import { refuseSameRecord } from './refuse-same-record.ts'
import { recordSchemas } from './schemas.ts'

interface FindBody {
  members: Members
  /** The elements of `keys`, up to the limit of a find or more. */
  first: unknown[]
  /** The number of all elements. */
  count: number
}

/** A body without white space, as most clients send it, is built at once: that takes a third of the time. */
const buildFind = (text: string): FindBody | undefined => {
  if (!isCheapToBuild(text)) return undefined
  const value = parseJson(text)
  // Parsing keeps only one of two members with the same name. A list is rejected by the other way.
  if (Array.isArray(value) || JSON.stringify(value) !== text) return undefined
  const members = parseObject(value)
  const first = Array.isArray(members.keys) ? members.keys : []
  return { members, first, count: first.length }
}

function* readFind(text: string): Slices<FindBody> {
  const built = buildFind(text)
  if (built !== undefined) return built
  const { members, list } = yield* readListBody(text, 'keys', findKeysMax)
  return { members, first: list.first.map(({ value }) => value), count: list.count }
}

const shownHash = (value: unknown): string =>
  typeof value === 'string' && value.length <= 80 ? JSON.stringify(value.toWellFormed()) : '…'

const parseKey = (value: unknown, position: number): RecordKey => {
  const name = `keys[${position}]`
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CubbyError('invalid_request', `${name} is ${describeValue(value)}; it takes an object.`, {
      field: name,
      hint: `Write it as { "hashKey": ${shownHash(value)} }, or as { "hashKey": …, "rangeKey": … }.`,
    })
  }
  const members = value as Members
  refuseUnknownMembers(members, ['hashKey', 'rangeKey'], `${name}.`)
  return parseRecordKey(members.hashKey, members.rangeKey, `${name}.`)
}

/** `hasAddress`: beside `keys`, the members of an address are there. */
const refuseOthers = (members: Members, hasAddress: boolean): void => {
  const isKnown = (name: string): boolean => name === 'keys' || (hasAddress && (name === 'db' || name === 'table'))
  // A copy without the known ones only for the error.
  for (const name in members) {
    if (isKnown(name)) continue
    const others = Object.entries(members).filter(([other]) => !isKnown(other))
    refuseUnknownMembers(Object.fromEntries(others), ['keys'])
  }
}

/** `keysMax`: a tool takes fewer. */
const parseKeys = ({ members, first, count }: FindBody, hasAddress = false, keysMax = findKeysMax): RecordKey[] => {
  const { keys } = members
  refuseOthers(members, hasAddress)
  if (!Array.isArray(keys) || count === 0) {
    throw new CubbyError(
      'invalid_request',
      `keys is ${Array.isArray(keys) ? 'empty' : describeValue(keys)}; it takes 1 to ${keysMax} record keys.`,
      { field: 'keys', hint: 'Write it as [{ "hashKey": … }, { "hashKey": …, "rangeKey": … }].' },
    )
  }
  if (count > keysMax) {
    throw new CubbyError('batch_too_large', `keys has ${count} keys; a find takes at most ${keysMax}.`, {
      field: 'keys',
      hint: `Ask for ${keysMax} at a time.`,
    })
  }
  const parsed = first.map(parseKey)
  refuseSameRecord(parsed, 'keys', 'Name each record once. No rangeKey and "#" are the same.')
  return parsed
}

/** Parses in slices, because a find may have 1 MiB. */
export function* parseFindInSlices(text: string): Slices<RecordKey[]> {
  return parseKeys(yield* readFind(text))
}

/** The whole input as JSON.parse built it, from a text without two members of one name. */
export const parseBuiltFind = (members: Members, keysMax: number): FindRecordsInput => {
  const first = Array.isArray(members.keys) ? members.keys : []
  return parseInput({ members, first, count: first.length }, keysMax)
}

const parseInput = (body: FindBody, keysMax: number): FindRecordsInput => {
  const { db, table } = parseAddress(body.members.db, body.members.table)
  return { db, table, keys: parseKeys(body, true, keysMax) }
}

export const parseFind = (text: string, keysMax: number): FindRecordsInput =>
  parseInput(runThrough(readFind(text)), keysMax)

interface FindRecordsInput extends TableAddress {
  keys: RecordKey[]
}

/** `entries` has what was found for each of the first keys; there was no room in the answer for the others. */
interface FindRecordsOutput {
  keys: RecordKey[]
  entries: (StoredRecord | undefined)[]
}

export const findRecords = (access: Access, input: FindRecordsInput, nowMs: number): Awaitable<FindRecordsOutput> => {
  const { keys } = input
  return andThen(requireTable(access, input, nowMs), (table) =>
    andThen(access.engine.records.find(table, keys, nowMs, shareOf(access.apiKey)), (entries) => ({ keys, entries })),
  )
}

export const presentFound = ({ keys, entries }: FindRecordsOutput): string => findJson(keys, entries)

export const findRecordsOperation = defineOperation({
  id: 'findRecords',
  area: 'records',
  summary: 'Get several records by their keys',
  keyNeeded: 'read',
  grants: {
    of: 'table',
    can: 'read',
    needs: ({ db, table, keys }) =>
      keys.map(({ hashKey }, i) => ({ of: 'table', db, table, can: 'read', hash: hashKey, field: `keys[${i}]` })),
  },
  effect: 'reads',
  route: {
    method: 'POST',
    path: '/v1/:db/:table/find',
    body: { schema: 'FindRequest', required: true, bytesMax: bodyBytesMax },
  },
  tool: 'get_records',
  parse: (text) => parseFind(text, findKeysMax),
  run: findRecords,
  present: presentFound,
  describe: () => ({
    title: 'Get several records',
    description:
      'Returns the records in the order of `keys`. All are read from one state of the table: of a batch, either everything is visible or nothing. Keys without a record are in `missing`. When `items` is full, the remaining keys are in `unread`: ask for those again. At least one key is always read. In an error, `field` names the key: `keys[3].hashKey`.',
    returns: 'The records found, and the keys of those that do not exist or did not fit.',
    codes: ['invalid_key', 'batch_too_large', 'batch_duplicate_keys', 'table_not_found'],
    tag: 'Queries and batches',
    input: inputOf(recordSchemas.FindRequest, addressMembers, addressRequired),
    output: ref('FindResponse'),
    client: {
      on: 'table',
      method: 'find',
      result: 'records',
      args: ({ keys }) => [(keys as Members[]).map(clientKey)],
    },
    examples: [
      {
        name: 'find',
        summary: 'Two orders and a draft, one of which does not exist',
        input: {
          ...inOrders,
          keys: [{ hashKey: 'ada', rangeKey: 'o-2' }, { hashKey: 'ada', rangeKey: 'o-9' }, { hashKey: 'draft' }],
        },
        output: {
          items: [second, { ...draft, updatedAt: draftAt }],
          missing: [{ hashKey: 'ada', rangeKey: 'o-9' }],
          unread: [],
        },
      },
      {
        name: 'sameRecordTwice',
        summary: 'One record twice',
        input: { ...inOrders, keys: [{ hashKey: 'draft' }, { hashKey: 'draft', rangeKey: '#' }] },
        error: {
          code: 'batch_duplicate_keys',
          message: 'keys[1] names the same record as keys[0].',
          field: 'keys[1]',
          hint: 'Name each record once. No rangeKey and "#" are the same.',
        },
      },
      {
        name: 'noKeys',
        summary: 'No keys',
        input: { ...inOrders, keys: [] },
        error: {
          code: 'invalid_request',
          message: 'keys is empty; it takes 1 to 100 record keys.',
          field: 'keys',
          hint: 'Write it as [{ "hashKey": … }, { "hashKey": …, "rangeKey": … }].',
        },
      },
      {
        name: 'noHashKey',
        summary: 'A key without a hash key',
        input: { ...inOrders, keys: [{ hashKey: 'draft' }, { rangeKey: 'o-1' }] },
        error: {
          code: 'invalid_key',
          message: 'keys[1].hashKey is missing; it takes a string.',
          field: 'keys[1].hashKey',
          hint: 'Give keys[1].hashKey as a string of 1 to 1024 bytes.',
        },
      },
    ],
  }),
})
