import { describe, expect, test } from 'bun:test'
import { askedWords, looseningsOf } from '../src/screens/table/empty-words.ts'
import {
  dayText,
  dayTime,
  readIndexValue,
  readKey,
  readPrefix,
  readTime,
  settledText,
} from '../src/screens/table/operand.ts'
import {
  bodyOf,
  boundReader,
  newestFirst,
  type QueryForm,
  readForm,
  shapeOf,
  withIndex,
} from '../src/screens/table/query-form.ts'
import { requestTypeScript } from '../src/screens/table/request-forms.ts'

// The query bar without a browser: what is typed, and the request that it becomes.

const indices = { i1: { hashField: 'status', rangeField: 'createdAt' }, i2: { hashField: 'user' } }

const bodyFor = (part: Partial<QueryForm>): string => {
  const form = { ...withIndex(newestFirst, part.index ?? 't'), ...part }
  const read = readForm(form, indices)
  return 'fault' in read ? `${read.field}: ${read.fault}` : bodyOf(read.members)
}

describe('values', () => {
  test('JSON scalars are themselves, and a bare word is a string', () => {
    const cases: [string, string, string][] = [
      ['1', '1', 'number'],
      ['"1"', '"1"', 'string'],
      ['12345678901234567890', '12345678901234567890', 'number'],
      ['-1.50e3', '-1.50e3', 'number'],
      ['true', 'true', 'boolean'],
      ['"true"', '"true"', 'string'],
      ['open', '"open"', 'string'],
      [' open ', '"open"', 'string'],
      ['" open "', '" open "', 'string'],
      ['01', '"01"', 'string'],
      ['a "b"', '"a \\"b\\""', 'string'],
      ['""', '""', 'string'],
      ['[1]', '"[1]"', 'string'],
    ]
    for (const [typed, json, kind] of cases) {
      expect({ typed, ...readIndexValue(typed) }).toMatchObject({ typed, json, kind: kind as 'string' })
    }
  })

  test('what is no value of an index says why', () => {
    for (const typed of ['', '  ', 'null', '"open', '"a" b']) expect(readIndexValue(typed)).toHaveProperty('fault')
    expect(readTime('yesterday')).toHaveProperty('fault')
    expect(readTime('2026-11-01')).toHaveProperty('fault')
    expect(readTime('true')).toHaveProperty('fault')
    expect(readTime('2026-11-01T00:00:00Z')).toMatchObject({ instantMs: Date.UTC(2026, 10, 1) })
    expect(readTime('1793491200000')).toMatchObject({ json: '1793491200000' })
  })

  test('a key is taken as it stands, and a prefix is never a number', () => {
    expect(readKey('"1" ')).toMatchObject({ json: '"\\"1\\" "' })
    expect(readKey('')).toHaveProperty('fault')
    expect(readPrefix('1')).toEqual({ json: '"1"', kind: 'string' })
    expect(readPrefix('2026-11-01T00:00:00Z')).toEqual({ json: '"2026-11-01T00:00:00Z"', kind: 'string' })
  })

  test('a value that is left shows how it is read', () => {
    expect(settledText('open', readIndexValue)).toBe('"open"')
    expect(settledText('1', readIndexValue)).toBe('1')
    expect(settledText(' 2026-11-01T00:00:00Z', readIndexValue)).toBe('2026-11-01T00:00:00Z')
    expect(settledText('ord 1', readKey)).toBe('ord 1')
    expect(settledText('"half', readIndexValue)).toBe('"half')
    expect(dayTime(' 2026-11-01', 'start')).toBe('2026-11-01T00:00:00Z')
    expect(dayTime('2026-11-01', 'end')).toBe('2026-11-01T23:59:59.999Z')
    for (const typed of ['2026-02-30', '"2026-11-01"', '2026-11', '2026-11-01T00:00:00Z', 'x2026-11-01', ''])
      expect([typed, dayTime(typed, 'end')]).toEqual([typed, undefined])
    expect(dayText('2026-11-01T23:59:59.999Z')).toBe('"2026-11-01"')
    expect(dayText('2026-11-01T23:59:59Z')).toBeUndefined()
  })
})

