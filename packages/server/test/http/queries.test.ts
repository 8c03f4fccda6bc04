import { beforeAll, describe, expect, test } from 'bun:test'
import type { Json } from '../harness.ts'
import { justPast, ok, refused, type TestTable, useService } from './service.ts'

const service = useService()

describe('by primary key', () => {
  test('the records of a hash key in the order of their range keys, as UTF-8 bytes', async () => {
    const table = await service.table()
    const ranges = ['\0', '!', '#', '$', '10', '9', 'A', 'a', 'aa', 'b', 'é', '日', '\uffff', '😀']
    await table.fill(ranges.toReversed().map((rangeKey) => ({ hashKey: 'h', rangeKey })))
    await table.put('h2', {}, { rangeKey: 'a' })
    await table.put('H', {}, { rangeKey: 'a' })
    expect(await table.ranges({ hash: 'h' })).toEqual(ranges)
    expect(await table.ranges({ hash: 'h', ascending: true })).toEqual(ranges)
    expect(await table.ranges({ hash: 'h', ascending: false })).toEqual(ranges.toReversed())
  })

  test('an item is the record: hashKey, rangeKey, data, ttl, updatedAt', async () => {
    const table = await service.table()
    const plain = await table.put('h', { a: 1 })
    const ranged = await table.put('h', { a: 2 }, { rangeKey: 'r', ttl: 4102444800 })
    const page = await table.query({ hash: 'h' })
    expect(page).toEqual({ items: [plain, ranged], count: 2, cursor: null })
  })

  test('a hash key without records: an empty last page', async () => {
    const table = await service.table()
    expect(await table.query({ hash: 'nobody' })).toEqual({ items: [], count: 0, cursor: null })
  })

  describe('range', () => {
    let table: TestTable
    beforeAll(async () => {
      table = await service.table()
      await table.fill(['a', 'aa', 'ab', 'b', 'c'].map((rangeKey) => ({ hashKey: 'h', rangeKey })))
      await table.put('other', {}, { rangeKey: 'ab' })
    })
    const cases: [Json, string[]][] = [
      [{ eq: 'ab' }, ['ab']],
      [{ eq: 'abc' }, []],
      [{ lt: 'ab' }, ['a', 'aa']],
      [{ lte: 'ab' }, ['a', 'aa', 'ab']],
      [{ gt: 'ab' }, ['b', 'c']],
      [{ gte: 'ab' }, ['ab', 'b', 'c']],
      [{ between: ['aa', 'b'] }, ['aa', 'ab', 'b']],
      [{ between: ['ab', 'ab'] }, ['ab']],
      [{ gte: 'aa', lt: 'b' }, ['aa', 'ab']],
      [{ gt: 'aa', lte: 'b' }, ['ab', 'b']],
      [{ lt: 'b', gt: 'a' }, ['aa', 'ab']],
      [{ gte: 'aa', lte: 'aa' }, ['aa']],
      [{ gte: 'aa', lt: 'aa' }, []],
      [{ gt: 'aa', lt: 'aa' }, []],
      [{ gt: 'aa', lt: 'aa\0' }, []],
      [{ between: ['a0', 'aaz'] }, ['aa']],
      [{ beginsWith: 'a' }, ['a', 'aa', 'ab']],
      [{ beginsWith: 'ab' }, ['ab']],
      [{ beginsWith: '' }, ['a', 'aa', 'ab', 'b', 'c']],
      [{ beginsWith: 'z' }, []],
      [{ gt: '' }, ['a', 'aa', 'ab', 'b', 'c']],
      [{ lt: '' }, []],
    ]
    for (const [range, expected] of cases) {
      test(JSON.stringify(range), async () => {
        expect(await table.ranges({ hash: 'h', range })).toEqual(expected)
        expect(await table.ranges({ hash: 'h', range, ascending: false })).toEqual(expected.toReversed())
        expect(await table.ranges({ hash: 'h', range, limit: 1 })).toEqual(expected)
      })
    }

    test('beginsWith at the edges of UTF-8', async () => {
      const edges = await service.table()
      const ranges = [
        '\x7f',
        '\x7fa',
        '\u0080',
        '\u07ff',
        '\u07ffz',
        '\u0800',
        '\uffff',
        '\uffffz',
        '\u{10ffff}',
        '\u{10ffff}z',
      ]
      await edges.fill(ranges.map((rangeKey) => ({ hashKey: 'h', rangeKey })))
      for (const prefix of ['\x7f', '\u07ff', '\uffff', '\u{10ffff}']) {
        expect(await edges.ranges({ hash: 'h', range: { beginsWith: prefix } })).toEqual([
          prefix,
          ...ranges.filter((r) => r.length > prefix.length && r.startsWith(prefix)),
        ])
      }
    })

    test('operands for the primary key are strings and stay strings', async () => {
      const times = await service.table()
      const ranges = ['1704067200000', '2024-01-01T00:00:00.000Z', '2024-01-01T00:00:00Z', '2024-01-01T01:00:00+01:00']
      await times.fill(ranges.map((rangeKey) => ({ hashKey: 'h', rangeKey })))
      const found = await times.ranges({ hash: 'h', range: { eq: '2024-01-01T00:00:00Z' } })
      expect(found).toEqual(['2024-01-01T00:00:00Z'])
      expect(await times.ranges({ hash: 'h', range: { gte: '2024' } })).toEqual(ranges.slice(1))
      refused(await times.tryQuery({ hash: 'h', range: { gte: 1704067200000 } }), 400, 'invalid_range')
      refused(await times.tryQuery({ hash: 'h', range: { eq: true } }), 400, 'invalid_range')
      refused(await times.tryQuery({ hash: 'h', range: { between: ['a', 2] } }), 400, 'invalid_range')
    })
  })
})

