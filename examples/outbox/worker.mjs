// Sends the mails of orders. Start as many of it as you like: each mail is handed to one of them.

import { Cubby } from '@cubbydb/client'
import { RunFailed } from '@cubbydb/client/worker'

const { CUBBY_URL = 'http://127.0.0.1:4600', CUBBY_KEY } = process.env
const fail = (reason) => {
  console.error(reason)
  process.exit(1)
}
if (!CUBBY_KEY) fail('Set CUBBY_KEY to a secret key (svc_live_…); see README.md.')

let shop
try {
  shop = new Cubby({ url: CUBBY_URL, key: CUBBY_KEY }).db('outbox')
  await shop.tables.create('orders')
} catch (error) {
  fail(`Cubby at ${CUBBY_URL} did not create the table: ${error.message}`)
}
const orders = shop.table('orders')
// Every put of an order adds a run in its own commit, whoever writes it.
await shop.tasks.declare('mail', { attempts: 8, on: { table: 'orders', ops: ['put'] } })

/** This prints the mail in place of a mail server. Give yours the order, so that it can drop a mail that it gets twice. */
const send = async (order, { to, total }, signal) => {
  signal.throwIfAborted()
  // No later attempt would help.
  if (!to.includes('@')) throw new RunFailed(`${to} is not an address`, { retry: false })
  console.log(`mail to ${to}: thank you for order ${order}, ${total} euros`)
}

// Ctrl-C and SIGTERM: no new mail is begun, those that are being sent may finish.
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => stop.abort())

const working = shop.task('mail').work(
  async (run) => {
    const { hashKey } = run.payload
    const order = await orders.findOne(hashKey)
    // It was deleted since, or it was written again after its mail was sent.
    if (order === undefined || order.data.mailSentAt) return
    await send(hashKey, order.data, run.signal)
    // The record and the end of the run are one batch: the order says that its mail was sent if and only if the run has
    // succeeded, and this write adds no run. If somebody changed the order in between, the attempt fails, and the next one
    // reads it again.
    const confirmed = { ...order.data, mailSentAt: new Date() }
    await run.finishWith(orders, [{ op: 'put', hashKey, data: confirmed, ifMatch: order.updatedAt }])
  },
  {
    concurrency: 10,
    signal: stop.signal,
    onError: (error, run) => console.error(run ? `order ${run.payload.hashKey}: ${error.message}` : error.message),
  },
)
console.log('mail worker: waiting for mails (Ctrl-C stops it)')
await working
console.log('mail worker: stopped')
