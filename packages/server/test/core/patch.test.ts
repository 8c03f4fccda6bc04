import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { applyPatch, parsePatchMembers } from '../../src/core/records/patch.ts'
import { cpuMsOf } from '../cpu-time.ts'
import { runsOf } from '../harness.ts'
import { PatchDocuments } from './patch-documents.ts'
import { type ModelArray, modelMerge, modelPlace, modelSum, toFixed, writeNode } from './patch-model.ts'
import { refusal, refused } from './refusal.ts'

// A busy machine takes long for thousands of documents.
setDefaultTimeout(60_000)

interface Texts {
  merge?: string
  increment?: string
  append?: string
}

/** Parses and applies. The patch crosses a thread as JSON in between. */
const patched = (data: string, texts: Texts, prefix = ''): string =>
  applyPatch(data, JSON.parse(JSON.stringify(parsePatchMembers(texts, prefix))), prefix)

const merged = (data: string, merge: string): string => patched(data, { merge })
const incremented = (data: string, increment: string): string => patched(data, { increment })
const appended = (data: string, append: string): string => patched(data, { append })

/** A run with its own seed each time; a failure prints it. */
const forEachDocument = (count: number, check: (documents: PatchDocuments) => void): void => {
  const start = Number(process.env.CUBBY_TEST_SEED ?? Date.now() % 1_000_000_000)
  for (let i = 0; i < runsOf(count); i++) {
    try {
      check(new PatchDocuments(start + i))
    } catch (error) {
      throw new Error(`CUBBY_TEST_SEED=${start + i}: ${error}`)
    }
  }
}

/** A naive reader: objects are maps, in which the last of two members counts, and numbers stay texts. */
const readValue = (text: string): unknown => {
  let at = 0
  const skip = () => {
    while (at < text.length && ' \n\r\t'.includes(text[at]!)) at++
  }
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found === null) throw new Error(`not JSON at ${at}: ${text}`)
    at += found[0].length
    return found[0]
  }
  const read = (): unknown => {
    skip()
    if (text[at] === '"') return JSON.parse(take(/"(?:[^"\\]|\\.)*"/y))
    if (text[at] === '[' || text[at] === '{') {
      const isArray = text[at] === '['
      const values: unknown[] = []
      const members = new Map<unknown, unknown>()
      at++
      skip()
      for (let first = true; text[at] !== ']' && text[at] !== '}'; first = false) {
        if (!first) take(/,/y)
        const value = read()
        skip()
        if (isArray) {
          values.push(value)
          continue
        }
        take(/:/y)
        members.set(value, read())
        skip()
      }
      at++
      return isArray ? values : members
    }
    const word = take(/[-+.0-9a-zA-Z]+/y)
    return word === 'null' ? null : { word }
  }
  const value = read()
  skip()
  if (at < text.length) throw new Error(`not JSON at ${at}: ${text}`)
  return value
}

/** RFC 7396, as its pseudo code has it. */
const mergeValues = (target: unknown, patch: unknown): unknown => {
  if (!(patch instanceof Map)) return patch
  const result = target instanceof Map ? target : new Map()
  for (const [name, value] of patch) {
    if (value === null) result.delete(name)
    else result.set(name, mergeValues(result.get(name), value))
  }
  return result
}