describe('by recency', () => {
  test('t orders by updatedAt, newest first unless ascending: true', async () => {
    const table = await service.table()
    for (const key of ['a', 'b', 'c']) await table.put(key)
    await Bun.sleep(2)
    await table.put('a', { again: true })
    expect(await table.hashes({ index: 't' })).toEqual(['a', 'c', 'b'])
    expect(await table.hashes({ index: 't', ascending: false })).toEqual(['a', 'c', 'b'])
    expect(await table.hashes({ index: 't', ascending: true })).toEqual(['b', 'c', 'a'])
  })

  test('it has every record of the table, whatever its data', async () => {
    const table = await service.table({ i1: { hashField: 'absent' } })
    await table.put('a')
    await table.put('a', {}, { rangeKey: 'r' })
    await table.put('b', { absent: 1 })
    expect((await table.items({ index: 't' })).length).toBe(3)
    ok(await table.delete('a'))
    expect((await table.items({ index: 't' })).length).toBe(2)
  })

  test('within one millisecond: by updatedAt, then creation', async () => {
    const table = await service.table()
    const keys = Array.from({ length: 25 }, (_, i) => `k${(i * 7) % 25}`)
    await table.batch(keys.map((hashKey) => ({ op: 'put', hashKey, data: {} })))
    expect(await table.hashes({ index: 't', ascending: true })).toEqual(keys)
    expect(await table.hashes({ index: 't' })).toEqual(keys.toReversed())
  })

  test('range over updatedAt, as epoch milliseconds or as an ISO date-time', async () => {
    const table = await service.table()
    const records: Json[] = []
    for (const key of ['a', 'b', 'c', 'd']) {
      records.push(await table.put(key))
      await Bun.sleep(3)
    }
    const [a, b, c] = records.map((record) => record.updatedAt)
    const iso = (ms: number) => new Date(ms).toISOString()
    const ascending = true
    for (const spell of [(ms: number) => ms, iso]) {
      const keys = (range: Json) => table.hashes({ index: 't', ascending, range })
      expect(await keys({ eq: spell(b) })).toEqual(['b'])
      expect(await keys({ lt: spell(b) })).toEqual(['a'])
      expect(await keys({ lte: spell(b) })).toEqual(['a', 'b'])
      expect(await keys({ gt: spell(b) })).toEqual(['c', 'd'])
      expect(await keys({ gte: spell(b) })).toEqual(['b', 'c', 'd'])
      expect(await keys({ between: [spell(a), spell(c)] })).toEqual(['a', 'b', 'c'])
    }
    expect(await table.hashes({ index: 't', ascending, range: { between: [a, iso(b)] } })).toEqual(['a', 'b'])
    expect(await table.hashes({ index: 't', range: { gte: b } })).toEqual(['d', 'c', 'b'])
    expect(await table.hashes({ index: 't', range: { gt: b - 0.5 } })).toEqual(['d', 'c', 'b'])
    expect(await table.hashes({ index: 't', range: { lt: b + 0.5 }, ascending })).toEqual(['a', 'b'])
    expect(await table.hashes({ index: 't', range: { eq: b + 0.5 } })).toEqual([])
    expect(await table.hashes({ index: 't', range: { gt: -1e300 }, ascending })).toEqual(['a', 'b', 'c', 'd'])
    expect(await table.hashes({ index: 't', range: { gt: 1e300 } })).toEqual([])
  })

  for (const range of [
    { beginsWith: '2024' },
    { eq: 'yesterday' },
    { gt: true },
    { lt: '2024-01-01' },
    { gte: null },
  ]) {
    test(`${JSON.stringify(range)} is refused: invalid_range`, async () => {
      refused(await (await service.table()).tryQuery({ index: 't', range }), 400, 'invalid_range')
    })
  }

  test('it takes no hash', async () => {
    const table = await service.table()
    refused(await table.tryQuery({ index: 't', hash: 'a' }), 400, 'invalid_request', 'hash')
  })
})

