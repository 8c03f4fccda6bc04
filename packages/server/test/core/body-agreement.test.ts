import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { CursorSeal, TextSeal } from '../../src/core/cursor-seal.ts'
import { CubbyError } from '../../src/core/errors.ts'
import { type Members, parseObject, refuseUnknownMembers } from '../../src/core/members.ts'
import { parseQuery, planQuery } from '../../src/core/records/query.ts'
import { parseRecordToPut } from '../../src/core/records/record-data.ts'
import { runThrough, sliceUnits } from '../../src/core/slices.ts'
import { indexEntries, readIndexEntries } from '../../src/core/tables/indices.ts'
import { parseJson } from '../../src/core/text/json-scan.ts'
import { refuseDuplicateMembers, valueSpan } from '../../src/core/text/json-span.ts'
import { parsePlainBody } from '../../src/core/text/plain-body.ts'
import { parseCreateApiKey } from '../../src/operations/api-keys/create-api-key.ts'
import { parseBatch, parseBatchInSlices } from '../../src/operations/records/apply-batch.ts'
import { parseFindInSlices } from '../../src/operations/records/find-records.ts'
import { parsePut } from '../../src/operations/records/put-record.ts'
import { createTableOperation } from '../../src/operations/tables/create-table.ts'
import { restoreTableOperation } from '../../src/operations/tables/restore-table.ts'
import { jsonText, space, stringText } from './json-text.ts'
import { refused } from './refusal.ts'

// A parser builds only what a request needs of a body. For any body, the request must be the same, or refused in the same
// words, as if all of it had been built: here by JSON.parse.

const nowMs = 1_767_225_600_000

const parseCreateTable = (members: Members) => createTableOperation.read!({ members, text: '' }, nowMs)
const parseRestoreTable = (members: Members) => restoreTableOperation.read!({ members, text: '' }, nowMs)

/** Returns the outcome: a value, or a refusal with all that it says. */
const outcome = (run: () => unknown): unknown => {
  try {
    return { value: run() }
  } catch (error) {
    if (!(error instanceof CubbyError)) throw error
    const { code, message, field, hint } = error
    return { code, message, field, hint }
  }
}

/** Texts of values, most of them such as stand in requests. */
const wildValue = jsonText.map(({ text }) => text)
const fieldName = fc.constantFrom(
  '"a"',
  '"b"',
  '"\\u0061"',
  '"999"',
  '"__proto__"',
  '"hashField"',
  '"rangeField"',
  '"gte"',
)
const scalarText = fc.oneof(
  stringText,
  fc.constantFrom(
    '"a"',
    '"i1"',
    '"t"',
    '"secret"',
    '"."',
    '""',
    '1',
    '0',
    '-1',
    '1.5',
    '1e400',
    'null',
    'true',
    '1767225600',
  ),
  fc.constantFrom(String(nowMs + 1), '"2026-01-01T00:00:00Z"', '"_a"', '12345678901234567890'),
)

const listText = (element: fc.Arbitrary<string>, maxLength = 4): fc.Arbitrary<string> =>
  fc
    .tuple(space, fc.array(element, { maxLength }))
    .map(([white, list]) => `[${list.map((text) => white + text + white).join()}]`)

/** Members in any order, some of them twice. */
const objectText = (member: fc.Arbitrary<[name: string, value: string]>, maxLength = 4): fc.Arbitrary<string> =>
  fc
    .tuple(space, fc.array(member, { maxLength }))
    .map(
      ([white, members]) =>
        `{${members.map(([name, value]) => `${white}${name}${white}:${white}${value}`).join()}${white}}`,
    )

const memberOf = (names: string[], ...values: fc.Arbitrary<string>[]): fc.Arbitrary<[string, string]> =>
  fc.tuple(
    fc.oneof({ arbitrary: fc.constantFrom(...names.map((name) => JSON.stringify(name))), weight: 8 }, fieldName),
    fc.oneof(...values),
  )

