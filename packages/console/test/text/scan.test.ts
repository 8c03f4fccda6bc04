import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { pickMembers } from '../../../server/src/core/text/json-span.ts'
import { memberNamed, membersOf, skipValue } from '../../src/text/scan.ts'
import { anyText, jsonText, type Placed, space } from './arbitraries.ts'

const expectPlaced = (text: string, placed: Placed): void => {
  expect(skipValue(text, placed.start)).toBe(placed.end)
  const members = placed.children.map(({ name, value: { start, end } }) => ({ name: name!, start, end }))
  const found = membersOf(text, placed.start)
  expect(found.map(({ name, start, end }) => ({ name, start, end }))).toEqual(placed.kind === 'object' ? members : [])
  for (const { name, nameStart, start } of found)
    expect(JSON.parse(text.slice(nameStart, text.lastIndexOf(':', start)))).toBe(name)
  for (const child of placed.children) expectPlaced(text, child.value)
}

describe('values in text', () => {
  test('each value and member is found where it stands', () => {
    fc.assert(fc.property(jsonText, ({ text, placed }) => expectPlaced(text, placed)))
  })

  test('white space around a value is skipped, none other', () => {
    fc.assert(
      fc.property(space, jsonText, space, (before, { text }, after) => {
        const whole = before + text + after
        expect(membersOf(whole).length).toBe(membersOf(text).length)
      }),
    )
    expect(membersOf('\u00a0{"a":1}')).toEqual([])
  })

  test('a value may be nested at will', () => {
    const text = `${'[{"a":'.repeat(100_000)}1${'}]'.repeat(100_000)}`
    expect(skipValue(text, 0)).toBe(text.length)
    expect(membersOf(text, 1)).toEqual([{ name: 'a', nameStart: 2, start: 6, end: text.length - 2 }])
  })

  test('a string with many quotes and backslashes ends where it ends', () => {
    for (const content of ['\\"'.repeat(50_000), '\\\\'.repeat(50_000), `${'\\\\'.repeat(9)}\\"`, '{[,:', '']) {
      const string = `"${content}"`
      expect(skipValue(`${string},"x"`, 0)).toBe(string.length)
    }
  })

  test('text that is not JSON ends every step', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          anyText,
          anyText.map((text) => `="\\${text}`),
        ),
        (text) => {
          const end = skipValue(text, 0)
          expect(end >= 0 && end <= text.length).toBe(true)
          for (const { start, end: memberEnd } of membersOf(`{"a":${text}`))
            expect(memberEnd).toBeGreaterThanOrEqual(start)
        },
      ),
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
