// Run by node.test.ts under Node, with the built package in node_modules: no TypeScript, no Bun.

import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { Readable } from 'node:stream'
import { Cubby, CubbyError, SaveError, uploadTo } from '@cubbydb/client'
import { LoadError } from '@cubbydb/client/load'
import { PushError, verifyPush } from '@cubbydb/client/webhooks'
import { RunFailed, work } from '@cubbydb/client/worker'

assert.equal(process.versions.bun, undefined)
const { CUBBY_URL: url, CUBBY_KEY: key, CUBBY_PUBLIC_KEY: publicKey } = process.env

const cubby = new Cubby({ url, key })
const app = cubby.db('node')
const indices = { i1: { hashField: 'status', rangeField: 'at' } }
await app.tables.create('orders', { indices })
const orders = app.table('orders')

const at = new Date('2026-01-02T03:04:05.678Z')
const saved = await orders.save({ hashKey: 'a', data: { status: 'open', at } }, { ifAbsent: true })
assert.equal(saved.data.at, at.toISOString())
assert.deepEqual(await orders.findOne('a'), saved)
assert.equal(await orders.findOne('missing'), undefined)
assert.equal((await orders.query({ index: 'i1', hash: 'open', range: { eq: at } })).count, 1)

await assert.rejects(
  orders.save({ hashKey: 'a', data: {} }, { ifMatch: saved.updatedAt - 1 }),
  (error) => error instanceof CubbyError && error.code === 'precondition_failed' && error.status === 412,
)
await assert.rejects(orders.remove('..'), { code: 'invalid_key', status: 0 })

for (const hashKey of ['a/b', 'a\\b', 'a\0b']) {
  await orders.save({ hashKey, data: {} })
  assert.equal((await orders.findOne(hashKey)).hashKey, hashKey)
  assert.deepEqual(await orders.remove(hashKey), { deleted: true })
}

const records = Array.from({ length: 130 }, (_, i) => ({ hashKey: `k${i}`, data: { i } }))
const result = await orders.save(records)
assert.equal(result.saved, 130)
assert.equal(result.chunks.length, 6)
let met = 0
for await (const record of orders.query({ index: 't', limit: 50 })) met += record.hashKey ? 1 : 0
assert.equal(met, 131)
assert.equal((await orders.find(['k1', 'nope', 'k2'])).filter(Boolean).length, 2)

records[60] = { hashKey: 'bad', data: { status: null } }
await assert.rejects(
  orders.save(records, { concurrency: 1 }),
  (error) =>
    error instanceof SaveError &&
    error.result.chunks.map(({ status }) => status).join() === 'applied,applied,failed,unsent',
)

const reader = new Cubby({ url, key: publicKey }).db('node').table('orders')
assert.equal((await reader.findOne('k1')).data.i, 1)
await assert.rejects(reader.remove('k1'), { code: 'read_only_key', status: 403 })

// Files. Node's fetch needs `duplex` for streams and has its own ways to fail.
await app.buckets.create('files')
const files = app.bucket('files')
const size = 3_000_000
await writeFile('large.bin', Buffer.alloc(size, 'x'))
const progress = []
const options = { onProgress: (step) => progress.push(step) }
const streamed = await files.put('large.bin', createReadStream('large.bin'), options)
assert.equal(streamed.size, size)
assert.ok(progress.length > 3)
assert.deepEqual(progress.at(-1), { sentBytes: size, totalBytes: undefined })
const bytes = await (await files.get('large.bin')).bytes()
assert.equal(bytes.length, size)
for (const body of [bytes, new Blob([bytes]), new Blob([bytes]).stream()]) {
  progress.length = 0
  assert.equal((await files.put('again.bin', body, { ...options, sha256: streamed.sha256 })).sha256, streamed.sha256)
  assert.equal(progress.at(-1).sentBytes, size)
  assert.ok(progress.length > 10 && progress[0].sentBytes <= 65_536)
}
progress.length = 0
assert.equal((await files.put('empty', '', options)).size, 0)
assert.deepEqual(progress, [{ sentBytes: 0, totalBytes: 0 }])
assert.equal((await (await files.get('empty')).blob()).size, 0)
assert.equal(await (await files.get('large.bin', { range: { start: 0, end: 3 } })).text(), 'xxx')
assert.equal(await files.get('large.bin', { ifNoneMatch: streamed.sha256 }), null)
assert.equal(await files.get('missing'), undefined)
for (const read of [(file) => file.text(), (file) => file.body.getReader()]) {
  const file = await files.get('empty')
  await read(file)
  await assert.rejects(file.bytes(), { code: 'invalid_request', message: /can be read once/ })
}
await assert.rejects(files.put('large.bin', createReadStream('missing.bin')), { code: 'ENOENT' })
async function* failing() {
  yield 'half'
  throw new Error('the disk is broken')
}
await assert.rejects(files.put('large.bin', failing()), { message: 'the disk is broken' })
assert.deepEqual(await files.describe('large.bin'), streamed)

