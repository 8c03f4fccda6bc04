import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { pickMembers } from '../../../server/src/core/text/json-span.ts'
import { elementsOf, memberNamed, membersOf } from '../../src/text/members.ts'
import { skipSpace, skipValue } from '../../src/text/scan.ts'
import { anyText, jsonText, type Placed, space } from './arbitraries.ts'

const expectPlaced = (text: string, placed: Placed): void => {
  expect(skipValue(text, placed.start)).toBe(placed.end)
  const spans = placed.children.map(({ value: { start, end } }) => ({ start, end }))
  const members = placed.children.map(({ name }, i) => ({ name: name!, ...spans[i]! }))
  expect(membersOf(text, placed.start)).toEqual(placed.kind === 'object' ? members : [])
  expect(elementsOf(text, placed.start)).toEqual(placed.kind === 'array' ? spans : [])
  for (const child of placed.children) expectPlaced(text, child.value)
}

describe('values in text', () => {
  test('each value, member and element is found where it stands', () => {
    fc.assert(fc.property(jsonText, ({ text, placed }) => expectPlaced(text, placed)))
  })

  test('white space around a value is skipped, none other', () => {
    fc.assert(
      fc.property(space, jsonText, space, (before, { text }, after) => {
        const whole = before + text + after
        expect(skipSpace(whole, 0)).toBe(before.length)
        expect(skipSpace(whole, before.length + text.length)).toBe(whole.length)
        expect(membersOf(whole).length).toBe(membersOf(text).length)
        expect(elementsOf(whole).length).toBe(elementsOf(text).length)
      }),
    )
    expect(skipSpace('\u00a0\ufeff', 0)).toBe(0)
  })

  test('a value may be nested at will', () => {
    const text = `${'[{"a":'.repeat(100_000)}1${'}]'.repeat(100_000)}`
    expect(skipValue(text, 0)).toBe(text.length)
    expect(elementsOf(text)).toEqual([{ start: 1, end: text.length - 1 }])
  })

  test('a string with many quotes and backslashes ends where it ends', () => {
    for (const content of ['\\"'.repeat(50_000), '\\\\'.repeat(50_000), `${'\\\\'.repeat(9)}\\"`, '{[,:', '']) {
      const string = `"${content}"`
      expect(skipValue(`${string},"x"`, 0)).toBe(string.length)
    }
  })

  test('text that is not JSON ends every step', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const end = skipValue(text, 0)
        expect(end >= 0 && end <= text.length).toBe(true)
        for (const { start, end: elementEnd } of elementsOf(text)) expect(elementEnd).toBeGreaterThan(start)
      }),
    )
  })
})

describe('members', () => {
  const text = '{"a":1,"\\u0062":[2],"a":"\\u0061","__proto__":{},"":null}'

  test('come in their order with decoded names, duplicates included', () => {
    const found = membersOf(text).map(({ name, start, end }) => [name, text.slice(start, end)])
    expect(found).toEqual([
      ['a', '1'],
      ['b', '[2]'],
      ['a', '"\\u0061"'],
      ['__proto__', '{}'],
      ['', 'null'],
    ])
  })

  test('by name: the last of several counts, as for the indices of the server', () => {
    const sourceOf = (name: string): string | undefined => {
      const span = memberNamed(text, name)
      return span && text.slice(span.start, span.end)
    }
    expect(['a', 'b', '__proto__', '', 'c'].map(sourceOf)).toEqual(['"\\u0061"', '[2]', '{}', 'null', undefined])
    expect(memberNamed('[1]', '0')).toBeUndefined()
    const name = fc.constantFrom('a', 'b', '\\u0061', '__proto__')
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.integer()), { maxLength: 6 }), (members) => {
        const object = `{ ${members.map(([key, value]) => `"${key}" : ${value}`).join(' , ')} }`
        const server = pickMembers(object, ['a', 'b', '__proto__'])
        for (const key of ['a', 'b', '__proto__']) {
          const span = memberNamed(object, key)
          expect(span && JSON.parse(object.slice(span.start, span.end))).toEqual(server[key])
        }
      }),
    )
  })

  test('of an object inside the text', () => {
    expect(memberNamed('{"a":{"b":7}}', 'b', 5)).toEqual({ start: 10, end: 11 })
    expect(memberNamed('{"a":{"b":7}}', 'b')).toBeUndefined()
  })
})
