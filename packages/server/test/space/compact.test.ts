import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { mainFile } from '../cli/serve-process.ts'
import { startCommand } from '../data-tools/commands.ts'
import { leavesOf, spoilPages } from '../disks/damaged-store.ts'
import { makeTempDir, removeTempDir, runCubby, type Server, startServer, storeIsEmbedded } from '../harness.ts'
import { mountSmallDisk } from '../limits/small-disk.ts'
import { Random, testSeed } from '../model/random.ts'
import { dayMs, findChangedAnswers } from '../stores/expected.ts'
import { folderOf, openCopy, readExpected, sqliteStores } from '../stores/kept-stores.ts'
import { compactedBytes, dbBytes, FilledTable, pragma, walBytes } from './filled-table.ts'

// The command rewrites every byte of a store. Killed half-way, or on a damaged or crowded disk, it must leave a whole one.

setDefaultTimeout(60_000)

const records = 2_000

test('on another engine: one line that says what to use', async () => {
  const { exitCode, stdout, stderr } = await runCubby([
    'compact',
    '--store',
    'postgres://user:secret@127.0.0.1:1/cubby',
  ])
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  expect(stderr).toMatch(/^cubby: [^\n]*VACUUM[^\n]*\n$/)
})

test('without a store: one line that says so, and none is made', async () => {
  const dir = makeTempDir()
  const { exitCode, stderr } = await runCubby(['compact', '--data', join(dir, 'none')])
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(/there is no store in/) })
  expect(statSync(join(dir, 'none'), { throwIfNoEntry: false })).toBeUndefined()
  removeTempDir(dir)
})

