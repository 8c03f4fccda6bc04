import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { certify, makeAuthority, makePair } from '../certificates.ts'
import { makeTempDir, removeTempDir, storeIsEmbedded } from '../harness.ts'
import { mountSmallDisk } from '../limits/small-disk.ts'
import { S3TestServer } from './s3-test-server.ts'

// Files are larger than the memory of a server. Over TLS, Bun's fetch reads a body that is a `Bun.file` into memory as a whole:
// one upload of 1 GiB took 2 GiB.

setDefaultTimeout(600_000)

const MIB = 1_048_576
const isLong = process.env.CUBBY_TEST_S3_BYTES !== undefined
const bytes = Number(process.env.CUBBY_TEST_S3_BYTES ?? 64 * MIB)
/** Far below what is transferred. */
const gainBytesMax = 50 * MIB

let dir = ''
let tls: { key: string; cert: string }
beforeAll(() => {
  dir = makeTempDir()
  const authority = makeAuthority('Ours')
  writeFileSync(join(dir, 'authority.pem'), authority.certificate)
  const { privateKey, publicKey } = makePair()
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  tls = { key, cert: certify('localhost', publicKey, authority, 'localhost') }
})
afterAll(() => removeTempDir(dir))

interface Transfer {
  bytes: number
  spool?: string
  unread?: number
  wrapper?: string[]
  env?: Record<string, string>
}

const transfer = async (server: S3TestServer, { bytes, spool = dir, unread = 0, wrapper = [], env }: Transfer) => {
  const program = join(import.meta.dir, 's3-transfer.ts')
  const args = [`s3://${server.bucket}/pre`, spool, String(bytes), String(unread)]
  const child = Bun.spawn([...wrapper, process.execPath, program, ...args], {
    env: { ...process.env, ...server.env, NODE_EXTRA_CA_CERTS: join(dir, 'authority.pem'), ...env },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const text = await new Response(child.stdout).text()
  expect(await child.exited).toBe(0)
  return JSON.parse(text)
}

const withServer = async <T>(options: object, use: (server: S3TestServer) => Promise<T>): Promise<T> => {
  const server = await S3TestServer.start({ keepBytesMax: MIB, ...options })
  try {
    return await use(server)
  } finally {
    await server.stop()
  }
}

describe('memory', () => {
  test.each(['http', 'https'])(`an upload and a download of ${bytes} bytes over %s`, async (protocol) => {
    const result = await withServer(protocol === 'https' ? { tls } : {}, (server) => transfer(server, { bytes }))
    console.log(
      `  over ${protocol}, ${Math.round(bytes / MIB)} MiB: ${Math.round(result.gainedBytes / MIB)} MiB gained`,
    )
    expect(result.isSame).toBe(true)
    expect(result.gainedBytes).toBeLessThan(gainBytesMax)
  })
})

// Bun's fetch sends 256 requests at once, and the others wait without a limit. Each unread answer takes up to 2 MB.
test.skipIf(!isLong)('300 downloads that nobody reads do not stop another one, and keep little memory', async () => {
  const result = await withServer({}, (server) => transfer(server, { bytes: 16 * MIB, unread: 300 }))
  const [peak, paused] = [result.gainedBytes, result.pausedBytes].map((bytes) => Math.round(bytes / MIB))
  console.log(`  300 unread downloads: ${peak} MiB gained at first, ${paused} MiB two seconds later`)
  expect(result.isSame).toBe(true)
  expect(result.pausedBytes).toBeLessThan(100 * MIB)
})

test('a proxy of HTTP_PROXY is used, and not for the hosts of NO_PROXY', async () => {
  await withServer({}, async (server) => {
    const env = { HTTP_PROXY: server.endpoint, http_proxy: server.endpoint, NO_PROXY: '', no_proxy: '' }
    // To a proxy, the whole address is sent: our server answers that as it does for a wrong bucket.
    const address = 'http://storage.invalid:9000'
    const result = await transfer(server, { bytes: 1, env: { ...env, AWS_ENDPOINT_URL: address } })
    expect(result.message).toContain('cannot be used')
    expect(server.seen[0]?.target).toBe(`${address}/${server.bucket}/pre/cubby-mark`)
    expect(await transfer(server, { bytes: 1, env: { ...env, NO_PROXY: '127.0.0.1' } })).toMatchObject({ isSame: true })
  })
})

describe.skipIf(!storeIsEmbedded())('a full directory for temporary files', () => {
  test('storage_full, nothing stored, and the next upload works', async () => {
    const disk = await mountSmallDisk(2 * MIB)
    if (typeof disk === 'string') return console.log(`skipped: ${disk}`)
    await withServer({}, async (server) => {
      const { wrapper, dir: spool } = disk
      expect(await transfer(server, { bytes: 4 * MIB, spool, wrapper })).toMatchObject({
        code: 'storage_full',
        cause: 'temporary file of an upload: ENOSPC',
      })
      expect(server.objects.size).toBe(0)
      expect(await transfer(server, { bytes: MIB, spool, wrapper })).toMatchObject({ isSame: true })
    })
    await disk.remove()
  })
})