/** An object with these members, one of them left out or another put in now and then, in any order. */
const nearly = (right: [string, fc.Arbitrary<string>][], other: fc.Arbitrary<[string, string]>): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.tuple(...right.map(([name, value]) => fc.tuple(fc.constant(JSON.stringify(name)), value))),
      fc.integer({ min: -right.length, max: right.length - 1 }),
      fc.array(other, { maxLength: 1 }),
      fc.integer({ min: 0, max: 99 }),
      space,
    )
    .map(([members, left, others, turn, white]) => {
      const list = [...members.filter((_, i) => i !== left), ...others]
      const turned = [...list.slice(turn % (list.length + 1)), ...list.slice(0, turn % (list.length + 1))]
      return `{${turned.map(([name, value]) => `${white}${name}${white}:${value}${white}`).join()}}`
    })

const slotText = objectText(memberOf(['hashField', 'rangeField'], scalarText, wildValue), 3)
const indicesText = objectText(memberOf(['i1', 'i2', 'i3', 'i4', 'i5', 'i6'], slotText, scalarText, wildValue), 12)
const rangeText = objectText(
  memberOf(['eq', 'gte', 'between', 'beginsWith'], scalarText, listText(fc.oneof(scalarText, wildValue), 3), wildValue),
  2,
)

const seal = new CursorSeal([new TextSeal(Buffer.alloc(32, 1), 'cursor')], true)

/** Parses and plans, because `hash` is checked when the table is known. */
const planned = (members: Members): unknown =>
  planQuery(parseQuery(members), 1, { i1: { hashField: 'a', rangeField: 'b' }, i2: { hashField: 'a' } }, seal)

