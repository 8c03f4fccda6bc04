// Saves orders and queries them: the basics of Cubby for plain Node, in one file.

import { Cubby, CubbyError } from '@cubbydb/client'

const { CUBBY_URL = 'http://127.0.0.1:4600', CUBBY_KEY } = process.env
const fail = (reason) => {
  console.error(reason)
  process.exit(1)
}
if (!CUBBY_KEY) fail('Set CUBBY_KEY to a secret key (svc_live_…); see README.md.')

let shop
try {
  shop = new Cubby({ url: CUBBY_URL, key: CUBBY_KEY }).db('shop')
  // If the table already exists with the same indices, this changes nothing. The first request also shows whether the server
  // runs and knows the key.
  await shop.tables.create('orders', { indices: { i1: { hashField: 'status', rangeField: 'placedAt' } } })
} catch (error) {
  fail(`Cubby at ${CUBBY_URL} did not create the table: ${error.message}`)
}
const orders = shop.table('orders')

// Save many records: batches of 25, several in flight, each applied as a whole or not at all. `total` is in euros.
const { saved } = await orders.save(
  Array.from({ length: 100 }, (_, i) => ({
    hashKey: `customer-${i % 10}`,
    rangeKey: `order-${String(i).padStart(3, '0')}`,
    data: { status: i % 4 === 0 ? 'open' : 'paid', total: 10 + i, placedAt: new Date(Date.UTC(2026, 0, 1 + i)) },
  })),
)
console.log(`saved ${saved} orders of 10 customers, one order a day from 1 January 2026`)

// All orders of one customer: one hash key, sorted by range key.
const { items } = await orders.query({ hash: 'customer-4' })
console.log(`customer-4 has ${items.length} orders, from ${items.at(0).rangeKey} to ${items.at(-1).rangeKey}`)

// The open orders since April, from all pages.
let count = 0
let euros = 0
for await (const { data } of orders.query({
  index: 'i1',
  hash: 'open',
  range: { gte: new Date('2026-04-01T00:00:00Z') },
})) {
  count += 1
  euros += data.total
}
console.log(`open orders since 1 April 2026: ${count}, worth ${euros} euros together`)

// Mark one order as paid, but only if nobody changed it since it was read. The second write is rejected.
const key = { hashKey: 'customer-4', rangeKey: 'order-004' }
const order = await orders.findOne(key)
const paid = { ...key, data: { ...order.data, status: 'paid' } }
await orders.save(paid, { ifMatch: order.updatedAt })
try {
  await orders.save(paid, { ifMatch: order.updatedAt })
} catch (error) {
  if (!(error instanceof CubbyError) || error.code !== 'precondition_failed') throw error
  console.log('order-004 is paid; the second payment named an old version and was rejected')
}
console.log('see the orders of a customer: npx cubbydb query --db shop --table orders --hash customer-4')
