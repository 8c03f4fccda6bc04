import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { CubbyError } from '../../../server/src/core/errors.ts'
import { dataBytesMax, dataDepthMax } from '../../../server/src/core/limits.ts'
import type { Members } from '../../../server/src/core/members.ts'
import { parseRecordToPut } from '../../../server/src/core/records/record-data.ts'
import { runThrough } from '../../../server/src/core/slices.ts'
import { checkJson as checkOnServer } from '../../../server/src/core/text/json-scan.ts'
import { readEnvelope } from '../../../server/src/core/text/json-span.ts'
import { checkJson, checkRecord, recordBytes } from '../../src/text/check.ts'
import { placeOf } from '../../src/text/place.ts'
import { tokensOf } from '../../src/text/tokens.ts'
import { anyText, costGrowth, costGrowthMax, jsonText, largeRecord, space } from './arbitraries.ts'

const said = (text: string): string => {
  const checked = checkJson(text)
  return checked.ok ? 'ok' : checked.message
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('what is wrong', () => {
  const cases: [text: string, message: string][] = [
    ['', 'line 1, column 1: expected a value, found the end of the text'],
    ['{"a": 1\n "b": 2}', 'line 2, column 2: expected a comma or } after the value, found the string "b"'],
    ['{\n"a": 1,\n}', 'line 2, column 7: expected a value after the comma, found }; remove the comma'],
    ['[1, ]', 'line 1, column 3: expected a value after the comma, found ]; remove the comma'],
    [
      "{'a': 1}",
      'line 1, column 2: expected a name in double quotes, found \'; strings and names stand in straight double quotes: "',
    ],
    [
      '{"a": \'b\'}',
      'line 1, column 7: expected a value, found \'; strings and names stand in straight double quotes: "',
    ],
    [
      '{“a”: 1}',
      'line 1, column 2: expected a name in double quotes, found “; strings and names stand in straight double quotes: "',
    ],
    ['// x\n{}', 'line 1, column 1: expected a value, found a comment; JSON has no comments, so remove it'],
    [
      '{"a": 1 /* x */}',
      'line 1, column 9: expected a comma or } after the value, found a comment; JSON has no comments, so remove it',
    ],
    [
      '{ # x\n}',
      'line 1, column 3: expected a name in double quotes, found a comment; JSON has no comments, so remove it',
    ],
    [
      '{total: 1}',
      'line 1, column 2: expected a name in double quotes, found "total"; write "total" with a quote on both sides',
    ],
    [
      '{total": 1}',
      'line 1, column 2: expected a name in double quotes, found "total"; write "total" with a quote on both sides',
    ],
    [
      '{"a": NaN}',
      'line 1, column 7: expected a value, found "NaN"; JSON has no NaN and no Infinity: write null or a string',
    ],
    [
      '[-Infinity]',
      'line 1, column 3: expected a digit after the minus sign, found "Infinity"; JSON has no NaN and no Infinity: write null or a string',
    ],
    [
      '[undefined]',
      'line 1, column 2: expected a value, found "undefined"; JSON has no undefined: write null, or leave the member out',
    ],
    ['[True, None]', 'line 1, column 2: expected a value, found "True"; write true'],
    ['[None]', 'line 1, column 2: expected a value, found "None"; write null'],
    ['[open]', 'line 1, column 2: expected a value, found "open"; a string stands in double quotes'],
    ['[007]', 'line 1, column 2: expected a number without leading zeros, found "007"; remove them, or write a string'],
    [
      '[-01.5]',
      'line 1, column 2: expected a number without leading zeros, found "-01.5"; remove them, or write a string',
    ],
    ['[.5]', 'line 1, column 2: expected a value, found ".5"; write a 0 before the point'],
    ['[-.5]', 'line 1, column 3: expected a digit after the minus sign, found ".5"; write a 0 before the point'],
    ['[1.]', 'line 1, column 4: expected a digit after the point, found ]'],
    ['[1e]', 'line 1, column 4: expected a digit in the exponent, found ]'],
    ['[+1]', 'line 1, column 2: expected a value, found "+1"; remove the +'],
    [
      '[0x1F]',
      'line 1, column 3: expected a comma or ] after the value, found "x1F"; a number has decimal digits only',
    ],
    [
      '{"a": "b\n"}',
      'line 1, column 9: expected a quote at the end of the string, found a line break; add it, or write the line break as \\n',
    ],
    [
      '{"a": "b,\r\n "c": 1}',
      'line 1, column 10: expected a quote at the end of the string, found a line break; add it, or write the line break as \\n',
    ],
    [
      '{"a": "b',
      'line 1, column 9: expected a quote at the end of the string that starts at line 1, column 7, found the end of the text',
    ],
    [
      '{"a: "b"}',
      'line 1, column 7: expected a colon after the name, found "b"; a quote is missing before it, or one inside the string lacks its backslash: \\"',
    ],
    [
      '["say "hi" now"]',
      'line 1, column 8: expected a comma or ] after the value, found "hi"; a quote is missing before it, or one inside the string lacks its backslash: \\"',
    ],
    ['["a\tb"]', 'line 1, column 4: expected no control character inside a string, found a tab; write it as \\t'],
    [
      '["\u0001"]',
      'line 1, column 3: expected no control character inside a string, found U+0001; write it as \\u0001',
    ],
    [
      '["C:\\Users"]',
      'line 1, column 6: expected one of " \\ / b f n r t u after the backslash, found "Users"; write \\\\ for a backslash',
    ],
    [
      '["it\\\'s"]',
      'line 1, column 6: expected one of " \\ / b f n r t u after the backslash, found \'; write it without the backslash',
    ],
    ['["\\u12g4"]', 'line 1, column 7: expected four hexadecimal digits after \\u, found "g4"'],
    [
      '["\\',
      'line 1, column 4: expected a quote at the end of the string that starts at line 1, column 2, found the end of the text',
    ],
    ['{"a" = 1}', 'line 1, column 6: expected a colon after the name, found =; a colon stands between name and value'],
    [
      '{"a": 1; "b": 2}',
      'line 1, column 8: expected a comma or } after the value, found a semicolon; commas stand between members',
    ],
    ['{"a":}', 'line 1, column 6: expected a value, found }'],
    ['[1,,2]', 'line 1, column 4: expected a value, found ,'],
    ['[1}', 'line 1, column 3: expected a comma or ] after the value, found }'],
    [
      '{\n"a": [1',
      'line 2, column 8: expected a comma or ] after the value, found the end of the text; the [ at line 2, column 6 is not closed',
    ],
    ['{} x', 'line 1, column 4: expected the end of the text after the value, found "x"'],
    ['\ufeff{}', 'line 1, column 1: expected a value, found a byte order mark; it is invisible, so remove it'],
    ['{"a":\u00a01}', 'line 1, column 6: expected a value, found U+00A0; it is invisible, so remove it'],
    ['["\u{1f600}", x]', 'line 1, column 7: expected a value, found "x"; a string stands in double quotes'],
    [
      `[${'x'.repeat(500)}]`,
      `line 1, column 2: expected a value, found "${'x'.repeat(24)}…"; a string stands in double quotes`,
    ],
  ]
  for (const [text, message] of cases) {
    test(JSON.stringify(text.slice(0, 40)), () => {
      expect(said(text)).toBe(message)
    })
  }

  test('is found where it is: a ? between any two tokens', () => {
    fc.assert(
      fc.property(jsonText, fc.nat(), ({ text }, which) => {
        const places = [...tokensOf(text).map(({ start }) => start), text.length]
        const offset = places[which % places.length]!
        expect(checkJson(`${text.slice(0, offset)}?${text.slice(offset)}`)).toMatchObject({
          ok: false,
          offset,
          ...placeOf(text, offset),
        })
      }),
      { numRuns: 300 },
    )
  })

  test('of any text: exactly what JSON.parse and the server refuse, at a place in the text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const checked = checkJson(text)
        expect(checked.ok).toBe(isJson(text))
        if (checked.ok) {
          checkOnServer(text)
          return
        }
        expect(() => checkOnServer(text)).toThrow(CubbyError)
        const { offset, line, column, message } = checked
        expect(offset >= 0 && offset <= text.length).toBe(true)
        expect(placeOf(text, offset)).toEqual({ line, column })
        expect(message.startsWith(`line ${line}, column ${column}: expected `)).toBe(true)
        expect(message.length).toBeLessThan(300)
      }),
      { numRuns: 3_000 },
    )
  })

  test('depth has no limit', () => {
    expect(said('['.repeat(200_000) + ']'.repeat(200_000))).toBe('ok')
    expect(said('{"a":['.repeat(100_000))).toContain('expected a value, found the end')
  })
})

