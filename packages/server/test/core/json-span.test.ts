import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseJson } from '../../src/core/text/json-scan.ts'
import { refuseDuplicateMembers, valueSpan, walkArray, walkObject } from '../../src/core/text/json-span.ts'
import { jsonText, type Placed, space, stringText } from './json-text.ts'
import { refusal, refused } from './refusal.ts'

const toEnd = (text: string) => (_: unknown, start: number) => valueSpan(text, start).end

describe('parseJson', () => {
  test('gives the values of valid JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const text = JSON.stringify(value)
        expect(JSON.stringify(parseJson(text))).toBe(text)
      }),
    )
  })

  test('what is not valid JSON: invalid_json', () => {
    const notJson = [
      '',
      ' ',
      '{',
      '[1,]',
      '{"a":1,}',
      '{"a" 1}',
      '{a:1}',
      "{'a':1}",
      '{"a":1}{}',
      '[1] 2',
      '01',
      '1.',
      '.5',
      '+1',
      '0x10',
      'NaN',
      'Infinity',
      'undefined',
      'True',
      '"a',
      '"\\x"',
      '"\\u12"',
      '"\n"',
      '"\0"',
      '\u00a0{}',
      '\u000b{}',
      '\u000c{}',
      '// c\n{}',
    ]
    for (const text of notJson)
      expect([text, ...refused(() => parseJson(text))]).toEqual([text, 'invalid_json', undefined])
  })

  test('a byte order mark: invalid_json, and the hint names it', () => {
    const error = refusal(() => parseJson('\ufeff{}'))
    expect(error.code).toBe('invalid_json')
    expect(error.hint).toContain('byte order mark')
  })

  test('the error of a long body is short', () => {
    for (const text of [`{"${'a'.repeat(1_000_000)}`, 'a'.repeat(1_000_000), `[${'1'.repeat(1_000_000)} 1]`]) {
      expect(refusal(() => parseJson(text)).message.length).toBeLessThan(300)
    }
  })
})

describe('valueSpan', () => {
  const each = (placed: Placed, visit: (value: Placed) => void): void => {
    visit(placed)
    for (const child of placed.children) each(child.value, visit)
  }

  test('finds every value of any JSON text, with its depth', () => {
    fc.assert(
      fc.property(jsonText, space, space, ({ text, placed }, before, after) => {
        const whole = before + text + after
        JSON.parse(whole)
        const shift = before.length
        expect(valueSpan(whole, 0)).toEqual({ start: shift, end: shift + placed.end, depth: placed.depth })
        each(placed, ({ start, end, depth }) => {
          expect(valueSpan(whole, shift + start)).toEqual({ start: shift + start, end: shift + end, depth })
        })
      }),
      { numRuns: 1500 },
    )
  })

  test('the text of a span parses to the value', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ stringUnit: 'binary' }),
        fc.constantFrom(undefined, 1, '\t'),
        space,
        (value, indent, before) => {
          const text = `{"data":${before}${JSON.stringify(value, null, indent)}${before},"ttl":1}`
          const { start, end } = valueSpan(text, '{"data":'.length)
          const cut = text.slice(start, end)
          expect(cut).toBe(JSON.stringify(value, null, indent))
          expect(JSON.parse(cut)).toEqual(JSON.parse(text).data)
        },
      ),
      { numRuns: 500 },
    )
  })

  test('numbers end at whatever follows them', () => {
    for (const after of ['', ' ', '\n', '\r', '\t', ',', ']', '}']) {
      for (const number of ['0', '-1.5e+10', '12345678901234567890', 'true', 'null']) {
        expect(valueSpan(number + after, 0)).toEqual({ start: 0, end: number.length, depth: 0 })
      }
    }
  })

  test('levels: 0 for a scalar, 1 for {}, one more for each level', () => {
    const levels: [string, number][] = [
      ['1', 0],
      ['"[{[{"', 0],
      ['{}', 1],
      ['[]', 1],
      ['{"a":"}}"}', 1],
      ['{"a":{}}', 2],
      ['{"a":[],"b":[[]],"c":{}}', 3],
      ['[[],[[[]]],[]]', 4],
    ]
    for (const [text, depth] of levels) expect([text, valueSpan(text, 0).depth]).toEqual([text, depth])
  })

  test('nesting of any depth does not overflow the stack', () => {
    const levels = 200_000
    for (const [open, inner, close] of [
      ['[', '', ']'],
      ['{"a":', '1', '}'],
    ] as const) {
      const text = open.repeat(levels) + inner + close.repeat(levels)
      parseJson(text)
      expect(valueSpan(text, 0)).toEqual({ start: 0, end: text.length, depth: levels })
      refuseDuplicateMembers(text)
    }
  })

  test('strings that end in backslashes and quotes', () => {
    for (let backslashes = 0; backslashes < 40; backslashes++) {
      for (const tail of ['', 'a', '"']) {
        const value = 'x'.repeat(backslashes % 3) + '\\'.repeat(backslashes) + tail
        const text = `[${JSON.stringify(value)},"]\\""]`
        expect(valueSpan(text, 0).end).toBe(text.length)
        expect(valueSpan(text, 1).end).toBe(1 + JSON.stringify(value).length)
      }
    }
  })

  // A walk that began anew at every quote would take minutes and meet the time limit of the test.
  test('a string of a million quotes or backslashes is walked once', () => {
    for (const piece of ['"', '\\', '\\"', '"\\']) {
      const text = JSON.stringify(piece.repeat(1_000_000))
      expect(valueSpan(text, 0).end).toBe(text.length)
    }
  }, 5_000)
})