describe('a body without data is read as if JSON.parse had read it', () => {
  const naive = (text: string): Members => {
    const members = parseObject(parseJson(text))
    refuseDuplicateMembers(text)
    return members
  }

  const bodies: [string, fc.Arbitrary<string>, (members: Members) => unknown][] = [
    [
      'a query',
      nearly(
        [
          ['hash', fc.oneof(fc.constant('"a"'), scalarText)],
          ['index', fc.constantFrom('"i1"', '"i1"', '"i2"', '"t"')],
          ['range', rangeText],
        ],
        memberOf(['hash', 'index', 'range', 'limit', 'cursor'], scalarText, rangeText, wildValue),
      ),
      planned,
    ],
    ['a new table', objectText(memberOf(['indices'], indicesText, indicesText, wildValue), 2), parseCreateTable],
    ['a restore', objectText(memberOf(['deletedAt'], scalarText, wildValue), 2), parseRestoreTable],
    [
      'a new key',
      objectText(
        fc.oneof(
          fc.tuple(fc.constant('"kind"'), fc.constantFrom('"secret"', '"public"')),
          memberOf(['name', 'expiresAt', 'databases'], scalarText, listText(scalarText), wildValue),
        ),
        3,
      ),
      (members) => parseCreateApiKey(members, nowMs),
    ],
  ]
  for (const [what, body, parse] of bodies) {
    test(what, () => {
      let taken = 0
      fc.assert(
        fc.property(fc.oneof({ arbitrary: body, weight: 9 }, wildValue), (text) => {
          const expected = outcome(() => parse(naive(text)))
          if ('value' in (expected as object)) taken++
          expect(outcome(() => parse(parsePlainBody(text)))).toEqual(expected)
          // White space makes it a large body, of which less is built.
          const large = text + ' '.repeat(3_000)
          expect(outcome(() => parse(parsePlainBody(large)))).toEqual(outcome(() => parse(naive(large))))
          expect(outcome(() => parsePlainBody(large.slice(1)))).toEqual(outcome(() => naive(large.slice(1))))
        }),
        { numRuns: 1500 },
      )
      expect(taken).toBeGreaterThan(10)
    })
  }

  const large = (text: string): string => text + ' '.repeat(3_000)

  test('also where it holds more objects than any request looks into', () => {
    const many = (text: string, count: number): string => Array(count).fill(text).join()
    const members = (count: number, value: string): string =>
      Array.from({ length: count }, (_, i) => `"m${i}":${value}`).join()
    const declaration = '{"hashField":"a"}'
    const texts: [string, (members: Members) => unknown][] = [
      [`{"hash":[${many('{"999":1}', 500)}],"index":"i1","range":{"between":[1,2]}}`, planned],
      [`{"hash":{${members(20, '{"a":1}')}},"index":"i1","range":{"gte":1}}`, planned],
      [`{${members(20, '{"a":1}')},"hash":"a","range":{"gte":"a"}}`, planned],
      [`{"range":{${members(20, '[1]')},"between":["a","b"]},"hash":"a"}`, planned],
      [`{"range":{"between":[${many('[{}]', 30)}]},"hash":"a"}`, planned],
      [`{"range":{"between":["a",[${many('{}', 30)}]]},"hash":"a"}`, planned],
      [`{"range":{"gte":[[[[[1]]]]]},"hash":"a"}`, planned],
      [`{"indices":{"i2":{"hashField":[${many('{}', 30)}]},"i1":${declaration}}}`, parseCreateTable],
      [`{"indices":{"i2":{${members(20, '{}')}},"i1":${declaration}}}`, parseCreateTable],
      [`{"indices":{${members(20, declaration)},"i1":${declaration}}}`, parseCreateTable],
      [`{"indices":{"i5":${declaration},"999":${declaration},"5":{}}}`, parseCreateTable],
      [
        `{"indices":{${['i1', 'i2', 'i3', 'i4', 'i5'].map((s) => `"${s}":{"hashField":"${'é'.repeat(255)}","rangeField":"b"}`)}}}`,
        parseCreateTable,
      ],
      [`{"indices":[${many(declaration, 30)}]}`, parseCreateTable],
      [`{"kind":"public","databases":[${many('"a"', 100)}]}`, (m) => parseCreateApiKey(m, nowMs)],
      [
        `{"kind":"public","databases":[${Array.from({ length: 100 }, (_, i) => `"d${i}${'x'.repeat(60)}"`)}]}`,
        (m) => parseCreateApiKey(m, nowMs),
      ],
      [`{"kind":"public","databases":[${many('"a"', 101)}]}`, (m) => parseCreateApiKey(m, nowMs)],
      [`{"kind":"public","databases":[${many('{"999":1}', 100)}]}`, (m) => parseCreateApiKey(m, nowMs)],
      [`{"kind":"public","databases":[${many('{"999":1}', 5_000)}]}`, (m) => parseCreateApiKey(m, nowMs)],
      [`{"deletedAt":{${members(900, '1')}}}`, parseRestoreTable],
      [`{${members(900, '1')}}`, parseRestoreTable],
      [`{"z":1,"10":1,"9":1}`, parseRestoreTable],
      [`{"__proto__":{"deletedAt":1}}`, parseRestoreTable],
    ]
    for (const [text, parse] of texts) {
      expect(outcome(() => parse(parsePlainBody(large(text))))).toEqual(outcome(() => parse(naive(large(text)))))
    }
  })
})

const dataText = objectText(memberOf(['a', 'b', 'c', '__proto__'], scalarText, wildValue), 6)
const keyText = fc.oneof({ arbitrary: fc.constantFrom('"k"', '"\\u006b"', '"k2"'), weight: 6 }, scalarText)
const operationMember = (names: string[]): fc.Arbitrary<[string, string]> =>
  fc.oneof(
    { arbitrary: fc.tuple(fc.constantFrom('"hashKey"', '"hash\\u004bey"'), keyText), weight: 3 },
    {
      arbitrary: fc.tuple(fc.constantFrom('"data"', '"d\\u0061ta"'), fc.oneof(dataText, dataText, wildValue)),
      weight: 3,
    },
    memberOf([...names, 'rangeKey', 'ttl'], scalarText, wildValue),
  )

