import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { contentRange, parseByteRange } from '../../../src/core/files/byte-range.ts'

describe('ranges of bytes', () => {
  test.each([
    ['bytes=0-0', 10, { start: 0, end: 1 }],
    ['bytes=0-', 10, { start: 0, end: 10 }],
    ['bytes=9-9', 10, { start: 9, end: 10 }],
    ['bytes=9-10', 10, { start: 9, end: 10 }],
    ['bytes=10-', 10, 'unsatisfiable'],
    ['bytes=10-9', 10, undefined],
    ['bytes=-1', 10, { start: 9, end: 10 }],
    ['bytes=-10', 10, { start: 0, end: 10 }],
    ['bytes=-11', 10, { start: 0, end: 10 }],
    ['bytes=-0', 10, 'unsatisfiable'],
    ['bytes=0-', 0, 'unsatisfiable'],
    ['bytes=-1', 0, 'unsatisfiable'],
    ['bytes=99999999999999999999-', 10, 'unsatisfiable'],
    ['bytes=0-99999999999999999999999', 10, { start: 0, end: 10 }],
    ['bytes=0-1,2-3', 10, undefined],
    ['bytes=0-1,99-', 10, undefined],
    [' Bytes=\t0-1 , ', 10, { start: 0, end: 2 }],
    ['bytes=', 10, undefined],
    ['bytes=-', 10, undefined],
    ['bytes=1', 10, undefined],
    ['bytes=--1', 10, undefined],
    ['bytes=+1-2', 10, undefined],
    ['bytes=1.0-2', 10, undefined],
    ['bytes=0x1-2', 10, undefined],
    ['bytes 0-1', 10, undefined],
    ['items=0-1', 10, undefined],
    ['', 10, undefined],
    [`bytes=${'0-1,'.repeat(1_000)}`, 10, undefined],
    [`bytes=0-1${','.repeat(1_000)}`, 10, undefined],
  ] as const)('%s of %d bytes', (header, size, expected) => {
    expect(parseByteRange(header, size)).toEqual(expected as ReturnType<typeof parseByteRange>)
  })

  const sizes = fc.nat({ max: 50 })

  test('from-to: the bytes that Array.slice gives', () => {
    fc.assert(
      fc.property(sizes, fc.nat({ max: 60 }), fc.nat({ max: 60 }), (size, first, more) => {
        const range = parseByteRange(`bytes=${first}-${first + more}`, size)
        if (first >= size) return expect(range).toBe('unsatisfiable')
        const wanted = Array.from({ length: size }, (_, i) => i).slice(first, first + more + 1)
        const { start, end } = range as { start: number; end: number }
        expect([start, end]).toEqual([wanted[0]!, wanted.at(-1)! + 1])
        expect(contentRange({ start, end }, size)).toBe(`bytes ${wanted[0]}-${wanted.at(-1)}/${size}`)
      }),
    )
  })

  test('a suffix: the last bytes, never more than there are', () => {
    fc.assert(
      fc.property(sizes, fc.nat({ max: 60 }), (size, suffix) => {
        const range = parseByteRange(`bytes=-${suffix}`, size)
        if (suffix === 0 || size === 0) return expect(range).toBe('unsatisfiable')
        expect(range).toEqual({ start: Math.max(0, size - suffix), end: size })
      }),
    )
  })

  test('whatever the header says, a range is within the file and not empty', () => {
    const part = fc.constantFrom('bytes=', 'bytes', '=', '-', ',', ' ', '0', '7', '19', '99999999999999999', 'x')
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), sizes, (parts, size) => {
        const range = parseByteRange(parts.join(''), size)
        if (typeof range !== 'object') return
        expect(range.start).toBeGreaterThanOrEqual(0)
        expect(range.end).toBeGreaterThan(range.start)
        expect(range.end).toBeLessThanOrEqual(size)
      }),
    )
  })
})
