import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { ReadLine } from '../../src/core/text/csv-records.ts'
import { splitLines } from '../../src/core/text/lines.ts'

// The same bytes are the same lines, however they arrive: a record that depended on where a packet ended could not be found again.

const bytesMax = 40
const tooLong = { fault: `the line is longer than ${bytesMax} bytes.` }

/** The lines of these chunks. Each chunk is overwritten when the next one is taken, as those of uploads are. */
const linesOf = async (chunks: Uint8Array[]): Promise<ReadLine[]> => {
  const reused = async function* () {
    for (const chunk of chunks) {
      const lent = Uint8Array.from(chunk)
      yield lent
      lent.fill(0x21)
    }
  }
  const lines: ReadLine[] = []
  for await (const block of splitLines(reused(), bytesMax)) lines.push(...block)
  return lines
}

const cutAt = (bytes: Uint8Array, cuts: number[]): Uint8Array[] => {
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  return ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end))
}

const bytewise = (bytes: Uint8Array): Uint8Array[] => [...bytes].map((byte) => Uint8Array.of(byte))

describe('lines', () => {
  const text = '\ufeff{"a":"€"}\r\n\n{"b":"😀"}\n  \nlast'
  const expected = ['{"a":"€"}\r', '', '{"b":"😀"}', '  ', 'last']

  test('are the same for all pairs of cuts, also through a character or the byte order mark', async () => {
    const bytes = Buffer.from(text)
    for (let from = 0; from <= bytes.length; from++) {
      for (let to = from; to <= bytes.length; to++) expect(await linesOf(cutAt(bytes, [from, to]))).toEqual(expected)
    }
    expect(await linesOf(bytewise(bytes))).toEqual(expected)
  })

  test('have a mark only before the first; a part of one is not UTF-8', async () => {
    for (const cut of [bytewise, (bytes: Uint8Array) => [bytes]]) {
      expect(await linesOf(cut(Buffer.from('a\n\ufeffb')))).toEqual(['a', '\ufeffb'])
      expect(await linesOf(cut(Buffer.from([0xef, 0xbb, 0x0a, 0x61])))).toMatchObject([{ lossyText: 'ï»' }, 'a'])
    }
  })

  test('that are too long have a fault alone, wherever they are cut, also beside one that is not UTF-8', async () => {
    const long = 'x'.repeat(bytesMax + 1)
    const fits = '€'.repeat(bytesMax / 3)
    const wrong = Buffer.from([0xff])
    const bytes = Buffer.concat([
      Buffer.from(`${fits}\n${long}\n`),
      wrong,
      Buffer.from(`\n${long}${long}${long}\nx${fits}\n${'€'.repeat(bytesMax / 3 + 1)}\n${long}`),
    ])
    const expectedFaults = [fits, tooLong, { fault: expect.stringContaining('UTF-8'), lossyText: 'ÿ' }]
    expectedFaults.push(tooLong, `x${fits}`, tooLong, tooLong)
    expect(await linesOf([bytes])).toEqual(expectedFaults)
    expect(await linesOf(bytewise(bytes))).toEqual(expectedFaults)
    for (let at = 0; at < bytes.length; at++) expect(await linesOf(cutAt(bytes, [at]))).toEqual(expectedFaults)
  })

  test('do not depend on the chunks, whatever the bytes', async () => {
    const byte = fc.constantFrom(0x0a, 0x0d, 0x61, 0xef, 0xbb, 0xbf, 0xe2, 0x82, 0xac, 0xff)
    await fc.assert(
      fc.asyncProperty(
        fc.array(byte, { maxLength: 200 }),
        fc.array(fc.nat(), { maxLength: 12 }),
        async (numbers, cuts) => {
          const bytes = Uint8Array.from(numbers)
          expect(await linesOf(cutAt(bytes, cuts))).toEqual(await linesOf([bytes]))
        },
      ),
    )
  })
})
