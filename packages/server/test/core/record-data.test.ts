import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Members } from '../../src/core/members.ts'
import { parseRecordToPut, type RecordToPut } from '../../src/core/records/record-data.ts'
import { runThrough } from '../../src/core/slices.ts'
import { checkJson } from '../../src/core/text/json-scan.ts'
import { readEnvelope } from '../../src/core/text/json-span.ts'
import { jsonText, space } from './json-text.ts'
import { refusal, refused } from './refusal.ts'

/** A body as a put reads it. */
const put = (text: string, prefix?: string, alsoKnown?: readonly string[], nowMs?: number): RecordToPut => {
  checkJson(text)
  const { value, data } = runThrough(readEnvelope(text, 0, ''))
  return parseRecordToPut(value as Members, text, data, nowMs, prefix, alsoKnown)
}

const withData = (data: string): string => `{"hashKey":"h","data":${data}}`
const withTtl = (ttl: string): string => `{"hashKey":"h","data":{},"ttl":${ttl}}`

describe('data', () => {
  test('is kept exactly as it was sent: members, order, number text and white space', () => {
    const data = '{ "b":1.0,\n\t"a" : 12345678901234567890, "b":[ -0, 1E+2 ],"\\u0061\\/":"\\ud83d\\ude00" , "c":{ } }'
    const record = put(`  { "hashKey" : "h" , "data" :\r\n ${data} , "ttl" : 5 } `)
    expect(record).toEqual({
      hashKey: 'h',
      rangeKey: '#',
      data,
      ttlSeconds: 5,
    })
  })

  test('is the text of the span, whatever stands in it and around it', () => {
    fc.assert(
      fc.property(jsonText, space, space, ({ text }, before, after) => {
        const data = `{${before}"x":${text}${after}}`
        const record = put(`{"rangeKey":"r","data":${before}${data}${after},"hashKey":"data"}`)
        expect(record.data).toBe(data)
        expect([record.hashKey, record.rangeKey]).toEqual(['data', 'r'])
      }),
      { numRuns: 500 },
    )
  })

  test('must be an object: invalid_request', () => {
    for (const data of ['null', '[]', '[{}]', '"{}"', '1', 'true']) {
      expect(refused(() => put(withData(data)))).toEqual(['invalid_request', 'data'])
    }
    expect(refused(() => put('{"hashKey":"h"}'))).toEqual(['invalid_request', 'data'])
  })

  test('at most 409,600 bytes as JSON text as it was sent: record_too_large', () => {
    const ofBytes = (bytes: number, character: string): string => {
      const room = bytes - '{"a":""}'.length
      const size = Buffer.byteLength(character)
      return `{"a":"${character.repeat(Math.floor(room / size))}${'x'.repeat(room % size)}"}`
    }
    for (const character of ['x', 'é', '\uffff', '\u{1f600}', '\\n']) {
      expect(put(withData(ofBytes(409_600, character))).data.length).toBeGreaterThan(100_000)
      expect(refused(() => put(withData(ofBytes(409_601, character))))).toEqual(['record_too_large', 'data'])
    }
    // White space inside counts, around it does not.
    expect(put(withData(`${' '.repeat(500_000)}{}${' '.repeat(100)}`)).data).toBe('{}')
    expect(put(withData(`{${' '.repeat(409_598)}}`)).data.length).toBe(409_600)
    expect(refused(() => put(withData(`{${' '.repeat(409_599)}}`)))).toEqual(['record_too_large', 'data'])
  })

  test('at most 64 levels deep, itself being the first: invalid_request', () => {
    const nested = (levels: number, open: string, close: string): string =>
      `{"a":${open.repeat(levels - 1)}1${close.repeat(levels - 1)}}`
    for (const [open, close] of [
      ['{"a":', '}'],
      ['[', ']'],
    ] as const) {
      expect(put(withData(nested(64, open, close))).data).toBe(nested(64, open, close))
      expect(refused(() => put(withData(nested(65, open, close))))).toEqual(['invalid_request', 'data'])
      expect(refused(() => put(withData(nested(30_000, open, close))))).toEqual(['invalid_request', 'data'])
    }
  })
})