/** Order of members does not matter here. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (!(value instanceof Map)) return value
  return [...value].map(([name, member]) => [JSON.stringify(name), sorted(member)]).sort()
}

describe('any merge', () => {
  test('has the value that the pseudo code of RFC 7396 makes', () => {
    forEachDocument(3_000, (documents) => {
      const data = writeNode(documents.object(3, true))
      const patch = writeNode(documents.object(3, false))
      const result = merged(data, patch)
      JSON.parse(result)
      const expected = JSON.stringify(sorted(mergeValues(readValue(data), readValue(patch))))
      if (JSON.stringify(sorted(readValue(result))) !== expected)
        expect([data, patch, result]).toEqual([data, patch, expected])
    })
  })

  test('leaves what it does not name byte for byte, and removes and adds by the rules for white space', () => {
    forEachDocument(5_000, (documents) => {
      const data = documents.object(3, true)
      const patch = documents.object(3, false)
      const text = writeNode(data)
      const result = merged(text, writeNode(patch))
      modelMerge(data, patch)
      if (result !== writeNode(data))
        expect([text, writeNode(patch), result]).toEqual([text, writeNode(patch), writeNode(data)])
    })
  })
})

const pointerOf = (path: string[]): string =>
  path.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

const isBelowOrSame = (path: string[], other: string[]): boolean => other.every((token, i) => path[i] === token)

describe('any patch', () => {
  test('does what one change after another would do, or has the error of the first that fails', () => {
    const outcomes = { done: 0, not_a_number: 0, not_an_array: 0, precondition_failed: 0 }
    forEachDocument(6_000, (documents) => {
      const data = documents.object(3, true)
      const text = writeNode(data)
      const merge = documents.below(3) === 0 ? documents.object(2, false) : undefined
      const mergeText = merge && writeNode(merge)
      if (merge !== undefined) modelMerge(data, merge)
      const paths: string[][] = []
      for (let left = documents.below(5); left >= 0; left--) {
        const path = documents.path(data)
        if (!paths.some((other) => isBelowOrSame(path, other) || isBelowOrSame(other, path))) paths.push(path)
      }
      const split = documents.below(paths.length + 1)
      const increments = paths.slice(0, split).map((path) => {
        const bounds = documents.below(3) === 0 ? { min: small(documents), max: small(documents) } : {}
        return { path, by: small(documents), ...bounds }
      })
      const appends: { path: string[]; values: ModelArray }[] = paths
        .slice(split)
        .map((path) => ({ path, values: documents.array(1) }))
      const name = (path: string[]) => JSON.stringify(pointerOf(path))
      const texts: Texts = { merge: mergeText }
      if (increments.length > 0) {
        const members = increments.map((one) => {
          const value = one.min === undefined ? one.by : `{"min":${one.min}, "by" : ${one.by} ,"max":${one.max}}`
          return `${name(one.path)} : ${value}`
        })
        texts.increment = `{ ${members.join(' , ')} }`
      }
      if (appends.length > 0) {
        texts.append = `{${appends.map(({ path, values }) => `${name(path)}:${writeNode(values)}`).join(',')}}`
      }

      let failure: [string, string] | undefined
      for (const { path, ...increment } of increments) {
        const code = modelPlace(data, path, { increment })
        if (code !== undefined) failure ??= [code, `increment[${JSON.stringify(pointerOf(path).toWellFormed())}]`]
        if (failure !== undefined) break
      }
      for (const { path, values } of appends) {
        if (failure !== undefined) break
        const code = modelPlace(data, path, { append: values })
        if (code !== undefined) failure = [code, `append[${JSON.stringify(pointerOf(path).toWellFormed())}]`]
      }
      if (failure !== undefined) {
        outcomes[failure[0] as keyof typeof outcomes]++
        const found = refused(() => patched(text, texts))
        if (found.join() !== failure.join()) expect([text, texts, ...found]).toEqual([text, texts, ...failure])
        return
      }
      outcomes.done++
      const result = patched(text, texts)
      JSON.parse(result)
      if (result !== writeNode(data)) expect([text, texts, result]).toEqual([text, texts, writeNode(data)])
    })
    for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(100)
  })
})

/** An operand that is allowed. */
const small = (documents: PatchDocuments): string =>
  documents.pick([
    '1',
    '-1',
    '0',
    '0.1',
    '-0',
    '1e3',
    '-2.50',
    '1e-308',
    '9e307',
    '12345678901234567890123456789012345678',
  ])

