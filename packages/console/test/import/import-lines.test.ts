import { describe, expect, test } from 'bun:test'
import { parseLine } from '../../src/screens/import/parse-line.ts'
import { type ReadLine, readLines } from '../../src/screens/import/read-lines.ts'

const linesOf = async (bytes: Uint8Array, chunkBytes: number): Promise<ReadLine[]> => {
  const chunks = async function* () {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
  }
  const lines: ReadLine[] = []
  for await (const block of readLines(chunks())) lines.push(...block)
  return lines
}

describe('the lines of a file', () => {
  test('are the same wherever the pieces of the file end', async () => {
    const bytes = new TextEncoder().encode('\ufeff{"a":"🦊"}\n\nübergröße\r\nlast')
    const expected = ['{"a":"🦊"}', '', 'übergröße\r', 'last'].map((text) => ({ text }))
    for (let chunkBytes = 1; chunkBytes <= bytes.length; chunkBytes++) {
      expect(await linesOf(bytes, chunkBytes)).toEqual(expected)
    }
  })

  test('a line that is too long or not UTF-8 is a fault, and the next one is read', async () => {
    const bytes = Buffer.concat([
      Buffer.alloc(1_048_577, 0x20),
      Buffer.from('\n{}\n'),
      Buffer.from([0xff, 0x0a]),
      Buffer.alloc(1_048_576, 0x20),
      Buffer.from('\nend'),
    ])
    for (const chunkBytes of [65_536, bytes.length]) {
      const lines = await linesOf(bytes, chunkBytes)
      expect(lines.map(({ fault }) => fault !== undefined)).toEqual([true, false, true, false, false])
      expect(lines[1]).toEqual({ text: '{}' })
      expect(lines[4]).toEqual({ text: 'end' })
    }
  })
})

describe('what a line means', () => {
  test('the text of data is kept, and the operation is made of it', () => {
    const data = '{ "n": 12345678901234567890, "x":1.0,"x":1e400 , "s":"\\u0041" }'
    const line = parseLine(`{"db":"app","table":"t","hashKey":"a","rangeKey":"b","data":${data},"ttl":9,"updatedAt":1}`)
    expect(line).toMatchObject({ kind: 'record', db: 'app', table: 't', hashKey: 'a', rangeKey: 'b', ttlSeconds: 9 })
    expect(line).toMatchObject({ operation: `{"op":"put","hashKey":"a","rangeKey":"b","data":${data},"ttl":9}` })
    expect(parseLine('{"hashKey":"a","rangeKey":"#","data":{}}')).toMatchObject({
      operation: '{"op":"put","hashKey":"a","data":{}}',
    })
    expect(parseLine('{"table":"t","indices":{"i1":{"hashField":"a"}}}')).toMatchObject({
      kind: 'table',
      indices: '{"i1":{"hashField":"a"}}',
    })
    expect(parseLine(' \r')).toBeUndefined()
  })

  test('a bad line says what is wrong with it', () => {
    for (const [line, words] of [
      ['{"hashKey":"a"', 'the line is not JSON: column 15'],
      ['[1]', 'not a JSON object'],
      ['{"hashKey":"a","hashKey":"b","data":{}}', 'hashKey stands twice'],
      ['{"hashKey":"a","data":{},"tll":1}', '"tll" is not a member'],
      ['{"data":{}}', 'hashKey is missing'],
      ['{"hashKey":7,"data":{}}', 'hashKey is not a string'],
      ['{"hashKey":"","data":{}}', 'hashKey is empty'],
      ['{"hashKey":"a"}', 'data is missing'],
      ['{"hashKey":"a","data":[]}', 'data is not a JSON object'],
      ['{"hashKey":"a","data":{},"ttl":"x"}', 'ttl is not a whole number'],
      ['{"hashKey":"a","data":{},"db":"App"}', 'db is "App"'],
      [`{"hashKey":"a","data":{"x":"${'y'.repeat(409_600)}"}}`, 'at most 409600'],
    ]) {
      expect(() => parseLine(line!)).toThrow(words!)
    }
  })
})
