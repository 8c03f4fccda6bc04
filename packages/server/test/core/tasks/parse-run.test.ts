import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseNewRun } from '../../../src/core/tasks/parse-run.ts'
import type { NewRun } from '../../../src/core/tasks/run.ts'
import { readRunBody } from '../../../src/core/tasks/run-body.ts'
import { jsonText, space } from '../json-text.ts'
import { refusal, refused } from '../refusal.ts'

const parse = (text: string): NewRun => parseNewRun(readRunBody(text, true))
const parseJson = (body: unknown): NewRun => parse(JSON.stringify(body))

describe('payload', () => {
  test('is kept exactly as it was sent: members, order, number text and white space', () => {
    const payload =
      '{ "b":1.0,\n\t"a" : 12345678901234567890, "b":[ -0, 1E+2 ],"\\u0061\\/":"\\ud83d\\ude00" , "c":{ } }'
    expect(parse(`  { "payload" :\r\n ${payload} , "delaySeconds" : 5 } `).payload).toBe(payload)
  })

  test('is the text of the span, whatever stands in it and around it', () => {
    fc.assert(
      fc.property(jsonText, space, space, ({ text }, before, after) => {
        const payload = `{${before}"payload":${text}${after}}`
        expect(parse(`{"key":"payload","payload":${before}${payload}${after}}`).payload).toBe(payload)
      }),
      { numRuns: 200 },
    )
  })

  test('is {} if it is absent, and if the body is empty', () => {
    expect([parse('').payload, parse('{}').payload]).toEqual(['{}', '{}'])
  })

  test('must be an object of at most 409,600 bytes and 64 levels', () => {
    for (const payload of [null, 1, 'a', [], true]) {
      expect(refused(() => parseJson({ payload }))).toEqual(['invalid_request', 'payload'])
    }
    const ofBytes = (bytes: number): string => `{"a":"${'€'.repeat(10)}${'a'.repeat(bytes - 38)}"}`
    expect(Buffer.byteLength(parse(`{"payload":${ofBytes(409_600)}}`).payload)).toBe(409_600)
    expect(refused(() => parse(`{"payload":${ofBytes(409_601)}}`))).toEqual(['record_too_large', 'payload'])
    const ofDepth = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`
    expect(parse(`{"payload":${ofDepth(64)}}`).payload).toBe(ofDepth(64))
    expect(refused(() => parse(`{"payload":${ofDepth(65)}}`))).toEqual(['invalid_request', 'payload'])
  })
})

describe('id', () => {
  test('of 1 to 128 letters, digits, "_" and "-" is taken', () => {
    for (const id of ['a', 'A-z_09', 'x'.repeat(128)]) expect(parseJson({ id })).toMatchObject({ id, isNamed: true })
    for (const id of ['', 'x'.repeat(129), 'a b', 'a.b', 'ä', 'a\n', '\ud800', 5, null, {}]) {
      expect(refused(() => parseJson({ id }))).toEqual(['invalid_key', 'id'])
    }
  })

  test('is generated otherwise, a new one for each run', () => {
    const ids = Array.from({ length: 100 }, () => parse('{}'))
    for (const { id, isNamed } of ids) expect([/^run_[0-9A-Za-z]{22}$/.test(id), isNamed]).toEqual([true, false])
    expect(new Set(ids.map(({ id }) => id)).size).toBe(100)
  })
})

describe('key', () => {
  test('follows the rule of hashKey', () => {
    for (const key of ['a', '/', 'a\0b', '€'.repeat(341), 'k'.repeat(1_024)]) expect(parseJson({ key }).key).toBe(key)
    for (const key of ['', '.', '..', '€'.repeat(342), 'k'.repeat(1_025), '\ud800', 5, null]) {
      expect(refused(() => parseJson({ key }))).toEqual(['invalid_key', 'key'])
    }
  })

  test('is null if it is absent, and is refused beside id', () => {
    expect(parse('{}').key).toBeNull()
    expect(refused(() => parseJson({ id: 'a', key: 'a' }))).toEqual(['invalid_request', 'key'])
  })
})

describe('runAt and delaySeconds', () => {
  const atOf = (body: unknown): NewRun['at'] => parseJson(body).at

  test('are a time, past ones too, a delay, or neither', () => {
    expect(atOf({})).toEqual({ delayMs: 0 })
    expect(atOf({ delaySeconds: 0 })).toEqual({ delayMs: 0 })
    expect(atOf({ delaySeconds: 31_536_000 })).toEqual({ delayMs: 31_536_000_000 })
    expect(atOf({ runAt: 0 })).toEqual({ runAtMs: 0 })
    expect(atOf({ runAt: 1_767_225_600_000 })).toEqual({ runAtMs: 1_767_225_600_000 })
    expect(atOf({ runAt: '2026-01-01T00:00:00Z' })).toEqual({ runAtMs: 1_767_225_600_000 })
    expect(atOf({ runAt: '2026-01-01T02:00:00.1239+02:00' })).toEqual({ runAtMs: 1_767_225_600_123 })
    expect(atOf({ runAt: '1969-12-31T23:59:59Z' })).toEqual({ runAtMs: -1_000 })
    expect(atOf({ runAt: '9999-12-31T23:59:59.999Z' })).toEqual({ runAtMs: 253_402_300_799_999 })
    expect(atOf({ runAt: 253_402_300_799_999 })).toEqual({ runAtMs: 253_402_300_799_999 })
  })

  test('anything else is refused by its field', () => {
    const wrongTimes = [
      1.5,
      253_402_300_800_000,
      '9999-12-31T23:59:59-00:01',
      -62_167_219_200_001,
      'soon',
      '2026-01-01',
    ]
    for (const runAt of [...wrongTimes, '2026-02-30T00:00:00Z', null, true, {}, 1e300]) {
      expect(refused(() => parseJson({ runAt }))).toEqual(['invalid_request', 'runAt'])
    }
    for (const delaySeconds of [-1, 1.5, 31_536_001, '5', null]) {
      expect(refused(() => parseJson({ delaySeconds }))).toEqual(['invalid_request', 'delaySeconds'])
    }
    expect(refused(() => parseJson({ runAt: 5, delaySeconds: 5 }))).toEqual(['invalid_request', 'delaySeconds'])
  })
})

describe('the body', () => {
  test('has no other members, and none twice', () => {
    expect(refused(() => parseJson({ delay: 5 }))).toEqual(['invalid_request', 'delay'])
    expect(refusal(() => parseJson({ run_at: 5 })).hint).toBe('Write it as "runAt".')
    expect(refused(() => parse('{"payload":{},"p\\u0061yload":{}}'))).toEqual(['invalid_request', 'payload'])
    expect(parse('{"payload":{"a":1,"a":2}}').payload).toBe('{"a":1,"a":2}')
  })

  test('in a batch has the place of the operation in its fields', () => {
    const inBatch = (text: string): NewRun => parseNewRun(readRunBody(text), 'operations[3].', ['op', 'task'])
    expect(inBatch('{"op":"run","task":"mail"}').payload).toBe('{}')
    const fields = ['{"payload":1}', '{"id":1}', '{"key":1}', '{"runAt":1.5}', '{"delaySeconds":-1}', '{"x":1}'].map(
      (text) => refused(() => inBatch(text))[1],
    )
    expect(fields).toEqual(
      ['payload', 'id', 'key', 'runAt', 'delaySeconds', 'x'].map((name) => `operations[3].${name}`),
    )
  })
})