/** True if the server takes the text as `data` and stores it as it is. */
const serverTakes = (text: string): boolean => {
  // The request is UTF-8, which has no lone surrogates.
  if (!text.isWellFormed()) return false
  const body = `{"hashKey":"h","data":${text}}`
  try {
    checkOnServer(body)
    const { value, data } = runThrough(readEnvelope(body, 0, ''))
    const record = parseRecordToPut(value as Members, body, data, undefined)
    // `{},"ttl":1` would change the body instead.
    return record.data === text.replaceAll(/^[ \t\r\n]+|[ \t\r\n]+$/g, '')
  } catch (error) {
    if (!(error instanceof CubbyError)) throw error
    return false
  }
}

const expectAgreement = (text: string): void => {
  expect([text.slice(0, 200), checkRecord(text).ok]).toEqual([text.slice(0, 200), serverTakes(text)])
}

describe('a record', () => {
  test('is valid exactly when the server takes it', () => {
    const object = fc.tuple(space, fc.array(fc.tuple(space, anyText), { maxLength: 3 }), space)
    fc.assert(
      fc.property(
        fc.oneof(
          anyText,
          object.map(([before, values, after]) => {
            const members = values.map(([gap, value], i) => `${gap}"${i}":${value}`)
            return `${before}{${members.join(',')}}${after}`
          }),
        ),
        expectAgreement,
      ),
      { numRuns: 3_000 },
    )
    for (const text of ['{},"ttl":1', '{}', ' {} ', '[]', '"{}"', 'null', '', '{"a":"\ud800"}', '{"a":"\\ud800"}']) {
      expectAgreement(text)
    }
  })

  test('the limits are those of the server, to the byte and the level', () => {
    for (const extra of [-1, 0, 1]) {
      for (const filler of ['x', 'é', '\u{1f600}', '\\n']) {
        const room = dataBytesMax - '{"a":""}'.length + extra
        const count = Math.floor(room / Buffer.byteLength(filler))
        const rest = 'x'.repeat(room - count * Buffer.byteLength(filler))
        const text = `{"a":"${rest}${filler.repeat(count)}"}`
        expect(Buffer.byteLength(text)).toBe(dataBytesMax + extra)
        expectAgreement(text)
        expectAgreement(` \n${text}\t `)
        expect(checkRecord(text).ok).toBe(extra <= 0)
        expect(recordBytes(` \n${text}\t `)).toBe(dataBytesMax + extra)
      }
      const levels = dataDepthMax + extra
      const deep = `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
      expectAgreement(deep)
      expectAgreement(`{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`)
      expect(checkRecord(deep).ok).toBe(extra <= 0)
    }
  })

  test('says what is wrong', () => {
    const message = (text: string, bytesMax?: number): string =>
      (checkRecord(text, bytesMax) as { message: string }).message
    expect(message('\n [1]')).toBe('line 2, column 2: expected an object, found an array; wrap it: { "value": … }')
    expect(message('3')).toBe('line 1, column 1: expected an object, found "3"; wrap it: { "value": … }')
    expect(message('{"a":"\ud800"}')).toBe(
      'line 1, column 7: expected a whole character, found half of one; write it as \\ud800, or remove it',
    )
    expect(message(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`)).toBe(
      'line 1, column 69: data has more than 64 levels; flatten it, or store the inner part as a string',
    )
    expect(message('{"a":12345}', 10)).toBe(
      'data has 11 bytes of JSON; it takes at most 10. Split the record over several range keys.',
    )
    expect(message('{"a":1,}')).toContain('remove the comma')
  })

  test('400 kB do not freeze the page', () => {
    const record = (share: number) => largeRecord(400_000 * share)
    expect(checkRecord(record(1)).ok).toBe(true)
    const string = (share: number) => `{"a":"${'x\\n'.repeat(130_000 * share)}"}`
    // The fault is at the end: its line is counted too.
    const lines = (share: number) => `{"a":[${'1,\n'.repeat(130_000 * share)}]}`
    expect(checkRecord(lines(1)).ok).toBe(false)
    for (const textOf of [record, string, lines]) {
      const growth = costGrowth((share) => {
        const text = textOf(share)
        return () => checkRecord(text)
      })
      expect(growth).toBeLessThan(costGrowthMax)
    }
  })
})