describe('ttl', () => {
  test('an integer, 0 to 253402300799; absent for none', () => {
    for (const [text, ttl] of [
      ['0', 0],
      ['1', 1],
      ['1.0', 1],
      ['1767225600', 1767225600],
      ['2e9', 2e9],
      ['253402300799', 253402300799],
    ] as const) {
      expect(put(withTtl(text)).ttlSeconds).toBe(ttl)
    }
    expect(put(withData('{}')).ttlSeconds).toBeNull()
  })

  test('otherwise: invalid_ttl', () => {
    const texts = [
      '-1',
      '0.5',
      '1767225600.5',
      '253402300800',
      '1e300',
      '1e400',
      'null',
      'true',
      '"1767225600"',
      '[]',
      '{}',
    ]
    for (const text of texts) expect([text, ...refused(() => put(withTtl(text)))]).toEqual([text, 'invalid_ttl', 'ttl'])
    expect(refused(() => put(withTtl('"2026-01-01T00:00:00Z"')))).toEqual(['invalid_ttl', 'ttl'])
  })

  const now = 1_790_000_000
  const putAt = (ttl: number, nowMs = now * 1000): RecordToPut => put(withTtl(String(ttl)), undefined, undefined, nowMs)

  test('may have passed by a day, to the second; by more it is invalid_ttl', () => {
    for (const ttl of [now - 86_400, now - 1, now, now + 1]) {
      expect(putAt(ttl).ttlSeconds).toBe(ttl)
      expect(putAt(ttl, now * 1000 + 999).ttlSeconds).toBe(ttl)
    }
    for (const ttl of [now - 86_401, 1_000_000_000, 60, 1, 0]) {
      expect([ttl, ...refused(() => putAt(ttl))]).toEqual([ttl, 'invalid_ttl', 'ttl'])
    }
    expect(refused(() => putAt(now - 86_400, (now + 1) * 1000))).toEqual(['invalid_ttl', 'ttl'])
  })

  test('the hint gives the second that was probably meant', () => {
    const hintOf = (ttl: number) => refusal(() => putAt(ttl)).hint
    expect(hintOf(60)).toBe('60 looks like a duration; for 60 seconds from now give 1790000060.')
    expect(hintOf(30 * 86_400)).toContain(`give ${now + 30 * 86_400}.`)
    expect(hintOf(1_700_000_000)).toBe('It is 2023-11-14T22:13:20.000Z; a day from now is 1790086400.')
    expect(hintOf(0)).toContain('Leave ttl out')
    expect(hintOf(0)).toContain(String(now))
  })

  test('the hint says when it looks like milliseconds, and gives the seconds', () => {
    const { hint } = refusal(() => put(withTtl('1767225600123')))
    expect(hint).toContain('milliseconds')
    expect(hint).toContain('1767225600')
    expect(put(withTtl(/\d+/.exec(hint!)![0])).ttlSeconds).toBe(1767225600)
    for (const text of ['-1', '"a"', 'null', '1e300']) {
      expect(refusal(() => put(withTtl(text))).hint).not.toContain('milliseconds')
    }
  })
})

describe('the envelope of a put', () => {
  test('a field that it does not know: invalid_request', () => {
    expect(refused(() => put('{"hashKey":"h","data":{},"TTL":1}'))).toEqual(['invalid_request', 'TTL'])
    expect(refused(() => put('{"hashKey":"h","data":{},"op":"put"}'))).toEqual(['invalid_request', 'op'])
  })

  test('a key that is none: invalid_key', () => {
    expect(refused(() => put('{"data":{}}'))).toEqual(['invalid_key', 'hashKey'])
    expect(refused(() => put('{"hashKey":"h","rangeKey":"","data":{}}'))).toEqual(['invalid_key', 'rangeKey'])
    expect(refused(() => put('{"hashKey":"h","rangeKey":null,"data":{}}'))).toEqual(['invalid_key', 'rangeKey'])
  })

  test('inside a batch the field names the operation, and the fields of a batch are known', () => {
    const known = ['op', 'ifUpdatedAt']
    const inBatch = (text: string) => put(text, 'operations[3].', known)
    expect(inBatch('{"op":"put","hashKey":"h","data":{},"ifUpdatedAt":null}').hashKey).toBe('h')
    const faults: [string, string, string][] = [
      ['{"op":"put","data":{}}', 'invalid_key', 'hashKey'],
      ['{"op":"put","hashKey":"h"}', 'invalid_request', 'data'],
      ['{"op":"put","hashKey":"h","data":[]}', 'invalid_request', 'data'],
      ['{"op":"put","hashKey":"h","data":{},"ttl":-1}', 'invalid_ttl', 'ttl'],
      ['{"op":"put","hashKey":"h","data":{},"nope":1}', 'invalid_request', 'nope'],
      [`{"op":"put","hashKey":"h","data":{"a":"${'x'.repeat(409_600)}"}}`, 'record_too_large', 'data'],
    ]
    for (const [text, code, field] of faults)
      expect(refused(() => inBatch(text))).toEqual([code, `operations[3].${field}`])
  })
})
