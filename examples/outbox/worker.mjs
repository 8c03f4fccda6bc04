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
await shop.tasks.declare('mail', { leaseSeconds: 30, attempts: 8 })

/** This prints the mail in place of a mail server. Give yours the id, so that it can drop a mail that it gets twice. */
const send = async ({ to, order, total }, { id, signal }) => {
  signal.throwIfAborted()
  // No later attempt would help.
  if (!to.includes('@')) throw new RunFailed(`${to} is not an address`, { retry: false })
  console.log(`mail ${id} to ${to}: thank you for order ${order}, ${total} euros`)
}

// Ctrl-C and SIGTERM: no new mail is begun, those that are being sent may finish.
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => stop.abort())

const working = shop.task('mail').work(
  async (run) => {
    await send(run.payload, run)
    // The record and the end of the run are one batch: the order says that its mail was sent if and only if the run has
    // succeeded. If somebody changed the order in between, the attempt fails, and the next one reads it again.
    const { data, updatedAt } = await orders.findOne(run.payload.order)
    const confirmed = { ...data, mailSentAt: new Date() }
    await run.finishWith(orders, [{ op: 'put', hashKey: run.payload.order, data: confirmed, ifMatch: updatedAt }])
  },
  {
    concurrency: 10,
    signal: stop.signal,
    onError: (error, run) => console.error(run ? `mail ${run.id}: ${error.message}` : error.message),
  },
)
console.log('mail worker: waiting for mails (Ctrl-C stops it)')
await working
console.log('mail worker: stopped')
