import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ImportState } from '../../src/cli/transfer/import-state.ts'
import { mainFile } from '../cli/serve-process.ts'
import { parseTrace, whyNoTrace } from '../crash/trace.ts'
import { makeTempDir, removeTempDir, runCubby, runCubbyJson, startServer, storeIsEmbedded } from '../harness.ts'
import { makeTable } from '../http/service.ts'

// A user who can read the files can read every organization's records. A file whose name was never synced is lost in a
// power cut, even if its bytes were synced.

setDefaultTimeout(120_000)

let top: string
beforeEach(() => {
  top = makeTempDir()
})
afterEach(() => removeTempDir(top))

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

/** The umask takes nothing away, so a private file is private because it was created so. */
const runOpenly = async (args: string[]): Promise<void> => {
  const script = 'umask 000; exec "$@"'
  const child = Bun.spawn(['sh', '-c', script, 'sh', process.execPath, mainFile, ...args], { stderr: 'pipe' })
  const stderr = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(`cubby ${args.join(' ')}: ${stderr}`)
}

describe.skipIf(!storeIsEmbedded())('files are for their owner alone', () => {
  test('those of the store, while it is served and after', async () => {
    const dataDir = join(top, 'data')
    await runOpenly(['orgs', 'create', 'acme', '--data', dataDir])
    expect(modeOf(dataDir)).toBe('700')
    expect(modeOf(join(dataDir, 'cubby.db'))).toBe('600')
    const server = await startServer({ dataDir })
    try {
      const { secretKey } = await server.createOrganization()
      await (await makeTable(server.as(secretKey))).put('a')
      const names = readdirSync(dataDir).sort()
      for (const name of ['cubby.db', 'cubby.db-shm', 'cubby.db-wal', 'serve.lock']) expect(names).toContain(name)
      for (const name of names) expect([name, modeOf(join(dataDir, name))]).toEqual([name, '600'])
    } finally {
      await server.stop()
    }
  })

  test('exports, packed or not, also where a readable one stood; backups; what is restored', async () => {
    const dataDir = join(top, 'data')
    await runCubby(['orgs', 'create', 'acme', '--data', dataDir])
    const server = await startServer({ dataDir })
    const { secretKey } = await server.createOrganization('beta')
    await (await makeTable(server.as(secretKey), undefined, 'notes')).put('a')
    await server.stop()
    const [plain, packed, backup] = [join(top, 'out.ndjson'), join(top, 'out.ndjson.gz'), join(top, 'backup')]
    // An interrupted export left these behind.
    for (const name of [plain, `${plain}.partial`]) {
      writeFileSync(name, 'old')
      chmodSync(name, 0o644)
    }
    for (const out of [plain, packed]) {
      await runOpenly(['export', '--db', 'app', '--out', out, '--force', '--data', dataDir, '--org', 'beta'])
      expect([out, modeOf(out)]).toEqual([out, '600'])
    }
    expect(readFileSync(plain, 'utf8')).toContain('"hashKey":"a"')
    await runOpenly(['backup', 'create', backup, '--data', dataDir])
    expect(modeOf(backup)).toBe('600')
    const restored = join(top, 'restored')
    await runOpenly(['backup', 'restore', backup, '--data', restored])
    for (const name of readdirSync(restored)) expect([name, modeOf(join(restored, name))]).toEqual([name, '600'])
  })

  test('what an import keeps of how far it came', () => {
    const file = join(top, 'lines.ndjson')
    writeFileSync(file, '')
    const state = new ImportState(file, 'a store')
    state.save({ line: 1, records: 1, unchanged: 0, refused: 0, expired: 0 })
    expect(modeOf(state.path)).toBe('600')
  })

  test('a data directory that others can enter: a warning at the start, and none if they cannot', async () => {
    const warningsOf = async (mode: number): Promise<unknown[]> => {
      const dataDir = join(top, `data-${mode.toString(8)}`)
      mkdirSync(dataDir)
      chmodSync(dataDir, mode)
      const server = await startServer({ dataDir })
      await server.stop()
      expect(modeOf(dataDir)).toBe(mode.toString(8))
      return server.log.filter(({ message }) => message === 'other users can enter the data directory')
    }
    for (const mode of [0o755, 0o750, 0o711, 0o704]) {
      expect(await warningsOf(mode)).toEqual([
        expect.objectContaining({ level: 'warn', mode: mode.toString(8), hint: expect.stringContaining('chmod 700') }),
      ])
    }
    expect(await warningsOf(0o700)).toEqual([])
  })
})

