import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { spawnServe } from '../cli/serve-process.ts'
import { eventually, makeTempDir, removeTempDir } from '../harness.ts'
import { connectRaw, type RawConnection, rawRequest } from '../raw-connection.ts'

// A process that has reached its limit of open files cannot accept connections, and spins trying. Clients with idle
// connections could take a service down without doing anything.

setDefaultTimeout(120_000)

const openFilesMax = 256

test.skipIf(!existsSync('/proc/self/limits'))(
  'connections stay below the limit of open files: idle ones make room, with a warning, and new requests are served',
  async () => {
    const dataDir = makeTempDir()
    const wrapper = ['sh', '-c', `ulimit -n ${openFilesMax}; exec "$@"`, 'sh']
    const serving = spawnServe({ dataDir, args: ['--no-bootstrap'], wrapper })
    const open: RawConnection[] = []
    try {
      await serving.ready
      const { server } = serving
      /** A request on a connection of its own, which is kept afterwards. */
      const serve = async (): Promise<RawConnection> => {
        const connection = await connectRaw(server.port)
        open.push(connection)
        connection.send(rawRequest(server, 'GET', '/healthz'))
        expect((await connection.answer()).status).toBe(200)
        return connection
      }
      // Almost twice what the process may have open, all at once.
      await Promise.all(Array.from({ length: 450 }, serve))
      const warning = await eventually('a warning', () =>
        serving.log.find(({ level, message }) => level === 'warn' && message.includes('connections')),
      )
      expect(warning.message).toMatch(/\S/)
      for (let i = 0; i < 20; i++) (await serve()).close()
      // The store still works: it needs files too.
      expect((await server.request('GET', '/readyz')).status).toBe(200)
      // The log has at most one warning per second, and nothing worse.
      expect(serving.log.filter(({ level }) => level === 'error')).toEqual([])
    } finally {
      for (const connection of open) connection.close()
      expect(await serving.end()).toBe(0)
      removeTempDir(dataDir)
    }
  },
)