// Answered before the body is sent.
async function* endless() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 1))
    yield 'x'.repeat(10_000)
  }
}
for (const body of [new Blob([bytes, bytes, bytes, bytes]), createReadStream('large.bin'), endless()]) {
  await assert.rejects(app.bucket('none').put('a', body), { code: 'bucket_not_found', status: 404 })
}
const { url: uploadUrl } = await files.getUrl('signed.bin', { method: 'PUT', sizeMax: size })
await assert.rejects(uploadTo(uploadUrl, new Blob([bytes, bytes, bytes, bytes])), { code: 'file_too_large' })
assert.equal((await uploadTo(uploadUrl, createReadStream('large.bin'))).sha256, streamed.sha256)

// Tasks. `work` of the task loads the module of the entry point: their classes are the same.
await app.tasks.declare('mail', { attempts: 2 })
const mail = app.task('mail')
const good = await mail.run({ to: 'ada', at }, { id: 'good' })
const bad = await mail.run({ to: 'nobody' }, { id: 'bad' })
assert.equal(good.payload.at, at.toISOString())
const send = async (run) => {
  if (run.payload.to === 'nobody') throw new RunFailed('no such mailbox', { retry: false })
  await run.progress({ sent: 1 })
  await run.finishWith(orders, [{ op: 'put', hashKey: 'mail', data: { sent: run.id } }], { ok: true })
}
for (const begin of [(options) => mail.work(send, options), (options) => work(mail, send, options)]) {
  const stop = new AbortController()
  const working = begin({ concurrency: 2, signal: stop.signal })
  const [sent, failed] = await Promise.all([good.finished(), bad.finished()])
  assert.equal(sent.status, 'succeeded')
  assert.deepEqual([sent.result, sent.progress], [{ ok: true }, { sent: 1 }])
  assert.deepEqual([failed.status, failed.error], ['failed', { code: 'worker', message: 'no such mailbox' }])
  assert.equal((await orders.findOne('mail')).data.sent, 'good')
  stop.abort()
  await working
  await Promise.all([mail.retry(good), mail.retry(bad)])
}
await assert.rejects(app.task('none').work(send), (error) => {
  return error instanceof CubbyError && error.code === 'task_not_found'
})

// Records and lines of JSON are loaded, from streams of Node's too.
await app.tables.create('loaded', { indices: { i1: { hashField: 'status' } } })
const loaded = app.table('loaded')
const some = Array.from({ length: 1_200 }, (_, i) => ({ hashKey: `k${i}`, data: { i } }))
assert.deepEqual(await loaded.load(some), { count: 1_200, skipped: 0, failed: 0, errors: [] })
assert.equal((await loaded.load(Readable.from(some), { ifAbsent: true })).skipped, 1_200)
const someLines = some.map((record) => `${JSON.stringify(record)}\n`).join('')
assert.equal((await loaded.load(Readable.from([Buffer.from(someLines)]))).count, 1_200)
assert.equal((await loaded.load(new Blob([someLines]).stream())).count, 1_200)
await assert.rejects(loaded.load([...some, { hashKey: 'bad', data: { status: null } }]), (error) => {
  return error instanceof LoadError && error instanceof CubbyError && error.line === 1_201 && error.count === 1_200
})

