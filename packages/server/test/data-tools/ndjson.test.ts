import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { minifyJson, parseLine, recordLines, tableLine } from '../../src/cli/transfer/ndjson.ts'

const space = fc.array(fc.constantFrom(' ', '\n', '\t', '\r'), { maxLength: 3 }).map((parts) => parts.join(''))

/** JSON text with its white space, and the same text without. */
const jsonTexts = fc.letrec<{ value: [string, string]; container: [string, string] }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc
      .oneof(
        fc.constantFrom(
          '1.0',
          '1e5',
          '12345678901234567890',
          '-0',
          '0.10',
          'true',
          'null',
          '"\\ud800"',
          '"\\\\"',
          '" "',
        ),
        fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
        fc.constantFrom('"a\\"b c"', '"\\\\\\" { : , ] \\t"', '"\u2028 \u0085"'),
      )
      .map((text): [string, string] => [text, text]),
    tie('container'),
  ),
  container: fc.oneof(
    fc
      .tuple(space, fc.array(fc.tuple(tie('value'), space, space), { maxLength: 4 }))
      .map(([inner, items]) => [
        `[${inner}${items.map(([[spaced], before, after]) => before + spaced + after).join(',')}]`,
        `[${items.map(([[, tight]]) => tight).join(',')}]`,
      ]),
    // Equal names stand twice now and then: duplicates are kept.
    fc
      .array(fc.tuple(fc.constantFrom('a', 'b c', ' ', '\\u0061'), tie('value'), space, space), { maxLength: 4 })
      .map((members): [string, string] => [
        `{${members.map(([name, [spaced], before, after]) => `${before}"${name}"${after}:${before}${spaced}${after}`).join(',')}}`,
        `{${members.map(([name, [, tight]]) => `"${name}":${tight}`).join(',')}}`,
      ]),
  ) as fc.Arbitrary<[string, string]>,
}))

describe('white space outside strings is removed, all else is kept: members, their order, numbers as written', () => {
  test('of any JSON', () => {
    fc.assert(
      fc.property(jsonTexts.value, space, space, ([spaced, tight], before, after) => {
        JSON.parse(spaced)
        expect(minifyJson(before + spaced + after)).toBe(tight)
        expect(minifyJson(tight)).toBe(tight)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a line of a record', () => {
  const texts = { rangeKey: undefined, ttl: undefined, updatedAt: 7 }

  test('is read back as it was written', () => {
    const line = recordLines(
      'app',
      'orders',
    )({
      ...{ hashKey: '"a\\u0000/"', rangeKey: '"😀"', data: '{ "n" : 1.0 }', ttl: 5, updatedAt: 7 },
    })
    expect(line).toBe(
      '{"db":"app","table":"orders","hashKey":"a\\u0000/","rangeKey":"😀","data":{"n":1.0},"ttl":5,"updatedAt":7}\n',
    )
    expect(parseLine(line)).toEqual({
      ...{ kind: 'record', db: 'app', table: 'orders', updatedAtMs: 7 },
      record: { hashKey: 'a\0/', rangeKey: '😀', data: '{"n":1.0}', ttlSeconds: 5 },
    })
  })

  test('has no line feed but the one at its end', () => {
    const line = recordLines('app', 'orders')({ ...texts, hashKey: '"a\\nb"', data: '{\n"a":\n"\\n"\n}' })
    expect(line.indexOf('\n')).toBe(line.length - 1)
  })

  test('keeps data as it stands in it, white space too', () => {
    const line = parseLine('{"hashKey":"a","data":{ "n": 1.50,"n":2 } }')
    expect(line).toMatchObject({ db: undefined, table: undefined, record: { data: '{ "n": 1.50,"n":2 }' } })
  })
})

test('a line of a table is its declaration', () => {
  const indices = { i1: { hashField: 'status', rangeField: 'at' }, i3: { hashField: 'x' } }
  const line = { kind: 'table' as const, db: 'app', table: 'orders', indices, keepHours: undefined }
  expect(parseLine(tableLine('app', 'orders', indices))).toEqual(line)
  expect(tableLine('app', 'orders', indices)).not.toContain('changes')
  expect(parseLine(tableLine('app', 'orders', indices, { keepHours: 7 }))).toEqual({ ...line, keepHours: 7 })
})

describe('a line is refused, with the reason of the HTTP API', () => {
  const long = 'x'.repeat(1_025)
  const refused: [string, string, string][] = [
    ['not JSON', '{"hashKey":"a"', 'invalid_json'],
    ['not an object', '[]', 'invalid_request'],
    ['without a hash key', '{"data":{}}', 'invalid_key'],
    ['with an over-long key', `{"hashKey":"${long}","data":{}}`, 'invalid_key'],
    ['with a key that paths cannot carry', '{"hashKey":"..","data":{}}', 'invalid_key'],
    ['without data', '{"hashKey":"a"}', 'invalid_request'],
    ['with data that is not an object', '{"hashKey":"a","data":[1]}', 'invalid_request'],
    ['with data that is too large', `{"hashKey":"a","data":{"a":"${'x'.repeat(409_600)}"}}`, 'record_too_large'],
    [
      'with data that is too deep',
      `{"hashKey":"a","data":{"a":${'['.repeat(64)}${']'.repeat(64)}}}`,
      'invalid_request',
    ],
    ['with a ttl in milliseconds', '{"hashKey":"a","data":{},"ttl":1767225600000}', 'invalid_ttl'],
    ['with an updatedAt that is no time', '{"hashKey":"a","data":{},"updatedAt":1.5}', 'invalid_request'],
    ['with an updatedAt beyond the year 9999', '{"hashKey":"a","data":{},"updatedAt":1e18}', 'invalid_request'],
    ['with a member that it does not know', '{"hashKey":"a","data":{},"tags":[]}', 'invalid_request'],
    ['with a member twice', '{"hashKey":"a","hashKey":"b","data":{}}', 'invalid_request'],
    ['of a table with a bad name', '{"table":"Orders","hashKey":"a","data":{}}', 'invalid_name'],
    ['of a reserved name', '{"db":"_app","hashKey":"a","data":{}}', 'reserved_name'],
    ['that declares a slot that does not exist', '{"db":"a","table":"b","indices":{"i6":{}}}', 'invalid_index'],
  ]
  for (const [what, line, code] of refused) {
    test(what, () => expect(() => parseLine(line)).toThrow(expect.objectContaining({ code })))
  }
})
