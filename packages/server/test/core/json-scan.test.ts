import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { checkJson, JsonScan, parseJson } from '../../src/core/text/json-scan.ts'
import { runsOf } from '../harness.ts'
import { jsonText, space } from './json-text.ts'
import { refusal } from './refusal.ts'

// The scan decides what is JSON in place of JSON.parse: the two must never differ, nor in what they say is wrong.

/** The refusal's message and hint; undefined if nothing is refused. */
const saidBy = (run: () => unknown): [message: string, hint: string | undefined] | undefined => {
  try {
    run()
    return undefined
  } catch {
    const { code, message, hint } = refusal(run)
    expect(code).toBe('invalid_json')
    return [message, hint]
  }
}

/** Scans any text, also a small one, which `checkJson` leaves to JSON.parse. */
const scan = (text: string): void => {
  expect(new JsonScan(text).run()).toBe(true)
}

const expectAgreement = (text: string): void => {
  expect({ text, said: saidBy(() => scan(text)) }).toEqual({ text, said: saidBy(() => parseJson(text)) })
}

/** The pieces of which faults are made, and some that only look like a fault. */
const pieces = [
  ...'{}[],:"\\/\'-+.0123456789eEtrufalsn \t\n\r\0\u000b\u000c\u001f\u007f\u00a0\u2028\ufeffé€',
  '\ud800',
  '\udc00',
  '😀',
  'true',
  'false',
  'null',
  'nul',
  'tru',
  'fals',
  'NaN',
  'Infinity',
  'undefined',
  '\\u',
  '\\u00',
  '\\u0041',
  '\\uD83D\\uDE00',
  '\\x41',
  '""',
  '"":',
  '//',
  '/**/',
  '1e5',
  '1E+',
  '.5',
  '0x1',
  '-0',
  '00',
]
const piece = fc.constantFrom(...pieces)