// Changes come over a stream, which the loop closes; a watch follows the table over another.
await app.tables.create('followed', { changes: {} })
const followed = app.table('followed')
await followed.save({ hashKey: 'a', data: { text: 'ü€' } })
const changes = followed.changes()
const keys = []
for await (const change of changes) {
  keys.push(`${change.op} ${change.hashKey} ${change.data?.text}`)
  if (keys.length === 1) await followed.remove('a')
  else break
}
assert.deepEqual(keys, ['put a ü€', 'delete a undefined'])
assert.equal((await followed.readChanges({ cursor: changes.cursor })).items[0].op, 'delete')
const stopWatch = new AbortController()
const shown = []
await followed.watch(
  { hash: 'b' },
  {
    signal: stopWatch.signal,
    onChange: async (items) => {
      shown.push(items.map(({ data }) => data.n))
      if (shown.length === 3) stopWatch.abort()
      else await followed.save({ hashKey: 'b', data: { n: shown.length } })
    },
  },
)
assert.deepEqual(shown, [[], [1], [2]])
await assert.rejects(
  async () => {
    for await (const _ of orders.changes()) break
  },
  (error) => error instanceof CubbyError && error.code === 'changes_not_kept',
)

// A stream of much, which nobody reads, is not read ahead without bound. Then it breaks off, and is opened again at the last place.
const large = `event: put\nid: c1\ndata: ${JSON.stringify({ op: 'put', hashKey: 'x'.repeat(200_000) })}\n\n`
let written = 0
let streams = 0
function* muchOfIt() {
  for (; written < 200_000_000; written += large.length) yield large
}
const flood = createHttpServer(async (request, response) => {
  for await (const _ of request);
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write('retry: 10\n\n')
  if (++streams === 1) Readable.from(muchOfIt()).pipe(response)
  else response.end('event: put\nid: c2\ndata: {"op":"put","hashKey":"last"}\n\n')
}).listen(0, '127.0.0.1')
await once(flood, 'listening')
const flooded = new Cubby({ url: `http://127.0.0.1:${flood.address().port}`, key }).db('a').table('t').changes()
const floodedItems = flooded[Symbol.asyncIterator]()
await floodedItems.next()
for (let before = -1; before !== written; ) {
  before = written
  await new Promise((resolve) => setTimeout(resolve, 300))
}
assert.ok(written < 40_000_000, `${written} bytes were taken`)
flood.closeAllConnections()
let lastKey
while (lastKey !== 'last') lastKey = (await floodedItems.next()).value.hashKey
assert.equal(flooded.cursor, 'c1')
await floodedItems.return()
flood.close()

// A push, signed as the server does.
const secret = `whsec_${randomBytes(32).toString('base64')}`
const body = '{"to":"ada"}'
const timestamp = `${Math.floor(Date.now() / 1000)}`
const hmac = createHmac('sha256', Buffer.from(secret.slice(6), 'base64')).update(`good.${timestamp}.${body}`)
const headers = {
  'webhook-id': 'good',
  'webhook-timestamp': timestamp,
  'webhook-signature': `v1,${hmac.digest('base64')}`,
  'cubby-database': 'node',
  'cubby-task': 'mail',
  'cubby-attempt': '1',
  'cubby-lease': 'lease_1',
}
const pushed = await verifyPush({ headers, body: Buffer.from(body) }, secret)
assert.deepEqual(pushed.payload, { to: 'ada' })
assert.deepEqual(await verifyPush(new Request('http://localhost', { method: 'POST', headers, body }), secret), pushed)
await assert.rejects(verifyPush({ headers, body: '{"to":"eve"}' }, secret), (error) => {
  return error instanceof PushError && error.fault === 'signature'
})

// The port was just given back: nothing listens on it.
const closed = createServer().listen(0, '127.0.0.1')
await once(closed, 'listening')
const { port } = closed.address()
closed.close()
await once(closed, 'close')
const nowhere = new Cubby({ url: `http://127.0.0.1:${port}`, key, retries: 1 }).db('node').table('orders')
await assert.rejects(nowhere.findOne('a'), (error) => {
  assert.equal(error.code, 'unavailable')
  assert.equal(error.status, 0)
  // Node's fetch itself says only "fetch failed".
  const why = `connect ECONNREFUSED 127.0.0.1:${port}`
  assert.equal(error.message, `GET http://127.0.0.1:${port}/v1/node/orders/a: ${why}`)
  assert.match(error.hint, /start the server/)
  return true
})
await assert.rejects(nowhere.remove('a'), { code: 'outcome_unknown', status: 0 })
await assert.rejects(orders.findOne('a', { signal: AbortSignal.abort() }), { name: 'AbortError' })

console.log(`done on Node ${process.version}`)
