import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { readAnswer } from '../../src/text/answer.ts'
import { costGrowth, costGrowthMax, jsonText, type Placed } from './arbitraries.ts'

const keep = ['data', 'payload', 'result', 'metadata', 'progress']

describe('an answer', () => {
  test('keeps the exact text of data: numbers, duplicates, order, white space', () => {
    const data = '{ "n":1.0,\n "big":12345678901234567890, "n":[ -0, 1E+2 ],"data":{"data":1}, "\\u0061":"\\/" }'
    const text = `{"items":[{"hashKey":"h","data": ${data} ,"updatedAt":7}],"cursor":null}`
    expect(readAnswer<unknown>(text, keep)).toEqual({ items: [{ hashKey: 'h', data, updatedAt: 7 }], cursor: null })
  })

  test('keeps every kind of value, at every depth, also by an escaped name', () => {
    const text = '{"data":null,"a":{"b":[{"result":"x\\"y"},{"payload":[ ]},{"\\u0064ata": 1e400}]},"progress":false}'
    expect(readAnswer<unknown>(text, keep)).toEqual({
      data: 'null',
      a: { b: [{ result: '"x\\"y"' }, { payload: '[ ]' }, { data: '1e400' }] },
      progress: 'false',
    })
  })

  test('a string that is not a name is not one to keep', () => {
    expect(readAnswer<unknown>('{"fields":["data","result"],"name":"data"}', keep)).toEqual({
      fields: ['data', 'result'],
      name: 'data',
    })
  })

  test('is as JSON.parse builds it, but for what is kept', () => {
    const names = ['a', 'b', '{', '"', '']
    const expected = (text: string, placed: Placed): unknown => {
      const source = text.slice(placed.start, placed.end)
      if (placed.kind === 'scalar') return JSON.parse(source)
      const valueAt = ({ name, value }: Placed['children'][number]): unknown =>
        name !== undefined && names.includes(name) ? text.slice(value.start, value.end) : expected(text, value)
      if (placed.kind === 'array') return placed.children.map(valueAt)
      return Object.fromEntries(placed.children.map((child) => [child.name!, valueAt(child)]))
    }
    fc.assert(
      fc.property(jsonText, ({ text, placed }) => {
        expect(readAnswer<unknown>(text, names)).toEqual(expected(text, placed))
        expect(readAnswer<unknown>(text, [])).toEqual(JSON.parse(text))
      }),
      { numRuns: 300 },
    )
  })

  test('__proto__ is a name like any other', () => {
    const answer = readAnswer<Record<string, unknown>>('{"__proto__":{"polluted":true},"data":{"__proto__":1}}', keep)
    expect(Object.hasOwn(answer, '__proto__')).toBe(true)
    expect(Object.getPrototypeOf(answer)).toBe(Object.prototype)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect(answer.polluted).toBeUndefined()
    expect(answer.data).toBe('{"__proto__":1}')
    const kept = readAnswer<Record<string, unknown>>('{"__proto__":{"polluted":true}}', ['__proto__'])
    expect(Object.entries(kept)).toEqual([['__proto__', '{"polluted":true}']])
  })

  test('an envelope that is not JSON is a SyntaxError, also one that was cut off', () => {
    const whole = '{"items":[{"data":{"a":"b"}}],"cursor":null}'
    for (let length = 0; length < whole.length; length++) {
      expect(() => readAnswer(whole.slice(0, length), keep)).toThrow(SyntaxError)
    }
    for (const text of ['<html>', '{"data":}', '{"data":,"a":1}', '{data:1}', '{"a":1}x']) {
      expect(() => readAnswer(text, keep)).toThrow(SyntaxError)
    }
  })

  test('a page of 1,000 records of 1 kB does not freeze the page', () => {
    const data = `{"status":"open","note":"${'x'.repeat(900)}","tags":["a","b"],"total":12.50}`
    const items = Array.from({ length: 1_000 }, (_, i) => `{"hashKey":"h${i}","data":${data},"updatedAt":${i}}`)
    const textOf = (share: number) => `{"items":[${items.slice(0, items.length * share).join(',')}],"cursor":null}`
    expect(readAnswer<{ items: { data: string }[] }>(textOf(1), keep).items[999]!.data).toBe(data)
    const growth = costGrowth((share) => {
      const text = textOf(share)
      return () => readAnswer(text, keep)
    })
    expect(growth).toBeLessThan(costGrowthMax)
  })
})