describe('the scan agrees with JSON.parse', () => {
  test('on JSON, with white space around it', () => {
    fc.assert(
      fc.property(jsonText, space, space, ({ text }, before, after) => {
        JSON.parse(before + text + after)
        scan(before + text + after)
      }),
      { numRuns: runsOf(1500) },
    )
  })

  test('on JSON with a piece cut out, put in or put over another', () => {
    fc.assert(
      fc.property(
        jsonText,
        space,
        fc.array(fc.tuple(fc.nat(), fc.nat({ max: 3 }), fc.oneof(fc.constant(''), piece)), {
          minLength: 1,
          maxLength: 3,
        }),
        ({ text }, before, changes) => {
          let changed = before + text
          for (const [where, length, put] of changes) {
            const at = where % (changed.length + 1)
            changed = changed.slice(0, at) + put + changed.slice(at + length)
          }
          expectAgreement(changed)
        },
      ),
      { numRuns: runsOf(6000) },
    )
  })

  test('on every beginning of a text, and on every text without one of its characters', () => {
    const text = ' { "a" : [ 1 , -0.5e+7 , true , false , null , "\\u00e9\\n" , { } , [ ] ] , "b" : { "c" : "é" } } '
    for (let at = 0; at <= text.length; at++) {
      expectAgreement(text.slice(0, at))
      expectAgreement(text.slice(0, at) + text.slice(at + 1))
    }
  })

  test('on pieces in any order', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (list) => expectAgreement(list.join(''))),
      { numRuns: runsOf(6000) },
    )
  })

  test('on strings of any length, with what may and may not stand in them', () => {
    // The lengths are around the one from which JSON.parse looks at them.
    for (let length = 0; length < 140; length++) {
      for (const inner of [
        '',
        '\\',
        '\\"',
        '\\\\',
        '\\u12',
        '\\u1234',
        '\\q',
        '\n',
        '\0',
        '\u001f',
        '\u007f',
        '"',
        '€',
        '\ud800',
      ]) {
        for (const text of [
          `"${'a'.repeat(length)}${inner}"`,
          `"${inner}${'a'.repeat(length)}"`,
          `["${'a'.repeat(length)}${inner}",1]`,
          `{"${'é'.repeat(length)}${inner}":1}`,
          `"${'a'.repeat(length)}${inner}`,
          `{"${'a'.repeat(length)}${inner}"}`,
        ])
          expectAgreement(text)
      }
    }
  })

  test('on strings with many quotes', () => {
    for (let quotes = 0; quotes < 40; quotes++) {
      const inner = Array.from({ length: quotes }, (_, i) => `\\"${'\\\\'.repeat(i % 3)}${'a'.repeat(i % 5)}`).join('')
      const long = 'a'.repeat(70)
      for (const end of ['', '\\', '\\\\', '\\"', '\\\\"', '"', 'a\n'])
        for (const text of [`"${inner}${end}"`, `["${long}${inner}${end}",1]`, `{"${long}${inner}${end}":"${inner}"}`])
          expectAgreement(text)
    }
  })

  const texts = [
    // Numbers.
    ...['0', '-0', '0.0', '1e5', '1E-5', '-1.5e+300', '1e400', '-1e400', '1234567890123456789012345678901234567890'],
    ...[
      '',
      '-',
      '+1',
      '01',
      '-01',
      '00',
      '1.',
      '.1',
      '1.e5',
      '1e',
      '1e+',
      '1e5.',
      '1e5e5',
      '--1',
      '0x1',
      '1_000',
      '1a',
    ],
    ...['- 1', '1 .5', '1. 5', '1e 5', '\uff11', '-Infinity', '0e', '0e0', '0.e1', '1.5.5', '0E+', '-a', '-]'],
    // Literals.
    ...['true', 'false', 'null', 'True', 'nul', 'nulll', 'truefalse', 'true false', 'tru e', 'undefined', 'NaN', 'nan'],
    // Strings.
    ...['""', '"\\u0000"', '"\\uD800"', '"\\ud83d\\ude00"', '"\u007f"', '"\u2028\u2029"', '"\ud800"', '"\\/"', '"\\""'],
    ...['"', '"\\', '"\\"', '"\\u', '"\\u123', '"\\u123g"', '"\\U0041"', '"\\a"', '"\\x41"', '"\\\'"', "'a'", '"\t"'],
    ...['"a"b', '"a""b"', '"\\\n"', '`a`', '\u201ca\u201d', '"\\u00 41"', '"\\u-041"', '"\\u+041"'],
    // Arrays.
    ...[
      '[]',
      '[ ]',
      '[[]]',
      '[1,2]',
      '[1 ,\n2]',
      '[',
      ']',
      '[1',
      '[1,',
      '[1,]',
      '[,1]',
      '[,]',
      '[1,,2]',
      '[1 2]',
      '[1;2]',
    ],
    ...['[1}', '[}', '[1]]', '[[1]', '[1],', '[:]', '["a":1]', '[1:2]', '[a]', '[abc def]', '[\\]', '[#]'],
    // Objects.
    ...['{}', '{ }', '{"":0}', '{"a":1,"a":2}', '{"a":{"b":[]}}', '{"__proto__":1}', '{"a":1,"b":2}'],
    ...['{', '}', '{"', '{"a', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '{,}', '{"a"}', '{"a",1}', '{"a" 1}'],
    ...[
      '{a:1}',
      '{1:1}',
      "{'a':1}",
      '{"a"::1}',
      '{"a":1:2}',
      '{"a":1 "b":2}',
      '{"a":1;"b":2}',
      '{"a":1,"b"}',
      '{"a":}',
    ],
    ...['{"a":]', '{"a":1]', '{]', '{null:1}', '{[]:1}', '{"a":1}}', '{{}}', '{"a":1,,"b":2}', '{:1}', '{"a"="b"}'],
    // These have something around the value.
    ...[' ', '\n', '\t1\r\n', '\u00a01', '1\u00a0', '\ufeff1', '\ufeff', '1 2', '{}{}', '{},', '[] "', '1 tru', '1\0'],
    ...['/**/1', '1//', '1#', '#1', '\u000b1', '\u000c1', '\u20281', '1\u2028', '\ud800', '😀', '\0', '1 \u0085'],
  ]
  test('on texts made by hand', () => {
    for (const text of texts) {
      expectAgreement(text)
      expectAgreement(` ${text} `)
      for (const [open, close] of [
        ['[', ']'],
        ['[0,', ',0]'],
        ['{"a":', '}'],
        ['{"a":[', ']}'],
        [`{"a":"€",${' '.repeat(70)}"b":`, ',"c":[{}]}'],
      ])
        expectAgreement(open + text + close)
    }
  })

  test('on nesting of any depth, whatever it is made of', () => {
    const names = ['[', '{"a":']
    const closes = [']', '}']
    for (let seed = 1; seed <= 9; seed++) {
      // Levels around 32, 64 and 96: the scan keeps 32 of them in one number.
      const levels = [31, 32, 33, 63, 64, 65, 96, 97, 130][seed - 1]!
      const kinds = Array.from({ length: levels }, (_, i) => ((i * seed * 2654435761) >>> (i % 13)) & 1)
      const text =
        kinds.map((kind) => names[kind]).join('') +
        '1' +
        kinds
          .toReversed()
          .map((kind) => closes[kind])
          .join('')
      JSON.parse(text)
      scan(text)
      // One closing bracket of the wrong kind, at each level.
      for (let at = text.indexOf('1') + 1; at < text.length; at++) {
        expectAgreement(text.slice(0, at) + (text[at] === ']' ? '}' : ']') + text.slice(at + 1))
      }
    }
  })

  test('a megabyte of open brackets is refused, and a megabyte of closed ones is not', () => {
    const million = 1_048_576
    for (const text of [
      '['.repeat(million),
      '{"a":'.repeat(million / 4),
      '[{"a":'.repeat(million / 4),
      ']'.repeat(million),
    ])
      expectAgreement(text)
    scan('['.repeat(million) + ']'.repeat(million))
    scan(`${'[{"":'.repeat(million / 4)}0${'}]'.repeat(million / 4)}`)
  })
})