describe('any increment', () => {
  test('adds exactly, and refuses what it cannot write', () => {
    const outcomes = { done: 0, operand: 0, not_a_number: 0 }
    forEachDocument(8_000, (documents) => {
      const [present, by] = [documents.number(), documents.number()]
      const operandOnly = modelSum('0', { by })
      if ('code' in operandOnly) {
        outcomes.operand++
        const found = refused(() => parsePatchMembers({ increment: `{"/n":${by}}` }, ''))
        if (found.join() !== 'invalid_request,increment["/n"]') expect([by, ...found]).toEqual([by])
        return
      }
      const sum = modelSum(present, { by })
      const run = () => incremented(`{"n":${present}}`, `{"/n":${by}}`)
      if ('code' in sum) {
        outcomes.not_a_number++
        const found = refused(run)
        if (found.join() !== `${sum.code},increment["/n"]`) expect([present, by, ...found]).toEqual([present, by])
        return
      }
      outcomes.done++
      const result = run()
      if (result !== `{"n":${sum.text}}`) expect([present, by, result]).toEqual([present, by, sum.text])
      if (toFixed(sum.text) !== toFixed(present) + toFixed(by)) throw new Error('the model is wrong')
    })
    // About 114 of the 4,000 of a short run have an operand that is refused.
    for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(30)
  })

  test('writes a number as JavaScript does', () => {
    forEachDocument(5_000, (documents) => {
      const power = documents.below(600) - 300
      const text = `${documents.pick(['', '-'])}${1 + documents.below(999_999_999)}e${power}`
      const result = incremented(`{"n":${text}}`, '{"/n":0}')
      if (result !== JSON.stringify({ n: Number(text) })) expect([text, result]).toEqual([text])
    })
  })
})