describe.skipIf(!storeIsEmbedded())('cubby compact', () => {
  let dir: string
  let original: string
  let data: string
  let server: Server
  let filled: FilledTable

  beforeAll(async () => {
    dir = makeTempDir()
    original = join(dir, 'original')
    data = join(dir, 'data')
    server = await startServer({ dataDir: data })
    filled = await FilledTable.make(server.as((await server.createOrganization('acme')).secretKey), records, 300)
    // Every other one: few pages are free, and all are half-empty.
    await filled.delete((i) => i % 2 === 1)
    await refused(
      /^cubby: another process serves the store in [^\n]*: stop it, compact the store, and start it again\n$/,
    )
    await server.end('SIGTERM')
    cpSync(data, original, { recursive: true })
  })
  beforeEach(() => {
    rmSync(data, { recursive: true })
    cpSync(original, data, { recursive: true })
  })
  afterAll(async () => {
    await server.stop()
    removeTempDir(dir)
  })

  /** The records as a server answers them. */
  const faultsOnServer = async (): Promise<string[]> => {
    await server.start()
    try {
      return await filled.faults()
    } finally {
      await server.end('SIGTERM')
    }
  }

  const compact = (...args: string[]) => runCubby(['compact', '--data', data, ...args])
  const refused = async (said: RegExp): Promise<void> => {
    const { exitCode, stdout, stderr } = await compact()
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(said)
  }

  test('brings a store within 25 % of a compacted copy, with every record, and says how much room it needs', async () => {
    const before = dbBytes(data)
    const small = compactedBytes(data)
    expect(before).toBeGreaterThan(1.25 * small)
    const { exitCode, stdout, stderr } = await compact('--json')
    expect(exitCode).toBe(0)
    expect(stderr).toMatch(/^cubby: needs up to \d+\.\d MB of room meanwhile; \d+\.\d MB are free\n$/)
    expect(JSON.parse(stdout)).toEqual({ data, bytesBefore: before, bytesAfter: dbBytes(data) })
    expect(dbBytes(data)).toBeLessThan(1.25 * small)
    expect(walBytes(data)).toBe(0)
    // The next run prints for people.
    expect(await compact()).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^compacted \S+: \d\.\d MB before, \d\.\d MB now, verified\n$/),
    })
    expect(await faultsOnServer()).toEqual([])
  })

  test('killed at any moment leaves the old store or the new one', async () => {
    const random = new Random(testSeed())
    const found = new Set<string>()
    // On a busy machine a kill may come late: then there are more of them.
    for (let round = 0; round < 5 || (!found.has('WAL') && round < 50); round++) {
      copyFileSync(join(original, 'cubby.db'), join(data, 'cubby.db'))
      const command = startCommand(['compact', '--data', data])
      // The kills begin with its first write, which is the WAL's, and come later and later.
      for (const end = Date.now() + 10_000; walBytes(data) === 0 && Date.now() < end; ) await Bun.sleep(1)
      await Bun.sleep(random.next() * 15 * (round % 5))
      command.kill('SIGKILL')
      await command.result
      found.add(walBytes(data) > 0 ? 'WAL' : 'no WAL')
      expect(await runCubby(['verify', '--data', data])).toMatchObject({ exitCode: 0, stderr: '' })
    }
    // If this fails, every kill came before the work or after it.
    expect(found.has('WAL')).toBe(true)
    expect(await faultsOnServer()).toEqual([])
  })

  test('changes nothing in a damaged store', async () => {
    const file = join(data, 'cubby.db')
    const leaves = leavesOf(file, 'records')
    spoilPages(file, leaves.slice(10, 11))
    const before = readFileSync(file)
    await refused(/is not sound: [^\n]+; nothing was changed; see cubby verify\n$/)
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  test('without room for it says how much it needs, and changes nothing', async () => {
    const disk = await mountSmallDisk(8 * 1_048_576)
    if (typeof disk === 'string') return console.log(`compact on a small disk is skipped: ${disk}`)
    try {
      const file = join(disk.outsideDir, 'cubby.db')
      copyFileSync(join(data, 'cubby.db'), file)
      const before = readFileSync(file)
      disk.fill(before.length)
      const command = [...disk.wrapper, process.execPath, mainFile, 'compact', '--data', disk.dir]
      const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
      const said = await new Response(child.stderr).text()
      expect(said).toMatch(
        /^cubby: compacting needs up to \d+ MB beside the store, and \d+ MB are free [^\n]*; nothing was changed\n$/,
      )
      expect(await child.exited).toBe(1)
      expect(readFileSync(file).equals(before)).toBe(true)
    } finally {
      await disk.remove()
    }
  })

  test('beside a command that reads the store: done, and the reader sees what it saw', async () => {
    const beside = new Database(join(data, 'cubby.db'), { readwrite: true })
    const read = beside.prepare<{ n: number }, []>('SELECT count(*) AS n, total(length(data)) AS bytes FROM records')
    beside.run('BEGIN')
    const seen = read.get()
    const { exitCode, stderr } = await compact()
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: expect.stringMatching(/another command reads the store/),
    })
    expect(read.get()).toEqual(seen)
    beside.run('COMMIT')
    read.finalize()
    beside.close(true)
    expect(await faultsOnServer()).toEqual([])
  })
})

describe.skipIf(!storeIsEmbedded())('cubby compact of a store of version 0.1', () => {
  test('keeps every answer, and turns auto-vacuum on', async () => {
    const expected = readExpected('v1')
    const top = makeTempDir()
    const from = join(top, 'from')
    mkdirSync(from)
    copyFileSync(join(folderOf('v1'), 'cubby.db'), join(from, 'cubby.db'))
    expect(pragma(from, 'auto_vacuum')).toBe(0)
    expect(await runCubby(['compact', '--data', from])).toMatchObject({ exitCode: 0 })
    expect(pragma(from, 'auto_vacuum')).toBe(2)
    const server = await openCopy(sqliteStores, from, expected, dayMs)
    try {
      expect(await findChangedAnswers(server, expected)).toEqual([])
      expect(await server.cubby('verify')).toMatchObject({ exitCode: 0 })
    } finally {
      await server.stop()
      removeTempDir(top)
    }
  })
})