describe('in steps', () => {
  /** The outcome after steps of so many units, and how many there were. */
  const inSteps = (text: string, units: number): { said: ReturnType<typeof saidBy>; steps: number } => {
    let steps = 0
    const said = saidBy(() => {
      steps = 0
      const scan = new JsonScan(text)
      do {
        if (++steps > text.length + 2) throw new Error('a step without progress')
      } while (!scan.run(units))
    })
    return { said, steps }
  }

  test('the outcome is the same, however short they are', () => {
    fc.assert(
      fc.property(
        jsonText,
        space,
        fc.nat(),
        piece,
        fc.integer({ min: 1, max: 9 }),
        ({ text }, after, where, put, units) => {
          const at = where % (text.length + 1)
          for (const whole of [text + after, text.slice(0, at) + put + text.slice(at)]) {
            expect(inSteps(whole, units).said).toEqual(saidBy(() => parseJson(whole)))
          }
        },
      ),
      { numRuns: runsOf(1500) },
    )
    for (const text of ['', ' ', '1', ' 1 ', '[]', '{}', '[', '1 1']) {
      expect({ text, said: inSteps(text, 1).said }).toEqual({ text, said: saidBy(() => parseJson(text)) })
    }
  })

  test('a long text takes about as many as its length says', () => {
    for (const text of [
      `[${Array(10_000).fill('{"999":1}').join()}]`,
      `${' '.repeat(100_000)}1`,
      `1${' '.repeat(100_000)}`,
    ]) {
      const { said, steps } = inSteps(text, 1_000)
      expect(said).toBeUndefined()
      expect(steps).toBeGreaterThan(90)
      expect(steps).toBeLessThanOrEqual(Math.ceil(text.length / 1_000))
    }
  })
})

test('small or large: the same refusal, whose subject is the body or what is said', () => {
  for (const text of ['[', `[${' '.repeat(3_000)}`]) {
    expect(refusal(() => checkJson(text)).message).toBe('The body is not valid JSON: Unexpected EOF.')
    const error = refusal(() => checkJson(text, 'the line'))
    expect([error.message, error.hint]).toEqual(['the line is not valid JSON: Unexpected EOF.', undefined])
  }
  for (const text of ['[]', `[${' '.repeat(3_000)}]`]) checkJson(text)
})
