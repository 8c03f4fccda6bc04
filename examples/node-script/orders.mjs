// Saves orders and queries them: the basics of Cubby for plain Node, in one file.

import { Cubby, CubbyError } from '@cubbydb/client'

const { CUBBY_URL = 'http://127.0.0.1:4600', CUBBY_KEY } = process.env
if (!CUBBY_KEY) throw new Error('Set CUBBY_KEY; see README.md.')

const shop = new Cubby({ url: CUBBY_URL, key: CUBBY_KEY }).db('shop')

// If the table already exists with the same indices, this changes nothing.
await shop.tables.create('orders', { indices: { i1: { hashField: 'status', rangeField: 'placedAt' } } })
const orders = shop.table('orders')

// Save many records: batches of 25, several in flight, each applied as a whole or not at all.
const { saved } = await orders.save(
  Array.from({ length: 100 }, (_, i) => ({
    hashKey: `customer-${i % 10}`,
    rangeKey: `order-${String(i).padStart(3, '0')}`,
    data: { status: i % 4 === 0 ? 'open' : 'paid', total: 10 + i, placedAt: new Date(Date.UTC(2026, 0, 1 + i)) },
  })),
)
console.log(`saved ${saved} orders`)

// All orders of one customer: one hash key, sorted by range key.
const ofOne = await orders.query({ hash: 'customer-4' })
console.log(`customer-4 has ${ofOne.count} orders`)

// The open orders since April, from all pages.
let open = 0
for await (const { data } of orders.query({
  index: 'i1',
  hash: 'open',
  range: { gte: new Date('2026-04-01T00:00:00Z') },
})) {
  open += data.total
}
console.log(`open since April: ${open}`)

// Mark one order as paid, but only if nobody changed it since it was read. The second write is rejected.
const key = { hashKey: 'customer-4', rangeKey: 'order-004' }
const order = await orders.findOne(key)
const paid = { ...key, data: { ...order.data, status: 'paid' } }
await orders.save(paid, { ifMatch: order.updatedAt })
try {
  await orders.save(paid, { ifMatch: order.updatedAt })
} catch (error) {
  if (!(error instanceof CubbyError) || error.code !== 'precondition_failed') throw error
  console.log('paid once, not twice')
}
