import { createRequire } from 'node:module'

// dynalite on LevelDB, as its users start it, with one difference. By default it never asks LevelDB to sync, so a power cut
// would lose acknowledged writes. Here the write of an item is synced. dynalite writes an item after its index entries,
// and LevelDB's log keeps the order. So this one sync makes all of them durable, at the lowest cost.
// `node dynalite-service.js DIR`.

const require = createRequire(import.meta.url)
const { ClassicLevel } = require('classic-level')

for (const method of ['_put', '_del']) {
  const plain = ClassicLevel.prototype[method]
  ClassicLevel.prototype[method] = function (key, ...rest) {
    const options = rest.pop()
    const isItem = String(key).startsWith('item-')
    return plain.call(this, key, ...rest, isItem ? { ...options, sync: true } : options)
  }
}

const dynalite = require('dynalite')

const server = dynalite({ path: process.argv[2], createTableMs: 0 })
server.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}`
  process.stderr.write(`${JSON.stringify({ message: 'listening', url })}\n`)
})

process.on('SIGTERM', () => process.exit(0))