describe('by declared index', () => {
  test('hash and range are taken from the top level of data', async () => {
    const table = await service.table({ i1: { hashField: 'status', rangeField: 'at' }, i2: { hashField: 'at' } })
    await table.put('a', { status: 'open', at: 3 })
    await table.put('b', { status: 'open', at: 1 })
    await table.put('c', { status: 'done', at: 2 })
    await table.put('d', { nested: { status: 'open', at: 2 } })
    expect(await table.hashes({ index: 'i1', hash: 'open' })).toEqual(['b', 'a'])
    expect(await table.hashes({ index: 'i1', hash: 'open', ascending: false })).toEqual(['a', 'b'])
    expect(await table.hashes({ index: 'i1', hash: 'open', range: { gt: 1 } })).toEqual(['a'])
    expect(await table.hashes({ index: 'i1', hash: 'done' })).toEqual(['c'])
    expect(await table.hashes({ index: 'i1', hash: 'Open' })).toEqual([])
    expect(await table.hashes({ index: 'i2', hash: 2 })).toEqual(['c'])
  })

  test('all five slots at once', async () => {
    const slots = ['i1', 'i2', 'i3', 'i4', 'i5']
    const table = await service.table(Object.fromEntries(slots.map((slot) => [slot, { hashField: slot }])))
    for (const slot of slots) await table.put(slot, { [slot]: 'x' })
    await table.put('all', Object.fromEntries(slots.map((slot) => [slot, 'x'])))
    for (const slot of slots) expect(await table.hashes({ index: slot, hash: 'x' })).toEqual([slot, 'all'])
  })

  test('sparse: without the hash field, or without a declared range field, the record is not in it', async () => {
    const table = await service.table({ i1: { hashField: 'h', rangeField: 'r' }, i2: { hashField: 'h' } })
    await table.put('both', { h: 1, r: 1 })
    await table.put('hash only', { h: 1 })
    await table.put('range only', { r: 1 })
    await table.put('neither', {})
    expect(await table.hashes({ index: 'i1', hash: 1 })).toEqual(['both'])
    expect(await table.hashes({ index: 'i2', hash: 1 })).toEqual(['both', 'hash only'])
  })

  test('names that every JavaScript object has are absent unless they are sent', async () => {
    const names = ['toString', 'constructor', '__proto__', 'hasOwnProperty', 'valueOf']
    const slots = Object.fromEntries(names.map((name, i) => [`i${i + 1}`, { hashField: name }]))
    const table = await service.table(slots)
    await table.put('empty', {})
    const all = `{${names.map((name) => `"${name}":"x"`).join(',')}}`
    ok(await table.tryPut(`{"hashKey":"all","data":${all}}`))
    for (let i = 1; i <= 5; i++) expect(await table.hashes({ index: `i${i}`, hash: 'x' })).toEqual(['all'])
  })

  test('a write moves its record in every index: in, along, out', async () => {
    const table = await service.table({ i1: { hashField: 'h', rangeField: 'r' } })
    await table.put('a', {})
    expect(await table.hashes({ index: 'i1', hash: 1 })).toEqual([])
    await table.put('a', { h: 1, r: 5 })
    expect(await table.hashes({ index: 'i1', hash: 1, range: { eq: 5 } })).toEqual(['a'])
    await table.put('a', { h: 1, r: 6 })
    expect(await table.hashes({ index: 'i1', hash: 1, range: { eq: 5 } })).toEqual([])
    expect(await table.hashes({ index: 'i1', hash: 1, range: { eq: 6 } })).toEqual(['a'])
    await table.put('a', { h: 2, r: 6 })
    expect(await table.hashes({ index: 'i1', hash: 1 })).toEqual([])
    expect(await table.hashes({ index: 'i1', hash: 2 })).toEqual(['a'])
    await table.put('a', { r: 6 })
    expect(await table.hashes({ index: 'i1', hash: 2 })).toEqual([])
    await table.put('a', { h: 2, r: 6 })
    ok(await table.delete('a'))
    expect(await table.hashes({ index: 'i1', hash: 2 })).toEqual([])
  })

  test('a write is in every index when its answer is sent', async () => {
    const table = await service.table({ i1: { hashField: 'h', rangeField: 'r' } })
    for (let i = 0; i < 40; i++) {
      const { updatedAt } = await table.put('a', { h: i, r: i })
      const pages = await Promise.all([
        table.query({ hash: 'a' }),
        table.query({ index: 't', range: { eq: updatedAt } }),
        table.query({ index: 'i1', hash: i, range: { eq: i } }),
      ])
      for (const page of pages) expect(page.items.map((item) => item.data)).toEqual([{ h: i, r: i }])
    }
  })

  test('records equal in an index come in the order in which they were first created', async () => {
    const table = await service.table({ i1: { hashField: 'h' }, i2: { hashField: 'h', rangeField: 'r' } })
    await table.put('z', { h: 1, r: 1 })
    await table.batch(['m', 'c', 'x', 'a'].map((hashKey) => ({ op: 'put', hashKey, data: { h: 1, r: 1 } })))
    await table.put('b', { h: 1, r: 1 })
    const created = ['z', 'm', 'c', 'x', 'a', 'b']
    expect(await table.hashes({ index: 'i1', hash: 1 })).toEqual(created)
    expect(await table.hashes({ index: 'i2', hash: 1 })).toEqual(created)
    await table.put('m', { h: 1, r: 1, again: true })
    await table.put('c', { h: 2, r: 1 })
    await table.put('c', { h: 1, r: 1 })
    expect(await table.hashes({ index: 'i1', hash: 1 })).toEqual(created)
    ok(await table.delete('z'))
    await table.put('z', { h: 1, r: 1 })
    expect(await table.hashes({ index: 'i1', hash: 1 })).toEqual(['m', 'c', 'x', 'a', 'b', 'z'])
  })

  test('overwriting an expired record creates it again', async () => {
    const table = await service.table({ i1: { hashField: 'h' } })
    await table.put('first', { h: 1 }, { ttl: justPast() })
    await table.put('second', { h: 1 })
    expect(await table.hashes({ index: 'i1', hash: 1 })).toEqual(['second'])
    await table.put('first', { h: 1 })
    expect(await table.hashes({ index: 'i1', hash: 1 })).toEqual(['second', 'first'])
  })

  describe('order: booleans, then numbers, then strings by UTF-8 bytes', () => {
    const inOrder = [
      'false',
      'true',
      '-1.7976931348623157e308',
      '-1e21',
      '-2',
      '-1.5',
      '"1969-12-31T23:59:59.999Z"',
      '-5e-324',
      '0',
      '5e-324',
      '0.1',
      '1',
      '2',
      '10',
      '"2024-01-01T00:00:00Z"',
      '1704067200001',
      '9007199254740993.5',
      '1e21',
      '1.7976931348623157e308',
      '""',
      '"\\u0000"',
      '"0"',
      '"10"',
      '"2024-01-01"',
      '"9"',
      '"A"',
      '"a"',
      '"a\\u0000"',
      '"aa"',
      '"z"',
      '"é"',
      '"日"',
      '"\\uffff"',
      '"😀"',
    ]
    let table: TestTable
    beforeAll(async () => {
      table = await service.table({ i1: { hashField: 'h', rangeField: 'r' }, i2: { hashField: 'r' } })
      const shuffled = inOrder.map((_, i) => (i * 13 + 5) % inOrder.length)
      expect(new Set(shuffled).size).toBe(inOrder.length)
      for (const i of shuffled) {
        ok(await table.tryPut(`{"hashKey":"k","rangeKey":"${i}","data":{"h":"all","r":${inOrder[i]}}}`))
      }
    })
    const positions = async (query: Json) =>
      (await table.items({ index: 'i1', hash: 'all', ...query })).map((item) => Number(item.rangeKey))
    const span = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)
    const at = (value: string) => inOrder.indexOf(value)
    const [numbers, strings, end] = [at('-1.7976931348623157e308'), at('""'), inOrder.length]

    test('upwards and downwards', async () => {
      expect(await positions({})).toEqual(span(0, end))
      expect(await positions({ ascending: false })).toEqual(span(0, end).reverse())
      expect(await positions({ limit: 3 })).toEqual(span(0, end))
      expect(await positions({ limit: 3, ascending: false })).toEqual(span(0, end).reverse())
    })

    test("a range condition only ever matches its operand's own type", async () => {
      expect(await positions({ range: { gte: false } })).toEqual([0, 1])
      expect(await positions({ range: { gt: false } })).toEqual([1])
      expect(await positions({ range: { lt: true } })).toEqual([0])
      expect(await positions({ range: { lte: true } })).toEqual([0, 1])
      expect(await positions({ range: { between: [false, true] } })).toEqual([0, 1])
      expect(await positions({ range: { gt: -1e308 } })).toEqual(span(numbers + 1, strings))
      expect(await positions({ range: { lte: 1e308 } })).toEqual(span(numbers, strings - 1))
      expect(await positions({ range: { lt: 'zz' } })).toEqual(span(strings, at('"é"')))
      expect(await positions({ range: { gte: '' } })).toEqual(span(strings, end))
      expect(await positions({ range: { gt: '' } })).toEqual(span(strings + 1, end))
      expect(await positions({ range: { lt: '' } })).toEqual([])
      expect(await positions({ range: { beginsWith: '' } })).toEqual(span(strings, end))
      expect(await positions({ range: { beginsWith: 'a' } })).toEqual(['"a"', '"a\\u0000"', '"aa"'].map(at))
    })

    test('every value is found by itself, as a hash and as a range', async () => {
      for (let i = 0; i < inOrder.length; i++) {
        const byRange = await table.tryQuery(`{"index":"i1","hash":"all","range":{"eq":${inOrder[i]}}}`)
        expect(ok(byRange).items.map((item: Json) => item.rangeKey)).toEqual([String(i)])
        const byHash = await table.tryQuery(`{"index":"i2","hash":${inOrder[i]}}`)
        expect(ok(byHash).items.map((item: Json) => item.rangeKey)).toEqual([String(i)])
      }
    })
  })

  test('numbers are rounded to the nearest double; -0 equals 0', async () => {
    const table = await service.table({ i1: { hashField: 'n' } })
    for (const [key, n] of [
      ['big', '12345678901234567890'],
      ['rounded', '12345678901234567168'],
      ['one', '1.0'],
      ['uno', '1'],
      ['zero', '0'],
      ['minus zero', '-0'],
      ['minus zero point', '-0.0'],
      ['tiny', '1e-400'],
    ]) {
      ok(await table.tryPut(`{"hashKey":"${key}","data":{"n":${n}}}`))
    }
    const find = async (n: string) =>
      ok(await table.tryQuery(`{"index":"i1","hash":${n}}`)).items.map((item: Json) => item.hashKey)
    expect(await find('12345678901234567890')).toEqual(['big', 'rounded'])
    expect(await find('12345678901234567000')).toEqual(['big', 'rounded'])
    expect(await find('1e0')).toEqual(['one', 'uno'])
    expect(await find('-0')).toEqual(['zero', 'minus zero', 'minus zero point', 'tiny'])
    expect(await find('0')).toEqual(['zero', 'minus zero', 'minus zero point', 'tiny'])
  })

  describe('a strict ISO-8601 date-time counts as its epoch milliseconds, on both sides', () => {
    const times: [string, number][] = [
      ['2024-01-01T00:00:00Z', 1704067200000],
      ['2024-01-01T00:00:00.000Z', 1704067200000],
      ['2024-01-01T02:00:00+02:00', 1704067200000],
      ['2023-12-31T19:30:00-04:30', 1704067200000],
      ['2024-01-01T23:59:00+23:59', 1704067200000],
      ['2024-01-01T00:00:00-00:00', 1704067200000],
      ['2024-01-01T00:00:00.0004Z', 1704067200000],
      ['2024-01-01T00:00:00.0009999Z', 1704067200000],
      ['2024-01-01T00:00:00.1Z', 1704067200100],
      ['2024-01-01T00:00:00.123999999Z', 1704067200123],
      ['2024-02-29T00:00:00Z', 1709164800000],
      ['2000-02-29T00:00:00Z', 951782400000],
      ['1970-01-01T00:00:00Z', 0],
      ['1969-12-31T23:59:59.9999Z', -1],
      ['9999-12-31T23:59:59.999Z', 253402300799999],
      ['0000-01-01T00:00:00Z', -62167219200000],
    ]
    for (const [text, ms] of times) {
      test(text, async () => {
        const table = await service.table({ i1: { hashField: 'at' }, i2: { hashField: 'all', rangeField: 'at' } })
        await table.put('text', { all: 1, at: text })
        await table.put('number', { all: 1, at: ms })
        for (const operand of [text, ms]) {
          expect(await table.hashes({ index: 'i1', hash: operand })).toEqual(['text', 'number'])
          expect(await table.hashes({ index: 'i2', hash: 1, range: { eq: operand } })).toEqual(['text', 'number'])
          const between = { between: [operand, ms + 1] }
          expect(await table.hashes({ index: 'i2', hash: 1, range: between })).toEqual(['text', 'number'])
        }
        expect(await table.hashes({ index: 'i2', hash: 1, range: { beginsWith: text.slice(0, 4) } })).toEqual([])
        expect(ok(await table.get('text')).data.at).toBe(text)
      })
    }

    const strings = [
      '2024-01-01',
      '2024-01-01T00:00:00',
      '2024-01-01T00:00Z',
      '2024-01-01 00:00:00Z',
      '2024-01-01t00:00:00z',
      '2024-01-01T00:00:00z',
      '2024-1-1T00:00:00Z',
      '2024-01-01T00:00:00.Z',
      '2024-01-01T00:00:00.1234567890Z',
      '2024-01-01T00:00:00,5Z',
      '2024-01-01T24:00:00Z',
      '2024-01-01T00:60:00Z',
      '2024-12-31T23:59:60Z',
      '2024-01-01T00:00:00+24:00',
      '2024-01-01T00:00:00+00:60',
      '2024-01-01T00:00:00+0000',
      '2024-01-01T00:00:00+00',
      '2023-02-29T00:00:00Z',
      '1900-02-29T00:00:00Z',
      '2024-04-31T00:00:00Z',
      '2024-00-01T00:00:00Z',
      '2024-13-01T00:00:00Z',
      '2024-01-00T00:00:00Z',
      '+002024-01-01T00:00:00Z',
      '-2024-01-01T00:00:00Z',
      ' 2024-01-01T00:00:00Z',
      '2024-01-01T00:00:00Z ',
      '2024-01-01T00:00:00Z\n',
      '1704067200000',
    ]
    test('every other string, date-only ones too, is a string', async () => {
      const table = await service.table({ i1: { hashField: 'at' }, i2: { hashField: 'all', rangeField: 'at' } })
      await table.fill(strings.map((at, i) => ({ hashKey: String(i), data: { all: 1, at } })))
      const found = await table.hashes({ index: 'i2', hash: 1, range: { beginsWith: '' } })
      expect(found.map(Number).sort((a, b) => a - b)).toEqual(strings.map((_, i) => i))
      for (let i = 0; i < strings.length; i++) {
        expect(await table.hashes({ index: 'i1', hash: strings[i] })).toEqual([String(i)])
      }
      expect(await table.hashes({ index: 'i1', hash: 1704067200000 })).toEqual([])
    })
  })

  test('beginsWith takes a string, never coerced', async () => {
    const table = await service.table({ i1: { hashField: 'h', rangeField: 'r' } })
    const day = '2024-01-01'
    await table.put('day', { h: 1, r: day })
    await table.put('more', { h: 1, r: `${day}T00:00:00Z!` })
    await table.put('time', { h: 1, r: `${day}T00:00:00Z` })
    expect(await table.hashes({ index: 'i1', hash: 1, range: { beginsWith: day } })).toEqual(['day', 'more'])
    const whole = { beginsWith: `${day}T00:00:00Z` }
    expect(await table.hashes({ index: 'i1', hash: 1, range: whole })).toEqual(['more'])
    refused(await table.tryQuery({ index: 'i1', hash: 1, range: { beginsWith: 2024 } }), 400, 'invalid_range')
    refused(await table.tryQuery({ index: 'i1', hash: 1, range: { beginsWith: true } }), 400, 'invalid_range')
  })

  describe('a value that no index takes: invalid_index_value', () => {
    const values: [string, string][] = [
      ['null', 'null'],
      ['an array', '["a"]'],
      ['an object', '{"a":1}'],
      ['a number that overflows a double', '1e400'],
      ['one that overflows downwards', '-1e309'],
      ['a string of 1,025 bytes', JSON.stringify('x'.repeat(1025))],
      ['a string of 1,026 bytes in 513 characters', JSON.stringify('é'.repeat(513))],
      ['a string with a lone surrogate', '"a\\ud800"'],
    ]
    for (const [what, value] of values) {
      test(what, async () => {
        const table = await service.table({ i1: { hashField: 'h', rangeField: 'r' } })
        const put = (data: string) => table.tryPut(`{"hashKey":"a","data":${data}}`)
        refused(await put(`{"h":${value},"r":1}`), 400, 'invalid_index_value', 'data.h')
        refused(await put(`{"h":1,"r":${value}}`), 400, 'invalid_index_value', 'data.r')
        refused(await put(`{"r":${value}}`), 400, 'invalid_index_value', 'data.r')
        refused(await put(`{"h":${value}}`), 400, 'invalid_index_value', 'data.h')
        ok(await put(`{"other":${value}}`))
        const hash = await table.tryQuery(`{"index":"i1","hash":${value}}`)
        refused(hash, 400, 'invalid_index_value', 'hash')
        const range = await table.tryQuery(`{"index":"i1","hash":1,"range":{"eq":${value}}}`)
        refused(range, 400, 'invalid_range')
      })
    }

    test('a string of 1,024 bytes is taken', async () => {
      const table = await service.table({ i1: { hashField: 'h', rangeField: 'r' } })
      const [h, r] = ['é'.repeat(512), 'x'.repeat(1024)]
      await table.put('a', { h, r })
      expect(await table.hashes({ index: 'i1', hash: h, range: { eq: r } })).toEqual(['a'])
    })
  })

  test('hash is required: invalid_index_value', async () => {
    const table = await service.table({ i1: { hashField: 'h' } })
    refused(await table.tryQuery({ index: 'i1' }), 400, 'invalid_index_value', 'hash')
  })

  test('a slot that was not declared: index_not_declared', async () => {
    const table = await service.table({ i1: { hashField: 'h' } })
    for (const index of ['i2', 'i3', 'i4', 'i5']) {
      refused(await table.tryQuery({ index, hash: 1 }), 400, 'index_not_declared', 'index')
    }
  })

  test('an index that is no slot is refused', async () => {
    const table = await service.table({ i1: { hashField: 'h' } })
    for (const index of ['i6', 'i0', 'I1', 'T', 'status', '', 1, null, '__proto__']) {
      const answer = await table.tryQuery({ index, hash: 'x' })
      expect(answer.status).toBe(400)
      expect(answer.body.error.field).toBe('index')
    }
  })

  test('a range on an index declared without rangeField: invalid_range', async () => {
    const table = await service.table({ i1: { hashField: 'h' } })
    refused(await table.tryQuery({ index: 'i1', hash: 1, range: { gt: 1 } }), 400, 'invalid_range')
    refused(await table.tryQuery({ index: 'i1', hash: 1, range: { beginsWith: '' } }), 400, 'invalid_range')
  })
})