describe('merge', () => {
  test('objects are merged, null removes, everything else replaces', () => {
    expect(merged('{"a":{"b":1,"c":2},"d":3,"e":[1,2]}', '{"a":{"b":null,"x":4},"d":null,"e":[null]}')).toBe(
      '{"a":{"c":2,"x":4},"e":[null]}',
    )
  })

  test('a new object, or one that replaces something else, loses its members of null at every depth, but not inside arrays', () => {
    const patch = '{"n":{"a":null,"b":{"c":null,"d":[null,{"e":null}]}},"r":{"a":null}}'
    expect(merged('{"r":1}', patch)).toBe('{"r":{},"n":{"b":{"d":[null,{"e":null}]}}}')
    expect(merged('{"r":[1]}', patch)).toBe('{"r":{},"n":{"b":{"d":[null,{"e":null}]}}}')
    expect(merged('{}', '{"a":{"b":{"c":null}}}')).toBe('{"a":{"b":{}}}')
  })

  test('the examples of RFC 7396 between objects', () => {
    for (const [data, patch, result] of [
      ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
      ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
      ['{"a":"b"}', '{"a":null}', '{}'],
      ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
      ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
      ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
      ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
      ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
      ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
      ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
    ] as const) {
      expect([data, patch, merged(data, patch)]).toEqual([data, patch, result])
    }
  })

  test('a replaced value takes the text of the patch, in its place', () => {
    expect(merged('{ "a" :\t1.0 , "b" : 2 }', '{"\\u0061": [ 1.50 , 2e0 ] }')).toBe(
      '{ "a" :\t[ 1.50 , 2e0 ] , "b" : 2 }',
    )
  })

  test('a removed member goes with the comma before it and the white space around that', () => {
    expect(merged('{ "a":1 ,  "b":2\t,\n"c":3 }', '{"b":null}')).toBe('{ "a":1\t,\n"c":3 }')
    expect(merged('{ "a":1 ,  "b":2 }', '{"b":null}')).toBe('{ "a":1 }')
  })

  test('the first member goes with the comma after it and the white space around that', () => {
    expect(merged('{ "a":1 ,\n"b":2\t}', '{"a":null}')).toBe('{ "b":2\t}')
    expect(merged('{ "a":1 ,\n"b":2\t,  "c":3}', '{"a":null,"b":null}')).toBe('{ "c":3}')
    expect(merged('{ "a":1\n}', '{"a":null}')).toBe('{ \n}')
  })

  test('new members follow the last one that is left, in the order of the patch, with their text from name to end of value', () => {
    expect(merged('{ "a":1 , "b":2 }', '{"b":null, "z" : {"q" : 1} ,"\\u0079"\n:\t[ ]}')).toBe(
      '{ "a":1,"z" : {"q" : 1},"\\u0079"\n:\t[ ] }',
    )
    expect(merged('{ "a":1 }', '{"b" : 2,"a":null}')).toBe('{"b" : 2  }')
    expect(merged('{ }', '{"b":2}')).toBe('{"b":2 }')
    expect(merged('{}', '{"b":null}')).toBe('{}')
  })

  test('names are compared decoded, and each is a name like any other', () => {
    expect(merged('{"\\u0061":1,"b":2}', '{"a":3}')).toBe('{"\\u0061":3,"b":2}')
    expect(merged('{"\\ud83d\\ude00":1}', '{"😀":null}')).toBe('{}')
    expect(merged('{"__proto__":1,"":2,"constructor":3}', '{"__proto__":{"x":1},"":null}')).toBe(
      '{"__proto__":{"x":1},"constructor":3}',
    )
    expect(merged('{"a\\\\u0062":1,"ab":2}', '{"ab":3}')).toBe('{"a\\\\u0062":1,"ab":3}')
    expect(merged('{}', '{"toString":1,"__proto__":null}')).toBe('{"toString":1}')
  })

  test('of a member that is there twice the last counts, and the others are removed if it is named', () => {
    expect(merged('{"a":{"x":1},"b":0,"a":{"y":2}}', '{"a":{"z":3}}')).toBe('{"b":0,"a":{"y":2,"z":3}}')
    expect(merged('{"a":1,"b":0,"a":2}', '{"a":null}')).toBe('{"b":0}')
    expect(merged('{"a":1,"b":0,"a":2}', '{"b":5}')).toBe('{"a":1,"b":5,"a":2}')
    expect(merged('{"a":{"x":1},"a":2}', '{"a":{"z":3,"n":null}}')).toBe('{"a":{"z":3}}')
  })

  test('an empty merge changes nothing', () => {
    expect(merged('{ "a" : 1 , "a":2 }', '{ }')).toBe('{ "a" : 1 , "a":2 }')
    expect(merged('{ "a" : { "b":1 } }', '{"a":{}}')).toBe('{ "a" : { "b":1 } }')
  })

  test('a member twice in an object of merge, at any depth: invalid_request', () => {
    for (const [patch, field] of [
      ['{"a":1,"a":1}', 'merge.a'],
      ['{"a":1,"\\u0061":null}', 'merge.a'],
      ['{"x":{"y":{"":1,"":2}}}', 'merge.x.y.'],
      ['{"x":[{"a":1},[{"a":1,"b":0,"a":1}]]}', 'merge.x[1][0].a'],
      ['{"__proto__":1,"__proto__":1}', 'merge.__proto__'],
    ] as const) {
      expect([patch, ...refused(() => merged('{}', patch))]).toEqual([patch, 'invalid_request', field])
    }
    const many = Array.from({ length: 3_000 }, (_, i) => `"m${i}":0`).join(',')
    expect(refused(() => merged('{}', `{${many},"m2500":1}`))).toEqual(['invalid_request', 'merge.m2500'])
  })

  test('anything but an object: invalid_request', () => {
    for (const patch of ['null', '[]', '"{}"', '1', 'true'])
      expect(refused(() => parsePatchMembers({ merge: patch }, 'operations[2].'))).toEqual([
        'invalid_request',
        'operations[2].merge',
      ])
  })

  test('deeper than data may be: invalid_request for data, however deep', () => {
    const deep = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
    expect(merged('{}', deep(64))).toBe(deep(64))
    expect(refused(() => merged('{}', deep(65)))).toEqual(['invalid_request', 'data'])
    expect(refused(() => merged('{}', deep(170_000)))).toEqual(['invalid_request', 'data'])
    expect(refused(() => merged('{}', `{"a":${'['.repeat(500_000)}${']'.repeat(500_000)}}`))).toEqual([
      'invalid_request',
      'data',
    ])
  })
})

