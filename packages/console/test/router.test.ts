import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { hrefOf, routeOf } from '../src/router.ts'

const name = fc.stringMatching(/^[a-z0-9-][a-z0-9_-]{0,20}$/)
const key = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).filter((text) => text !== '.' && text !== '..')

const places = fc.oneof(
  fc.record({ screen: fc.constant('database' as const), db: name }),
  fc.record({ screen: fc.constant('table' as const), db: name, table: name }),
  fc.record({
    screen: fc.constant('record' as const),
    db: name,
    table: name,
    hashKey: key,
    rangeKey: fc.option(key, { nil: undefined }),
  }),
  fc.record({ screen: fc.constant('newRecord' as const), db: name, table: name }),
  fc.record({ screen: fc.constant('bucket' as const), db: name, bucket: name }),
  fc.record({ screen: fc.constant('file' as const), db: name, bucket: name, name: key }),
  fc.record({
    screen: fc.constant('task' as const),
    db: name,
    task: name,
    status: fc.constantFrom('queued' as const, 'failed' as const),
  }),
  fc.record({ screen: fc.constant('import' as const), db: name, table: name }),
  fc.record({ screen: fc.constant('run' as const), db: name, task: name, run: key }),
)

test('every place has an address that leads back to it, whatever the key holds', () => {
  fc.assert(fc.property(places, (place) => expect(routeOf(hrefOf(place))).toEqual(place)))
})

test('a leading _ is never the name of a database or table', () => {
  for (const hash of [
    '#/_nothing',
    '#/app/_nothing',
    '#/_keys/x',
    '#/app//x',
    '#/app/orders/x',
    '#/%E0%A4%A',
    '#/app/orders/r',
    '#/../keys',
    '#/app/..',
    '#/app/%2e%2e',
    '#/app/orders/r/..',
    '#/app/_tasks/./r/x',
    '#/app/_tasks/mail/lost',
    '#/_import/app/orders/x',
  ]) {
    expect(routeOf(hash).screen).toBe('unknown')
  }
  expect(routeOf('#/_keys')).toEqual({ screen: 'keys' })
  expect(routeOf('')).toEqual({ screen: 'home' })
  expect(routeOf('#/app/orders/r/_new')).toEqual({
    screen: 'record',
    db: 'app',
    table: 'orders',
    hashKey: '_new',
    rangeKey: undefined,
  })
})
