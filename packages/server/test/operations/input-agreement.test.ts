import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { CursorSeal, TextSeal } from '../../src/core/cursor-seal.ts'
import { CubbyError } from '../../src/core/errors.ts'
import { planFileQuery } from '../../src/core/files/file-query.ts'
import { planQuery } from '../../src/core/records/query.ts'
import { type Indices, slots } from '../../src/core/tables/indices.ts'
import { planRunQuery } from '../../src/core/tasks/run-query.ts'
import { type CatalogueEntry, catalogue } from '../../src/operations/catalogue.ts'
import { type Json, runsOf } from '../harness.ts'
import { schemaFaults } from './schema-faults.ts'

// An input has a schema and a parser, both written by hand. A program that trusts the schema must be able to send exactly
// what the parser accepts: for every input the two agree, except for what JSON Schema cannot express.

const nowMs = 1_767_225_600_000

/** The parser rejects these, and no schema can express them. */
const beyondSchemas: [code: string, message: RegExp][] = [
  ['invalid_key', / bytes; it takes at most| lone surrogate/],
  ['invalid_index_value', / bytes, more than the limit of \d+| lone surrogate/],
  ['invalid_range', / bytes, more than the limit of \d+| lone surrogate/],
  ['invalid_range', /both bounds must have the same type|has its low bound above its high one/],
  // A day that its month does not have.
  ['invalid_range', /is "\d{4}-(02-(29|3\d)|(04|06|09|11)-31)T[^"]*"; t takes epoch milliseconds/],
  ['invalid_ttl', /more than a day in the past/],
  ['invalid_request', /^expiresAt is (in the past|more than 366 days ahead|\d+, which looks like seconds)/],
  ['invalid_request', /^from is given together with cursor/],
  ['invalid_request', /^name takes 1 to \d+ well-formed characters/],
  ['invalid_request', /^content has a lone surrogate|^(prefix|download) has (\d+ bytes|a lone surrogate)/],
  // A schema bounds characters of each member, not bytes of all.
  ['invalid_request', /^metadata has \d+ bytes/],
  ['invalid_request', /^increment and append together have more than|name the same place|leads below/],
  ['batch_duplicate_keys', /names the same record/],
  ['invalid_request', /^url is .*; it takes a URL|^leaseSeconds is \d+; for a task with url/],
  ['push_target_refused', /^(url|keysUrl) (begins with|has a user)/],
  ['invalid_grant', /^(grants|user)\b/],
  ['invalid_request', /^keys\.keys\[|^(issuer|audience|user) is "/],
  ['invalid_request', /^keysUrl is .*; it takes a URL/],
  ['invalid_schedule', /^schedule\.(cron|timezone) (has|is ".*)/],
]

const seal = new CursorSeal([new TextSeal(Buffer.alloc(32, 1), 'cursor')], true)

const everyIndex: Indices = Object.fromEntries(slots.map((slot) => [slot, { hashField: 'a', rangeField: 'b' }]))

/** The refusal, if there is one. Of a query the hash is looked at with its table. */
const refusalOf = (entry: CatalogueEntry, input: Json): CubbyError | undefined => {
  try {
    const parsed = entry.parse(JSON.stringify(input), nowMs)
    if (entry.id === 'queryRecords') planQuery(parsed.query, 1, everyIndex, seal)
    if (entry.id === 'queryFiles') planFileQuery(parsed.query, false, 1, seal)
    if (entry.id === 'queryRuns') planRunQuery(parsed.query, 1, seal)
    return undefined
  } catch (error) {
    if (error instanceof CubbyError) return error
    throw error
  }
}

const euros = (count: number): string => '€'.repeat(count)
const wild = fc.oneof(
  fc.constantFrom<Json>(
    ...[null, true, false, 0, 1, -1, 1.5, 60, 1000, 4102444800, 253402300799, 253402300800, 4102444800000],
    ...['', 'a', '.', '..', '...', '*', 't', 'i1', 'i5', 'i6', 'put', 'delete', 'secret', 'public', '_a', 'App', 'a\n'],
    ...[
      { gte: '2026-01-05T10:00:00Z' },
      { gte: 'soon' },
      { gte: '2026-02-30T10:00:00Z' },
      { gte: '2026-01-05T24:00:00Z' },
      { gte: '2026-01-05T10:00:00+02:00' },
    ],
    ...['2026-01-05T10:00:00Z', 'k'.repeat(64), 'k'.repeat(65), 'k'.repeat(128), 'k'.repeat(129)],
    ...['k'.repeat(255), 'k'.repeat(256), 'k'.repeat(1024), 'k'.repeat(1025), euros(341), euros(342), euros(255)],
    ...['\ud800', [], {}, [1, 2], ['a', 'b'], ['b', 'a'], [1, 'a'], ['a'], [1, 2, 3], ['app'], ['App']],
    ...[
      { eq: 'a' },
      { gte: 1 },
      { gt: 1, lt: 2 },
      { gte: 'a', lt: 'b' },
      { gt: 1, gte: 2 },
      { like: 1 },
      { beginsWith: 'a' },
      { beginsWith: 1 },
    ],
    ...['data', 'keys', 'count', { gt: 'b', lte: 'a' }, { gte: 1, lt: 'a' }, { between: [1, 2], lt: 3 }],
    ...[{ between: [1, 2] }, { between: ['a', 'b'] }, { i1: { hashField: 'a' } }, { i6: { hashField: 'a' } }],
  ),
  fc.string({ unit: 'grapheme', maxLength: 5 }),
  fc.constantFrom<Json>(2 ** 53 - 1, 2 ** 53, 1 - 2 ** 53, -(2 ** 53), 1e20, 1e300),
)
const names = fc.oneof(
  { arbitrary: fc.constantFrom('hashKey', 'rangeKey', 'data', 'ttl', 'ifUpdatedAt', 'op', 'db', 'table'), weight: 2 },
  {
    arbitrary: fc.constantFrom('index', 'hash', 'range', 'select', 'limit', 'ascending', 'cursor', 'indices', 'name'),
    weight: 2,
  },
  {
    arbitrary: fc.constantFrom('deletedAt', 'deleted', 'kind', 'expiresAt', 'databases', 'id', 'operations'),
    weight: 2,
  },
  fc.constantFrom('gt', 'gte', 'lt', 'lte', 'between', 'beginsWith', 'eq'),
  fc.constantFrom('every', 'cron', 'timezone', 'payload', 'attempts', 'keepSeconds', 'paused', 'authorization'),
  fc.constantFrom('zzz', 'limt'),
)

/** Every object or array in a value, itself included, except what stands in `data` or `payload`, which is free. */
const holders = (value: Json): Json[] =>
  typeof value !== 'object' || value === null
    ? []
    : [
        value,
        ...Object.entries<Json>(value).flatMap(([name, member]) =>
          name === 'data' || name === 'payload' ? [] : holders(member),
        ),
      ]

interface Change {
  holder: number
  at: number
  what: 'replace' | 'remove' | 'add'
  name: string
  value: Json
}

const change: fc.Arbitrary<Change> = fc.record({
  holder: fc.nat(),
  at: fc.nat(),
  what: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add'),
  name: names,
  value: wild,
})

const spoil = (input: Json, changes: Change[]): Json => {
  const spoiled = structuredClone(input)
  for (const { holder, at, what, name, value } of changes) {
    const all = holders(spoiled)
    const one = all[holder % all.length]
    const members = Object.keys(one)
    if (what === 'add' || members.length === 0) {
      if (Array.isArray(one)) one.push(structuredClone(value))
      else one[name] = structuredClone(value)
    } else if (what === 'replace') one[members[at % members.length]!] = structuredClone(value)
    else if (Array.isArray(one)) one.splice(at % one.length, 1)
    else delete one[members[at % members.length]!]
  }
  return spoiled
}

for (const entry of Object.values<CatalogueEntry>(catalogue())) {
  test(`${entry.id}: the schema of its input takes what its parser takes`, () => {
    const inputs = entry.examples.map(({ input }) => input)
    let taken = 0
    let refused = 0
    const runs = runsOf(1_000)
    fc.assert(
      fc.property(fc.constantFrom(...inputs), fc.array(change, { maxLength: 3 }), (input, changes) => {
        const spoiled = spoil(input, changes)
        // Only the query that a cursor belongs to can tell what is in it.
        if (typeof spoiled.cursor === 'string') delete spoiled.cursor
        const faults = schemaFaults(entry.input, spoiled)
        const refusal = refusalOf(entry, spoiled)
        if (refusal === undefined) taken++
        else refused++
        const { code = '', message = '' } = refusal ?? {}
        if (faults.length === 0 && beyondSchemas.some(([known, words]) => known === code && words.test(message))) return
        expect({ spoiled, faults, taken: faults.length === 0 }).toEqual({
          spoiled,
          faults,
          taken: refusal === undefined,
        })
      }),
      { numRuns: runs },
    )
    expect([taken > runs / 50, refused > runs / 10]).toEqual([true, true])
  })
}