describe('increment', () => {
  test('adds exactly, as decimals', () => {
    for (const [present, by, sum] of [
      ['0.2', '0.1', '0.3'],
      ['1', '-1', '0'],
      ['-0', '-0', '0'],
      ['-0.0', '0', '0'],
      ['9007199254740993', '1', '9007199254740994'],
      ['999999999999999', '1', '1000000000000000'],
      ['999999999999999999999', '1', '1e+21'],
      ['1e21', '1', '1.000000000000000000001e+21'],
      ['999999999999999999998', '1', '999999999999999999999'],
      ['0.0000015', '-0.0000005', '0.000001'],
      ['0.000001', '-0.00000085', '1.5e-7'],
      ['1E+2', '0', '100'],
      ['1.50', '0', '1.5'],
      ['-1', '0.999999999999999999', '-1e-18'],
      ['1e308', '8e308', '9e+308'],
      ['1e-308', '1e-308', '2e-308'],
      [`1${'0'.repeat(300)}`, '0', '1e+300'],
      [`0.${'0'.repeat(307)}1`, '0', '1e-308'],
      ['1e000000000000000000000002', '1', '101'],
      ['0e999999999999', '1', '1'],
      [`1${'0'.repeat(1_000)}e-1000`, '1', '2'],
    ] as const) {
      expect([present, by, incremented(`{"n":${present}}`, `{"/n":${by}}`)]).toEqual([present, by, `{"n":${sum}}`])
    }
  })

  test('an operand of more than 40 digits, too large or too small: invalid_request', () => {
    const numbers = [
      '1'.repeat(41),
      `0.${'1'.repeat(41)}`,
      `1${'0'.repeat(39)}1`,
      '1e309',
      '-1e309',
      '9.99e-309',
      '1e999999999',
      '1e-999999999999999999',
      '1'.repeat(1_000_000),
    ]
    for (const by of numbers) {
      for (const value of [by, `{"by":${by}}`, `{"by":1,"min":${by}}`, `{"by":1,"max":${by}}`]) {
        expect(refused(() => incremented('{}', `{"/n":${value}}`))).toEqual(['invalid_request', 'increment["/n"]'])
      }
      expect(refused(() => incremented(`{"n":${by}}`, '{"/n":1}'))).toEqual(['not_a_number', 'increment["/n"]'])
    }
    for (const by of ['1'.repeat(40), `0.000${'1'.repeat(40)}000`, '1e-308', '9.99e308', `1${'0'.repeat(308)}`]) {
      expect(incremented('{}', `{"/n":${by}}`)).toStartWith('{"n":')
    }
  })

  test('a sum of more than 40 digits, too large or too small: not_a_number', () => {
    for (const [present, by] of [
      ['1e40', '0.1'],
      ['9e308', '1e308'],
      ['1e-308', '-1.5e-308'],
      ['1e308', '1e-308'],
    ] as const) {
      const run = () => incremented(`{"n":${present}}`, `{"/n":${by}}`)
      expect([present, by, ...refused(run)]).toEqual([present, by, 'not_a_number', 'increment["/n"]'])
    }
  })

  test('a sum outside min and max: precondition_failed; the bounds themselves are inside', () => {
    const add = (n: string, operand: string) => incremented(`{"n":${n}}`, `{"/n":${operand}}`)
    expect(add('3', '{"by":-3,"min":0}')).toBe('{"n":0}')
    expect(add('0.2', '{"max":0.3,"by":0.1}')).toBe('{"n":0.3}')
    for (const run of [
      () => add('3', '{"by":-4,"min":0}'),
      () => add('3', '{"by":-3,"min":1e-300}'),
      () => add('0.2', '{"by":0.1,"max":0.29999999999999999999}'),
      () => add('0', '{"by":1,"min":-5,"max":0}'),
      () => incremented('{}', '{"/n":{"by":-1,"min":0}}'),
    ]) {
      expect(refused(run)).toEqual(['precondition_failed', 'increment["/n"]'])
    }
  })

  test('a missing member is made at the end of its object, with the objects on the way, those of increment first', () => {
    const texts = { increment: '{ "/a/b/c" : 1.0 , "/z":2,"/a/b/d":3 }', append: '{"/a/l":[ 1 , null ]}' }
    expect(patched('{ "x":1 }', texts)).toBe('{ "x":1,"a":{"b":{"c":1,"d":3},"l":[ 1 , null ]},"z":2 }')
    expect(incremented('{ "a" : { } }', '{"/a/~0~1\\u00e9\\n":5}')).toBe('{ "a" : {"~/é\\n":5 } }')
    expect(incremented('{}', '{"/":1,"/__proto__":2}')).toBe('{"":1,"__proto__":2}')
    expect(incremented('{}', '{"/~01":1,"/0/-":2}')).toBe('{"~1":1,"0":{"-":2}}')
  })

  test('in an array only the index of an existing element leads on', () => {
    expect(incremented('{"a":[1, 2 ,{"n":3}]}', '{"/a/2/n":1,"/a/1":5}')).toBe('{"a":[1, 7 ,{"n":4}]}')
    for (const index of ['3', '-', '01', '-1', '1e0', '1.0', '', '-0', '99999999999999999999', 'length']) {
      for (const pointer of [`/a/${index}`, `/a/${index}/n`]) {
        expect([pointer, ...refused(() => incremented('{"a":[1,2,{"n":3}]}', `{"${pointer}":1}`))]).toEqual([
          pointer,
          'not_a_number',
          `increment["${pointer}"]`,
        ])
        expect(refused(() => appended('{"a":[1,2,{"n":3}]}', `{"${pointer}":[1]}`))[0]).toBe('not_an_array')
      }
    }
  })

  test('anything else there or on the way: not_a_number', () => {
    for (const value of ['null', '"1"', 'true', '[]', '[1]', '{}', '{"a":1}']) {
      expect([value, ...refused(() => incremented(`{"n":${value}}`, '{"/n":1}'))]).toEqual([
        value,
        'not_a_number',
        'increment["/n"]',
      ])
    }
    for (const value of ['null', '"1"', 'true', '1', '[]']) {
      expect(refused(() => patched(`{"n":${value}}`, { increment: '{"/n/x":1}' }, 'operations[2].'))).toEqual([
        'not_a_number',
        'operations[2].increment["/n/x"]',
      ])
    }
  })

  test('of a member that is there twice the last counts, and a pointer removes the others, also on its way', () => {
    expect(incremented('{"n":"x","b":0,"n":2}', '{"/n":1}')).toBe('{"b":0,"n":3}')
    expect(incremented('{"a":7,"b":0,"a":{"n":{},"n":1}}', '{"/a/n":1}')).toBe('{"b":0,"a":{"n":2}}')
    expect(refused(() => incremented('{"a":{"n":1},"a":7}', '{"/a/n":1}'))[0]).toBe('not_a_number')
  })

  test('the first operation that fails is named, whatever its place in data', () => {
    const data = '{"a":"x","b":[],"c":1}'
    expect(refused(() => patched(data, { increment: '{"/c":1,"/b":1,"/a":1}' }))[1]).toBe('increment["/b"]')
    expect(refused(() => patched(data, { append: '{"/a":[1]}', increment: '{"/c/x":1}' }))[1]).toBe('increment["/c/x"]')
    expect(refused(() => patched(data, { append: '{"/c":[1],"/a":[1]}' }))[1]).toBe('append["/c"]')
  })

  test('comes after merge', () => {
    expect(patched('{"n":"x"}', { merge: '{"n":5,"l":[]}', increment: '{"/n":1}', append: '{"/l":[1]}' })).toBe(
      '{"n":6,"l":[1]}',
    )
    expect(refused(() => patched('{"n":1}', { merge: '{"n":"x"}', increment: '{"/n":1}' }))[0]).toBe('not_a_number')
  })

  test('anything but numbers and their bounds: invalid_request', () => {
    const values = [
      '"1"',
      'null',
      'true',
      '[1]',
      '{}',
      '{"min":1}',
      '{"by":"1"}',
      '{"by":1,"min":null}',
      '{"by":1,"b":1}',
      '{"by":1,"by":2}',
    ]
    for (const value of values) {
      expect([value, ...refused(() => parsePatchMembers({ increment: `{"/n":${value}}` }, 'operations[0].'))]).toEqual([
        value,
        'invalid_request',
        'operations[0].increment["/n"]',
      ])
    }
  })
})

