import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { endAllServing, spawnServe } from '../cli/serve-process.ts'
import { makeTempDir, removeTempDir, runCubby, startServer, storeIsEmbedded } from '../harness.ts'
import { folderOf } from '../stores/kept-stores.ts'
import { restoreAt, until, untilArchived, untilRanges, verify } from './ledger.ts'

setDefaultTimeout(120_000)

const dirs: string[] = []
const newDir = (): string => {
  dirs.push(makeTempDir())
  return dirs.at(-1)!
}
afterEach(async () => {
  await endAllServing()
  for (const dir of dirs.splice(0)) removeTempDir(dir)
})

/** Returns what `cubby serve` prints when it does not start. */
const refusalOf = async (args: string[]): Promise<{ exitCode: number; stderr: string }> => {
  const serving = spawnServe({ dataDir: newDir(), args: ['--port', '0', ...args], bare: true })
  return { exitCode: await serving.exited, stderr: serving.stderr }
}

test('on PostgreSQL --archive is refused, with the tools to use', async () => {
  const store = 'postgres://user:secret@127.0.0.1:1/cubby'
  const { exitCode, stderr } = await refusalOf(['--store', store, '--archive', join(newDir(), 'a')])
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/^cubby: --archive is for the embedded engine; .*pg_basebackup.*archive_command.*\n$/)
})

test('durations that cannot be right are refused', async () => {
  for (const [flag, value] of [
    ['--archive-keep', '0s'],
    ['--archive-base', '1w'],
  ] as const) {
    const { exitCode, stderr } = await refusalOf(['--data', newDir(), `${flag}=${value}`])
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining(`${flag} is "${value}"; it takes`),
    })
  }
})

test('wrong calls of restore are refused', async () => {
  const said = async (...args: string[]) => {
    const { exitCode, stderr } = await runCubby(['backup', 'restore', ...args, '--data', join(newDir(), 'x')])
    return `${exitCode} ${stderr.trim()}`
  }
  expect(await said()).toMatch(/^2 .*FILE is missing; give a backup, or --from DIR and --at TIME/)
  expect(await said('--from', '/nowhere')).toMatch(/^2 .*--at is missing/)
  expect(await said('file', '--from', '/nowhere', '--at', '1')).toMatch(/^2 .*FILE and --from exclude each other/)
  expect(await said('--from', '/nowhere', '--at', 'yesterday')).toMatch(/^2 .*--at is "yesterday"; it takes epoch/)
  expect(await said('--from', newDir(), '--at', '1')).toMatch(/^1 .* has no archive: archive.json is not there/)
})

describe.skipIf(!storeIsEmbedded())('the directory of an archive', () => {
  test('with something else in it is refused', async () => {
    const dir = newDir()
    writeFileSync(join(dir, 'letter.txt'), '')
    const { exitCode, stderr } = await refusalOf(['--data', newDir(), '--archive', dir])
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringContaining('is not empty and has no archive'),
    })
  })

  test('of another store, of a newer version, or in use is refused', async () => {
    const archive = join(newDir(), 'archive')
    const server = await startServer({ args: ['--archive', archive] })
    try {
      const inUse = await refusalOf(['--data', newDir(), '--archive', archive])
      expect(inUse).toEqual({ exitCode: 1, stderr: expect.stringContaining('another server writes the archive in') })
      await server.end('SIGTERM')
      const foreign = await refusalOf(['--data', newDir(), '--archive', archive])
      expect(foreign).toEqual({ exitCode: 1, stderr: expect.stringContaining('has the archive of another store') })
    } finally {
      server.remove()
    }
    const newer = newDir()
    mkdirSync(newer, { recursive: true })
    for (const [format, next] of [
      [1, 'no release wrote it; give another directory'],
      [3, 'use a newer one'],
    ]) {
      writeFileSync(join(newer, 'archive.json'), `{"format":${format},"id":"a","store":"b"}`)
      const said = `the archive in ${newer} has format ${format}; this Cubby knows format 2: ${next}\n`
      const refused = await refusalOf(['--data', newDir(), '--archive', newer])
      expect(refused).toEqual({ exitCode: 1, stderr: `cubby: ${said}` })
      expect(await runCubby(['backup', 'verify', newer])).toMatchObject({ exitCode: 1, stderr: `cubby: ${said}` })
    }
  })

  test('stays that of its store when the secret is rotated, also of a store that was upgraded', async () => {
    const archive = join(newDir(), 'archive')
    const dataDir = newDir()
    mkdirSync(dataDir, { recursive: true })
    copyFileSync(join(folderOf('v1'), 'cubby.db'), join(dataDir, 'cubby.db'))
    const server = await startServer({ dataDir, args: ['--archive', archive] })
    try {
      await untilRanges(archive, 1)
      await server.cubbyJson('secrets', 'rotate', '--now')
      await server.restart()
      expect(server.log.filter(({ level }) => level === 'error')).toEqual([])
    } finally {
      await server.stop()
    }
  })

  test('loses what is older than --archive-keep, and nothing else', async () => {
    const archive = join(newDir(), 'archive')
    const args = ['--archive', archive, '--archive-keep', '2s', '--archive-base', '1s']
    // Otherwise nothing is removed in the first hour after a start.
    const env = { NODE_ENV: 'test', CUBBY_TEST_ARCHIVE_HOLD_MS: '0' }
    const server = await startServer({ args, env })
    try {
      const org = await server.createOrganization('acme')
      const api = server.as(org.secretKey)
      await api.post('/v1/app/ledger')
      const first = (await untilRanges(archive, 1)).ranges[0]!.fromMs
      let number = 0
      const later = await until('the first base to be dropped', async () => {
        await api.put('/v1/app/ledger', { hashKey: `k${++number}`, data: {} })
        const [range] = (await verify(archive)).ranges
        return range !== undefined && range.fromMs > first ? range : undefined
      })
      expect(Date.now() - later.fromMs).toBeGreaterThanOrEqual(2_000)
      await untilArchived(archive)
      // The archive keeps what it has now: a server that runs would go on dropping.
      await server.end('SIGTERM')
      const { findings, ranges } = await verify(archive)
      expect(findings).toEqual([])
      for (const atMs of [ranges[0]!.fromMs, ranges[0]!.toMs]) expect((await restoreAt(archive, atMs)).exitCode).toBe(0)
    } finally {
      await server.stop()
    }
  })
})
