import { expect, test } from 'bun:test'
import { nameFault } from '../../src/text/names.ts'

test('a name is refused in the words of the server, message and hint', () => {
  expect(nameFault('Orders')).toBe(
    'The name is "Orders"; a name matches [a-z0-9_-]{1,64}. Use 1 to 64 lower-case letters, digits, "_" or "-", for example "orders".',
  )
  expect(nameFault('App/Order Items', 'table')).toBe(
    'table is "App/Order Items"; a name matches [a-z0-9_-]{1,64}. Use 1 to 64 lower-case letters, digits, "_" or "-", for example "order-items".',
  )
  expect(nameFault('_a', 'db')).toBe('db is "_a"; names that start with "_" are reserved. Drop the leading "_": "a".')
  expect(nameFault('orders')).toBeUndefined()
})

test('a name that looks like an API key is not repeated', () => {
  expect(nameFault(`svc_live_${'A'.repeat(38)}`)).toStartWith('The name is "svc_live_****"; ')
})
