import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeTempDir, removeTempDir, runCubby, startServer, storeIsEmbedded } from '../harness.ts'
import { ok } from '../http/service.ts'

// An operator reads one line at night. It says what is wrong, and the process does not hang about.

setDefaultTimeout(120_000)

let top: string
beforeEach(() => {
  top = makeTempDir()
})
afterEach(() => removeTempDir(top))

const timed = async <T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> => {
  const startedAtMs = performance.now()
  return { value: await work(), ms: performance.now() - startedAtMs }
}

/** The limit is so many times as long as a process that prints its version: a quarter of a second on an idle machine. */
const timesMax = 6

/** Starts what cannot start: exit 1 and one line on stderr, which it returns. */
const refusedStart = async (...args: string[]): Promise<string> => {
  const seen: number[] = []
  // A busy machine may hold up one of them for longer.
  for (let attempt = 0; attempt < 5; attempt++) {
    const { value, ms } = await timed(() => runCubby(['serve', '--port', '0', ...args]))
    const { exitCode, stdout, stderr } = value
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(/^[^\n]+\n$/)
    const plain = await timed(() => runCubby(['--version']))
    seen.push(ms / plain.ms)
    if (seen.at(-1)! < timesMax) return stderr
  }
  throw new Error(`a start that is refused takes ${seen.map((n) => n.toFixed(1))} times as long as --version`)
}

describe('serve fails with one line and exit 1', () => {
  test('a port that is taken', async () => {
    const server = await startServer()
    try {
      const line = await refusedStart('--port', String(server.port), '--data', join(top, 'data'))
      expect(line).toContain(String(server.port))
      expect(line).toContain('taken')
      ok(await server.request('GET', '/healthz'))
    } finally {
      await server.stop()
    }
  })

  test('an address that is not of this machine', async () => {
    expect(await refusedStart('--host', '192.0.2.1', '--data', join(top, 'data'))).toContain('192.0.2.1')
  })

  test.skipIf(!storeIsEmbedded())('a store that another process serves, and leaves that one alone', async () => {
    const dataDir = join(top, 'data')
    const server = await startServer({ dataDir })
    try {
      const line = await refusedStart('--data', dataDir)
      expect(line).toContain(dataDir)
      expect(line).toContain('another process')
      const { secretKey } = await server.createOrganization()
      ok(await server.as(secretKey).post('/v1/app/notes'), 201)
    } finally {
      await server.stop()
    }
  })

  test.skipIf(!storeIsEmbedded())('no longer once that process was killed', async () => {
    const dataDir = join(top, 'data')
    const server = await startServer({ dataDir })
    await server.kill()
    await server.start()
    ok(await server.request('GET', '/readyz'))
    await server.stop()
  })
})

describe.skipIf(!storeIsEmbedded())('a data directory that cannot be written', () => {
  test('below a regular file', async () => {
    writeFileSync(join(top, 'file'), '')
    const line = await refusedStart('--data', join(top, 'file', 'data'))
    expect(line).toContain('data directory')
    expect(line).toContain(join(top, 'file', 'data'))
  })

  test('a regular file itself', async () => {
    writeFileSync(join(top, 'file'), 'mine')
    const line = await refusedStart('--data', join(top, 'file'))
    expect(line).toContain('data directory')
    expect(line).toContain(join(top, 'file'))
    expect(readFileSync(join(top, 'file'), 'utf8')).toBe('mine')
  })

  test.skipIf(!existsSync('/proc/self'))('where the system does not allow writes', async () => {
    const line = await refusedStart('--data', '/proc/cubby')
    expect(line).toContain('data directory')
    expect(line).toContain('/proc/cubby')
  })
})

describe.skipIf(!storeIsEmbedded())('a file in the place of the store', () => {
  let file: string
  beforeEach(() => {
    file = join(top, 'cubby.db')
  })

  /** Nothing of it may be changed: it is somebody's, or a newer Cubby's. */
  const refusedUntouched = async (): Promise<string> => {
    const before = readFileSync(file)
    const line = await refusedStart('--data', top)
    expect(readFileSync(file).equals(before)).toBe(true)
    return line
  }

  test('that is not SQLite', async () => {
    writeFileSync(file, 'Dear diary, '.repeat(1000))
    expect(await refusedUntouched()).toContain('cubby.db')
  })

  for (const version of [0, 1, 2]) {
    test(`that is another program's SQLite file, of user_version ${version}`, async () => {
      const db = new Database(file)
      db.run('CREATE TABLE diary (entry TEXT)')
      db.run(`PRAGMA user_version = ${version}`)
      db.close()
      expect(await refusedUntouched()).toMatch(/not a Cubby store/)
    })
  }

  test('that is a store of a newer version', async () => {
    const server = await startServer({ dataDir: top })
    await server.stop()
    const db = new Database(file)
    const { user_version: version } = db.query<{ user_version: number }, []>('PRAGMA user_version').get()!
    db.run(`PRAGMA user_version = ${version + 1}`)
    db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    const line = await refusedUntouched()
    expect(line).toContain(`version ${version + 1}`)
    expect(line).toContain(top)
    for (const command of [
      ['verify'],
      ['orgs', 'list'],
      ['orgs', 'create', 'acme'],
      ['keys', 'list', '--org', 'acme'],
    ]) {
      const { exitCode, stderr } = await runCubby([...command, '--data', top])
      expect(exitCode).toBe(1)
      expect(stderr).toMatch(/^cubby: [^\n]*version[^\n]*\n$/)
    }
  })

  test('that is a directory', async () => {
    mkdirSync(file)
    await refusedStart('--data', top)
  })

  test('that is empty: a new store', async () => {
    writeFileSync(file, '')
    const server = await startServer({ dataDir: top })
    ok(await server.request('GET', '/readyz'))
    await server.stop()
  })
})