/** A record as it would be read with all of `data` built. */
const naiveRecord = (text: string, members: Members, at: number, prefix = '', alsoKnown: string[] = []) => {
  // The name `data` occurs once, so it tells where the value is.
  let index = at
  let span: ReturnType<typeof valueSpan> | undefined
  if (Object.hasOwn(members, 'data')) {
    const names = [...text.slice(at).matchAll(/"d(?:a|\\u0061)ta"[ \t\r\n]*:/g)]
    for (const name of names) {
      index = at + name.index + name[0].length
      const found = valueSpan(text, index)
      if (JSON.stringify(JSON.parse(text.slice(found.start, found.end))) === JSON.stringify(members.data))
        span ??= found
    }
  }
  return parseRecordToPut(members, text, span, nowMs, prefix, alsoKnown)
}

describe('a put is read as if JSON.parse had read it', () => {
  /** The built value must be data, and is no part of the record. */
  const put = (text: string) => {
    const { built, ...record } = parsePut(text, nowMs)
    if (built !== undefined) expect(built).toEqual(JSON.parse(record.data))
    return record
  }

  const naive = (text: string) => {
    const members = parseObject(parseJson(text))
    refuseTopDuplicates(text)
    return naiveRecord(text, members, text.indexOf('{'))
  }

  test('whatever stands in it', () => {
    let taken = 0
    fc.assert(
      fc.property(
        fc.oneof(
          { arbitrary: objectText(operationMember([]), 4), weight: 5 },
          {
            arbitrary: nearly(
              [
                ['hashKey', keyText],
                ['data', dataText],
              ],
              operationMember([]),
            ),
            weight: 5,
          },
          wildValue,
        ),
        (text) => {
          const expected = outcome(() => naive(text))
          expect(outcome(() => put(text))).toEqual(expected)
          expect(outcome(() => put(text + ' '.repeat(3_000)))).toEqual(expected)
          if ('value' in (expected as object)) taken++
        },
      ),
      { numRuns: 3000 },
    )
    expect(taken).toBeGreaterThan(30)
  })

  const refuseTopDuplicates = (text: string): void => {
    // The names as they stand, each value cut to nothing: duplicates inside `data` are no fault.
    const names: string[] = []
    let at = text.indexOf('{') + 1
    for (;;) {
      at = valueSpan(text, at).start
      if (text[at] !== '"') break
      const name = valueSpan(text, at)
      names.push(text.slice(name.start, name.end))
      at = valueSpan(text, text.indexOf(':', name.end) + 1).end
      at = text.slice(at).search(/[^ \t\r\n]/) + at
      if (text[at] === ',') at++
    }
    refuseDuplicateMembers(`{${names.map((name) => `${name}:0`).join()}}`)
  }
})

describe('index values are read from the text of data as JSON.parse would give them', () => {
  const names = ['a', 'b', 'c', '__proto__', 'constructor', '999']
  const indices = fc.record(
    Object.fromEntries(
      (['i1', 'i2', 'i3'] as const).map((slot) => [
        slot,
        fc.record(
          { hashField: fc.constantFrom(...names), rangeField: fc.constantFrom(...names) },
          { requiredKeys: ['hashField'] },
        ),
      ]),
    ),
    { requiredKeys: [] },
  )
  test('the last of several of one name, none of what is absent, a fault of what no index takes', () => {
    let indexed = 0
    fc.assert(
      fc.property(indices, dataText, (declared, data) => {
        const expected = outcome(() => indexEntries(declared, JSON.parse(data)))
        expect(outcome(() => readIndexEntries(declared, { data }))).toEqual(expected)
        // White space makes it large: then only what is indexed is built.
        const large = `{${' '.repeat(3_000)}${data.slice(1)}`
        expect(outcome(() => readIndexEntries(declared, { data: large }))).toEqual(expected)
        if (JSON.stringify(expected).includes('"n') || JSON.stringify(expected).includes('"s')) indexed++
      }),
      { numRuns: 3000 },
    )
    expect(indexed).toBeGreaterThan(30)
  })
})