const untraced = storeIsEmbedded() ? whyNoTrace() : 'the store is not on a disk of ours'
const why = untraced === undefined ? '' : ` (skipped: ${untraced})`

describe.skipIf(untraced !== undefined)(`names are synced, seen with strace${why}`, () => {
  /** Paths of the directories that `cubby …args` synced, and of the calls that made names, in order. */
  const traced = async (args: string[]): Promise<string[]> => {
    const file = join(top, 'trace')
    const calls = 'trace=mkdir,mkdirat,rename,renameat,renameat2,fsync,fdatasync'
    const command = ['strace', '-f', '-y', '-s', '500', '-o', file, '-e', calls, process.execPath, mainFile, ...args]
    const child = Bun.spawn(command, { stdout: 'ignore', stderr: 'pipe' })
    const stderr = await new Response(child.stderr).text()
    if ((await child.exited) !== 0) throw new Error(`${args.join(' ')}: ${stderr}`)
    return parseTrace(readFileSync(file, 'utf8'))
      .filter(({ text }) => / = 0$/.test(text))
      .flatMap(({ name, text }) => {
        if (name.startsWith('f')) return [`sync ${/<([^>]*)>/.exec(text)![1]}`]
        const paths = [...text.matchAll(/"([^"]*)"/g)].map((found) => found[1])
        return [`${name.startsWith('mkdir') ? 'mkdir' : 'rename to'} ${paths.at(-1)}`]
      })
  }

  const expectBehind = (steps: string[], step: string, made: string): void => {
    expect(steps).toContain(made)
    expect(steps.slice(steps.indexOf(made) + 1)).toContain(step)
  }

  test('a new data directory in its parent, and so each directory on the way to it', async () => {
    const dataDir = join(top, 'a', 'b', 'data')
    const steps = await traced(['orgs', 'create', 'acme', '--data', dataDir])
    expectBehind(steps, `sync ${join(top, 'a', 'b')}`, `mkdir ${dataDir}`)
    expectBehind(steps, `sync ${join(top, 'a')}`, `mkdir ${join(top, 'a', 'b')}`)
    expectBehind(steps, `sync ${top}`, `mkdir ${join(top, 'a')}`)
    // The names in it are synced by SQLite, with the first commit.
    expect(steps).toContain(`sync ${dataDir}`)
  })

  test('an export and a backup: the file, its name, then the directory', async () => {
    const dataDir = join(top, 'data')
    const server = await startServer({ dataDir })
    const { secretKey } = await server.createOrganization('acme')
    await (await makeTable(server.as(secretKey), undefined, 'notes')).put('a')
    await server.stop()
    mkdirSync(join(top, 'out'))
    const outcome = join(top, 'out', 'file')
    const exported = await traced(['export', '--db', 'app', '--out', outcome, '--data', dataDir, '--org', 'acme'])
    expectBehind(exported, `rename to ${outcome}`, `sync ${outcome}.partial`)
    expectBehind(exported, `sync ${join(top, 'out')}`, `rename to ${outcome}`)
    const copy = join(top, 'out', 'copy')
    const copied = await traced(['backup', 'create', copy, '--data', dataDir])
    expectBehind(copied, `rename to ${copy}`, `sync ${copy}.tmp`)
    expectBehind(copied, `sync ${join(top, 'out')}`, `rename to ${copy}`)
    const restored = join(top, 'new', 'data')
    const steps = await traced(['backup', 'restore', copy, '--data', restored])
    expectBehind(steps, `sync ${join(top, 'new')}`, `mkdir ${restored}`)
    const store = join(restored, 'cubby.db')
    expectBehind(steps, `rename to ${store}`, `sync ${store}.tmp`)
    expectBehind(steps, `sync ${restored}`, `rename to ${store}`)
    expect(await runCubbyJson(restored, ['verify'])).toMatchObject({ ok: true })
  })
})
