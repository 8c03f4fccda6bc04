import { expect, test } from 'bun:test'
import { similarName } from '../../src/core/similar-name.ts'

test('a name that was probably meant', () => {
  const known = ['orders', 'customers', 'order-items', 'logs-2025']
  const cases: Record<string, string | undefined> = {
    ordres: 'orders',
    order: 'orders',
    Orders: 'orders',
    costumers: 'customers',
    order_items: 'order-items',
    orderitems: 'order-items',
    invoices: undefined,
    orders: undefined,
    ord: undefined,
    'logs-2026': undefined,
    'log-2025': 'logs-2025',
    ['x'.repeat(100_000)]: undefined,
  }
  for (const [name, meant] of Object.entries(cases)) expect([name, similarName(name, known)]).toEqual([name, meant])
  expect(similarName('', known)).toBeUndefined()
  expect(similarName('orders', [])).toBeUndefined()
})