describe('append', () => {
  test('adds its text, from the first value to the last, after the last element and a comma, or after the bracket', () => {
    expect(appended('{"l": [ 1 , 2 ] }', '{"/l":[ 3 ,\n null, {"a":null,"a":1} ]}')).toBe(
      '{"l": [ 1 , 2,3 ,\n null, {"a":null,"a":1} ] }',
    )
    expect(appended('{"l": [ ] }', '{"/l":[ "a" ]}')).toBe('{"l": ["a" ] }')
    expect(appended('{"l":["]"]}', '{"/l":["]["]}')).toBe('{"l":["]","]["]}')
    expect(appended('{"l":[[1]]}', '{"/l/0":[2],"/m":[ ]}')).toBe('{"l":[[1,2]],"m":[ ]}')
    expect(appended('{"l":[ 1 ]}', '{"/l":[ ]}')).toBe('{"l":[ 1 ]}')
  })

  test('a missing array is made as it was sent', () => {
    expect(appended('{}', '{"/l":[ 1 ,2\n]}')).toBe('{"l":[ 1 ,2\n]}')
  })

  test('anything else there: not_an_array', () => {
    for (const value of ['null', '"[]"', 'true', '1', '{}', '{"0":[]}']) {
      expect([value, ...refused(() => appended(`{"l":${value}}`, '{"/l":[1]}'))]).toEqual([
        value,
        'not_an_array',
        'append["/l"]',
      ])
    }
    expect(refused(() => appended('{"l":1}', '{"/l/x":[1]}'))).toEqual(['not_an_array', 'append["/l/x"]'])
  })

  test('anything but an array: invalid_request', () => {
    for (const value of ['1', 'null', '{}', '"[]"']) {
      expect(refused(() => appended('{}', `{"/l":${value}}`))).toEqual(['invalid_request', 'append["/l"]'])
    }
  })
})