describe('a find', () => {
  const keyObject = nearly(
    [
      ['rangeKey', keyText],
      ['hashKey', fc.oneof({ arbitrary: keyText, weight: 3 }, stringText)],
    ],
    memberOf(['hashKey', 'rangeKey', 'data'], keyText),
  )
  const findText = fc.oneof(
    listText(keyObject, 3).map((list) => `{"keys":${list}}`),
    nearly([['keys', listText(fc.oneof(keyObject, wildValue), 2)]], memberOf(['keys'], scalarText, wildValue)),
  )
  const parse = (text: string) => runThrough(parseFindInSlices(text))

  test('is the same whether it is built at once or walked, and at once or in steps', () => {
    let taken = 0
    fc.assert(
      fc.property(fc.oneof({ arbitrary: findText, weight: 9 }, wildValue), (text) => {
        const expected = outcome(() => parse(text))
        // Behind white space it is never built at once; with a lot of it, not even its JSON is.
        for (const units of [1, 3_000, 300_000]) {
          expect(outcome(() => parse(text + ' '.repeat(units)))).toEqual(expected)
        }
        if ('value' in (expected as object)) {
          taken++
          const compact = JSON.stringify(JSON.parse(text))
          expect(outcome(() => parse(compact))).toEqual(expected)
        }
      }),
      { numRuns: 1000 },
    )
    expect(taken).toBeGreaterThan(30)
  })

  test('is read in steps', () => {
    const slices = parseFindInSlices(`{"keys":[${'{"hashKey":"a"},'.repeat(60_000)}1]}`)
    let count = 0
    expect(
      outcome(() => {
        while (slices.next().done !== true) count++
      }),
    ).toMatchObject({ code: 'batch_too_large' })
    expect(count).toBeGreaterThan(1.7 * Math.floor((16 * 60_000) / sliceUnits))
  })
})