describe('requests', () => {
  test('the default asks for the newest records', () => {
    expect(bodyFor({})).toBe('{"index":"t","limit":100}')
    expect(bodyFor({ isAscending: true })).toBe('{"index":"t","ascending":true,"limit":100}')
  })

  test('each form has its own members', () => {
    expect(bodyFor({ index: 'key', hash: '1' })).toBe('{"hash":"1","limit":100}')
    expect(bodyFor({ index: 'i2', hash: '1' })).toBe('{"index":"i2","hash":1,"limit":100}')
    expect(bodyFor({ index: 'i1', hash: 'open', isAscending: false })).toBe(
      '{"index":"i1","hash":"open","ascending":false,"limit":100}',
    )
    expect(bodyFor({ index: 'i1', hash: '' })).toStartWith('hash: ')
    expect(bodyFor({ index: 'key', hash: '' })).toStartWith('hash: ')
  })

  test('ranges: one operator, two bounds, between, a prefix', () => {
    const of = (part: Partial<QueryForm>) => bodyFor({ index: 'i1', hash: 'x', ...part })
    expect(of({ first: 'gte', low: '2026-11-01T00:00:00Z', second: 'lt', high: '2026-12-01T00:00:00Z' })).toContain(
      '"range":{"gte":"2026-11-01T00:00:00Z","lt":"2026-12-01T00:00:00Z"}',
    )
    expect(of({ first: 'gt', low: '5' })).toContain('"range":{"gt":5}')
    // A value that a change of the operator has left behind is not sent.
    expect(of({ first: 'lt', low: '5', second: 'lte', high: '9' })).toContain('"range":{"lt":5}')
    expect(of({ first: '', low: '5', second: 'lt', high: '9' })).not.toContain('range')
    expect(of({ first: 'between', low: '5', high: '9' })).toContain('"range":{"between":[5,9]}')
    expect(of({ first: 'between', low: '5' })).toStartWith('high: ')
    expect(of({ first: 'beginsWith', low: '5' })).toContain('"range":{"beginsWith":"5"}')
    expect(bodyFor({ index: 'key', hash: 'x', first: 'gte', low: '5' })).toContain('"range":{"gte":"5"}')
  })

  // The risk: "to 18 November" drops the 18th, and a day that is compared as text finds no instant at all.
  test('a day without a time is all of that day, under every operator', () => {
    const day = '2026-11-18'
    const [start, end] = [`"${day}T00:00:00Z"`, `"${day}T23:59:59.999Z"`]
    for (const index of ['i1', 't'] as const) {
      const of = (part: Partial<QueryForm>) => bodyFor({ index, hash: 'x', ...part })
      expect(of({ first: 'gte', low: '2026-11-01', second: 'lte', high: day })).toContain(
        `"range":{"gte":"2026-11-01T00:00:00Z","lte":${end}}`,
      )
      expect(of({ first: 'between', low: day, high: day })).toContain(`"range":{"between":[${start},${end}]}`)
      expect(of({ first: 'lte', low: day })).toContain(`"range":{"lte":${end}}`)
      expect(of({ first: 'gt', low: day })).toContain(`"range":{"gt":${end}}`)
      expect(of({ first: 'gte', low: day, second: 'lt', high: '2026-12-01' })).toContain(
        `"range":{"gte":${start},"lt":"2026-12-01T00:00:00Z"}`,
      )
    }
    // Text stays text: where it has quotes, where it is compared with one value, and in keys.
    const text = { index: 'i1', hash: 'x' } as const
    expect(bodyFor({ ...text, first: 'lte', low: `"${day}"` })).toContain(`"range":{"lte":"${day}"}`)
    expect(bodyFor({ ...text, first: 'eq', low: day })).toContain(`"range":{"eq":"${day}"}`)
    expect(bodyFor({ index: 'key', hash: 'x', first: 'lte', low: day })).toContain(`"range":{"lte":"${day}"}`)
    expect(bodyFor({ first: 'eq', low: day })).toContain('is a whole day. Choose "between"')
  })

  test('only what the declaration allows', () => {
    expect(shapeOf('t', indices).operators).not.toContain('beginsWith')
    expect(shapeOf('t', indices).hashField).toBeUndefined()
    expect(shapeOf('i2', indices).rangeField).toBeUndefined()
    expect(bodyFor({ index: 'i2', hash: 'x', first: 'gte', low: '5' })).not.toContain('range')
    expect(bodyFor({ first: 'beginsWith', low: '5' })).not.toContain('range')
    expect(boundReader({ ...newestFirst, first: 'beginsWith' }, shapeOf('i1', indices), 'low')).toBe(readPrefix)
  })

  test('a limit is 1 to 1000', () => {
    for (const limit of ['1', '1000', ' 20 ']) expect(bodyFor({ limit })).toContain(`"limit":${limit.trim()}`)
    for (const limit of ['', '0', '1001', '-1', '1.5', 'all']) expect(bodyFor({ limit })).toStartWith('limit: ')
  })

  test('counting and paging change their members and keep the others', () => {
    const members = [
      ['index', '"t"'],
      ['limit', '100'],
    ] as const
    expect(bodyOf(members, { select: 'count', limit: undefined, cursor: undefined })).toBe(
      '{"index":"t","select":"count"}',
    )
    expect(bodyOf(members, { limit: 1000, cursor: 'abc' })).toBe('{"index":"t","limit":1000,"cursor":"abc"}')
  })

  test('the program has TypeScript literals', () => {
    const read = readForm(
      { ...withIndex(newestFirst, 'i1'), hash: `it's`, first: 'between', low: '1', high: '2' },
      indices,
    )
    if ('fault' in read) throw new Error(read.fault)
    const text = requestTypeScript(read, 'http://localhost', 'shop', 'orders')
    expect(text).toContain(`  index: 'i1',\n  hash: "it's",\n  range: { between: [1,2] },\n  limit: 100,`)
  })
})

