// The part of the upload page that has the secret key. It makes URLs, and never sees the bytes of a picture.

import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { Cubby } from '@cubbydb/client'

const { CUBBY_URL = 'http://127.0.0.1:4600', CUBBY_KEY, PORT = '8081' } = process.env
const fail = (reason) => {
  console.error(reason)
  process.exit(1)
}
if (!CUBBY_KEY) fail('Set CUBBY_KEY (svc_live_…); see README.md.')

let pictures
try {
  const db = new Cubby({ url: CUBBY_URL, key: CUBBY_KEY }).db('gallery')
  // The first request also shows whether the server runs and knows the key.
  await db.buckets.create('pictures')
  pictures = db.bucket('pictures')
} catch (error) {
  fail(`Cubby at ${CUBBY_URL} did not create the bucket: ${error.message}`)
}

const files = {
  '/': ['text/html', await readFile(new URL('index.html', import.meta.url))],
  '/cubby.js': ['text/javascript', await readFile(fileURLToPath(import.meta.resolve('@cubbydb/client')))],
}

const extensions = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp' }

/** One picture of at most 5 MB, under a name that the visitor does not choose, within five minutes. */
const makeUploadUrl = (type) =>
  pictures.getUrl(`${randomUUID()}.${extensions[type]}`, {
    method: 'PUT',
    contentType: type,
    sizeMax: 5_000_000,
    expiresIn: 300,
    visibility: 'public',
  })

const newest = async () => (await pictures.query({ index: 't', limit: 20 })).items.map(({ url }) => url)

const server = createServer(async (request, response) => {
  const send = (status, type, body) => response.writeHead(status, { 'content-type': type }).end(body)
  const sendJson = (status, body) => send(status, 'application/json', JSON.stringify(body))
  const { method, url } = request
  const file = method === 'GET' && files[url]
  if (file) return send(200, ...file)
  try {
    if (method === 'GET' && url === '/pictures') return sendJson(200, await newest())
    const [, type] = /^\/uploads\?type=([\w%-]+)$/.exec(url) ?? []
    if (method !== 'POST' || !type) return sendJson(404, { error: 'There is nothing here.' })
    // This is the place to check who asks: whoever gets the URL can upload.
    const wanted = decodeURIComponent(type)
    if (!Object.hasOwn(extensions, wanted)) return sendJson(415, { error: 'Choose a PNG, JPEG or WebP picture.' })
    sendJson(200, await makeUploadUrl(wanted))
  } catch (error) {
    console.error(error)
    sendJson(500, { error: 'That failed.' })
  }
})

server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`upload page: http://127.0.0.1:${server.address().port} (open it in a browser; Ctrl-C stops it)`)
})