describe('a batch', () => {
  const operationText = nearly(
    [
      ['op', fc.constant('"put"')],
      ['hashKey', keyText],
      ['data', dataText],
    ],
    operationMember(['ifUpdatedAt', 'op']),
  )
  const batchText = objectText(
    memberOf(['operations'], listText(fc.oneof({ arbitrary: operationText, weight: 9 }, wildValue), 3), scalarText),
    1,
  )

  /** Each operation as a put or delete of its own: what a batch says of it, without the place. */
  test('reads each operation as a batch of its own would', () => {
    let taken = 0
    fc.assert(
      fc.property(operationText, operationText, (first, second) => {
        const alone = [first, second].map((text) => outcome(() => parseBatch(`{"operations":[${text}]}`, nowMs)))
        const [one, two] = alone as [{ value?: unknown[]; message?: string }, { value?: unknown[]; message?: string }]
        const both = outcome(() => parseBatch(`{"operations":[${first},${second}]}`, nowMs)) as {
          value?: unknown[]
          code?: string
          field?: string
        }
        if (one.value !== undefined && two.value !== undefined && both.code !== 'batch_duplicate_keys') {
          expect(both.value).toEqual([...one.value, ...two.value])
          taken++
        } else {
          expect(both.value).toBeUndefined()
        }
      }),
      { numRuns: 1500 },
    )
    expect(taken).toBeGreaterThan(10)
  })

  test('is the same in steps and at once', () => {
    fc.assert(
      fc.property(fc.oneof({ arbitrary: batchText, weight: 9 }, wildValue), (text) => {
        const large = text + ' '.repeat(300_000)
        expect(outcome(() => runThrough(parseBatchInSlices(large, nowMs)))).toEqual(
          outcome(() => parseBatch(text, nowMs)),
        )
      }),
      { numRuns: 100 },
    )
  })

  test('is read in steps of about as much text as one record may have, however it is made up', () => {
    const units = 2_000_000
    const fill = (piece: string): string => piece.repeat(Math.floor(units / piece.length))
    const texts = [
      `{"operations":[${fill('{"999":1},')}1]}`,
      `{"operations":[${fill('1,')}1]}`,
      `{"operations":[{"op":"put","hashKey":"a","data":{"a":[${fill('{"999":1},')}1]}}]}`,
      `{"operations":[[${fill('{"999":1},')}1]]}`,
      `{"operations":[{${Array.from({ length: 200_000 }, (_, i) => `"m${i}":1`).join()}}]}`,
      `{${Array.from({ length: 200_000 }, (_, i) => `"m${i}":1`).join()}}`,
      `{"x":[${fill('[],')}1]}`,
      `[${fill('{},')}1]`,
    ]
    for (const text of texts) {
      const slices = parseBatchInSlices(text, nowMs)
      let count = 0
      outcome(() => {
        while (slices.next().done !== true) count++
      })
      // Once to check it, once to read it; one pass alone has little more than half of these.
      expect(count).toBeGreaterThan(1.7 * Math.floor(text.length / sliceUnits))
    }
  })

  test('checks in this order: JSON, an object, members that stand twice, unknown ones, how many, each operation', () => {
    const twice = '{"op":"put","op":"put"}'
    const unknown = '{"op":"put","hashKey":"a","data":{},"nope":1}'
    const fine = '{"op":"delete","hashKey":"a"}'
    const many = (text: string, count: number): string => Array(count).fill(text).join()
    const faults: [string, string, string | undefined][] = [
      [`{"operations":[${twice}],"x":1]`, 'invalid_json', undefined],
      [`[${twice}]`, 'invalid_request', undefined],
      [`{"x":1,"operations":[${fine},${twice}]}`, 'invalid_request', 'operations[1].op'],
      [`{"x":1,"operations":[${many(fine, 40)},${twice}]}`, 'invalid_request', 'operations[40].op'],
      [`{"operations":[],"operations":[${twice}]}`, 'invalid_request', 'operations'],
      [`{"x":1,"operations":[${many(fine, 40)}]}`, 'invalid_request', 'x'],
      [`{"operations":{}}`, 'invalid_request', 'operations'],
      [`{"operations":[]}`, 'invalid_request', 'operations'],
      [`{"operations":[${many(unknown, 26)}]}`, 'batch_too_large', 'operations'],
      [`{"operations":[${fine},${unknown},1]}`, 'invalid_request', 'operations[1].nope'],
      [`{"operations":[${fine},[${unknown}]]}`, 'invalid_request', 'operations[1]'],
      [`{"operations":[${fine},${fine}]}`, 'batch_duplicate_keys', 'operations[1]'],
    ]
    for (const [text, code, field] of faults) {
      expect([text, ...refused(() => parseBatch(text, nowMs))]).toEqual([text, code, field])
    }
    expect(() => parseBatch(`{"operations":[${many(fine, 26)}]}`, nowMs)).toThrow('operations has 26 operations')
  })

  test('an object with a million members is refused for one that it does not know', () => {
    const members = Array.from({ length: 200_000 }, (_, i) => `"m${i}":1`).join()
    expect(refused(() => parsePut(`{"hashKey":"a",${members}}`, nowMs))).toEqual(['invalid_request', 'm0'])
    expect(refused(() => parseBatch(`{"operations":[{${members}}]}`, nowMs))).toEqual([
      'invalid_request',
      'operations[0].op',
    ])
    expect(refused(() => parseBatch(`{"operations":[{"op":"put",${members}}]}`, nowMs))).toEqual([
      'invalid_request',
      'operations[0].m0',
    ])
    expect(refused(() => parseBatch(`{${members},"operations":[]}`, nowMs))).toEqual(['invalid_request', 'm0'])
  })
})

test('refuseUnknownMembers and the naive reading name the same member first', () => {
  // Names that are numbers come first in an object, whoever builds it.
  for (const text of ['{"b":1,"10":1,"9":1}', '{"hashKey":"a","data":{},"b":1,"1":1}']) {
    const naive = refused(() => refuseUnknownMembers(JSON.parse(text) as Members, ['hashKey', 'data']))
    expect(refused(() => parsePut(text, nowMs))).toEqual(naive)
  }
})