describe('pointers', () => {
  test('neither increment nor append may be empty or something else than an object', () => {
    for (const list of ['increment', 'append'] as const) {
      for (const value of ['{}', '{ }', '[]', 'null', '1']) {
        expect(refused(() => parsePatchMembers({ [list]: value }, ''))).toEqual(['invalid_request', list])
      }
    }
  })

  test('begin with a slash, and a tilde is followed by 0 or 1', () => {
    for (const pointer of ['', 'n', '~1n', '#/n', '/a~', '/~2', '/a~/b', '/~~0']) {
      for (const list of ['increment', 'append'] as const) {
        const value = list === 'increment' ? 1 : [1]
        const run = () => parsePatchMembers({ [list]: JSON.stringify({ [pointer]: value }) }, '')
        expect(refused(run)).toEqual(['invalid_request', `${list}["${pointer}"]`])
      }
    }
  })

  test('are 25 at most together', () => {
    const list = (count: number, name: string, value: string) =>
      `{${Array.from({ length: count }, (_, i) => `"/${name}${i}":${value}`).join(',')}}`
    const texts = (increments: number, appends: number) => ({
      increment: list(increments, 'n', '1'),
      append: list(appends, 'l', '[]'),
    })
    JSON.parse(patched('{}', texts(24, 1)))
    JSON.parse(patched('{}', { increment: list(25, 'n', '1') }))
    expect(refused(() => patched('{}', { increment: list(26, 'n', '1') }))).toEqual(['invalid_request', 'increment'])
    expect(refused(() => patched('{}', texts(1, 26)))).toEqual(['invalid_request', 'append'])
    expect(refused(() => patched('{}', texts(13, 13)))).toEqual(['invalid_request', 'append'])
  })

  test('none is the same as another or leads below it: invalid_request naming both', () => {
    for (const [texts, field, other] of [
      [{ increment: '{"/a":1,"/a":1}' }, 'increment["/a"]', 'increment["/a"]'],
      [{ increment: '{"/a":1,"\\/a":1}' }, 'increment["/a"]', 'increment["/a"]'],
      [{ increment: '{"/a":1,"/a/b":1}' }, 'increment["/a/b"]', 'increment["/a"]'],
      [{ increment: '{"/a/b":1,"/x":1,"/a":1}' }, 'increment["/a/b"]', 'increment["/a"]'],
      [{ increment: '{"/a":1}', append: '{"/a":[1]}' }, 'append["/a"]', 'increment["/a"]'],
      [{ increment: '{"/a/0":1}', append: '{"/a":[1]}' }, 'increment["/a/0"]', 'append["/a"]'],
      [{ append: '{"/":[1],"//":[1]}' }, 'append["//"]', 'append["/"]'],
    ] as const) {
      const error = refusal(() => parsePatchMembers(texts, ''))
      expect([texts, error.code, error.field]).toEqual([texts, 'invalid_request', field])
      expect(error.message).toContain(field)
      expect(error.message).toContain(other)
    }
    expect(incremented('{}', '{"/a":1,"/ab":1,"/a~1b":1}')).toBe('{"a":1,"ab":1,"a/b":1}')
  })

  test('lead at most as deep as data may be', () => {
    expect(incremented('{}', `{"${'/a'.repeat(64)}":1}`)).toEndWith(`1${'}'.repeat(64)}`)
    for (const levels of [65, 400_000]) {
      expect(refused(() => incremented('{}', `{"${'/a'.repeat(levels)}":1}`))[0]).toBe('invalid_request')
    }
  })

  test('a long or malformed pointer is shown short and well-formed', () => {
    const { field } = refusal(() => incremented('{"n":1}', `{"/n/${'x'.repeat(1_000)}":1}`))
    expect(field).toBe(`increment["/n/${'x'.repeat(77)}…"]`)
    expect(refused(() => incremented('{"\\ud800":"x"}', '{"/\\ud800":1}'))[1]).toBe('increment["/\ufffd"]')
  })
})