describe('a range holds one operator, or a lower and an upper bound, its operands of one type', () => {
  const bad: [string, Json][] = [
    ['no operator', {}],
    ['two lower bounds', { gt: 'a', gte: 'b' }],
    ['two upper bounds', { lt: 'a', lte: 'b' }],
    ['between and a bound', { between: ['a', 'b'], gt: 'a' }],
    ['eq and a bound', { eq: 'a', lt: 'b' }],
    ['beginsWith and a bound', { beginsWith: 'a', lt: 'b' }],
    ['three bounds', { gt: 'a', lt: 'c', lte: 'b' }],
    ['the lower bound above the upper one', { gte: 'b', lt: 'a' }],
    ['the lower bound above the upper one in bytes', { gt: '😀', lt: '\uffff' }],
    ['a null bound', { gte: 'a', lt: null }],
    ['an unknown operator', { near: 'a' }],
    ['an operator in capitals', { GT: 'a' }],
    ['an operator of JavaScript', { constructor: 'a' }],
    ['a string', 'a'],
    ['an array', ['a']],
    ['between with one operand', { between: ['a'] }],
    ['between with three operands', { between: ['a', 'b', 'c'] }],
    ['between with a string', { between: 'ab' }],
    ['between with low above high', { between: ['b', 'a'] }],
    ['between with low above high in bytes', { between: ['😀', '\uffff'] }],
    ['a null operand', { eq: null }],
    ['an array operand', { eq: ['a'] }],
    ['an object operand', { eq: { a: 1 } }],
  ]
  for (const [what, range] of bad) {
    test(`${what}: invalid_range`, async () => {
      const table = await service.table({ i1: { hashField: 'h', rangeField: 'r' } })
      refused(await table.tryQuery({ hash: 'a', range }), 400, 'invalid_range')
      refused(await table.tryQuery({ index: 'i1', hash: 'a', range }), 400, 'invalid_range')
      refused(await table.tryQuery({ index: 't', range }), 400, 'invalid_range')
    })
  }

  const mixed: [string, Json][] = [
    ['a number and a string', { between: [1, '2'] }],
    ['a boolean and a number', { between: [false, 1] }],
    ['an ISO date-time and a date', { between: ['2024-01-01T00:00:00Z', '2024-01-02'] }],
    ['numbers, low above high', { between: [10, 9] }],
    ['date-times, low above high', { between: ['2024-01-01T00:00:00Z', '2024-01-01T00:00:00+01:00'] }],
    ['true before false', { between: [true, false] }],
    ['bounds of a number and a string', { gte: 1, lt: '2' }],
    ['bounds of an ISO date-time and a date', { gte: '2024-01-01T00:00:00Z', lt: '2024-01-02' }],
    ['bounds of numbers, the lower above the upper', { gt: 10, lte: 9 }],
    [
      'bounds of date-times, the lower above the upper',
      { gte: '2024-01-01T00:00:00Z', lt: '2024-01-01T00:00:00+01:00' },
    ],
    ['bounds of true and false', { gte: true, lte: false }],
  ]
  for (const [what, range] of mixed) {
    test(`${what}: invalid_range`, async () => {
      const table = await service.table({ i1: { hashField: 'h', rangeField: 'r' } })
      refused(await table.tryQuery({ index: 'i1', hash: 'a', range }), 400, 'invalid_range')
    })
  }

  test('a number and an ISO date-time are of one type', async () => {
    const table = await service.table({ i1: { hashField: 'h', rangeField: 'r' } })
    await table.put('a', { h: 1, r: 1704067200000 })
    const range = { between: [1, '2024-01-01T00:00:00Z'] }
    expect(await table.hashes({ index: 'i1', hash: 1, range })).toEqual(['a'])
  })
})

