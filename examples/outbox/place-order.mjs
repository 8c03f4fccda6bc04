// Saves an order and queues its confirmation mail, both or neither. Then it waits until the mail was sent.

import { Cubby } from '@cubbydb/client'

const { CUBBY_URL = 'http://127.0.0.1:4600', CUBBY_KEY } = process.env
const fail = (reason) => {
  console.error(reason)
  process.exit(1)
}
if (!CUBBY_KEY) fail('Set CUBBY_KEY to a secret key (svc_live_…); see README.md.')

let shop
try {
  shop = new Cubby({ url: CUBBY_URL, key: CUBBY_KEY }).db('outbox')
  // The first request also shows whether the server runs and knows the key.
  await shop.tables.create('orders')
} catch (error) {
  fail(`Cubby at ${CUBBY_URL} did not create the table: ${error.message}`)
}
const mail = shop.task('mail')
await shop.tasks.declare('mail', { leaseSeconds: 30, attempts: 8 })

const order = `o-${Date.now()}`
const to = process.argv[2] ?? 'ada@example.com'
await shop.table('orders').batch([
  { op: 'put', hashKey: order, data: { to, total: 40, mailSentAt: null }, ifAbsent: true },
  { op: 'run', task: 'mail', id: order, payload: { to, order, total: 40 } },
])
console.log(`order ${order} is saved, and its mail is queued`)

const { status, error } = await mail.finished(order)
const saved = await shop.table('orders').findOne(order)
console.log(
  `the mail has ${status}${error ? `: ${error.message}` : ''}; the order says mailSentAt ${saved.data.mailSentAt}`,
)
