import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { fileUrl } from '../../../src/core/files/file-url.ts'
import {
  isSigned,
  type Parameters,
  readSigned,
  type Signed,
  type SignedTarget,
  signedFileUrl,
  signedParameters,
  signedQueryCharactersMax,
} from '../../../src/core/files/signed-url.ts'
import { downloadNameCharactersMax } from '../../../src/core/limits.ts'

const urlKey = new Uint8Array(32).fill(7)
const bucketId = 'bkt_6Qm2sVx9LrT4nYc8WbKd1e'

const parametersOf = (url: string): Parameters => [...new URLSearchParams(url.split('?')[1])]
const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
const targets = fc.record({
  method: fc.constantFrom('GET' as const, 'PUT' as const),
  bucketId: fc.constantFrom(bucketId, 'bkt_0000000000000000000000'),
  name: text,
})
const signeds = fc.record({
  keyId: fc.constantFrom('key_a', 'key_b'),
  expiresAtMs: fc.integer({ min: 0, max: 1e14 }),
  options: fc
    .dictionary(fc.constantFrom('download', 'metadata', 'sizeMax'), fc.string({ unit: 'grapheme', maxLength: 30 }))
    .map((options) => new Map(Object.entries(options))),
})

/** Before any of the ends below, so that none of them is too far ahead. */
const nowMs = 1e14
const earlier = new Uint8Array(32).fill(8)
const read = (target: SignedTarget, parameters: Parameters) => readSigned([urlKey, earlier], target, parameters, nowMs)

describe('signed URLs', () => {
  test('what was signed is read again, also after a URL parser had it and in another order', () => {
    fc.assert(
      fc.property(targets, signeds, (target, signed) => {
        const url = signedFileUrl(urlKey, 'http://host', target, signed)
        expect(new URL(url).search).toBe(`?${url.split('?')[1]}`)
        const parameters = parametersOf(url)
        expect(isSigned(url.split('?')[1]!)).toBe(true)
        expect(signedParameters(url.split('?')[1]!)).toEqual(parameters)
        expect(read(target, parameters)).toEqual(signed)
        expect(read(target, parameters.toReversed())).toEqual(signed)
      }),
    )
  })

  test('another target, key of the store or parameter is refused', () => {
    fc.assert(
      fc.property(targets, targets, signeds, text, fc.nat(), (target, other, signed, value, at) => {
        const parameters = parametersOf(signedFileUrl(urlKey, '', target, signed))
        if (JSON.stringify(target) !== JSON.stringify(other)) expect(read(other, parameters)).toBeUndefined()
        expect(readSigned([new Uint8Array(32)], target, parameters, nowMs)).toBeUndefined()
        const i = at % parameters.length
        const [name, old] = parameters[i]!
        if (value !== old) expect(read(target, parameters.with(i, [name, value]))).toBeUndefined()
        expect(read(target, parameters.toSpliced(i, 1))).toBeUndefined()
        expect(read(target, [...parameters, parameters[i]!])).toBeUndefined()
        expect(read(target, [...parameters, [value, '']])).toBeUndefined()
      }),
    )
  })

  test('each accepted key of the store is tried', () => {
    fc.assert(
      fc.property(targets, signeds, (target, signed) => {
        const parameters = parametersOf(signedFileUrl(earlier, '', target, signed))
        expect(read(target, parameters)).toEqual(signed)
        expect(readSigned([urlKey], target, parameters, nowMs)).toBeUndefined()
      }),
    )
  })

  test('an end that no URL of ours has is refused, whoever signed it', () => {
    const target: SignedTarget = { method: 'GET', bucketId, name: 'a' }
    const mostMs = nowMs + 604_800_000 + 300_000
    const ends = (end: number | string) =>
      parametersOf(
        signedFileUrl(urlKey, '', target, { keyId: 'key_a', expiresAtMs: end as number, options: new Map() }),
      )
    expect(read(target, ends(mostMs))?.expiresAtMs).toBe(mostMs)
    for (const end of [mostMs + 1, 1e300, 'Infinity', 'NaN', '', ' ', '1e3', '0x10', '-1', '1.5', 'never']) {
      expect(read(target, ends(end))).toBeUndefined()
    }
  })

  test('no two requests have the same text: a name cannot stand for a parameter', () => {
    const signed: Signed = { keyId: 'key_a', expiresAtMs: 1, options: new Map([['download', 'x']]) }
    const parameters = parametersOf(signedFileUrl(urlKey, '', { method: 'GET', bucketId, name: 'a' }, signed))
    const moved = parameters.filter(([name]) => name !== 'download')
    for (const name of ['a,["download","x"]', 'a","download","x', 'a\ndownload=x', 'adownloadx']) {
      expect(read({ method: 'GET', bucketId, name }, moved)).toBeUndefined()
    }
  })

  test('a signature is a parameter of that name; more than 16 parameters, empty ones too, are not those of a signed URL', () => {
    for (const query of ['signature=', 'signature=x', 'a&signature=x', 'a=1&&signature=&b']) {
      expect([query, isSigned(query)]).toEqual([query, true])
    }
    for (const query of [
      '',
      'signature',
      'utm_signature=x',
      'a=signature=x',
      'Signature=x',
      '%73ignature=x',
      'a?signature=',
    ]) {
      expect([query, isSigned(query)]).toEqual([query, false])
    }
    const many = (count: number): string => Array.from({ length: count }, (_, i) => `p${i}=%41+`).join('&')
    expect(signedParameters(many(16))).toEqual(Array.from({ length: 16 }, (_, i) => [`p${i}`, 'A ']))
    expect(signedParameters(many(17))).toBeUndefined()
    expect(signedParameters(`${many(1)}${'&'.repeat(15)}`)).toHaveLength(1)
    expect(signedParameters(`${many(1)}${'&'.repeat(16)}`)).toBeUndefined()
  })

  test('the path of a URL: each segment encoded once', () => {
    expect(fileUrl('https://x/y', bucketId, 'a b/ü/100%/?#&.txt', 'v=1')).toBe(
      `https://x/y/files/${bucketId}/a%20b/%C3%BC/100%25/%3F%23%26.txt?v=1`,
    )
    expect(fileUrl('', bucketId, 'a')).toBe(`/files/${bucketId}/a`)
  })
})

test('a query is as long as the longest download name makes it, and no longer one is decoded', () => {
  const longest = `download=${encodeURIComponent('€'.repeat(downloadNameCharactersMax))}`
  const signed = `expires=9999999999999&key=${'k'.repeat(40)}&user=${'u'.repeat(200)}&signature=${'s'.repeat(43)}`
  expect(signedParameters(`${longest}&${signed}`)).toHaveLength(5)
  const padded = (length: number) => signedParameters('signature='.padEnd(length, 'x'))
  expect([padded(signedQueryCharactersMax)?.length, padded(signedQueryCharactersMax + 1)]).toEqual([1, undefined])
})
