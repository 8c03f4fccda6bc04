// Saves an order. The task `mail` follows the table, so the order has a run for its mail. Waits until the mail was sent.

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
await shop.tasks.declare('mail', { attempts: 8, on: { table: 'orders', ops: ['put'] } })

const order = `o-${Date.now()}`
const to = process.argv[2] ?? 'ada@example.com'
await shop.table('orders').save({ hashKey: order, data: { to, total: 40, mailSentAt: null }, ifAbsent: true })
console.log(`order ${order} is saved, and its mail is queued`)

/** The run that the write has added: its key is that of the record. */
const runOf = async (hashKey) => {
  for await (const run of mail.query()) if (run.key === JSON.stringify([hashKey])) return run
}
const { status, error } = await mail.finished((await runOf(order)).id)
const saved = await shop.table('orders').findOne(order)
console.log(
  `the mail has ${status}${error ? `: ${error.message}` : ''}; the order says mailSentAt ${saved.data.mailSentAt}`,
)