describe('an empty result', () => {
  const form: QueryForm = { ...withIndex(newestFirst, 'i1'), hash: '"1"', first: 'gte', low: '2026-11-01T00:00:00Z' }

  test('says what was asked, with the names of the fields', () => {
    expect(askedWords(form, indices)).toBe('status "1", createdAt ≥ 2026-11-01T00:00:00Z')
    expect(askedWords({ ...withIndex(newestFirst, 'key'), hash: 'a' }, indices)).toBe('hashKey "a"')
    expect(askedWords({ ...form, low: '1', second: 'lt', high: '2' }, indices)).toEndWith('createdAt ≥ 1 and < 2')
    expect(askedWords({ ...form, first: 'between', low: '1', high: '2' }, indices)).toEndWith(
      'createdAt between 1 and 2',
    )
  })

  test('offers what to loosen: days as text, the range, the type of the value', () => {
    const found = looseningsOf(form, indices)
    expect(found.map(({ label }) => label)).toEqual([
      'Compare the days as text',
      'Remove the range',
      'Ask for the number 1',
      'Show the newest records',
    ])
    expect(found[0]!.form.low).toBe('"2026-11-01"')
    expect(found[1]!.form).toMatchObject({ hash: '"1"', first: '', low: '' })
    expect(found[2]!.form.hash).toBe('1')
    expect(looseningsOf({ ...form, hash: 'true', first: '' }, indices)[0]).toMatchObject({
      label: 'Ask for the string "true"',
      form: { hash: '"true"' },
    })
  })
})
