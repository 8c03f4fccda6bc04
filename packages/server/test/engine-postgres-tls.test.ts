import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

setDefaultTimeout(30_000)

// ── Certificates, made here so that none in the repository ever expires ────────────────────────────────────

const der = (tag: number, ...parts: (Uint8Array | string)[]): Buffer => {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part as Uint8Array)))
  const { length } = content
  const header =
    length < 128 ? [tag, length] : length < 256 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from(header), content])
}
const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts)
const oid = (...bytes: number[]) => der(0x06, Buffer.from(bytes))
const time = (at: Date) => der(0x18, at.toISOString().replaceAll(/[-:T]|\.\d+/g, ''))
const nameOf = (commonName: string) => sequence(der(0x31, sequence(oid(0x55, 4, 3), der(0x0c, commonName))))
const extension = (id: Uint8Array, value: Uint8Array) => sequence(id, der(0x01, Buffer.from([0xff])), der(0x04, value))
const ecdsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2))

interface Authority {
  name: string
  key: KeyObject
}

/** A certificate for `hostName`, or of an authority. */
const certify = (subject: string, publicKey: KeyObject, by: Authority, hostName?: string): string => {
  const now = Date.now()
  const particular =
    hostName === undefined
      ? extension(oid(0x55, 0x1d, 0x13), sequence(der(0x01, Buffer.from([0xff]))))
      : extension(oid(0x55, 0x1d, 0x11), sequence(der(0x82, hostName)))
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1, ...crypto.getRandomValues(new Uint8Array(8))])),
    ecdsaWithSha256,
    nameOf(by.name),
    sequence(time(new Date(now - 3_600_000)), time(new Date(now + 3_600_000))),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(particular)),
  )
  const signature = sign('sha256', body, by.key)
  const whole = sequence(body, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature))
  return `-----BEGIN CERTIFICATE-----\n${whole.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
}

const makePair = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' })

const makeAuthority = (name: string): Authority & { certificate: string } => {
  const { privateKey, publicKey } = makePair()
  const authority = { name, key: privateKey }
  return { ...authority, certificate: certify(name, publicKey, authority) }
}

// ── The server ─────────────────────────────────────────────────────────────────────────────────────────────

let server: PostgresServer
let dir = ''
const authority = makeAuthority('Ours')
const stranger = makeAuthority('Theirs')

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'cubby-tls-'))
  writeFileSync(join(dir, 'ours.pem'), authority.certificate)
  writeFileSync(join(dir, 'theirs.pem'), stranger.certificate)
  const { privateKey, publicKey } = makePair()
  server = await startPostgres({
    settings: { fsync: 'off', ssl: 'on', ssl_cert_file: 'server.crt', ssl_key_file: 'server.key' },
    files: {
      'server.crt': certify('localhost', publicKey, authority, 'localhost'),
      'server.key': privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    },
  })
}, 60_000)

afterAll(async () => {
  await server.remove()
  rmSync(dir, { recursive: true, force: true })
}, 60_000)

/** Whether the engine's connections are encrypted; or why it could not be opened. */
const outcomeOf = async (host: string, query: string): Promise<string> => {
  const url = `${server.url().replace('127.0.0.1', host)}?${query.replaceAll('DIR', dir)}`
  try {
    const engine = await openPostgresEngine({ url })
    try {
      await engine.organizations.list()
      const rows = await server.query(
        `select s.ssl from pg_stat_ssl s join pg_stat_activity a using (pid) where a.application_name = 'cubby'`,
      )
      return rows.map(({ ssl }) => (ssl === true ? 'encrypted' : 'plain')).join()
    } finally {
      await engine.close()
    }
  } catch (error) {
    return (error as Error).message
  }
}

describe('TLS as the URL asks', () => {
  test('disable, and without a word: none', async () => {
    expect(await outcomeOf('127.0.0.1', '')).toBe('plain')
    expect(await outcomeOf('127.0.0.1', 'sslmode=disable')).toBe('plain')
  })

  test('require: encrypted, whoever signed', async () => {
    expect(await outcomeOf('127.0.0.1', 'sslmode=require')).toBe('encrypted')
  })

  test('require with a CA: only if that one signed', async () => {
    expect(await outcomeOf('127.0.0.1', 'sslmode=require&sslrootcert=DIR/ours.pem')).toBe('encrypted')
    expect(await outcomeOf('127.0.0.1', 'sslmode=require&sslrootcert=DIR/theirs.pem')).toContain('cannot be opened')
  })

  test('verify-ca: only if the CA signed, whatever the name', async () => {
    expect(await outcomeOf('127.0.0.1', 'sslmode=verify-ca&sslrootcert=DIR/ours.pem')).toBe('encrypted')
    expect(await outcomeOf('127.0.0.1', 'sslmode=verify-ca&sslrootcert=DIR/theirs.pem')).toContain('cannot be opened')
  })

  test('verify-full: only if the CA signed, and for this name', async () => {
    expect(await outcomeOf('localhost', 'sslmode=verify-full&sslrootcert=DIR/ours.pem')).toBe('encrypted')
    for (const [host, query] of [
      ['localhost', 'sslmode=verify-full&sslrootcert=DIR/theirs.pem'],
      ['localhost', 'sslmode=verify-full'],
      ['127.0.0.1', 'sslmode=verify-full&sslrootcert=DIR/ours.pem'],
    ] as const) {
      const line = await outcomeOf(host, query)
      expect(line).toContain('cannot be opened')
      expect(line).not.toContain('\n')
      expect(line).not.toContain(server.password)
    }
  })
})
