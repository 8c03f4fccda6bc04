import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { hrefOf, routeOf } from '../src/router.ts'
import type { LoadedView, Place } from '../src/screens/table/loaded-view.ts'
import { readAddress, writeAddress, writeView } from '../src/screens/table/query-address.ts'
import { newestFirst, type Operator, type QueryForm, settledRange, shapeOf } from '../src/screens/table/query-form.ts'

const indices = { i1: { hashField: 'status', rangeField: 'createdAt' }, i2: { hashField: 'user' } }

/** The queries that the bar can hold, without parts that their index does not use. */
const forms = fc
  .record({
    index: fc.constantFrom('t', 'key', 'i1', 'i2'),
    hash: fc.string({ unit: 'grapheme', maxLength: 12 }),
    first: fc.constantFrom('', 'eq', 'gt', 'gte', 'lt', 'lte', 'between', 'beginsWith'),
    low: fc.string({ unit: 'grapheme', maxLength: 12 }),
    second: fc.constantFrom('', 'lt', 'lte'),
    high: fc.oneof(fc.string({ maxLength: 12 }), fc.constant('a=b&c?d#/%+ ')),
    isAscending: fc.boolean(),
    limit: fc.constantFrom('1', '100', '1000'),
  })
  .map((form) => {
    const shape = shapeOf(form.index as QueryForm['index'], indices)
    const isAllowed = shape.rangeField !== undefined && shape.operators.includes(form.first as Operator)
    const range = settledRange({ ...(form as QueryForm), first: isAllowed ? (form.first as Operator) : '' })
    return { ...form, ...range, hash: shape.hashField === undefined ? '' : form.hash } as QueryForm
  })

const places: fc.Arbitrary<Place> = fc.oneof(
  fc.constantFrom<Place>('hashKey', 'rangeKey', 'updatedAt'),
  fc.record({
    field: fc.oneof(fc.constantFrom('hashKey', 'a&b=c', ''), fc.string({ unit: 'grapheme', maxLength: 12 })),
  }),
)
const views: fc.Arbitrary<LoadedView> = fc.record(
  {
    only: fc.record({ place: places, json: fc.json() }),
    sort: fc.record({ place: places, isDescending: fc.boolean() }),
  },
  { requiredKeys: [] },
)

test('every query of the bar, with the view of its rows, has an address that leads back to it', () => {
  fc.assert(
    fc.property(forms, views, (form, view) => {
      const query = [writeAddress(form, indices), writeView(view)].filter((part) => part !== '').join('&')
      const place = { screen: 'table' as const, db: 'shop', table: 'orders', ...(query !== '' && { query }) }
      expect(routeOf(hrefOf(place))).toEqual(place)
      expect(readAddress(query, indices)).toEqual({ form, view })
    }),
  )
})

test('an address can be read and typed', () => {
  expect(writeAddress(newestFirst, indices)).toBe('')
  const query = 'index=i1&hash=%22open%22&gte=2026-11-01T00:00:00Z&lt=2026-12-01T00:00:00Z&order=descending&limit=50'
  const form = {
    index: 'i1',
    hash: '"open"',
    first: 'gte',
    low: '2026-11-01T00:00:00Z',
    second: 'lt',
    high: '2026-12-01T00:00:00Z',
    isAscending: false,
    limit: '50',
  }
  expect(readAddress(query, indices)).toEqual({ form: form as QueryForm, view: {} })
  // The parts may be in any order.
  expect(readAddress(query.split('&').reverse().join('&'), indices)).toEqual({ form: form as QueryForm, view: {} })
})

test('what is wrong in an address is said', () => {
  for (const [query, words] of [
    ['index=i9', 'the table has no index "i9", only t, key, i1, i2'],
    ['index=constructor', 'no index "constructor"'],
    ['index', 'name=value'],
    ['hash=%zz', 'name=value'],
    ['index=i1&hash=a&hash=b', 'twice'],
    ['hash=a', '"hash" has no meaning in it'],
    ['index=i2&hash=1&gte=5', '"gte" has no meaning in it'],
    ['index=i1&hash=1&eq=5&lt=6', '"eq" has no meaning in it, or not beside the rest'],
    ['index=i1&hash=1&gt=5&gte=5', 'has no meaning in it, or not beside the rest'],
    ['beginsWith=x', '"beginsWith" has no meaning'],
    ['and=5', '"and" has no meaning'],
    ['order=up', 'its order is "up"'],
    ['sort=total', 'its sort is "total", not hashKey, rangeKey, updatedAt or data.'],
    ['sort=data.total&sortOrder=up', 'its sortOrder is "up"'],
    ['sortOrder=descending', '"sortOrder" has no meaning'],
    ['only=data.a', 'its value is "", which is not JSON'],
    ['only=data.a&value={', 'which is not JSON'],
    ['value=1', '"value" has no meaning'],
    ['__proto__=1', '"__proto__" has no meaning'],
  ] as const) {
    const read = readAddress(query, indices)
    expect([query, 'addressFault' in read ? read.addressFault : 'none']).toEqual([
      query,
      expect.stringContaining(words),
    ])
  }
})

test('only tables, records and buckets take something behind a ?', () => {
  expect(routeOf('#/shop/orders/r/a%3Fb?index=key&hash=x')).toEqual({
    screen: 'record',
    db: 'shop',
    table: 'orders',
    hashKey: 'a?b',
    rangeKey: undefined,
    query: 'index=key&hash=x',
  })
  expect(routeOf('#/shop/_buckets/files?prefix=a%2F')).toMatchObject({ screen: 'bucket', query: 'prefix=a%2F' })
  for (const hash of ['#/?a=1', '#/shop?a=1', '#/_keys?a=1', '#/shop/orders/_new?a=1']) {
    expect(routeOf(hash).screen).toBe('unknown')
  }
})
