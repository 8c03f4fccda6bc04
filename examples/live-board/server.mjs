// The part of the board that writes. It has the secret key; the page has the public key, which can only read.

import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { Cubby, CubbyError } from '@cubbydb/client'

const { CUBBY_URL = 'http://127.0.0.1:4600', CUBBY_KEY, CUBBY_PUBLIC_KEY, PORT = '8082' } = process.env
const fail = (reason) => {
  console.error(reason)
  process.exit(1)
}
if (!CUBBY_KEY || !CUBBY_PUBLIC_KEY) fail('Set CUBBY_KEY (svc_live_…) and CUBBY_PUBLIC_KEY (svc_pub_…); see README.md.')

let orders
try {
  const db = new Cubby({ url: CUBBY_URL, key: CUBBY_KEY }).db('board')
  // The first request also shows whether the server runs and knows the key.
  await db.tables.create('orders', {
    indices: { i1: { hashField: 'state', rangeField: 'createdAt' } },
    changes: { keepHours: 24 },
  })
  orders = db.table('orders')
} catch (error) {
  fail(`Cubby at ${CUBBY_URL} did not create the table: ${error.message}`)
}

const clientFile = (name) => readFile(fileURLToPath(import.meta.resolve(name)))
const files = {
  '/': ['text/html', await readFile(new URL('index.html', import.meta.url))],
  '/client/index.js': ['text/javascript', await clientFile('@cubbydb/client')],
  // The client loads this file, from where it is itself, when a page calls `watch` for the first time.
  '/client/changes.js': ['text/javascript', await clientFile('@cubbydb/client/changes')],
  '/config.json': ['application/json', JSON.stringify({ url: CUBBY_URL, key: CUBBY_PUBLIC_KEY })],
}

const nextState = { new: 'cooking', cooking: 'ready' }
const dishes = ['Soup', 'Dumplings', 'Noodles', 'Pancakes', 'Salad']

const place = () => {
  const dish = dishes[Math.floor(Math.random() * dishes.length)]
  return orders.save({ hashKey: randomUUID(), data: { dish, state: 'new', createdAt: new Date() } }, { ifAbsent: true })
}

/** Moves an order one column on. One that is ready is handed over, and leaves the board. */
const move = async (id) => {
  const order = await orders.findOne(id)
  const state = nextState[order?.data.state]
  if (order === undefined) return { deleted: false }
  // Only the version that was just read: if two people press at the same time, the order moves one column, not two.
  const sameVersion = { ifMatch: order.updatedAt }
  return state ? orders.patch(id, { merge: { state } }, sameVersion) : orders.remove(id, sameVersion)
}

const server = createServer(async (request, response) => {
  const send = (status, type, body) => response.writeHead(status, { 'content-type': type }).end(body)
  const sendJson = (status, body) => send(status, 'application/json', JSON.stringify(body))
  const { method, url, headers } = request
  const file = method === 'GET' && files[url]
  if (file) return send(200, ...file)
  const [, id] = /^\/orders(?:\/([\w-]{1,64})\/next)?$/.exec(url) ?? [null, null]
  if (method !== 'POST' || id === null) return sendJson(404, { error: 'There is nothing here.' })
  // Only scripts of this page can send this type. A form on another site cannot.
  if (headers['content-type'] !== 'application/json') return sendJson(415, { error: 'Send JSON.' })
  try {
    sendJson(200, await (id ? move(id) : place()))
  } catch (error) {
    if (error instanceof CubbyError && error.code === 'precondition_failed') {
      return sendJson(409, { error: 'Somebody else was faster.' })
    }
    console.error(error)
    sendJson(500, { error: 'That failed.' })
  }
})

server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`live board: http://127.0.0.1:${server.address().port} (open it in two windows; Ctrl-C stops it)`)
})