describe('other fields', () => {
  for (const [name, values] of [
    ['limit', [0, -1, 1.5, '10', true, []]],
    ['ascending', ['true', 1, 0, []]],
  ] as [string, Json[]][]) {
    for (const value of values) {
      test(`${name}: ${JSON.stringify(value)} is refused in every form`, async () => {
        const table = await service.table({ i1: { hashField: 'h' } })
        for (const form of [{ hash: 'a' }, { index: 't' }, { index: 'i1', hash: 'a' }]) {
          refused(await table.tryQuery({ ...form, [name]: value }), 400, 'invalid_request', name)
        }
      })
    }
  }

  test('without an index, hash is required: invalid_key', async () => {
    const table = await service.table()
    refused(await table.tryQuery({}), 400, 'invalid_key', 'hash')
    refused(await table.tryQuery({ range: { eq: 'a' } }), 400, 'invalid_key', 'hash')
  })

  test('a public key may query', async () => {
    const table = await service.table()
    const record = await table.put('a')
    expect(ok(await service.reader.post(`${table.path}/query`, { hash: 'a' })).items).toEqual([record])
  })
})

describe('a range that matches nothing, because values of another type are stored', () => {
  const indices = { i1: { hashField: 'status', rangeField: 'at' } }
  const ask = async (table: TestTable, range: Json, more: Json = {}): Promise<Json> =>
    table.query({ index: 'i1', hash: 'open', range, ...more })
  const empty = { items: [], count: 0, cursor: null }

  test('has a hint that names the type and the operand to write', async () => {
    const stored: [unknown, Json, string][] = [
      [
        '2026-10-05T00:00:00Z',
        { gte: '2026-10-01' },
        'has date-times, and range.gte is the string "2026-10-01", which matches none of them. Write it as "2026-10-01T00:00:00Z".',
      ],
      ['2026-10-05T00:00:00Z', { gte: '2026-10-01', lt: '2026-11-01' }, 'Write it as "2026-10-01T00:00:00Z".'],
      ['2026-10-05T00:00:00Z', { between: ['2026-10-01', '2026-11-01'] }, 'Write it as "2026-10-01T00:00:00Z".'],
      ['2026-10-05T00:00:00Z', { beginsWith: '2026-10' }, 'Write it as "2026-10-01T00:00:00Z".'],
      ['2026-10-05T00:00:00Z', { eq: 'soon' }, 'Give a number or a date-time.'],
      [1_767_225_600_000, { gt: '2026-10-01' }, 'has numbers, and range.gt is the string'],
      [42, { gt: '7' }, 'Write it as 7.'],
      [
        '2026-10-05',
        { gte: '2026-10-01T00:00:00Z' },
        'has strings, and range.gte is a number or date-time, which matches none of them. Write it as a string, such as "2026-10-05".',
      ],
      ['a', { eq: true }, 'has strings, and range.eq is a boolean'],
      [
        true,
        { eq: 'true' },
        'has booleans, and range.eq is the string "true", which matches none of them. Give true or false.',
      ],
      [true, { eq: 1 }, 'has booleans'],
    ]
    for (const [at, range, hint] of stored) {
      const table = await service.table(indices)
      await table.put('a', { status: 'open', at })
      await table.put('b', { status: 'closed', at: range.eq ?? 'x' })
      for (const select of ['data', 'keys', 'count']) {
        const page = await ask(table, range, { select })
        expect(page).toEqual({ ...empty, hint: expect.stringContaining(hint) })
        expect(page.hint).toStartWith('Under this hash, at has ')
      }
      expect(Object.keys(await ask(table, range))).toEqual(['items', 'count', 'cursor', 'hint'])
      expect((await ask(table, range, { ascending: false })).hint).toContain(hint)
    }
  })

  test('has it also where some values have the type of the operand', async () => {
    const table = await service.table(indices)
    for (const [i, at] of ['2026-09-01', '2026-10-05T00:00:00Z', '2026-09-02', true].entries())
      await table.put(`${i}`, { status: 'open', at })
    expect((await ask(table, { gte: '2026-10-01' })).hint).toContain('has booleans')
    expect((await ask(table, { gt: 9e15 })).hint).toContain('has strings')
  })

  test('has none where the types agree, under another hash, past the first page, or in other forms', async () => {
    const table = await service.table(indices)
    await table.put('h', { status: 'open', at: '2026-10-05T00:00:00Z' }, { rangeKey: 'r' })
    expect(await ask(table, { gte: '2027-01-01T00:00:00Z' })).toEqual(empty)
    expect(await ask(table, { gte: 9e15 })).toEqual(empty)
    expect(await ask(table, { gte: '2026-10-01' }, { hash: 'nobody' })).toEqual(empty)
    expect(await table.query({ hash: 'h', range: { gt: 's' } })).toEqual(empty)
    expect(await table.query({ index: 't', range: { gt: 9e15 } })).toEqual(empty)
    expect(await ask(table, { gte: '2026-10-01T00:00:00Z' })).not.toHaveProperty('hint')
    await table.delete('h', 'r')
    expect(await ask(table, { gte: '2026-10-01' })).toEqual(empty)
  })
})
