// The part of the todo app that writes. It has the secret key; the page has the public key, which can only read.

import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { Cubby, CubbyError } from '@cubbydb/client'

const { CUBBY_URL = 'http://127.0.0.1:4600', CUBBY_KEY, CUBBY_PUBLIC_KEY, PORT = '8080' } = process.env
const fail = (reason) => {
  console.error(reason)
  process.exit(1)
}
if (!CUBBY_KEY || !CUBBY_PUBLIC_KEY) fail('Set CUBBY_KEY (svc_live_…) and CUBBY_PUBLIC_KEY (svc_pub_…); see README.md.')

let db
try {
  db = new Cubby({ url: CUBBY_URL, key: CUBBY_KEY }).db('todo')
  // The first request also shows whether the server runs and knows the key.
  await db.tables.create('todos', { indices: { i1: { hashField: 'list', rangeField: 'createdAt' } } })
} catch (error) {
  fail(`Cubby at ${CUBBY_URL} did not create the table: ${error.message}`)
}
const todos = db.table('todos')

const files = {
  '/': ['text/html', await readFile(new URL('index.html', import.meta.url))],
  '/cubby.js': ['text/javascript', await readFile(fileURLToPath(import.meta.resolve('@cubbydb/client')))],
  '/config.json': ['application/json', JSON.stringify({ url: CUBBY_URL, key: CUBBY_PUBLIC_KEY })],
}

class Refused extends Error {
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

const readBody = async (request) => {
  // Only scripts of this page can send this type. A form on another site cannot.
  if (request.headers['content-type'] !== 'application/json') throw new Refused(415, 'Send JSON.')
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk
    if (text.length > 10_000) throw new Refused(413, 'That is too long.')
  }
  try {
    return Object(JSON.parse(text))
  } catch {
    throw new Refused(400, 'That is not JSON.')
  }
}

const add = async ({ text }) => {
  if (typeof text !== 'string' || text.trim() === '' || text.length > 500) {
    throw new Refused(400, 'Give a text of 1 to 500 characters.')
  }
  const data = { list: 'home', text: text.trim(), done: false, createdAt: new Date() }
  return todos.save({ hashKey: randomUUID(), data }, { ifAbsent: true })
}

const mark = async (id, { done }) => {
  const todo = await todos.findOne(id)
  if (todo === undefined) throw new Refused(404, 'It is gone.')
  // Replace only the version that was just read, so that a change by somebody else is not overwritten.
  return todos.save({ hashKey: id, data: { ...todo.data, done: done === true } }, { ifMatch: todo.updatedAt })
}

const answer = async (request) => {
  const { method, url } = request
  const id = /^\/todos\/([0-9a-f-]{36})$/.exec(url)?.[1]
  if (method === 'POST' && url === '/todos') return add(await readBody(request))
  if (method === 'PUT' && id) return mark(id, await readBody(request))
  if (method === 'DELETE' && id) return todos.remove(id)
  throw new Refused(404, 'There is nothing here.')
}

const statusOf = (error) => {
  if (error instanceof Refused) return error.status
  return error instanceof CubbyError && error.code === 'precondition_failed' ? 409 : 500
}

const server = createServer(async (request, response) => {
  const send = (status, type, body) => response.writeHead(status, { 'content-type': type }).end(body)
  const file = request.method === 'GET' && files[request.url]
  if (file) return send(200, ...file)
  try {
    send(200, 'application/json', JSON.stringify(await answer(request)))
  } catch (error) {
    const status = statusOf(error)
    if (status === 500) console.error(error)
    send(status, 'application/json', JSON.stringify({ error: status === 500 ? 'That failed.' : error.message }))
  }
})

server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`todo app: http://127.0.0.1:${server.address().port} (open it in a browser; Ctrl-C stops it)`)
})
