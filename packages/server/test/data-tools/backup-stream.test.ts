import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { onTerminal } from '../cli/on-terminal.ts'
import {
  eventually,
  makeTempDir,
  type Organization,
  removeTempDir,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { expectDone, runCommand } from './commands.ts'
import { makeCommands } from './shell-blocks.ts'

setDefaultTimeout(120_000)

test('on another engine: one line that says what to use, and nothing on standard output', async () => {
  const { exitCode, stdout, stderr } = await runCommand([
    'backup',
    'create',
    '-',
    '--store',
    'postgres://user:secret@127.0.0.1:1/cubby',
  ])
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  expect(stderr).toMatch(/^cubby: [^\n]*pg_dump[^\n]*\n$/)
})

describe.skipIf(!storeIsEmbedded())('a backup through a pipe', () => {
  let server: Server
  let org: Organization
  let dir: string
  let backup: Uint8Array

  beforeAll(async () => {
    dir = makeTempDir()
    makeCommands(join(dir, 'commands'))
    server = await startServer()
    org = await server.createOrganization('acme')
    const api = server.as(org.secretKey)
    await api.post('/v1/app/notes', { indices: { i1: { hashField: 'n' } } })
    for (let i = 0; i < 2_000; i += 25) {
      const operations = Array.from({ length: 25 }, (_, k) => ({
        ...{ op: 'put', hashKey: `k${i + k}`, data: { n: i + k, text: 'x'.repeat(1_000) } },
      }))
      expect((await api.post('/v1/app/notes/batch', { operations })).status).toBe(200)
    }
    const { exitCode, stderr } = await shell(`cubby backup create - --data '${server.dataDir}' > whole`)
    expect(exitCode).toBe(0)
    expect(stderr).toMatch(/^wrote to standard output: 1 organization, 1 table, 2,000 records, [\d.]+ MB, verified\n$/)
    backup = readFileSync(join(dir, 'whole'))
  })
  afterAll(async () => {
    await server?.stop()
    removeTempDir(dir)
  })

  /** Runs a script as it is typed into a shell. */
  const shell = async (script: string) => {
    const child = Bun.spawn(['bash', '-o', 'pipefail', '-c', script], {
      cwd: dir,
      env: { HOME: dir, PATH: `${join(dir, 'commands')}:${process.env.PATH}` },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    return { exitCode: await child.exited, stdout, stderr }
  }

  const leftovers = (): string[] => readdirSync(server.dataDir).filter((name) => name.includes('backup'))

  test('standard output has the backup and nothing else, also with --json', async () => {
    expect(Buffer.from(backup.subarray(0, 15)).toString()).toBe('SQLite format 3')
    const { stderr } = await shell(`cubby backup create - --json --data '${server.dataDir}' > json`)
    const counts = { organizations: 1, tables: 1, records: 2_000, buckets: 0, files: 0, tasks: 0, runs: 0 }
    expect(JSON.parse(stderr)).toEqual({ file: '-', bytes: backup.length, ...counts })
    expect(statSync(join(dir, 'json')).size).toBe(backup.length)
    expect(leftovers()).toEqual([])
  })

  test('packed, unpacked and restored through pipes it is sound and serves', async () => {
    const made = await shell(`cubby backup create - --data '${server.dataDir}' | gzip > store.gz`)
    expect(made.exitCode).toBe(0)
    expect(gunzipSync(readFileSync(join(dir, 'store.gz'))).length).toBe(backup.length)
    const data = join(dir, 'restored')
    const { exitCode, stdout } = await shell(`gunzip -c store.gz | cubby backup restore - --data '${data}'`)
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^restored .*restored: 1 organization, 1 table, 2,000 records, [\d.]+ MB, verified\n$/)
    expect(readdirSync(data).sort()).toEqual(['cubby.db', 'serve.lock'])
    expect(statSync(join(data, 'cubby.db')).mode & 0o777).toBe(0o600)
    expect(await expectDone(['verify', '--data', data])).toStartWith('ok: ')
    const restored = await startServer({ dataDir: data })
    try {
      const found = await restored.as(org.secretKey).post('/v1/app/notes/query', { index: 'i1', hash: 1_999 })
      expect(found.body.items[0].hashKey).toBe('k1999')
    } finally {
      await restored.stop()
    }
  })

  // Without this the restore of a cut backup would be a store that silently lacks records.
  describe('one that is not complete becomes no store', () => {
    const cuts: [string, (bytes: Uint8Array) => Uint8Array, RegExp][] = [
      ['the last byte is missing', (bytes) => bytes.subarray(0, -1), /is (damaged|not sound)/],
      ['the last page is missing', (bytes) => bytes.subarray(0, -4096), /is (damaged|not sound)/],
      ['half is missing', (bytes) => bytes.subarray(0, bytes.length / 2), /is (damaged|not sound)/],
      ['only the first page is there', (bytes) => bytes.subarray(0, 4096), /is (damaged|not sound)/],
      ['nothing came', () => new Uint8Array(0), /is not a backup of Cubby/],
      ['it is still packed', (bytes) => gzipSync(bytes), /is compressed; unpack it on the way: gunzip -c/],
    ]
    for (const [what, cut, said] of cuts) {
      test(what, async () => {
        const data = join(dir, 'cut')
        const { exitCode, stdout, stderr } = await runCommand(['backup', 'restore', '-', '--data', data], {
          stdin: cut(backup),
        })
        expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
        expect(stderr).toMatch(/^cubby: standard input [^\n]+\n$/)
        expect(stderr).toMatch(said)
        expect(existsSync(data)).toBe(false)
      })
    }

    test('a packed file by its name', async () => {
      const file = join(dir, 'packed')
      writeFileSync(file, gzipSync(backup))
      const { exitCode, stderr } = await runCommand(['backup', 'restore', file, '--data', join(dir, 'cut')])
      expect(exitCode).toBe(1)
      expect(stderr).toContain(`${file} is compressed; unpack it on the way`)
    })
  })

  test('a reader that goes away: one line, exit 1, nothing left behind', async () => {
    const { stderr, stdout } = await shell(
      `cubby backup create - --data '${server.dataDir}' | head -c 100 > /dev/null; echo "\${PIPESTATUS[0]}"`,
    )
    expect(stderr).toBe('cubby: the reader of the output has closed it before the end\n')
    expect(stdout).toBe('1\n')
    expect(leftovers()).toEqual([])
  })

  test('killed while it writes, it leaves nothing behind', async () => {
    // The reader takes the first bytes and waits, so that the command is in the middle of its stream.
    const script = `cubby backup create - --data '${server.dataDir}' > >(head -c 100 > began; sleep 20) & echo $!; wait`
    const child = Bun.spawn(['bash', '-c', script], {
      cwd: dir,
      env: { HOME: dir, PATH: `${join(dir, 'commands')}:${process.env.PATH}` },
      stdout: 'pipe',
      stderr: 'ignore',
    })
    const { value } = await child.stdout.getReader().read()
    await eventually(
      'the first bytes',
      () => (statSync(join(dir, 'began'), { throwIfNoEntry: false })?.size ?? 0) > 0 || undefined,
    )
    process.kill(Number(Buffer.from(value!).toString()), 'SIGKILL')
    expect(leftovers()).toEqual([])
    child.kill('SIGKILL')
  })

  test('a terminal is refused, with the command that was meant', async () => {
    for (const [args, said] of [
      [['backup', 'create', '-', '--data', server.dataDir], 'cubby backup create - | gzip > FILE'],
      [['backup', 'restore', '-', '--data', join(dir, 'never')], 'gunzip -c FILE | cubby backup restore -'],
    ] as [string[], string][]) {
      const command = onTerminal(args)
      expect(await command.exited).toBe(2)
      await eventually('the message', () => command.text().includes(said) || undefined)
    }
    expect(existsSync(join(dir, 'never'))).toBe(false)
  })

  // Otherwise the copy would fill the disk of the store, and the writes of its server would fail.
  test('without room for a copy beside the store it is refused before anything is written', async () => {
    const data = join(dir, 'large')
    await expectDone(['backup', 'restore', join(dir, 'whole'), '--data', data])
    const { bavail, bsize } = statfsSync(data)
    // A file of that size without content: SQLite reads only the pages that the header counts.
    truncateSync(join(data, 'cubby.db'), bavail * bsize)
    const { exitCode, stdout, stderr } = await runCommand(['backup', 'create', '-', '--data', data])
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(
      /^cubby: the copy is made in .*large, where \d+ MB are free and \d+ MB are needed; give a FILE/,
    )
    expect(readdirSync(data).filter((name) => name.includes('backup'))).toEqual([])
  })

  test('a second one at the same time is refused', async () => {
    const busy = join(server.dataDir, 'backup.tmp')
    writeFileSync(busy, 'not ours')
    try {
      const { exitCode, stdout, stderr } = await runCommand(['backup', 'create', '-', '--data', server.dataDir])
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
      expect(stderr).toContain('backup.tmp exists: another backup is running')
      expect(readFileSync(busy, 'utf8')).toBe('not ours')
    } finally {
      rmSync(busy)
    }
  })
})
