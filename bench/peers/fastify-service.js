import Database from 'better-sqlite3'
import Fastify from 'fastify'

// The service that an application developer would write instead of using Cubby: Fastify, a check of the API key, one SQLite
// table with a JSON column, two indexes on columns taken from it and one on the time, one transaction per request. WAL and
// synchronous=FULL: as durable as Cubby. `node fastify-service.js FILE KEY`.

const [, , file, apiKey] = process.argv

const db = new Database(file)
db.pragma('journal_mode = WAL')
db.pragma('synchronous = FULL')
db.pragma('cache_size = -65536')
db.exec(`
  CREATE TABLE IF NOT EXISTS items (
    key TEXT PRIMARY KEY,
    data TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    status TEXT,
    owner TEXT,
    score REAL
  );
  CREATE INDEX IF NOT EXISTS items_by_status ON items (status, score);
  CREATE INDEX IF NOT EXISTS items_by_owner ON items (owner, score);
  CREATE INDEX IF NOT EXISTS items_by_time ON items (updated_at);
`)

const select = db.prepare('SELECT key, data, updated_at FROM items WHERE key = ?')
const upsert = db.prepare(`
  INSERT INTO items (key, data, updated_at, status, owner, score) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET data = excluded.data, updated_at = excluded.updated_at,
    status = excluded.status, owner = excluded.owner, score = excluded.score`)
const byStatus = db.prepare('SELECT key, data, updated_at FROM items WHERE status = ? ORDER BY score LIMIT ?')
const newest = db.prepare('SELECT key, data, updated_at FROM items ORDER BY updated_at DESC LIMIT ?')
const put = (key, data, updatedAt) =>
  upsert.run(key, JSON.stringify(data), updatedAt, data.status ?? null, data.owner ?? null, data.score ?? null)
const putAll = db.transaction((items) => {
  const now = Date.now()
  for (const { key, data } of items) put(key, data, now)
})

const toItem = (row) => ({ key: row.key, data: JSON.parse(row.data), updatedAt: row.updated_at })

const app = Fastify({ logger: false })

app.addHook('onRequest', async (request, reply) => {
  if (request.headers.authorization !== `Bearer ${apiKey}`) return reply.code(401).send({ error: 'unauthorized' })
})

app.get('/items/:key', async (request, reply) => {
  const row = select.get(request.params.key)
  if (row === undefined) return reply.code(404).send({ error: 'not found' })
  return toItem(row)
})

app.put('/items/:key', async (request) => {
  const { key } = request.params
  const updatedAt = Date.now()
  put(key, request.body, updatedAt)
  return { key, data: request.body, updatedAt }
})

app.get('/items', async (request) => {
  const limit = Math.min(Number(request.query.limit ?? 100), 1000)
  const rows = request.query.status === undefined ? newest.all(limit) : byStatus.all(request.query.status, limit)
  return { items: rows.map(toItem) }
})

app.post('/items/batch', async (request) => {
  putAll(request.body)
  return { count: request.body.length }
})

const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.stderr.write(`${JSON.stringify({ message: 'listening', url })}\n`)

process.on('SIGTERM', () => process.exit(0))
