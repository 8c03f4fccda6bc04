// The server of the notes. It sees no note: the page of each person reads and writes its own ones directly in Cubby.

import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { Cubby, CubbyError } from '@cubbydb/client'
import { audience, issuer, publicKeys, signLogin } from './login-service.mjs'

const { CUBBY_URL = 'http://127.0.0.1:4600', CUBBY_KEY, PORT = '8083' } = process.env
const fail = (reason) => {
  console.error(reason)
  process.exit(1)
}
if (!CUBBY_KEY) fail('Set CUBBY_KEY (svc_live_…); see README.md.')

let cubby
try {
  cubby = new Cubby({ url: CUBBY_URL, key: CUBBY_KEY })
  // The first request also shows whether the server runs and knows the key.
  await cubby.db('notes').tables.create('notes', { changes: { keepHours: 24 } })
  // Whoever has a login token of this service may read and write the notes whose hash key is its `sub`.
  await cubby.issuers.put('notes-login', {
    issuer,
    audience,
    keys: publicKeys,
    grants: [{ db: 'notes', table: 'notes', hash: '{sub}', can: 'write', sizeMax: 10_000 }],
  })
} catch (error) {
  fail(`Cubby at ${CUBBY_URL} did not create the table: ${error.message}`)
}

const own = (name) => readFile(new URL(name, import.meta.url))
const clientFile = (name) => readFile(fileURLToPath(import.meta.resolve(name)))
const files = {
  '/': ['text/html', await own('index.html')],
  '/notes.js': ['text/javascript', await own('notes.js')],
  '/notes.css': ['text/css', await own('notes.css')],
  '/client/index.js': ['text/javascript', await clientFile('@cubbydb/client')],
  // The client loads this file, from where it is itself, when a page calls `watch` for the first time.
  '/client/changes.js': ['text/javascript', await clientFile('@cubbydb/client/changes')],
  '/config.json': ['application/json', JSON.stringify({ url: CUBBY_URL })],
}

// The page has tokens. So it runs the scripts of this server alone, and talks to nobody but this server and Cubby.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  `connect-src 'self' ${new URL(CUBBY_URL).origin}`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

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
    if (text.length > 20_000) throw new Refused(413, 'That is too long.')
  }
  try {
    return Object(JSON.parse(text))
  } catch {
    throw new Refused(400, 'That is not JSON.')
  }
}

/** What a login service does. Here is the place of the password. */
const login = ({ name }) => {
  if (typeof name === 'string' && /^[a-z]{1,20}$/.test(name)) return { loginToken: signLogin(name) }
  throw new Refused(400, 'Give a name of 1 to 20 letters from a to z.')
}

/** Cubby checks the login token, and answers with a user token. The secret key stays here. */
const exchange = async ({ loginToken }) => {
  try {
    const { token, expiresAt } = await cubby.tokens.exchange(String(loginToken))
    return { token, expiresAt }
  } catch (error) {
    if (!(error instanceof CubbyError) || error.status < 400 || error.status >= 500) throw error
    throw new Refused(401, 'Log in again.')
  }
}

const answer = async (request) => {
  const { method, url } = request
  if (method === 'POST' && url === '/login') return login(await readBody(request))
  if (method === 'POST' && url === '/token') return exchange(await readBody(request))
  throw new Refused(404, 'There is nothing here.')
}

const server = createServer(async (request, response) => {
  const send = (status, type, body) =>
    response
      .writeHead(status, {
        'content-type': type,
        'content-security-policy': policy,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      })
      .end(body)
  const file = request.method === 'GET' && files[request.url]
  if (file) return send(200, ...file)
  try {
    send(200, 'application/json', JSON.stringify(await answer(request)))
  } catch (error) {
    const status = error instanceof Refused ? error.status : 500
    if (status === 500) console.error(error)
    send(status, 'application/json', JSON.stringify({ error: status === 500 ? 'That failed.' : error.message }))
  }
})

server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`notes app: http://127.0.0.1:${server.address().port} (open it in two browsers; Ctrl-C stops it)`)
})
