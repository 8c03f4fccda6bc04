import { describe, expect, test } from 'bun:test'
import { parseExtension } from '../../../src/core/tasks/parse-extend.ts'
import { cutMessage, parseFinish } from '../../../src/core/tasks/parse-finish.ts'
import type { Finish } from '../../../src/core/tasks/run.ts'
import { readRunBody } from '../../../src/core/tasks/run-body.ts'
import { refused } from '../refusal.ts'

const parse = (text: string): Finish => parseFinish(readRunBody(text))
const finish = (body: object): Finish => parse(JSON.stringify({ lease: 'l', ...body }))

describe('finish', () => {
  test('without an error has succeeded, with the result as it was sent, or null', () => {
    expect(finish({})).toEqual({ lease: 'l', result: null })
    expect(parse('{"lease":"l","result":{ "n":1.0, "n":1E5 }}')).toEqual({ lease: 'l', result: '{ "n":1.0, "n":1E5 }' })
  })

  test('with an error has failed; it is repeated unless retry is false', () => {
    const failed = { lease: 'l', error: { code: 'worker', message: 'no' }, retry: true, retryAfterMs: null } as const
    const error = { message: 'no' }
    expect(finish({ error })).toEqual(failed)
    expect(finish({ error, retry: true })).toEqual(failed)
    expect(finish({ error, retry: false })).toEqual({ ...failed, retry: false })
    expect(finish({ error, retryAfter: 0 })).toEqual({ ...failed, retryAfterMs: 0 })
    expect(finish({ error, retry: true, retryAfter: 86_400 })).toEqual({ ...failed, retryAfterMs: 86_400_000 })
  })

  test('takes a retryAfter above a day as a day, however large', () => {
    for (const text of ['86401', '1e300', '9'.repeat(400)]) {
      const parsed = parse(`{"lease":"l","error":{"message":""},"retryAfter":${text}}`)
      expect(parsed).toMatchObject({ retryAfterMs: 86_400_000 })
    }
  })

  test('refuses what does not fit together', () => {
    const error = { message: 'no' }
    const refusals: [object, string][] = [
      [{ result: {}, error }, 'error'],
      [{ retry: true }, 'retry'],
      [{ retryAfter: 1 }, 'retryAfter'],
      [{ result: {}, retryAfter: 1 }, 'retryAfter'],
      [{ error, retry: false, retryAfter: 1 }, 'retryAfter'],
      [{ error, retry: false, retryAfter: 0 }, 'retryAfter'],
    ]
    for (const [body, field] of refusals) expect(refused(() => finish(body))).toEqual(['invalid_request', field])
  })

  test('refuses each malformed field by its name', () => {
    const error = { message: 'no' }
    const refusals: [object, string][] = [
      [{ lease: undefined }, 'lease'],
      [{ lease: 5 }, 'lease'],
      [{ result: null }, 'result'],
      [{ result: [] }, 'result'],
      [{ error: null }, 'error'],
      [{ error: 'no' }, 'error'],
      [{ error: {} }, 'error.message'],
      [{ error: { message: 5 } }, 'error.message'],
      [{ error: { message: 'no', code: 'timeout' } }, 'error.code'],
      [{ error, retry: 'no' }, 'retry'],
      [{ error, retryAfter: -1 }, 'retryAfter'],
      [{ error, retryAfter: 1.5 }, 'retryAfter'],
      [{ error, retryAfter: '5' }, 'retryAfter'],
      [{ results: {} }, 'results'],
    ]
    for (const [body, field] of refusals) expect(refused(() => finish(body))).toEqual(['invalid_request', field])
    expect(refused(() => parse('{"lease":"l","error":{"message":"a","message":"b"}}'))).toEqual([
      'invalid_request',
      'error.message',
    ])
    expect(refused(() => finish({ result: { a: 'a'.repeat(409_600) } }))).toEqual(['record_too_large', 'result'])
  })
})

describe('the message of an error', () => {
  test('is cut after 1,000 characters, never in the middle of one', () => {
    expect(cutMessage('a'.repeat(1_000))).toBe('a'.repeat(1_000))
    expect(cutMessage('a'.repeat(1_001))).toBe('a'.repeat(1_000))
    expect(cutMessage('😀'.repeat(1_000))).toBe('😀'.repeat(1_000))
    expect(cutMessage('😀'.repeat(1_001))).toBe('😀'.repeat(1_000))
    expect(cutMessage(`${'a'.repeat(999)}😀b`)).toBe(`${'a'.repeat(999)}😀`)
    expect(cutMessage('a\ud800')).toBe('a\ufffd')
  })
})

describe('extend', () => {
  const extend = (body: object) => parseExtension(readRunBody(JSON.stringify({ lease: 'l', ...body })))

  test('takes a lease, seconds and progress, which is kept as it was sent', () => {
    expect(extend({})).toEqual({ lease: 'l', leaseMs: undefined, progress: undefined })
    expect(extend({ leaseSeconds: 3_600 })).toEqual({ lease: 'l', leaseMs: 3_600_000, progress: undefined })
    const { progress } = parseExtension(readRunBody('{"lease":"l","progress":{ "of" : 1.0 }}'))
    expect(progress).toBe('{ "of" : 1.0 }')
  })

  test('takes progress of at most 4,096 bytes', () => {
    const ofBytes = (bytes: number): object => ({ a: `€${'a'.repeat(bytes - 11)}` })
    expect(Buffer.byteLength(extend({ progress: ofBytes(4_096) }).progress!)).toBe(4_096)
    expect(refused(() => extend({ progress: ofBytes(4_097) }))).toEqual(['invalid_request', 'progress'])
  })

  test('refuses each malformed field by its name', () => {
    for (const [body, field] of [
      [{ lease: null }, 'lease'],
      [{ leaseSeconds: 0 }, 'leaseSeconds'],
      [{ leaseSeconds: 3_601 }, 'leaseSeconds'],
      [{ leaseSeconds: 1.5 }, 'leaseSeconds'],
      [{ leaseSeconds: null }, 'leaseSeconds'],
      [{ progress: null }, 'progress'],
      [{ progress: [] }, 'progress'],
      [{ result: {} }, 'result'],
    ] as [object, string][]) {
      expect(refused(() => extend(body))).toEqual(['invalid_request', field])
    }
  })
})