describe('walkObject and walkArray', () => {
  test('visit every member and element at its place, and return the end', () => {
    fc.assert(
      fc.property(jsonText, space, space, ({ text, placed }, before, after) => {
        const whole = before + text + after
        const shift = before.length
        const walk = (value: Placed, at: number): number => {
          let visits = 0
          const visit = (nameOrPosition: string | number, start: number): number => {
            const child = value.children[visits]!
            expect(nameOrPosition).toBe(child.name ?? visits)
            expect(start).toBe(shift + child.value.start)
            visits++
            return walk(child.value, start)
          }
          const end =
            value.kind === 'object'
              ? walkObject(whole, at, '', visit)
              : value.kind === 'array'
                ? walkArray(whole, at, visit)
                : valueSpan(whole, at).end
          expect(visits).toBe(value.children.length)
          expect(end).toBe(shift + value.end)
          return end
        }
        walk(placed, 0)
      }),
      { numRuns: 1500 },
    )
  })

  test('empty ones, with white space too', () => {
    const never = () => {
      throw new Error('visited')
    }
    for (const inside of ['', ' ', '\n\t\r ']) {
      expect(walkObject(` {${inside}} `, 0, '', never)).toBe(3 + inside.length)
      expect(walkArray(` [${inside}] `, 0, never)).toBe(3 + inside.length)
    }
  })

  test('names of Object.prototype are ordinary names', () => {
    const text = '{"__proto__":1,"constructor":2,"toString":3,"":4}'
    const names: string[] = []
    walkObject(text, 0, '', (name, start) => {
      names.push(name)
      return toEnd(text)(name, start)
    })
    expect(names).toEqual(['__proto__', 'constructor', 'toString', ''])
  })
})