/** What a patch costs grows with the texts, not with their product. Times are compared within the run. */
describe('hostile texts', () => {
  const list = (count: number, member: (i: number) => string) =>
    `{${Array.from({ length: count }, (_, i) => member(i)).join(',')}}`
  const cases: [string, (size: number) => () => unknown][] = [
    [
      'many members in data and merge',
      (size) => () =>
        merged(
          list(size, (i) => `"f${i}":${i}`),
          list(size, (i) => `"f${i * 2}":null`),
        ),
    ],
    [
      'one name many times',
      (size) => () =>
        merged(
          list(size, () => '"a":{}'),
          `{"a":${list(size, (i) => `"f${i}":[{}]`)}}`,
        ),
    ],
    [
      'one name many times that is replaced',
      (size) => () =>
        merged(
          list(size, () => '"a":1'),
          `{"a":${list(size, (i) => `"f${i}":null`)}}`,
        ),
    ],
    [
      'one name many times on the way of a pointer',
      (size) => () =>
        incremented(
          list(size, () => '"a":{"b":1}'),
          '{"/a/b":1,"/a/c":1}',
        ),
    ],
    ['zeros inside a number', (size) => () => incremented('{}', `{"/n":0.${'0'.repeat(size * 10)}e9999999}`)],
  ]
  for (const [name, make] of cases) {
    test(name, () => {
      // The text is 32 times as long. A quadratic walk would take 1,000 times as long.
      expect(cpuMsOf(make(16_000)) / cpuMsOf(make(500), 20)).toBeLessThan(250)
    })
  }
})
