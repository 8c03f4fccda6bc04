import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import { certify, makeAuthority, makePair } from './certificates.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

setDefaultTimeout(120_000)

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
}, 120_000)

afterAll(async () => {
  await server.remove()
  rmSync(dir, { recursive: true, force: true })
}, 120_000)

/** Says whether the engine's connections are encrypted, or why it could not be opened. */
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