describe('a member that appears twice in the envelope', () => {
  /** The same name in another spelling: every UTF-16 unit as an escape. */
  const escaped = (name: string): string =>
    `"${name
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('')}"`

  test('is refused by name', () => {
    const error = refusal(() => refuseDuplicateMembers('{"hash":"a","limit":1,"hash":"a"}'))
    expect([error.code, error.field]).toEqual(['invalid_request', 'hash'])
    expect(error.message).toContain('hash appears twice')
  })

  test('also by an escaped name', () => {
    for (const name of ['h\\u0061sh', '\\u0068\\u0061\\u0073\\u0068', 'has\\u0068']) {
      expect(refused(() => refuseDuplicateMembers(`{"hash":1,"${name}":2}`))).toEqual(['invalid_request', 'hash'])
      expect(refused(() => refuseDuplicateMembers(`{"${name}":1,"hash":2}`))).toEqual(['invalid_request', 'hash'])
    }
    expect(refused(() => refuseDuplicateMembers('{"a/b":1,"a\\/b":2}'))).toEqual(['invalid_request', 'a/b'])
    expect(refused(() => refuseDuplicateMembers('{"\\ud83d\\ude00":1,"😀":2}'))).toEqual(['invalid_request', '😀'])
  })

  test('in whichever spelling and place', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(stringText, { minLength: 1, maxLength: 6, selector: (name) => JSON.parse(name) as string }),
        fc.nat(),
        fc.nat(),
        fc.boolean(),
        space,
        (names, which, where, respell, white) => {
          const object = (list: string[]): string => `{${list.map((name) => `${white}${name}${white}:[1]`).join()}}`
          refuseDuplicateMembers(object(names))
          const asWritten = names[which % names.length]!
          const twice = JSON.parse(asWritten) as string
          const list = [...names]
          list.splice(where % (list.length + 1), 0, respell ? escaped(twice) : asWritten)
          const error = refusal(() => refuseDuplicateMembers(object(list)))
          expect(error.code).toBe('invalid_request')
          expect(error.field!.toWellFormed()).toBe(twice.toWellFormed())
        },
      ),
      { numRuns: 500 },
    )
  })

  test('wherever it stands, with its path', () => {
    const bodies: [string, string][] = [
      ['{"indices":{"i1":{"hashField":"a"},"i1":{"hashField":"b"}}}', 'indices.i1'],
      ['{"indices":{"i1":{"hashField":"a","hashField":"b"}}}', 'indices.i1.hashField'],
      ['{"range":{"gt":1,"gt":2}}', 'range.gt'],
      ['{"list":[1,{"a":1},{"a":1,"a":2}]}', 'list[2].a'],
      ['[[],[{"a":1,"a":2}]]', '[1][0].a'],
      [' {"a":[[{"b":{"c":1,"c":2}}]]}', 'a[0][0].b.c'],
    ]
    for (const [text, field] of bodies) {
      expect(refused(() => refuseDuplicateMembers(text))).toEqual(['invalid_request', field])
    }
  })

  test('carries the path that the walker was given', () => {
    const text = '{"op":"put","op":"delete"}'
    expect(refused(() => walkObject(text, 0, 'operations[3]', toEnd(text)))).toEqual([
      'invalid_request',
      'operations[3].op',
    ])
  })

  test('is named in a few words, however long it is', () => {
    const name = `${'a'.repeat(100_000)}\\ud800`
    const error = refusal(() => refuseDuplicateMembers(`{"${name}":1,"${name}":2}`))
    expect(error.field!.length).toBeLessThan(300)
    expect(error.message.length).toBeLessThan(600)
    expect(error.message.isWellFormed()).toBe(true)
  })

  test('one name in two objects is no duplicate, nor is one that looks like it in a string', () => {
    for (const text of [
      '{"a":{"a":{"a":1}}}',
      '[{"a":1},{"a":1}]',
      '{"a":"\\",\\"a\\":1"}',
      '{"a":1,"A":1,"a ":1,"\\\\u0061":1}',
      '{"__proto__":1,"constructor":1}',
      '"a"',
      '1',
      'null',
      ' [ ] ',
    ]) {
      JSON.parse(text)
      expect(refuseDuplicateMembers(text)).toBeUndefined()
    }
  })

  test('inside data duplicates are kept: a span is walked over, not into', () => {
    const text = '{"data":{"a":1,"a":2},"hashKey":"h"}'
    expect(walkObject(text, 0, '', toEnd(text))).toBe(text.length)
  })
})
